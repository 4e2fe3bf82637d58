//! Keeps DPDK's interrupt thread and everybody else apart, where a driver does not.
//!
//! The driver of a memif takes down what it shares with a peer as soon as the peer goes, on DPDK's
//! interrupt thread: it unmaps the rings, whoever may be in a burst, and frees what a thread that closes the
//! device is freeing as well. So that thread is made to wait in a handler of our own, and is let go only
//! while the [`Gate`] of each such device is closed and empty. It is let go for every interrupt, and comes
//! back at once, as the handler's own descriptor can be read all the time that it is away.
//!
//! DPDK gives the events of one `epoll_wait` to their handlers one by one. As the gates are open only while
//! the thread is in this handler, it does not matter in which order.

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

use crate::eal::error_of;
use crate::gate::Gate;

/// How often it is looked whether a gate is empty: a burst takes less.
const LOOK: Duration = Duration::from_micros(20);
/// For how long the interrupt thread waits where it cannot see what it waits for.
const BLIND_WAIT: Duration = Duration::from_millis(10);
/// For how long somebody waits for the interrupt thread. A worker that stands still within a burst keeps
/// it, and whoever asks may try again.
const PATIENCE: Duration = Duration::from_secs(1);

/// DPDK's interrupt thread, held.
#[derive(Debug)]
pub(crate) struct Interrupts {
    /// Can be read all the time that the thread is not here.
    absent: OwnedFd,
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the thread waits here.
    held: bool,
    /// The gates that are open while it does.
    gates: Vec<Arc<Gate>>,
}

/// DPDK is started once in a process, and so has one interrupt thread.
static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();
/// Lets one thread at a time look whether there are any yet.
static FIRST: Mutex<()> = Mutex::new(());

/// The interrupt thread, which is held from the first call on. DPDK runs.
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

/// What DPDK calls.
extern "C" fn wait(_: *mut c_void) {
    if let Some(interrupts) = INTERRUPTS.get() {
        interrupts.wait();
    }
}

impl Interrupts {
    /// Calls `action` while the interrupt thread waits and handles nothing; `None` where it does not come
    /// for too long.
    pub fn while_held<T>(&self, action: impl FnOnce(&mut Gates<'_>) -> T) -> Option<T> {
        let (state, waited) = self
            .came
            .wait_timeout_while(self.state(), PATIENCE, |state| !state.held)
            .unwrap_or_else(PoisonError::into_inner);
        (!waited.timed_out()).then(|| action(&mut Gates(state)))
    }

    /// Waits, on the interrupt thread, until there is something for it to do, and nobody is behind a gate.
    fn wait(&self) {
        // One that was read already is as good.
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
        // Can only fail where it can be read already.
        let _ = rustix::io::write(&self.absent, &1_u64.to_ne_bytes());
    }

    /// Waits for an event of the epoll descriptor that the thread will go back to.
    fn until_wanted(&self) {
        let Some(epoll) = epoll_with(self.absent.as_raw_fd()) else { return thread::sleep(BLIND_WAIT) };
        // SAFETY: the descriptor is that of the interrupt thread, which alone closes it, and is here.
        let epoll = unsafe { BorrowedFd::borrow_raw(epoll) };
        // Where a signal or anything else ends it, the thread makes its round for nothing.
        let _ = poll(&mut [PollFd::new(&epoll, PollFlags::IN)], None);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gates, while the interrupt thread waits.
pub(crate) struct Gates<'a>(MutexGuard<'a, State>);

impl Gates<'_> {
    /// Opens a gate, which will be open whenever the interrupt thread waits.
    pub fn open(&mut self, gate: &Arc<Gate>) {
        self.0.gates.push(Arc::clone(gate));
        gate.open();
    }

    /// Closes a gate; true where nobody is inside. Where somebody stays for too long it is open again.
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

    /// Opens a gate no more.
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
