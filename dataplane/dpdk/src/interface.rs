//! Interfaces of the kernel below devices: their MTU, and what they lose of frames that a driver has counted as sent.

use core::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use units::Bytes;

/// The counters of all interfaces in the network namespace of this process, whatever is mounted.
const COUNTERS: &str = "/proc/self/net/dev";

/// A network interface of the kernel, by its name in the network namespace of this process.
#[derive(Debug)]
pub struct Interface {
    name: String,
    /// A socket to ask with.
    socket: OwnedFd,
}

impl Interface {
    /// The interface of this name. No one is asked yet whether there is one.
    ///
    /// # Errors
    ///
    /// The system has no socket to ask with.
    pub fn named(name: &str) -> io::Result<Self> {
        // SAFETY: the call takes numbers.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and no one else has it.
        Ok(Self { name: name.to_owned(), socket: unsafe { OwnedFd::from_raw_fd(socket) } })
    }

    /// The interface of this number, if there is one.
    pub(crate) fn numbered(index: u32) -> Option<Self> {
        let mut name = [0; libc::IF_NAMESIZE];
        // SAFETY: the call writes a string of at most this length.
        if unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null() {
            return None;
        }
        let name: Vec<u8> = name.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect();
        Self::named(&String::from_utf8(name).ok()?).ok()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether there is such an interface.
    pub fn exists(&self) -> bool {
        !self.mtu().is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
    }

    /// The longest packet that the kernel sends through it, without Ethernet header. A frame with a VLAN tag may be longer by
    /// the tag.
    ///
    /// # Errors
    ///
    /// There is no such interface.
    pub fn mtu(&self) -> io::Result<Bytes> {
        let mut request = self.request()?;
        self.control(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the kernel has written this number.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        Ok(Bytes(u64::try_from(mtu).unwrap_or(0)))
    }

    /// Sets its MTU.
    ///
    /// # Errors
    ///
    /// There is no such interface, it cannot have this MTU, or this process lacks CAP_NET_ADMIN.
    pub fn set_mtu(&self, mtu: Bytes) -> io::Result<()> {
        let mut request = self.request()?;
        request.ifr_ifru.ifru_mtu = c_int::try_from(mtu.0).unwrap_or(c_int::MAX);
        self.control(libc::SIOCSIFMTU, &mut request)
    }

    /// Frames that it was given and did not send, since it exists; zero if the kernel does not say.
    pub(crate) fn unsent(&self) -> u64 {
        fs::read_to_string(COUNTERS).ok().and_then(|text| unsent_in(&text, &self.name)).unwrap_or(0)
    }

    /// A request about it.
    fn request(&self) -> io::Result<libc::ifreq> {
        // SAFETY: all bytes zero are a valid request.
        let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
        // The last byte stays zero.
        if self.name.len() >= request.ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        Ok(request)
    }

    fn control(&self, operation: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: both operations read and write a request of this type.
        let status = unsafe { libc::ioctl(self.socket.as_raw_fd(), operation, request) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// What the interface `name` did not send, in a text such as [`COUNTERS`]: errors and drops, the third and the fourth of the
/// eight counters behind those of received frames.
fn unsent_in(text: &str, name: &str) -> Option<u64> {
    let (_, counters) =
        text.lines().filter_map(|line| line.rsplit_once(':')).find(|it| it.0.trim() == name)?;
    let mut counters = counters.split_whitespace().skip(8 + 2).map(str::parse::<u64>);
    Some(counters.next()?.ok()?.saturating_add(counters.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interface_does_not_send_is_the_sum_of_its_errors_and_drops() {
        let text = "Inter-|   Receive    |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|\
                    bytes packets errs drop fifo colls carrier compressed\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                    eth0.100: 1 2 3 4 5 6 7 8 9 10 20 30 13 14 15 16\n";
        assert_eq!(["lo", "eth0.100", "eth0"].map(|name| unsent_in(text, name)), [Some(23), Some(50), None]);
        assert_eq!(unsent_in("lo: 1 2\n", "lo"), None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_told_from_one_that_is() {
        let named = |name| Interface::named(name).unwrap();
        assert!(named("lo").exists() && named("lo").mtu().unwrap() > Bytes(0));
        for name in ["no-such-one", "a-name-that-no-interface-can-have", ""] {
            assert!(!named(name).exists(), "{name}");
            assert!(named(name).set_mtu(Bytes(1_500)).is_err(), "{name}");
        }
    }
}
