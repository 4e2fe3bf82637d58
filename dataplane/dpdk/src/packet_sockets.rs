//! Losses of packet sockets, which the driver af_packet of DPDK 22.11 does not count: frames that found the receive ring
//! of the kernel full.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::fs;
use std::io;
use std::os::fd::RawFd;

/// The packet sockets of a running device. Its driver opened them, and closes them only when the device stops.
#[derive(Debug, Default)]
pub(crate) struct PacketSockets {
    sockets: Vec<RawFd>,
    /// The kernel restarts its counters whenever they are read.
    lost: AtomicU64,
}

impl PacketSockets {
    /// The packet sockets that this process has on a network interface.
    ///
    /// # Errors
    ///
    /// `/proc/self/fd` cannot be read.
    pub(crate) fn on_interface(index: u32) -> io::Result<Self> {
        let mut sockets = Vec::new();
        for entry in fs::read_dir("/proc/self/fd")? {
            let name = entry?.file_name();
            let descriptor = name.to_str().and_then(|name| name.parse::<RawFd>().ok());
            sockets.extend(descriptor.filter(|descriptor| interface_of(*descriptor) == Some(index)));
        }
        Ok(Self { sockets, lost: AtomicU64::new(0) })
    }

    /// Frames that found the receive ring full, since the sockets were opened.
    ///
    /// A driver that reads the same counters takes what has been lost since the last read of either, so its count and this
    /// one add up.
    ///
    /// # Errors
    ///
    /// A socket has no such counter.
    pub(crate) fn lost(&self) -> io::Result<u64> {
        for socket in &self.sockets {
            let lost = lost_since_last_read(*socket)?;
            self.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
        }
        Ok(self.lost.load(Ordering::Relaxed))
    }
}

/// The index of the interface that a packet socket is bound to; `None` if it is none.
fn interface_of(descriptor: RawFd) -> Option<u32> {
    // SAFETY: all bytes zero are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    let mut length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the call writes up to `length` bytes into the address. Any descriptor is allowed: one that is closed, or no
    // socket, is an error.
    let status = unsafe { libc::getsockname(descriptor, (&raw mut address).cast(), &mut length) };
    let is_packet = status == 0 && c_int::from(address.sll_family) == libc::AF_PACKET;
    is_packet.then(|| u32::try_from(address.sll_ifindex).ok()).flatten()
}

fn lost_since_last_read(socket: RawFd) -> io::Result<u32> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the call writes up to `length` bytes into the struct, and resets counters that no one else relies on.
    let status = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &mut length,
        )
    };
    if status == 0 { Ok(statistics.tp_drops) } else { Err(io::Error::last_os_error()) }
}
