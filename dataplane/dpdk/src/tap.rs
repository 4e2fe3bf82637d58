//! TAP interfaces of the kernel: frames that it sends through one come out of the descriptor, and those written there come in.

use core::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use wire::ethernet::MacAddress;

/// An open TAP. It needs no capability from then on.
#[derive(Debug)]
pub struct TapInterface {
    descriptor: OwnedFd,
}

impl TapInterface {
    /// The longest name of an interface.
    pub const NAME_MAX: usize = libc::IFNAMSIZ - 1;

    /// Opens the TAP called `name` in the network namespace of this thread, with whole frames and nothing before them, and never
    /// waiting. Makes one where there is none, which goes when it is closed.
    ///
    /// # Errors
    /// The name is too long. There is no such TAP, and the thread may not make one, or it belongs to another user. It is in use,
    /// or the interface is no TAP.
    pub fn open(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.len() > Self::NAME_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let tap = Self { descriptor: open("/dev/net/tun", flags, Mode::empty())? };
        let mut request = request();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        tap.control(libc::TUNSETIFF, &mut request)?;
        Ok(tap)
    }

    /// Its MAC address.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn mac(&self) -> io::Result<MacAddress> {
        let mut request = request();
        self.control(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the kernel has written this address.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        let mut octets = [0; 6];
        octets.iter_mut().zip(address.sa_data).for_each(|(to, from)| *to = from.cast_unsigned());
        Ok(MacAddress(octets))
    }

    /// Sets its MAC address.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_mac(&self, mac: MacAddress) -> io::Result<()> {
        let mut request = request();
        let mut address = libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: [0; 14] };
        address.sa_data.iter_mut().zip(mac.0).for_each(|(to, from)| *to = from.cast_signed());
        request.ifr_ifru.ifru_hwaddr = address;
        self.control(libc::SIOCSIFHWADDR, &mut request)
    }

    /// Sets whether it has a carrier.
    ///
    /// # Errors
    /// The kernel is older than 5.0.
    pub fn set_carrier(&self, up: bool) -> io::Result<()> {
        /// `_IOW('T', 226, int)` of `linux/if_tun.h`.
        const TUNSETCARRIER: libc::Ioctl = 0x4004_54e2;
        let carrier = c_uint::from(up);
        // SAFETY: the descriptor is open, and the request reads an int.
        let status = unsafe { libc::ioctl(self.descriptor.as_raw_fd(), TUNSETCARRIER, &raw const carrier) };
        outcome(status)
    }

    /// Makes a request about the interface.
    fn control(&self, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the descriptor is open, and each request of this file reads and writes an `ifreq`.
        outcome(unsafe { libc::ioctl(self.descriptor.as_raw_fd(), what, &raw mut *request) })
    }
}

impl AsFd for TapInterface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn request() -> libc::ifreq {
    // SAFETY: all bytes zero are a valid request.
    unsafe { core::mem::zeroed() }
}

fn outcome(status: c_int) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_interface_has_is_refused() {
        for name in ["", "sixteen-letters-"] {
            assert_eq!(TapInterface::open(name).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
