//! DPDK's directory for the files of a process, by file prefix: `/var/run/dpdk/PREFIX` as root. DPDK creates
//! it but never removes it.
//!
//! Processes of one prefix share it. Each holds a lock on it from before DPDK starts until after DPDK's own
//! exit handler, which removes the process's telemetry socket by name. So no one removes the name or the
//! directory that a process is about to use, and no one gets a name that another process is about to remove.
//! Other DPDK programs do not lock: a socket that one has created but does not yet listen on counts as dead,
//! and the directory may disappear before it has created one.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::claim::is_at;

/// The name of DPDK's telemetry socket, with a suffix of `:1` and so on if several processes share a prefix.
const TELEMETRY: &str = "dpdk_telemetry.v2";

/// The locked directory. Dropping this removes it unless another process holds a lock too. The kernel
/// releases the lock of a killed process, so the next one of its prefix removes what it left.
#[derive(Debug)]
pub(crate) struct RuntimeDirectory {
    path: PathBuf,
    lock: File,
}

/// The directory of a file prefix, as in `eal_create_runtime_dir` of DPDK 22.11.
pub(crate) fn path(file_prefix: &str) -> PathBuf {
    let of_the_system = || rustix::process::getuid().is_root().then(|| "/var/run".into());
    let mut path: OsString = env::var_os("RUNTIME_DIRECTORY")
        .or_else(of_the_system)
        .or_else(|| env::var_os("XDG_RUNTIME_DIR"))
        .unwrap_or_else(|| "/tmp".into());
    path.push("/dpdk/");
    path.push(file_prefix);
    path.into()
}

impl RuntimeDirectory {
    /// Claims the directory at `path` before DPDK starts. Creates it as DPDK does if it does not exist, and
    /// removes sockets of killed processes. `None` on failure, whose reason DPDK reports.
    pub fn claim(path: &Path) -> Option<Self> {
        loop {
            make(path.parent()?)?;
            make(path)?;
            let lock = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.ok()?,
            };
            if lock.try_lock().is_ok() {
                remove_dead_sockets(path);
            }
            // A process that removes it holds the exclusive lock, but only briefly.
            lock.lock_shared().ok()?;
            if is_at(&lock, path) {
                return Some(Self { path: path.to_owned(), lock });
            }
        }
    }
}

impl RuntimeDirectory {
    /// Whether it is empty. Returns `false` if it cannot be read.
    pub fn is_empty(&self) -> bool {
        fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Gives it to another user, but not its contents.
    pub fn give_to(&self, uid: u32, gid: u32) -> io::Result<()> {
        fchown(&self.lock, Some(uid), Some(gid))
    }
}

impl Drop for RuntimeDirectory {
    fn drop(&mut self) {
        if self.lock.try_lock().is_err() {
            return;
        }
        remove_dead_sockets(&self.path);
        // Fails if others put files there; they stay.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Creates a directory with DPDK's permissions, if it does not exist. `None` on failure, or if something else
/// is there, such as a link that another user put under `/tmp`.
fn make(path: &Path) -> Option<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => None,
        // It may have been removed meanwhile.
        Err(_) if fs::symlink_metadata(path).is_ok_and(|file| !file.is_dir()) => None,
        _ => Some(()),
    }
}

/// Removes DPDK's telemetry sockets without a listener from `directory`, as far as possible.
fn remove_dead_sockets(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        let is_telemetry = entry.file_name().to_string_lossy().starts_with(TELEMETRY);
        if is_socket && is_telemetry && is_dead(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a socket of any type has no listener: the kernel looks for a listener before it compares types.
fn is_dead(socket: &Path) -> bool {
    UnixStream::connect(socket).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn it_goes_with_the_last_process_that_has_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("dpdk/prefix");
        fs::create_dir(parent.path().join("dpdk")).unwrap();
        let (one, other) = (RuntimeDirectory::claim(&path).unwrap(), RuntimeDirectory::claim(&path).unwrap());
        drop(UnixListener::bind(path.join(TELEMETRY)).unwrap());
        drop(one);
        assert!(path.join(TELEMETRY).exists(), "the other one lives");
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn it_is_empty_until_something_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let claimed = RuntimeDirectory::claim(&parent.path().join("prefix")).unwrap();
        assert!(claimed.is_empty());
        drop(UnixListener::bind(parent.path().join("prefix/other")).unwrap());
        assert!(!claimed.is_empty());
    }

    #[test]
    fn it_is_made_with_its_parent_before_dpdk_needs_it() {
        let parent = tempfile::tempdir().unwrap();
        let claimed = RuntimeDirectory::claim(&parent.path().join("dpdk/prefix")).unwrap();
        assert_eq!(claimed.lock.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(RuntimeDirectory::claim(&parent.path().join("none/dpdk/prefix")).is_none());
    }

    #[test]
    fn what_is_no_directory_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("prefix");
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(RuntimeDirectory::claim(&path).is_none());
        assert!(RuntimeDirectory::claim(&path.join("prefix")).is_none());
        assert!(fs::symlink_metadata(&path).is_ok());
    }

    #[test]
    fn one_that_goes_while_it_is_claimed_is_made_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("prefix");
        for _ in 0..100 {
            let going = RuntimeDirectory::claim(&path).unwrap();
            let claims = std::thread::spawn({
                let path = path.clone();
                move || RuntimeDirectory::claim(&path).unwrap()
            });
            drop(going);
            let claimed = claims.join().unwrap();
            assert!(is_at(&claimed.lock, &path));
        }
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
        assert!(path.join("dpdk_telemetry.v2:1").exists(), "someone listens at it");
        assert!(path.join("other").exists(), "it is not DPDK's");
    }
}
