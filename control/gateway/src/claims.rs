//! Cores that gateways of one machine have for themselves.
//!
//! Each worker's core is claimed by a lock on a file, which ends with the process however that ends. A claim keeps
//! nobody from a core: it tells a gateway that chooses its cores which to leave to others, and operators who name one
//! core twice.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Where the lock files are: every user may write there, and files of root cannot be removed by others.
pub const DIRECTORY: &str = "/run/lock";

/// The claims of a gateway; they last as long as this does.
#[derive(Debug, Default)]
pub struct Claims {
    files: Vec<File>,
}

impl Claims {
    /// Claims `cores`, each once. Returns those that another gateway has claimed before. A core whose lock cannot be had
    /// at all is taken for free.
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

/// Those of `cores` that another gateway has claimed.
pub fn taken(directory: &Path, cores: &[usize]) -> BTreeSet<usize> {
    Claims::default().take(directory, cores.iter().copied())
}

fn open(directory: &Path, core: usize) -> std::io::Result<File> {
    let path = directory.join(format!("longspan-core-{core}"));
    let mut options = OpenOptions::new();
    // A link that somebody has put there is not followed.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    // One that is there already is enough: its owner may be another user, and a lock needs no right to write.
    options.read(true).custom_flags(flags);
    options.open(&path).or_else(|_| options.write(true).create_new(true).mode(0o644).open(&path))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
mod tests {
    use super::*;

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

    #[test]
    fn where_no_lock_can_be_had_every_core_is_free() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/null", directory.path().join("longspan-core-1")).unwrap();
        let nowhere = directory.path().join("nowhere");
        for directory in [directory.path(), &nowhere] {
            let (mut one, mut other) = (Claims::default(), Claims::default());
            assert_eq!((one.take(directory, [1]), other.take(directory, [1])), Default::default());
        }
    }
}
