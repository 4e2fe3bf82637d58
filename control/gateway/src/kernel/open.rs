//! The part of a kernel path that needs privileges: it is opened at the start, and needs none later.

use core::cell::Cell;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;

use config::Gateway;
use config::runtime::{Kernel, KernelTap};
use dpdk::{ResidentMemory, TapInterface};
use mirror::netlink::GROUPS;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use wire::ethernet::MacAddress;
use worker::{KernelPort, KernelRings};

/// Where `ip netns` keeps namespaces.
const NAMESPACES: &str = "/run/netns";
/// The bytes of netlink that may wait to be read: some ten thousand routes.
const RECEIVE_BUFFER: usize = 8 << 20;

/// Why there is no kernel path.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The namespace is not there, or the process may not enter it.
    #[error("kernel.namespace: cannot enter {}: {source}", path.display())]
    Namespace {
        /// Its file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A TAP cannot be opened, or gets no address.
    #[error(
        "kernel: cannot open the TAP {name}: {source}; before the start, make it with `ip{netns} tuntap add dev {name} mode tap \
         user ACCOUNT` and `ip{netns} link set dev {name} up`, where no other interface has the name"
    )]
    Tap {
        /// Its name.
        name: String,
        /// The option of `ip` for its namespace.
        netns: String,
        /// The system's error.
        source: io::Error,
    },
    /// There is no socket for the kernel's routes.
    #[error("kernel: cannot follow the routes of the kernel: {0}")]
    Netlink(io::Error),
}

/// An open kernel path.
pub struct Opened {
    pub taps: Vec<(KernelTap, TapInterface)>,
    pub rings: KernelRings,
    pub netlink: OwnedFd,
    pub asking: Asking,
}

/// Sockets in the namespace, of IPv4 and IPv6, for datagrams that make the kernel look for a neighbour.
pub struct Asking([Option<UdpSocket>; 2]);

impl Asking {
    /// Makes the kernel look for the next hop of `address`, by a datagram to the discard port (RFC 863).
    pub fn ask(&self, address: IpAddr) {
        const DISCARD: u16 = 9;
        if let Some(socket) = &self.0[usize::from(address.is_ipv6())] {
            // It may have no route; then there is no next hop.
            let _ = socket.send_to(&[], (address, DISCARD));
        }
    }
}

/// Opens the kernel path of `gateway`, and makes the end of its worker; both are empty if it has none.
///
/// # Errors
/// [`KernelError`], with what to do.
pub fn open(gateway: &Gateway) -> Result<(Cell<Option<KernelPort>>, Option<Opened>), KernelError> {
    let Some(kernel) = &gateway.runtime.kernel else { return Ok((Cell::new(None), None)) };
    let ports = &gateway.program.settings().ports;
    let longest = ports.iter().map(|port| port.max_frame.0 as usize).max().unwrap_or_default();
    let (port, rings) = ResidentMemory::around(|| worker::kernel_rings(ports.len(), longest));
    let macs: Vec<_> = ports.iter().map(|port| port.mac).collect();
    // A thread of its own enters the namespace, and ends there.
    let opened = thread::scope(|scope| {
        let opened = scope.spawn(|| open_here(kernel, &macs, rings)).join();
        opened.unwrap_or_else(|_| Err(KernelError::Netlink(io::Error::other("the thread panicked"))))
    })?;
    Ok((Cell::new(Some(port)), Some(opened)))
}

fn open_here(kernel: &Kernel, macs: &[MacAddress], rings: KernelRings) -> Result<Opened, KernelError> {
    if let Some(namespace) = &kernel.namespace {
        let path = Path::new(NAMESPACES).join(namespace);
        let enter = |path: &Path| -> io::Result<()> {
            Ok(move_into_link_name_space(File::open(path)?.as_fd(), Some(LinkNameSpaceType::Network))?)
        };
        enter(&path).map_err(|source| KernelError::Namespace { path, source })?;
    }
    let open = |tap: &KernelTap| {
        let opened = TapInterface::open(&tap.name).and_then(|it| {
            let mac = macs[tap.port.index()];
            if it.mac()? != mac {
                it.set_mac(mac)?;
            }
            // Until the switch says that it carries data.
            it.set_carrier(false)?;
            Ok((tap.clone(), it))
        });
        let netns = || kernel.namespace.as_ref().map_or_else(String::new, |it| format!(" -n {it}"));
        opened.map_err(|source| KernelError::Tap { name: tap.name.clone(), netns: netns(), source })
    };
    let taps = kernel.taps.iter().map(open).collect::<Result<_, _>>()?;
    let netlink = follow().map_err(KernelError::Netlink)?;
    let asking = [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()];
    let asking = asking.map(|any| {
        // A kernel without IPv6 has no neighbours of it either.
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(socket)
    });
    Ok(Opened { taps, rings, netlink, asking: Asking(asking) })
}

/// A socket that gets all changes of links, neighbours and routes.
fn follow() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // The protocol of number zero is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
        // As much as anybody gets; what is lost is read again.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
    }
    bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
    Ok(socket)
}
