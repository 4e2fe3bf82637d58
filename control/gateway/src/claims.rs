//! Claims of cores among the gateways of one machine.
//!
//! A gateway locks a file for the core of each worker. The lock ends with the process, however that ends. It
//! is advisory: a gateway that chooses its cores avoids locked ones, and a gateway configured to use a locked
//! core warns.
//!
//! Every user may write to the directory of the files. So only files of the gateway's own user count, and no
//! other user can open them: others can neither claim a core nor block the start of a gateway.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// The directory of the lock files. It is world-writable and sticky, so users cannot remove the files of
/// others.
pub const DIRECTORY: &str = "/run/lock";

/// The claims of a gateway, held until this is dropped.
#[derive(Debug, Default)]
pub struct Claims {
    files: Vec<File>,
}

impl Claims {
    /// Claims `cores`, each once. Returns those already claimed by another gateway. A core whose lock file
    /// cannot be opened counts as free.
    pub fn take(&mut self, directory: &Path, cores: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let cores: BTreeSet<usize> = cores.into_iter().collect();
        let mut taken = BTreeSet::new();
        for core in cores {
            let Ok(file) = open(directory, core) else { continue };
            match file.try_lock() {
                Ok(()) => self.files.push(file),
                Err(TryLockError::WouldBlock) => {
                    taken.insert(core);
                }
                Err(TryLockError::Error(_)) => {}
            }
        }
        taken
    }
}

/// The `cores` that another gateway has claimed.
pub fn taken(directory: &Path, cores: &[usize]) -> BTreeSet<usize> {
    Claims::default().take(directory, cores.iter().copied())
}

/// The lock file of a core, if it is a regular file of this process's user.
fn open(directory: &Path, core: usize) -> io::Result<File> {
    let path = directory.join(format!("longspan-core-{core}"));
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
#[allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_core_is_claimed_by_one_gateway_until_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (Claims::default(), Claims::default());
        assert_eq!(one.take(directory.path(), [1, 2, 2]), BTreeSet::new());
        assert_eq!(other.take(directory.path(), [2, 3]), BTreeSet::from([2]));
        assert_eq!(taken(directory.path(), &[0, 1, 2, 3]), BTreeSet::from([1, 2, 3]));
        drop(one);
        assert_eq!(taken(directory.path(), &[0, 1, 2, 3]), BTreeSet::from([3]));
    }

    /// Covers links, FIFOs and, if the test may change owners, a locked file of another user.
    #[test]
    fn what_others_put_in_place_of_a_lock_file_neither_claims_a_core_nor_holds_up_a_gateway() {
        let directory = tempfile::tempdir().unwrap();
        let file = |core: usize| directory.path().join(format!("longspan-core-{core}"));
        std::os::unix::fs::symlink("/dev/null", file(1)).unwrap();
        mknodat(CWD, file(2), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let squatter = File::create(file(3)).unwrap();
        squatter.lock().unwrap();
        let is_given_away = std::os::unix::fs::chown(file(3), Some(65_534), None).is_ok();
        let squatted = if is_given_away { BTreeSet::new() } else { BTreeSet::from([3]) };
        for _ in 0..2 {
            assert_eq!(Claims::default().take(directory.path(), [1, 2, 3]), squatted);
        }
    }

    #[test]
    fn nobody_else_can_open_a_lock_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut claims = Claims::default();
        claims.take(directory.path(), [7]);
        let mode = directory.path().join("longspan-core-7").metadata().unwrap().mode();
        assert_eq!(mode & 0o077, 0);
    }

    #[test]
    fn where_no_lock_can_be_had_every_core_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere");
        let (mut one, mut other) = (Claims::default(), Claims::default());
        assert_eq!((one.take(&nowhere, [1]), other.take(&nowhere, [1])), Default::default());
    }
}
