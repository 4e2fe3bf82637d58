//! Handling of memifs beyond DPDK's.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use config::runtime::DeviceKind;
use rustix::fs::FileType;

use crate::ownership::Own;

/// Whether a device is a memif client, which looks for its server only when it starts.
pub fn is_client(kind: &DeviceKind) -> bool {
    memif(kind)
        .is_some_and(|mut arguments| arguments.any(|each| matches!(each, "role=client" | "role=slave")))
}

/// Removes the socket of a killed memif server, which would keep the next one from starting. A socket with a
/// listener stays.
///
/// # Errors
/// It is there, is dead, and cannot be removed.
pub fn remove_dead_socket(kind: &DeviceKind) -> io::Result<()> {
    match socket(kind) {
        Some(socket) if !is_client(kind) && is_dead(socket) => fs::remove_file(socket),
        _ => Ok(()),
    }
}

/// Gives the socket of a memif server to another user, who can then remove it, and whose clients can connect.
///
/// # Errors
/// It cannot be given away.
pub fn hand_over(kind: &DeviceKind, uid: u32, gid: u32) -> io::Result<()> {
    match socket(kind) {
        Some(socket) if !is_client(kind) => match Own::open(socket, FileType::Socket) {
            // An abstract socket has no file.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            socket => socket?.give(Some(uid), Some(gid)),
        },
        _ => Ok(()),
    }
}

/// The socket file of a memif, if it has one.
fn socket(kind: &DeviceKind) -> Option<&Path> {
    memif(kind)
        .and_then(|mut arguments| arguments.find_map(|each| each.strip_prefix("socket=")))
        .map(Path::new)
}

/// The arguments of a memif; `None` for any other device.
fn memif(kind: &DeviceKind) -> Option<impl Iterator<Item = &str>> {
    match kind {
        DeviceKind::Virtual(vdev) if vdev.starts_with("net_memif") => Some(vdev.split(',')),
        _ => None,
    }
}

/// Whether there is a socket without a listener. The probe uses another socket type, so a memif server never
/// notices it: the kernel looks for a listener first.
fn is_dead(socket: &Path) -> bool {
    let is_socket = fs::symlink_metadata(socket).is_ok_and(|about| about.file_type().is_socket());
    is_socket && UnixStream::connect(socket).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn end(role: &str, socket: &Path) -> DeviceKind {
        DeviceKind::Virtual(format!("net_memif0,role={role},id=0,socket={}", socket.display()))
    }

    #[test]
    fn clients_are_told_from_servers_and_from_other_devices() {
        assert!(is_client(&end("client", Path::new("a"))));
        assert!(!is_client(&end("server", Path::new("a"))));
        assert!(!is_client(&DeviceKind::Virtual("net_null0,role=client".to_owned())));
    }

    #[test]
    fn only_a_server_removes_a_socket_and_only_one_that_is_dead() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("link.memif");
        remove_dead_socket(&end("server", &socket)).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        remove_dead_socket(&end("server", &socket)).unwrap();
        assert!(socket.exists(), "someone listens");
        drop(listener);
        remove_dead_socket(&end("client", &socket)).unwrap();
        assert!(socket.exists(), "it is the server's");
        remove_dead_socket(&end("server", &socket)).unwrap();
        assert!(!socket.exists());
        fs::write(&socket, "").unwrap();
        remove_dead_socket(&end("server", &socket)).unwrap();
        assert!(socket.exists(), "it is no socket");
    }
}
