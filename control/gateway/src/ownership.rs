//! Checks of file ownership in directories to which others may write.
//!
//! The directory of a socket may belong to a less privileged account. So changes apply to the file that was
//! checked, never to a later replacement.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid, chownat, fstat, open};
use rustix::process::geteuid;

/// A file or directory of this process's user.
#[derive(Debug)]
pub struct Own(OwnedFd);

impl Own {
    /// Opens `path` if it is of this `kind` and belongs to the user of this process. Follows no links.
    ///
    /// # Errors
    /// It is something else, someone else's, or not there.
    pub fn open(path: &Path, kind: FileType) -> io::Result<Self> {
        let file = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let about = fstat(&file)?;
        if FileType::from_raw_mode(about.st_mode) != kind || about.st_uid != geteuid().as_raw() {
            let what = format!("{} is not the file that the gateway created", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(Self(file))
    }

    /// Sets its permissions.
    ///
    /// # Errors
    /// The error of the system.
    pub fn permit(&self, mode: u32) -> io::Result<()> {
        let file = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        fs::set_permissions(file, Permissions::from_mode(mode))
    }

    /// Changes its user, its group, or both.
    ///
    /// # Errors
    /// Only root may give it to another user, and others only to groups that they are in.
    pub fn give(&self, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        Ok(chownat(&self.0, "", uid, gid, AtFlags::EMPTY_PATH)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_link_in_place_of_a_socket_and_a_file_of_another_kind_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link, socket) =
            (directory.path().join("file"), directory.path().join("link"), directory.path().join("socket"));
        fs::write(&file, "").unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        for path in [&file, &link] {
            let error = Own::open(path, FileType::Socket).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{}", path.display());
        }
        let own = Own::open(&socket, FileType::Socket).unwrap();
        own.permit(0o640).unwrap();
        own.give(None, Some(rustix::process::getegid().as_raw())).unwrap();
        assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o7777, 0o640);
    }
}
