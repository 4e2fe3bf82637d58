//! Where DPDK keeps the files of a process, by its file prefix: `/var/run/dpdk/PREFIX`, as root. DPDK makes
//! the directory and never removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// What DPDK calls the sockets of its telemetry: this, and `:1` and so on behind it where several processes
/// share a prefix.
const TELEMETRY: &str = "dpdk_telemetry.v2";

/// The directory, which goes when this is dropped, unless another process has a lock on it as this one has.
/// The kernel takes the lock from a process that is killed, so what that one leaves goes with the next one of
/// its prefix.
#[derive(Debug)]
pub(crate) struct RuntimeDirectory {
    path: PathBuf,
    lock: File,
}

impl RuntimeDirectory {
    /// The directory at `path` of DPDK that has just started. What processes that were killed have left in it
    /// is removed. `None` where it is not there, or just goes.
    pub fn claim(path: &Path) -> Option<Self> {
        let lock = File::open(path).ok()?;
        if lock.try_lock().is_ok() {
            remove_sockets(path, is_dead);
        }
        lock.try_lock_shared().ok()?;
        Some(Self { path: path.to_owned(), lock })
    }
}

impl Drop for RuntimeDirectory {
    fn drop(&mut self) {
        if self.lock.try_lock().is_err() {
            return;
        }
        // The one of this process is still listened at: DPDK removes it when the process exits, if it is
        // there.
        remove_sockets(&self.path, |_| true);
        // Whatever else is in it was put there by others, and stays.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes the sockets of DPDK's telemetry in `directory` of which `which` holds, as far as this is possible.
fn remove_sockets(directory: &Path, which: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        if is_socket && entry.file_name().to_string_lossy().starts_with(TELEMETRY) && which(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether nobody listens at a socket, of whatever type it is: the kernel looks for a listener before it
/// compares types.
fn is_dead(socket: &Path) -> bool {
    UnixStream::connect(socket).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn it_goes_with_the_last_process_that_has_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("prefix");
        assert!(RuntimeDirectory::claim(&path).is_none(), "there is none yet");
        fs::create_dir(&path).unwrap();
        let (one, other) = (RuntimeDirectory::claim(&path).unwrap(), RuntimeDirectory::claim(&path).unwrap());
        let _telemetry = UnixListener::bind(path.join(TELEMETRY)).unwrap();
        drop(one);
        assert!(path.join(TELEMETRY).exists(), "the other one lives");
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_process_left_goes_at_the_next_start_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path();
        drop(UnixListener::bind(path.join(TELEMETRY)).unwrap());
        drop(UnixListener::bind(path.join("other")).unwrap());
        let _alive = UnixListener::bind(path.join("dpdk_telemetry.v2:1")).unwrap();
        let claimed = RuntimeDirectory::claim(path).unwrap();
        assert!(!path.join(TELEMETRY).exists());
        assert!(path.join("dpdk_telemetry.v2:1").exists() && path.join("other").exists());
        drop(claimed);
        assert!(path.join("other").exists(), "it is not DPDK's");
    }
}
