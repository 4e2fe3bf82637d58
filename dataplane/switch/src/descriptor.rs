//! The headers of a frame, read once.
//!
//! Routes, marks and flows read at the offsets of the [`Descriptor`], and parse nothing again. It stays valid as
//! long as the headers keep their lengths. Routing keeps them: it rewrites MAC addresses, TTL and checksum. Marks
//! change only the ECN bits. An answer written over its request (ARP, neighbour solicitation, echo) has the same
//! length.
//!
//! [`Flows::see`](crate::flows::Flows::see) looks for a BTH, once for all schemes of a port, so that no other frame
//! pays for it.

use core::net::IpAddr;
use units::{Bytes, Priority};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn};
use wire::{grants, ipv4, ipv6, lldp, ptp, repair, vlan};

/// The network layer of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Ipv4,
    Ipv6,
    /// Neither, or an invalid IP header, as `malformed` tells.
    Other {
        malformed: bool,
    },
}

/// What hides the headers of a frame behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// MACsec.
    Macsec,
    /// A VLAN tag that is not read: of type 0x9100, or the third one, or one that is cut off.
    Tag,
}

/// A frame's headers, read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    /// The type after all VLAN tags.
    pub ether_type: EtherType,
    /// The offset of the payload of `ether_type`.
    pub payload_offset: u8,
    pub network: Network,
    /// PCP of the outer tag.
    pub pcp: Option<Priority>,
    /// VLAN of the outer tag, or 0.
    pub vlan: u16,
    /// DSCP and ECN; zero without an IP header.
    traffic_class: u8,
}

impl Descriptor {
    /// Reads `headers`, the first bytes of a frame of `length`; `None` if it is shorter than an Ethernet header.
    #[inline(always)]
    pub fn parse(headers: &[u8], length: Bytes) -> Option<Self> {
        let ethernet = ethernet::View::parse(headers).ok()?;
        // Most frames are untagged IPv4; the walk over tags is not inlined into the loop.
        match ethernet.ether_type() {
            EtherType::IPV4 => Some(Self::network(headers, length, ethernet::HEADER_LEN, EtherType::IPV4)),
            _ => Some(Self::walk(headers, length)),
        }
    }

    /// As [`Descriptor::parse`], for untagged packets over IPv4 alone, which are nearly all: less of it depends on the frame.
    #[inline(always)]
    pub fn parse_usual(headers: &[u8], length: Bytes) -> Option<Self> {
        let ether_type = ethernet::View::parse(headers).ok()?.ether_type();
        let descriptor = Self::network(headers, length, ethernet::HEADER_LEN, EtherType::IPV4);
        let is_usual = ether_type == EtherType::IPV4 && descriptor.network == Network::Ipv4;
        is_usual.then_some(Self { network: Network::Ipv4, ..descriptor })
    }

    #[inline(never)]
    fn walk(headers: &[u8], length: Bytes) -> Self {
        let Ok(stack) = vlan::Stack::parse(headers) else { return Self::opaque() };
        let descriptor = Self::network(headers, length, stack.payload_offset, stack.ether_type);
        let (pcp, vlan) = stack.outer.map_or((None, 0), |tag| (Some(tag.priority), tag.id.number()));
        Self { pcp, vlan, ..descriptor }
    }

    /// Reads the network layer after the tags.
    #[inline(always)]
    fn network(headers: &[u8], length: Bytes, offset: usize, ether_type: EtherType) -> Self {
        let rest = headers.get(offset..).unwrap_or_default();
        let rest_length = (length.0 as usize).saturating_sub(offset);
        let (network, traffic_class) = match ether_type {
            EtherType::IPV4 => match ipv4::View::parse_head(rest, rest_length) {
                Ok(ip) => (Network::Ipv4, ip.traffic_class()),
                Err(_) => (Network::Other { malformed: true }, 0),
            },
            EtherType::IPV6 => match ipv6::View::parse_head(rest, rest_length) {
                Ok(ip) => (Network::Ipv6, ip.traffic_class()),
                Err(_) => (Network::Other { malformed: true }, 0),
            },
            _ => (Network::Other { malformed: false }, 0),
        };
        Self { ether_type, payload_offset: offset as u8, network, pcp: None, vlan: 0, traffic_class }
    }

    /// A frame that ends within its VLAN tags: forwarded by address, at the default priority.
    fn opaque() -> Self {
        let descriptor = Self::network(&[], Bytes::ZERO, ethernet::HEADER_LEN, EtherType::VLAN);
        Self { network: Network::Other { malformed: true }, ..descriptor }
    }

    /// DSCP, if there is an IP header.
    #[inline]
    pub fn dscp(&self) -> Option<Dscp> {
        match self.network {
            Network::Ipv4 | Network::Ipv6 => Some(Dscp::from_low_bits(self.traffic_class >> 2)),
            Network::Other { .. } => None,
        }
    }

    /// The ECN bits; not capable without an IP header.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_low_bits(self.traffic_class)
    }

    /// The destination of the IP packet, if it has one.
    #[inline]
    pub fn destination(&self, headers: &[u8]) -> Option<IpAddr> {
        let packet = headers.get(usize::from(self.payload_offset)..)?;
        match self.network {
            Network::Ipv4 => Some(IpAddr::V4(ipv4::View::known(packet).destination())),
            Network::Ipv6 => Some(IpAddr::V6(ipv6::View::known(packet).destination())),
            Network::Other { .. } => None,
        }
    }

    /// A word that depends on which bits the addresses of the IP packet differ in, whatever their order: those bits, and of IPv6
    /// both halves of them folded (exclusive or). `None` without one.
    pub fn address_difference(&self, headers: &[u8]) -> Option<u64> {
        let packet = headers.get(usize::from(self.payload_offset)..)?;
        match self.network {
            Network::Ipv4 => {
                let ip = ipv4::View::known(packet);
                Some(u64::from(ip.source().to_bits() ^ ip.destination().to_bits()))
            }
            Network::Ipv6 => {
                let ip = ipv6::View::known(packet);
                let bits = ip.source().to_bits() ^ ip.destination().to_bits();
                Some((bits >> u64::BITS) as u64 ^ bits as u64)
            }
            Network::Other { .. } => None,
        }
    }

    /// Whether the frame, with these `headers`, is between the two ends of its link, and never forwarded: MAC control,
    /// grants, gPTP, LLDP where the port has a link agent, or a shim where the switch repairs.
    #[inline(always)]
    pub fn is_control(&self, headers: &[u8]) -> bool {
        match self.ether_type {
            EtherType::MAC_CONTROL => true,
            // Behind a VLAN tag it is still never forwarded.
            grants::ETHER_TYPE => is_for(grants::DESTINATION, headers),
            EtherType::PTP => is_for(ptp::DESTINATION, headers),
            EtherType::LLDP => is_for(lldp::DESTINATION, headers),
            repair::ETHER_TYPE => true,
            _ => false,
        }
    }

    /// What hides the rest of the headers, if anything does.
    #[inline(always)]
    pub fn hidden_behind(&self) -> Option<Hidden> {
        // One test for the frames that are most.
        let Network::Other { .. } = self.network else { return None };
        match self.ether_type {
            EtherType::MACSEC => Some(Hidden::Macsec),
            // After a tag of these types comes no further header that is read.
            EtherType::OLD_SERVICE_VLAN | EtherType::VLAN | EtherType::SERVICE_VLAN => Some(Hidden::Tag),
            _ => None,
        }
    }

    /// The offset of the IP header if its transport understands ECN; zero otherwise.
    #[inline]
    pub fn markable_ip_offset(&self) -> u8 {
        if self.ecn().is_capable() { self.payload_offset } else { 0 }
    }
}

#[inline]
fn is_for(address: MacAddress, headers: &[u8]) -> bool {
    ethernet::View::parse(headers).is_ok_and(|it| it.destination() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers with these tags before a packet of `ether_type`, whose traffic class is DSCP 26 and ECT(0).
    fn headers(tags: &[u16], ether_type: u16) -> Vec<u8> {
        let tags = tags.iter().flat_map(|tci| [[0x81, 0], tci.to_be_bytes()]).flatten();
        let packet: &[u8] = if ether_type == 0x86dd {
            &[0x66, 0xa0, 0, 0, 0, 0, 17, 64]
        } else {
            &[0x45, 0x6a, 0, 20, 0, 0, 0, 0, 64, 17]
        };
        [0; 12]
            .into_iter()
            .chain(tags)
            .chain(ether_type.to_be_bytes())
            .chain(packet.iter().copied())
            .chain([0; 40])
            .collect()
    }

    #[test]
    fn a_descriptor_has_the_outer_tag_and_the_traffic_class_of_the_packet_behind_all_tags() {
        // PCP 5, VLAN 7; PCP 2, VLAN 9.
        let (outer, inner) = (0xa007, 0x4009);
        let (v4, v6, other) = (0x0800, 0x86dd, 0x88b5);
        let unknown = Network::Other { malformed: false };
        for (tags, ether_type, network) in [
            (&[][..], v4, Network::Ipv4),
            (&[], v6, Network::Ipv6),
            (&[], other, unknown),
            (&[outer], v4, Network::Ipv4),
            (&[outer], v6, Network::Ipv6),
            (&[outer, inner], v4, Network::Ipv4),
            (&[outer, inner], other, unknown),
        ] {
            let descriptor = Descriptor::parse(&headers(tags, ether_type), Bytes(100)).unwrap();
            let offset = 14 + 4 * tags.len() as u8;
            assert_eq!((descriptor.ether_type, descriptor.payload_offset), (EtherType(ether_type), offset));
            assert_eq!(descriptor.network, network);
            let tag = (!tags.is_empty()).then(|| Priority::from_low_bits(5));
            assert_eq!((descriptor.pcp, descriptor.vlan), (tag, if tags.is_empty() { 0 } else { 7 }));
            let is_ip = network != unknown;
            assert_eq!(descriptor.dscp(), is_ip.then(|| Dscp::from_low_bits(26)));
            assert_eq!(descriptor.ecn(), if is_ip { Ecn::Ect0 } else { Ecn::NotEct });
            assert_eq!(descriptor.markable_ip_offset(), if is_ip { offset } else { 0 });
        }
    }

    #[test]
    fn macsec_and_tags_that_are_not_read_hide_what_is_behind_them() {
        let hidden = |tags: &[u16], ether_type| {
            Descriptor::parse(&headers(tags, ether_type), Bytes(100)).unwrap().hidden_behind()
        };
        for tags in [&[][..], &[7]] {
            assert_eq!(hidden(tags, 0x88e5), Some(Hidden::Macsec));
            assert_eq!(hidden(tags, 0x9100), Some(Hidden::Tag));
            assert_eq!([0x0800, 0x86dd, 0x0806, 0x88b5].map(|it| hidden(tags, it)), [None; 4]);
        }
        assert_eq!([hidden(&[7; 2], 0x0800), hidden(&[7; 3], 0x0800)], [None, Some(Hidden::Tag)]);
        let cut = Descriptor::parse(&headers(&[7], 0x0800)[..17], Bytes(17)).unwrap();
        assert_eq!(cut.hidden_behind(), Some(Hidden::Tag));
    }

    #[test]
    fn a_frame_that_ends_within_its_tags_or_its_ip_header_is_malformed() {
        let malformed = Network::Other { malformed: true };
        for (tags, ether_type, length) in [(&[7][..], 0x0800, 17), (&[], 0x0800, 33), (&[], 0x86dd, 53)] {
            let descriptor =
                Descriptor::parse(&headers(tags, ether_type)[..length], Bytes(length as u64)).unwrap();
            assert_eq!(
                (descriptor.network, descriptor.dscp(), descriptor.markable_ip_offset()),
                (malformed, None, 0)
            );
        }
    }
}
