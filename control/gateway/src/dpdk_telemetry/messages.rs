//! Messages over Unix sockets of type SOCK_SEQPACKET: each is sent and received as a whole.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_send_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    listen, recv, send, socket_with,
};

/// The connections that wait to be accepted, before others have to wait for their turn.
const BACKLOG: i32 = 16;

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// For the next message of the peer.
    pub receive: Duration,
    /// For the peer to make room for a message.
    pub send: Duration,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Messages<'a>(&'a OwnedFd);

/// A socket that listens at `path`.
pub fn listen_at(path: &Path) -> io::Result<OwnedFd> {
    let socket = new()?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// The next connection to `listener`.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(accept_with(listener, SocketFlags::CLOEXEC)?)
}

/// A connection to `path`.
pub fn connect_to(path: &Path, waits: Waits) -> io::Result<OwnedFd> {
    let socket = new()?;
    // Connecting has the time limit of sending.
    Messages::new(&socket, waits)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

fn new() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

impl<'a> Messages<'a> {
    /// Messages over `socket` with these time limits.
    pub fn new(socket: &'a OwnedFd, waits: Waits) -> io::Result<Self> {
        set_socket_timeout(socket, Timeout::Recv, Some(waits.receive))?;
        set_socket_timeout(socket, Timeout::Send, Some(waits.send))?;
        Ok(Self(socket))
    }

    /// Makes room for a message of this length, whatever the system's default.
    pub fn make_room(&self, bytes: usize) -> io::Result<()> {
        Ok(set_socket_send_buffer_size(self.0, bytes)?)
    }

    /// Sends a message.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        Ok(send(self.0, message, SendFlags::NOSIGNAL).map(drop)?)
    }

    /// The next message; `None` if the peer has hung up.
    ///
    /// # Errors
    /// [`io::ErrorKind::FileTooLarge`] where it is longer than `most` bytes, and what the system says.
    pub fn receive(&self, most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut message = vec![0; most];
        let (_, length) = recv(self.0, &mut message[..], RecvFlags::TRUNC)?;
        if length > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        message.truncate(length);
        Ok(Some(message).filter(|message| !message.is_empty()))
    }
}
