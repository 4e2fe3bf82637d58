//! Claims of interfaces among the runs of one machine: two hosts on one interface would take each other's frames.
//!
//! A run locks a file, as gateways do for cores. The lock ends with the process, however that ends. Every user may write
//! to the directory, so only files of the own user count, and a file that cannot be opened blocks nobody.

use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The directory of the lock files: world-writable and sticky.
pub(crate) const DIRECTORY: &str = "/run/lock";

/// The claim of an interface, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    _file: Option<File>,
}

impl Claim {
    /// Claims an interface of this network namespace; `None` if another run has it.
    pub fn take(directory: &Path, interface: &str) -> Option<Self> {
        // The same name is another interface in another network namespace.
        let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |it| it.ino());
        let Ok(file) = open(&directory.join(format!("longspan-traffic-{namespace}-{interface}"))) else {
            return Some(Self { _file: None });
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Ok(()) | Err(TryLockError::Error(_)) => Some(Self { _file: Some(file) }),
        }
    }
}

/// Opens a lock file, if it is a regular file of this process's user.
fn open(path: &Path) -> io::Result<File> {
    // Somebody may have put a link there, or a FIFO, whose opening would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let about = file.metadata()?;
    let is_own = about.is_file() && about.uid() == geteuid().as_raw();
    if is_own { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_one_run_at_a_time_and_is_free_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let take = |interface| Claim::take(directory.path(), interface);
        let first = take("eth0").unwrap();
        assert!(take("eth0").is_none() && take("eth1").is_some());
        drop(first);
        assert!(take("eth0").is_some());
    }

    #[test]
    fn where_no_lock_can_be_had_every_interface_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere");
        let both = [Claim::take(&nowhere, "eth0"), Claim::take(&nowhere, "eth0")];
        assert!(both.iter().all(Option::is_some));
    }
}
