//! What the switch knows of a frame after it has read its headers once.

use units::Bytes;
use wire::ethernet::EtherType;
use wire::{ipv4, ipv6, vlan};

/// The network layer of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Ipv4,
    Ipv6,
    /// Neither, or an IP header that does not hold: `malformed` tells which.
    Other {
        malformed: bool,
    },
}

/// A frame's headers, read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    /// Behind all VLAN tags.
    pub ether_type: EtherType,
    /// Where the payload of `ether_type` starts.
    pub payload_offset: u8,
    pub network: Network,
    /// PCP of the outer tag.
    pub pcp: Option<u8>,
    /// VLAN of the outer tag, or 0.
    pub vlan: u16,
    /// DSCP and ECN, where there is an IP header.
    pub traffic_class: Option<u8>,
}

impl Descriptor {
    /// Reads `headers`, the first bytes of a frame of `length`; `None` where there is not even
    /// an Ethernet header.
    #[inline(always)]
    pub fn parse(headers: &[u8], length: Bytes) -> Option<Self> {
        let stack = match vlan::Stack::parse(headers) {
            Ok(stack) => stack,
            Err(_) if headers.len() >= wire::ethernet::HEADER_LEN => return Some(Self::opaque()),
            Err(_) => return None,
        };
        let rest = headers.get(stack.payload_offset..).unwrap_or_default();
        let rest_length = (length.0 as usize).saturating_sub(stack.payload_offset);
        let (network, traffic_class) = match stack.ether_type {
            EtherType::IPV4 => match ipv4::View::parse_head(rest, rest_length) {
                Ok(ip) => (Network::Ipv4, Some(ip.dscp().number() << 2 | ip.ecn().bits())),
                Err(_) => (Network::Other { malformed: true }, None),
            },
            EtherType::IPV6 => match ipv6::View::parse_head(rest, rest_length) {
                Ok(ip) => (Network::Ipv6, Some(ip.traffic_class())),
                Err(_) => (Network::Other { malformed: true }, None),
            },
            _ => (Network::Other { malformed: false }, None),
        };
        Some(Self {
            ether_type: stack.ether_type,
            payload_offset: stack.payload_offset as u8,
            network,
            pcp: stack.outer.map(|tag| tag.priority.number()),
            vlan: stack.outer.map_or(0, |tag| tag.id.number()),
            traffic_class,
        })
    }

    /// A frame that ends within its VLAN tags: forwarded by address, at the default priority.
    fn opaque() -> Self {
        Self {
            ether_type: EtherType::VLAN,
            payload_offset: wire::ethernet::HEADER_LEN as u8,
            network: Network::Other { malformed: true },
            pcp: None,
            vlan: 0,
            traffic_class: None,
        }
    }

    /// DSCP, where there is an IP header.
    #[inline]
    pub fn dscp(&self) -> Option<u8> {
        self.traffic_class.map(|class| class >> 2)
    }

    /// Where the IP header starts if it says that the transport understands ECN; zero otherwise.
    #[inline]
    pub fn markable_ip_offset(&self) -> u8 {
        match self.traffic_class {
            Some(class) if class & 0b11 != 0 => self.payload_offset,
            _ => 0,
        }
    }
}
