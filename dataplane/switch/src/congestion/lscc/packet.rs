//! A RoCEv2 packet, as LSCC looks at it.

use crate::descriptor::{Descriptor, Network};
use core::net::{Ipv4Addr, Ipv6Addr};
use wire::ip::IpProtocol;
use wire::roce::{self, QueuePair, bth};
use wire::{ethernet, ipv4, ipv6, udp};

/// An IP address of either version; those of IPv4 are mapped into IPv6 (RFC 4291 section 2.5.5.2). It is
/// held in the words in which it is compared and hashed: bytes that were written apart and are read together
/// cost the hot path more than everything else that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    high: u64,
    low: u64,
}

impl Address {
    const MAPPED: u64 = 0xffff << 32;

    /// The address as a number.
    #[inline]
    pub const fn number(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }
}

#[cfg(test)]
impl Address {
    /// An address for tests.
    pub const fn numbered(number: u64) -> Self {
        Self { high: number, low: number }
    }
}

impl From<Ipv4Addr> for Address {
    #[inline]
    fn from(address: Ipv4Addr) -> Self {
        Self { high: 0, low: Self::MAPPED | u64::from(address.to_bits()) }
    }
}

impl From<Ipv6Addr> for Address {
    #[inline]
    fn from(address: Ipv6Addr) -> Self {
        let number = address.to_bits();
        Self { high: (number >> 64) as u64, low: number as u64 }
    }
}

impl From<Address> for Ipv6Addr {
    fn from(address: Address) -> Self {
        Self::from_bits(address.number())
    }
}

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

/// Which way a packet crosses the port of the long link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
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
    #[inline(always)]
    pub fn parse(descriptor: &Descriptor, headers: &'a [u8]) -> Option<Self> {
        let packet = headers.get(usize::from(descriptor.payload_offset)..)?;
        if descriptor.network == Network::Ipv4
            && let Some(head) = roce::Head::parse(packet)
        {
            let hosts = Hosts { source: head.source().into(), destination: head.destination().into() };
            return Self::new(hosts, head.source_port(), head.into_bth());
        }
        Self::parse_layers(descriptor, packet)
    }

    /// The key of an untagged packet over IPv4 without options: a first look at nearly every frame.
    #[inline(always)]
    pub fn usual_key(headers: &[u8]) -> Option<FlowKey> {
        let head = roce::Head::parse(headers.get(ethernet::HEADER_LEN..)?)?;
        let hosts = Hosts { source: head.source().into(), destination: head.destination().into() };
        Some(FlowKey { hosts, qp: bth::View::parse(head.into_bth()).ok()?.destination_qp() })
    }

    #[inline(never)]
    fn parse_layers(descriptor: &Descriptor, packet: &'a [u8]) -> Option<Self> {
        let (hosts, upper) = match descriptor.network {
            Network::Ipv4 => {
                let ip = ipv4::View::parse_head(packet, usize::MAX).ok()?;
                if ip.protocol() != IpProtocol::UDP || ip.is_fragment() {
                    return None;
                }
                let hosts = Hosts { source: ip.source().into(), destination: ip.destination().into() };
                (hosts, packet.get(ip.header_len()..)?)
            }
            Network::Ipv6 => {
                let ip = ipv6::View::parse_head(packet, usize::MAX).ok()?;
                let upper = ip.upper_layer().ok()?;
                if upper.protocol != IpProtocol::UDP || upper.fragment.is_some() {
                    return None;
                }
                let hosts = Hosts { source: ip.source().into(), destination: ip.destination().into() };
                (hosts, packet.get(upper.offset..)?)
            }
            Network::Other { .. } => return None,
        };
        let udp = udp::View::parse_head(upper, usize::MAX).ok()?;
        if udp.destination_port() != roce::UDP_PORT {
            return None;
        }
        Self::new(hosts, udp.source_port(), upper.get(udp::HEADER_LEN..)?)
    }

    #[inline(always)]
    fn new(hosts: Hosts, source_port: u16, bth: &'a [u8]) -> Option<Self> {
        let bth = bth::View::parse(bth).ok()?;
        Some(Self { key: FlowKey { hosts, qp: bth.destination_qp() }, source_port, bth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Bytes;

    proptest! {
        #[test]
        fn the_short_way_reads_what_the_long_way_reads(
            changes in proptest::collection::vec((0_usize..60, any::<u8>()), 0..6),
            length in 30_usize..80,
        ) {
            // A WRITE over IPv4 that both can read, and what becomes of it.
            let mut bytes = [0_u8; 80];
            bytes[12..14].copy_from_slice(&[8, 0]);
            bytes[14..34].copy_from_slice(&[0x45, 2, 0, 66, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            bytes[34..42].copy_from_slice(&[0xc1, 0xa2, 0x12, 0xb7, 0, 46, 0, 0]);
            bytes[42] = 0x0a;
            for (at, value) in changes {
                bytes[at] = value;
            }
            let headers = &bytes[..length];
            if let Some(descriptor) = Descriptor::parse(headers, Bytes(length as u64)) {
                let packet = &headers[usize::from(descriptor.payload_offset)..];
                let short = Packet::parse(&descriptor, headers);
                let long = Packet::parse_layers(&descriptor, packet);
                let fields = |it: Option<Packet>| it.map(|it| (it.key, it.source_port, it.bth.header()));
                prop_assert_eq!(fields(short), fields(long));
            }
        }
    }
}
