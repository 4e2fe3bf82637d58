//! The file of a Unix socket: made with its final access rights, handed over to another user, and removed at the end.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::ownership::Own;

/// Why the file of a socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketFileError {
    /// Another gateway uses it.
    #[error("{}: another gateway already listens on this socket", .0.display())]
    Taken(PathBuf),
    /// The existing file is not a socket.
    #[error("{}: a file that is not a socket is in the way; remove it or choose another path", .0.display())]
    NoSocket(PathBuf),
    /// The system refused it.
    #[error("{}: cannot create the socket: {source}", path.display())]
    Make {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The access rights of a socket's file.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Its permissions.
    pub mode: u32,
    /// Its group; `None` is that of the process.
    pub group: Option<u32>,
}

/// The file of a listening socket.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    name: OsString,
    /// Its directory, which the process may not find by name any more once its user has changed.
    directory: OwnedFd,
    /// Whether the directory was created for it.
    is_its_own: bool,
    access: Access,
    /// Distinguishes the file from a replacement by another gateway: its device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    /// Makes the socket at `path` with the access rights `access`, by `bind`, which listens at the path that it gets.
    /// Creates its directory if there is none. Replaces the file of a killed gateway.
    ///
    /// # Errors
    /// [`SocketFileError`] where another gateway listens there, there is a file that is no socket, or the system
    /// refuses.
    pub fn make<L>(
        path: &Path,
        access: Access,
        bind: impl FnOnce(&Path) -> io::Result<L>,
    ) -> Result<(L, Self), SocketFileError> {
        if is_alive(path) {
            return Err(SocketFileError::Taken(path.into()));
        }
        if fs::symlink_metadata(path).is_ok_and(|file| !file.file_type().is_socket()) {
            return Err(SocketFileError::NoSocket(path.into()));
        }
        let failed = |source| SocketFileError::Make { path: path.into(), source };
        let is_its_own = make_directory(path).map_err(failed)?;
        let listener = place(path, access, bind).map_err(failed)?;
        Self::at(path, access, is_its_own).map(|file| (listener, file)).map_err(failed)
    }

    /// The file that was just made at `path`.
    fn at(path: &Path, access: Access, is_its_own: bool) -> io::Result<Self> {
        let parent = path.parent().unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, parent, flags, Mode::empty())?;
        let name = path.file_name().unwrap_or_default().to_owned();
        let identity = identity_of(&directory, &name)?;
        Ok(Self { path: path.into(), name, directory, is_its_own, access, identity })
    }

    /// The path of the file with the name `name` beside it, which this process can use whatever its user.
    pub fn beside(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.directory.as_raw_fd()).into()
    }

    /// Gives it to the user that the process switches to, who can then remove it. A configured group stays.
    ///
    /// # Errors
    /// The error of the system.
    pub fn hand_over(&self, uid: u32, gid: u32) -> io::Result<()> {
        if let Some(directory) = self.path.parent().filter(|_| self.is_its_own) {
            Own::open(directory, FileType::Directory)?.give(Some(uid), Some(gid))?;
        }
        let gid = self.access.group.unwrap_or(gid);
        Own::open(&self.path, FileType::Socket)?.give(Some(uid), Some(gid))
    }

    /// Removes it, if it still exists.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove(&self) -> io::Result<()> {
        match identity_of(&self.directory, &self.name) {
            Ok(identity) if identity == self.identity => {
                Ok(unlinkat(&self.directory, &self.name, AtFlags::empty())?)
            }
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The same, with a warning where the system refuses.
    pub fn remove_or_warn(&self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{}: cannot remove the socket: {error}", self.path.display());
        }
    }
}

/// Whether something listens at `path`, on a socket of whatever type.
fn is_alive(path: &Path) -> bool {
    match UnixStream::connect(path) {
        Ok(_) => true,
        // The kernel looks for a listener before it compares types.
        Err(error) => error.raw_os_error() == Some(Errno::PROTOTYPE.raw_os_error()),
    }
}

/// The device and inode of the file with this name.
fn identity_of(directory: &OwnedFd, name: &OsString) -> rustix::io::Result<(u64, u64)> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|file| (file.st_dev, file.st_ino))
}

/// Creates the directory of a socket if it does not exist. Returns whether it was created.
fn make_directory(path: &Path) -> io::Result<bool> {
    match path.parent() {
        Some(directory) if !directory.exists() => fs::create_dir_all(directory).map(|()| true),
        _ => Ok(false),
    }
}

/// Binds under a temporary name and renames, so that the socket appears at `path` with its final permissions.
fn place<L>(path: &Path, access: Access, bind: impl FnOnce(&Path) -> io::Result<L>) -> io::Result<L> {
    let unfinished = path.with_extension(format!("{}.new", std::process::id()));
    let listener = bind(&unfinished)?;
    let placed = Own::open(&unfinished, FileType::Socket).and_then(|file| {
        file.permit(access.mode)?;
        file.give(None, access.group)
    });
    let placed = placed.and_then(|()| fs::rename(&unfinished, path));
    if placed.is_err() {
        // The caller gets the original error; the file is useless.
        let _ = fs::remove_file(&unfinished);
    }
    placed.map(|()| listener)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    const PRIVATE: Access = Access { mode: 0o600, group: None };

    fn make(path: &Path) -> Result<(UnixListener, SocketFile), SocketFileError> {
        SocketFile::make(path, PRIVATE, |path| UnixListener::bind(path))
    }

    #[test]
    fn a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        drop(UnixListener::bind(&path).unwrap());
        let (_listener, _file) = make(&path).unwrap();
        assert!(matches!(make(&path), Err(SocketFileError::Taken(_))));
    }

    #[test]
    fn a_file_that_no_gateway_left_behind_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gateway.toml");
        fs::write(&path, "[gateway]").unwrap();
        assert!(matches!(make(&path), Err(SocketFileError::NoSocket(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[gateway]");
    }

    #[test]
    fn a_socket_that_another_gateway_put_in_its_place_outlives_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.sock");
        let (listener, file) = make(&path).unwrap();
        drop(listener);
        let (_other, _its_file) = make(&path).unwrap();
        file.remove().unwrap();
        assert!(path.exists());
    }
}
