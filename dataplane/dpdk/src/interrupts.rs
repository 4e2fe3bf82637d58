//! Separates DPDK's interrupt thread from other threads, for drivers that do not.
//!
//! When a peer disconnects, the memif driver immediately tears down the shared state on DPDK's interrupt
//! thread: it unmaps the rings even during a burst, and frees memory that a thread closing the device frees
//! too. So the interrupt thread is kept waiting in our own handler and is released only while the [`Gate`] of
//! each such device is closed and empty. It is released for every interrupt and returns at once, because the
//! handler's own descriptor stays readable while the thread is away.
//!
//! DPDK passes the events of one `epoll_wait` to their handlers one by one. Their order does not matter,
//! because the gates are open only while the thread is in this handler.

use core::ffi::c_void;
use core::time::Duration;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use dpdk_sys as sys;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::error::error_of;
use crate::gate::Gate;

/// The polling interval for an empty gate; a burst takes less.
const LOOK: Duration = Duration::from_micros(20);
/// How long the interrupt thread waits if it cannot find its epoll descriptor.
const BLIND_WAIT: Duration = Duration::from_millis(10);
/// The maximum wait for the interrupt thread. A worker that stalls within a burst delays it, and callers may
/// retry.
const PATIENCE: Duration = Duration::from_secs(1);

/// The held interrupt thread of DPDK.
#[derive(Debug)]
pub(crate) struct Interrupts {
    /// Readable while the thread is away.
    absent: OwnedFd,
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the thread waits in our handler.
    held: bool,
    /// The gates that are open meanwhile.
    gates: Vec<Arc<Gate>>,
}

/// DPDK starts once per process, so there is one interrupt thread.
static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();
/// Serializes the initialization.
static FIRST: Mutex<()> = Mutex::new(());

/// The interrupt thread, held from the first call on. DPDK must be running.
///
/// # Errors
///
/// The kernel lacks what it takes, or DPDK has no memory.
pub(crate) fn hold() -> io::Result<&'static Interrupts> {
    let _alone = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(interrupts) = INTERRUPTS.get() {
        return Ok(interrupts);
    }
    Gate::prepare()?;
    let absent = eventfd(1, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let fd = absent.as_raw_fd();
    let interrupts =
        INTERRUPTS.get_or_init(|| Interrupts { absent, state: Mutex::default(), came: Condvar::new() });
    // SAFETY: DPDK runs. The descriptor is never closed, and the argument, which nothing reads, is null.
    match unsafe { sys::shim_on_readable(fd, Some(wait), core::ptr::null_mut()) } {
        0 => Ok(interrupts),
        status => Err(error_of(status)),
    }
}

/// The handler that DPDK calls.
extern "C" fn wait(_: *mut c_void) {
    if let Some(interrupts) = INTERRUPTS.get() {
        interrupts.wait();
    }
}

impl Interrupts {
    /// Calls `action` while the interrupt thread is held; `None` if it does not arrive in time.
    pub fn while_held<T>(&self, action: impl FnOnce(&mut Gates<'_>) -> T) -> Option<T> {
        let (state, waited) = self
            .came
            .wait_timeout_while(self.state(), PATIENCE, |state| !state.held)
            .unwrap_or_else(PoisonError::into_inner);
        (!waited.timed_out()).then(|| action(&mut Gates(state)))
    }

    /// Waits, on the interrupt thread, until an event is pending and all gates are empty.
    fn wait(&self) {
        // The descriptor may already have been read.
        let _ = rustix::io::read(&self.absent, &mut [0; 8]);
        let mut state = self.state();
        state.held = true;
        state.gates.iter().for_each(|gate| gate.open());
        drop(state);
        self.came.notify_all();
        self.until_wanted();
        let mut state = self.state();
        state.held = false;
        state.gates.iter().for_each(|gate| gate.close());
        let gates = state.gates.clone();
        drop(state);
        while !gates.iter().all(|gate| gate.is_empty()) {
            thread::sleep(LOOK);
        }
        // This fails only if the descriptor is already readable.
        let _ = rustix::io::write(&self.absent, &1_u64.to_ne_bytes());
    }

    /// Waits for an event of the epoll descriptor that the thread serves.
    fn until_wanted(&self) {
        let Some(epoll) = epoll_with(self.absent.as_raw_fd()) else { return thread::sleep(BLIND_WAIT) };
        // SAFETY: the descriptor is that of the interrupt thread, which alone closes it, and is here.
        let epoll = unsafe { BorrowedFd::borrow_raw(epoll) };
        // If a signal ends this early, the thread just makes one idle round.
        let _ = poll(&mut [PollFd::new(&epoll, PollFlags::IN)], None);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gates, while the interrupt thread waits.
pub(crate) struct Gates<'a>(MutexGuard<'a, State>);

impl Gates<'_> {
    /// Opens a gate, which from now on is open whenever the interrupt thread waits.
    pub fn open(&mut self, gate: &Arc<Gate>) {
        self.0.gates.push(Arc::clone(gate));
        gate.open();
    }

    /// Closes a gate; returns whether no queue is inside. If one stays inside too long, the gate is reopened.
    pub fn close(&mut self, gate: &Arc<Gate>) -> bool {
        gate.close();
        let deadline = Instant::now() + PATIENCE;
        while !gate.is_empty() {
            if Instant::now() >= deadline {
                gate.open();
                return false;
            }
            thread::sleep(LOOK);
        }
        self.forget(gate);
        true
    }

    /// Stops opening a gate.
    pub fn forget(&mut self, gate: &Arc<Gate>) {
        self.0.gates.retain(|each| !Arc::ptr_eq(each, gate));
    }
}

/// The epoll descriptor of this process that waits for `fd`.
fn epoll_with(fd: RawFd) -> Option<RawFd> {
    let waited_for = format!("{fd}");
    let waits = |epoll: &RawFd| {
        let about = fs::read_to_string(format!("/proc/self/fdinfo/{epoll}")).unwrap_or_default();
        let mut targets = about.lines().filter_map(|line| line.strip_prefix("tfd:"));
        targets.any(|target| target.split_whitespace().next() == Some(&waited_for))
    };
    let open = fs::read_dir("/proc/self/fdinfo").ok()?;
    open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(waits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll;

    #[test]
    fn the_epoll_descriptor_that_waits_for_another_is_found() {
        let [one, other] = [(); 2].map(|()| eventfd(0, EventfdFlags::empty()).unwrap());
        let waits = epoll::create(epoll::CreateFlags::empty()).unwrap();
        let _waits_for_nothing = epoll::create(epoll::CreateFlags::empty()).unwrap();
        epoll::add(&waits, &one, epoll::EventData::new_u64(0), epoll::EventFlags::IN).unwrap();
        assert_eq!(epoll_with(one.as_raw_fd()), Some(waits.as_raw_fd()));
        assert_eq!(epoll_with(other.as_raw_fd()), None);
    }
}
