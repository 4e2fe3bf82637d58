//! A RoCEv2 packet, as LSCC looks at it.

use crate::descriptor::{Descriptor, Network};
use wire::ip::IpProtocol;
use wire::roce::{self, QueuePair, bth};
use wire::{ipv4, ipv6, udp};

/// An IP address of either version; those of IPv4 are mapped into IPv6 (RFC 4291 section 2.5.5.2).
pub(crate) type Address = [u8; 16];

/// From which host to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hosts {
    pub source: Address,
    pub destination: Address,
}

impl Hosts {
    /// The other direction.
    pub const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source }
    }
}

/// What tells flows apart: everything that goes to one queue pair of one host, from one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub hosts: Hosts,
    /// The receiver's.
    pub qp: QueuePair,
}

/// A RoCEv2 packet that is no later fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub key: FlowKey,
    pub source_port: u16,
    /// BTH, and what there is of what follows.
    pub bth: bth::View<&'a [u8]>,
}

impl<'a> Packet<'a> {
    /// Reads `headers`, of which `descriptor` is; `None` for everything else.
    #[inline]
    pub fn parse(descriptor: &Descriptor, headers: &'a [u8]) -> Option<Self> {
        let packet = headers.get(usize::from(descriptor.payload_offset)..)?;
        let (hosts, upper) = match descriptor.network {
            Network::Ipv4 => {
                let ip = ipv4::View::parse_head(packet, usize::MAX).ok()?;
                if ip.protocol() != IpProtocol::UDP || ip.is_fragment() {
                    return None;
                }
                let hosts = Hosts {
                    source: ip.source().to_ipv6_mapped().octets(),
                    destination: ip.destination().to_ipv6_mapped().octets(),
                };
                (hosts, packet.get(ip.header_len()..)?)
            }
            Network::Ipv6 => {
                let ip = ipv6::View::parse_head(packet, usize::MAX).ok()?;
                let upper = ip.upper_layer().ok()?;
                if upper.protocol != IpProtocol::UDP || upper.fragment.is_some() {
                    return None;
                }
                let hosts = Hosts { source: ip.source().octets(), destination: ip.destination().octets() };
                (hosts, packet.get(upper.offset..)?)
            }
            Network::Other { .. } => return None,
        };
        let udp = udp::View::parse_head(upper, usize::MAX).ok()?;
        if udp.destination_port() != roce::UDP_PORT {
            return None;
        }
        let bth = bth::View::parse(upper.get(udp::HEADER_LEN..)?).ok()?;
        let key = FlowKey { hosts, qp: bth.destination_qp() };
        Some(Self { key, source_port: udp.source_port(), bth })
    }
}
