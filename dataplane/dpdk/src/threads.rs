//! Capabilities of threads created by others.
//!
//! On Linux, capabilities are per thread, and no call removes them from another thread. DPDK and its drivers
//! create threads that inherit the capabilities of the thread that started DPDK. So each thread is
//! interrupted by a signal, in whose handler it drops its own.

use core::ffi::c_int;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// The time limit for the threads.
const PATIENCE: Duration = Duration::from_secs(2);
/// The polling interval.
const LOOK: Duration = Duration::from_millis(1);

/// The signal, once its handler is installed.
static PREPARED: OnceLock<Result<c_int, i32>> = OnceLock::new();

/// Makes all other threads of this process permanently drop all capabilities. Threads that they create later
/// have none either.
///
/// Returns the names of threads that still have some, because they block signals.
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

/// Permanently drops all capabilities of the calling thread.
///
/// # Errors
///
/// The error of the system.
pub fn renounce_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    // Ambient capabilities are dropped with the permitted ones.
    Ok(set_capabilities(None, sets)?)
}

/// A thread with capabilities.
struct Capable {
    id: i32,
    name: String,
}

/// The threads of this process that have capabilities.
fn capable_threads() -> io::Result<Vec<Capable>> {
    let mut capable = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let directory = entry?.path();
        // The thread has ended meanwhile.
        let Ok(status) = fs::read_to_string(directory.join("status")) else { continue };
        let id = directory.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let (Some(id), true) = (id, has_capabilities(&status)) {
            let name = status.lines().find_map(|line| line.strip_prefix("Name:")).unwrap_or_default();
            capable.push(Capable { id, name: name.trim().to_owned() });
        }
    }
    Ok(capable)
}

/// Whether a thread's `status` lists any capabilities.
fn has_capabilities(status: &str) -> bool {
    let sets =
        status.lines().filter_map(|line| line.strip_prefix("CapPrm:").or(line.strip_prefix("CapInh:")));
    sets.map(|set| u64::from_str_radix(set.trim(), 16)).any(|set| set != Ok(0))
}

/// Installs the handler of an otherwise unused real-time signal.
fn prepare() -> Result<c_int, i32> {
    let signal = libc::SIGRTMAX() - 1;
    // SAFETY: the handler only makes a system call, which is allowed in handlers, and takes no lock.
    let registered = unsafe {
        signal_hook_registry::register(signal, || {
            // The caller checks the result from outside.
            let _ = renounce_capabilities();
        })
    };
    registered.map(|_| signal).map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
}

/// Sends a signal to a thread of this process, if it still exists.
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
