//! Claims of what only one process at a time should use, such as a core or an interface of the kernel.
//!
//! A process locks a file for each. The lock ends with the process, however that ends. It is advisory: it keeps out
//! only those who ask for it.
//!
//! Every user may write to the directory of the files. So only files of the process's own user count, and no other
//! user can open them: others can neither claim anything nor hold up a process that does.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// A claim, held until it is dropped.
///
/// Dropping it removes its file. The file stays if its process was killed, or has become another user since: the
/// directory is sticky. It is then locked by no one. The next claim of its name by the user whose file it is takes it
/// over. Other users cannot open it, so each of their processes gets a claim until someone removes it.
#[derive(Debug)]
pub struct Claim {
    /// `None` where no lock could be had.
    held: Option<(File, PathBuf)>,
}

impl Claim {
    /// The directory of the files on a real machine. It is world-writable and sticky, so users cannot remove the
    /// files of others.
    pub const DIRECTORY: &str = "/run/lock";

    /// Claims `name`, which is that of a file in `directory`. `None` if another claim of this user holds it. Where the
    /// file cannot be opened or locked, everybody gets a claim.
    pub fn take(directory: &Path, name: &str) -> Option<Self> {
        let path = directory.join(name);
        match locked(&path, File::try_lock) {
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(_)) => Some(Self { held: None }),
            Ok(file) => Some(Self { held: Some((file, path)) }),
        }
    }

    /// Claims an interface of the kernel in the network namespace of this process. `None` if another claim of this user
    /// holds it.
    pub fn interface(directory: &Path, interface: &str) -> Option<Self> {
        // The same name is another interface in another network namespace.
        let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |it| it.ino());
        Self::take(directory, &format!("longspan-interface-{namespace}-{interface}"))
    }

    /// As [`take`](Self::take), but waits until no other claim of this user holds the name. It is for names that are
    /// held for a moment only.
    pub fn wait(directory: &Path, name: &str) -> Self {
        let path = directory.join(name);
        let file = locked(&path, |file| file.lock().map_err(TryLockError::Error));
        Self { held: file.ok().map(|file| (file, path)) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While the file is locked, so that no one can have claimed what is removed.
        if let Some((_, path)) = self.held.as_ref().filter(|(file, path)| is_at(file, path)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The file at `path`, locked by `lock`.
fn locked(path: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<File, TryLockError> {
    loop {
        let file = open(path).map_err(TryLockError::Error)?;
        lock(&file)?;
        // If its holder removed it after it was opened here, a lock on it keeps out no one. There is no bound on the
        // tries: a claim ended for each of them, and under load one process may lose thousands of races in a row.
        if file.metadata().map_err(TryLockError::Error)?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Opens a file to lock, if it is a regular file of this process's user.
fn open(path: &Path) -> io::Result<File> {
    // Someone may have put a link there, or a FIFO, whose opening would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let about = file.metadata()?;
    let is_own = about.is_file() && about.uid() == geteuid().as_raw();
    if is_own { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Whether `path` still names `file`, and not a link to it.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let at_path = fs::symlink_metadata(path).map(identity);
    file.metadata().map(identity).is_ok_and(|file| at_path.is_ok_and(|there| there == file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::{chown, symlink};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    /// Whether a claim of `name` is one, with a file that is locked.
    fn keeps_others_out(directory: &Path, name: &str) -> bool {
        let _first = Claim::take(directory, name);
        Claim::take(directory, name).is_none()
    }

    #[test]
    fn a_name_has_one_holder_and_is_free_once_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let take = |name| Claim::take(directory.path(), name);
        let first = take("one").unwrap();
        assert!(take("one").is_none() && take("other").is_some());
        drop(first);
        assert!(take("one").is_some());
    }

    #[test]
    fn an_interface_has_one_user_at_a_time_and_is_free_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let take = |interface| Claim::interface(directory.path(), interface);
        let first = take("eth0").unwrap();
        assert!(take("eth0").is_none() && take("eth1").is_some());
        drop(first);
        assert!(take("eth0").is_some());
    }

    #[test]
    fn a_claim_leaves_no_file_behind_and_a_refused_one_removes_none() {
        let directory = tempfile::tempdir().unwrap();
        let held = Claim::take(directory.path(), "name").unwrap();
        assert!(Claim::take(directory.path(), "name").is_none());
        assert!(directory.path().join("name").exists());
        drop(held);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_file_of_a_killed_process_is_taken_over_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let left = directory.path().join("name");
        File::create(&left).unwrap();
        assert!(keeps_others_out(directory.path(), "name"));
        assert!(!left.exists());
    }

    #[test]
    fn a_file_that_came_in_place_of_a_removed_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("name");
        let lost = Claim::take(directory.path(), "name").unwrap();
        fs::remove_file(&file).unwrap();
        let next = Claim::take(directory.path(), "name").unwrap();
        drop(lost);
        assert!(file.exists() && Claim::take(directory.path(), "name").is_none());
        drop(next);
    }

    /// Covers links, FIFOs, directories and, if the test may change owners, a locked file of another user.
    #[test]
    fn what_others_put_in_place_of_a_lock_file_neither_claims_a_name_nor_holds_up_a_process() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        File::create(file("target")).unwrap();
        symlink(file("target"), file("link")).unwrap();
        symlink("nowhere", file("dangling")).unwrap();
        mknodat(CWD, file("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::create_dir(file("directory")).unwrap();
        for name in ["link", "dangling", "fifo", "directory"] {
            assert!(!keeps_others_out(directory.path(), name), "{name}");
            drop((Claim::wait(directory.path(), name), Claim::wait(directory.path(), name)));
            assert!(fs::symlink_metadata(file(name)).is_ok(), "{name} is not ours to remove");
        }
        assert!(!file("nowhere").exists());
        let squatter = File::create(file("squatted")).unwrap();
        squatter.lock().unwrap();
        let is_given_away = chown(file("squatted"), Some(65_534), None).is_ok();
        assert_eq!(Claim::take(directory.path(), "squatted").is_some(), is_given_away);
        if is_given_away {
            drop(Claim::wait(directory.path(), "squatted"));
        }
        assert!(file("squatted").exists());
    }

    #[test]
    fn nobody_else_can_open_a_lock_file() {
        let directory = tempfile::tempdir().unwrap();
        let _claim = Claim::take(directory.path(), "name");
        let mode = directory.path().join("name").metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn where_no_lock_can_be_had_every_name_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nowhere");
        assert!(!keeps_others_out(&nowhere, "name"));
        drop((Claim::wait(&nowhere, "name"), Claim::wait(&nowhere, "name")));
    }

    #[test]
    fn whoever_waits_for_a_name_has_it_once_its_holder_lets_go() {
        let directory = tempfile::tempdir().unwrap();
        let held = Claim::take(directory.path(), "name").unwrap();
        let ((beginning, begun), (having, had)) = (channel(), channel());
        thread::scope(|scope| {
            scope.spawn(|| {
                beginning.send(()).unwrap();
                let claim = Claim::wait(directory.path(), "name");
                having.send(Claim::take(directory.path(), "name").is_none()).unwrap();
                drop(claim);
            });
            begun.recv().unwrap();
            assert!(had.try_recv().is_err(), "while it is held");
            drop(held);
            assert!(had.recv().unwrap(), "it is a claim as any other");
        });
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    /// A file that is removed while others open it: without a look at what its path names then, one would lock the
    /// removed file and another a new one. Half of the threads wait for the name.
    #[test]
    fn of_many_that_claim_and_let_go_one_holds_at_a_time() {
        const THREADS: u32 = 8;
        const ATTEMPTS_EACH: u32 = 5_000;
        let directory = tempfile::tempdir().unwrap();
        let holders = AtomicU32::new(0);
        let attempt = |waits: bool| {
            let claim = match waits {
                true => Some(Claim::wait(directory.path(), "name")),
                false => Claim::take(directory.path(), "name"),
            };
            if claim.is_some() {
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
            }
            thread::yield_now();
            if claim.is_some() {
                holders.fetch_sub(1, Ordering::SeqCst);
            }
        };
        let attempts = |waits| (0..ATTEMPTS_EACH).for_each(|_| attempt(waits));
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let attempts = &attempts;
                scope.spawn(move || attempts(thread % 2 == 0));
            }
        });
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
