//! The capabilities of threads that somebody else has made.
//!
//! To Linux, capabilities are a matter of each thread, and no call takes them from another one. DPDK and its drivers
//! have threads of their own, which have what the thread that started DPDK had. So each thread is interrupted by a
//! signal, in whose handler it gives up its own.

use core::ffi::c_int;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// How long the threads may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether they are done.
const LOOK: Duration = Duration::from_millis(1);

/// Whether the signal has its handler.
static PREPARED: OnceLock<Result<c_int, i32>> = OnceLock::new();

/// Has all threads of this process but the calling one give up all capabilities, for good. A thread that is made by
/// one of them has none either.
///
/// Gives the names of those that have some left: they take no signals.
///
/// # Errors
///
/// The system does not let it see its threads, or send them signals.
pub fn renounce_capabilities_of_other_threads() -> io::Result<BTreeSet<String>> {
    let signal = *PREPARED.get_or_init(prepare);
    let signal = signal.map_err(io::Error::from_raw_os_error)?;
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    let deadline = Instant::now() + PATIENCE;
    let mut told = BTreeSet::new();
    loop {
        let mut capable = capable_threads()?;
        capable.retain(|thread| thread.id != own);
        if capable.is_empty() || Instant::now() >= deadline {
            return Ok(capable.into_iter().map(|thread| thread.name).collect());
        }
        for thread in capable.into_iter().filter(|thread| told.insert(thread.id)) {
            tell(thread.id, signal);
        }
        thread::sleep(LOOK);
    }
}

/// Gives up all capabilities of the calling thread, for good.
///
/// # Errors
///
/// What the system says.
pub fn renounce_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    // Ambient ones go with the permitted.
    Ok(set_capabilities(None, sets)?)
}

/// A thread with capabilities.
struct Capable {
    id: i32,
    name: String,
}

/// The threads of this process that have capabilities, as the kernel tells.
fn capable_threads() -> io::Result<Vec<Capable>> {
    let mut capable = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let directory = entry?.path();
        // A thread that has ended meanwhile has none.
        let Ok(status) = fs::read_to_string(directory.join("status")) else { continue };
        let id = directory.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let (Some(id), true) = (id, has_capabilities(&status)) {
            let name = status.lines().find_map(|line| line.strip_prefix("Name:")).unwrap_or_default();
            capable.push(Capable { id, name: name.trim().to_owned() });
        }
    }
    Ok(capable)
}

/// Whether there are any, in the lines of a thread's `status`.
fn has_capabilities(status: &str) -> bool {
    let sets =
        status.lines().filter_map(|line| line.strip_prefix("CapPrm:").or(line.strip_prefix("CapInh:")));
    sets.map(|set| u64::from_str_radix(set.trim(), 16)).any(|set| set != Ok(0))
}

/// Gives a signal of real time, which nobody else uses, its handler.
fn prepare() -> Result<c_int, i32> {
    let signal = libc::SIGRTMAX() - 1;
    // SAFETY: the handler does nothing but a system call, which is allowed in handlers, and takes no lock.
    let registered = unsafe {
        signal_hook_registry::register(signal, || {
            // Whether it worked is seen from outside.
            let _ = renounce_capabilities();
        })
    };
    registered.map(|_| signal).map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
}

/// Sends a signal to a thread of this process. One that has ended hears nothing.
fn tell(thread: i32, signal: c_int) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_seen_in_the_status_of_a_thread() {
        let status = |permitted: &str, inheritable: &str| {
            format!("Name:\tx\nCapInh:\t{inheritable}\nCapPrm:\t{permitted}\nCapEff:\t0000000000000000\n")
        };
        let none = "0000000000000000";
        assert!(!has_capabilities(&status(none, none)));
        assert!(has_capabilities(&status("0000000000002000", none)));
        assert!(has_capabilities(&status(none, "0000000000000001")));
    }
}
