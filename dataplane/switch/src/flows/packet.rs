//! A RoCEv2 packet: its flow and its origin (InfiniBand specification volume 1, section 9.2 and annex A17).

use crate::descriptor::{Descriptor, Network};
use crate::hash::KeyedHash;
use core::hash::Hasher;
use core::net::{Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};
use units::PortId;
use wire::ethernet::MacAddress;
use wire::ip::IpProtocol;
use wire::roce::{self, QueuePair, bth};
use wire::{ethernet, ipv4, ipv6, udp};

/// An IP address of either version; IPv4 is mapped into IPv6 (RFC 4291 section 2.5.5.2). It is held in words, as it
/// is compared and hashed: bytes that are written apart and read together would cost the hot path more than all its
/// other work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl Address {
    /// A word that depends on which bits two addresses differ in, whatever their order. Of addresses of IPv4, it is
    /// these bits.
    #[inline(always)]
    pub const fn difference(self, other: Self) -> u64 {
        (self.high ^ other.high).rotate_left(u32::BITS) ^ self.low ^ other.low
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

/// Source and destination host, and the way across the port of the long link. Addresses can be forged, but the way
/// cannot. If a host behind this end forges the address of one behind the other, its packets cross the wrong way,
/// and so never mix with the true ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Hosts {
    pub source: Address,
    pub destination: Address,
    pub way: Way,
}

impl Hosts {
    /// The other direction: answers cross the other way.
    pub const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, way: self.way.reversed() }
    }

    /// A word that depends on both hosts, the same for both directions.
    #[inline(always)]
    pub const fn difference(&self) -> u64 {
        self.source.difference(self.destination)
    }

    /// The hash of a direction between two hosts, without the way.
    pub fn hash(&self, keyed: &KeyedHash) -> u64 {
        hosts_hasher(keyed, self.source, self.destination).finish()
    }
}

#[inline(always)]
fn hosts_hasher(keyed: &KeyedHash, source: Address, destination: Address) -> impl Hasher {
    let mut hasher = keyed.hasher();
    hasher.write_u128(source.number());
    hasher.write_u128(destination.number());
    hasher
}

/// The hash of a flow, without the way.
#[inline(always)]
fn flow_hash(keyed: &KeyedHash, source: Address, destination: Address, qp: QueuePair) -> u64 {
    let mut hasher = hosts_hasher(keyed, source, destination);
    hasher.write_u32(qp.number());
    hasher.finish()
}

/// The direction in which a packet crosses the port of the long link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Way {
    Out,
    In,
}

impl Way {
    /// The other way.
    pub const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

/// The origin of a packet, as the gateway itself sees it: the port at which it came in, the station that sent it,
/// and its VLAN. Held in words, like [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The station's address, its first byte lowest, above 16 bits of the port's number.
    station: u64,
    vlan: u16,
}

impl Origin {
    const PORT_BITS: u32 = u16::BITS;
    /// The port at which all frames from the far side come in: the links of a bundle are one way, and an answer may change
    /// from one to another.
    pub const FAR: PortId = PortId(u16::MAX);

    /// The origin at `port`, from the station `mac`, with the outer tag `vlan`; 0 without one.
    pub const fn new(port: PortId, mac: MacAddress, vlan: u16) -> Self {
        let [a, b, c, d, e, f] = mac.0;
        Self::read(port, [a, b, c, d, e, f, 0, 0], vlan)
    }

    /// The origin of a frame that came in at `port`, with these `headers` and their `descriptor`.
    #[inline(always)]
    pub fn of(port: PortId, descriptor: &Descriptor, headers: &[u8]) -> Self {
        let bytes = headers.get(6..14).and_then(|source| source.first_chunk()).copied().unwrap_or_default();
        Self::read(port, bytes, descriptor.vlan)
    }

    /// The shift removes the bytes after the address.
    #[inline(always)]
    const fn read(port: PortId, source: [u8; 8], vlan: u16) -> Self {
        Self { station: u64::from_le_bytes(source) << Self::PORT_BITS | port.0 as u64, vlan }
    }

    /// Whether both are of one station and one VLAN, whatever their ports.
    pub const fn shares_station_with(self, other: Self) -> bool {
        self.station >> Self::PORT_BITS == other.station >> Self::PORT_BITS && self.vlan == other.vlan
    }

    /// The port at which it came in.
    pub const fn port(self) -> PortId {
        PortId(self.station as u16)
    }

    /// The station that sent it.
    pub const fn mac(self) -> MacAddress {
        let [a, b, c, d, e, f, ..] = (self.station >> Self::PORT_BITS).to_le_bytes();
        MacAddress([a, b, c, d, e, f])
    }

    /// The VLAN of its outer tag; 0 without one.
    pub const fn vlan(self) -> u16 {
        self.vlan
    }

    /// 24 bits that differ for most origins, and always for different ports. A sender that can choose its station's
    /// address can choose any, so mixing needs no secret.
    #[inline(always)]
    pub const fn digest(self) -> u32 {
        /// 2^64 over the golden ratio.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let station = self.station.wrapping_mul(FACTOR) >> (u64::BITS - u16::BITS);
        // A switch has at most 128 ports.
        (self.station as u32 & 0xff) << 16 | station as u32 ^ self.vlan as u32
    }
}

/// The key of a flow: all packets from one host to one queue pair of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub hosts: Hosts,
    /// The receiver's queue pair.
    pub qp: QueuePair,
}

impl FlowKey {
    /// The hash of a flow, without the way.
    #[inline]
    pub fn hash(&self, keyed: &KeyedHash) -> u64 {
        flow_hash(keyed, self.hosts.source, self.hosts.destination, self.qp)
    }
}

/// A RoCEv2 packet, or its first fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub key: FlowKey,
    pub source_port: u16,
    pub origin: Origin,
    /// BTH, and the available bytes after it.
    pub bth: bth::View<&'a [u8]>,
}

impl<'a> Packet<'a> {
    /// The packet in `headers`, with their `descriptor`, of a frame that came in at `port` and crosses the port of
    /// the long link this `way`; `None` for all but packets over IPv4 without options. [`Packet::find`] finds the
    /// others.
    #[inline(always)]
    pub fn usual(way: Way, port: PortId, descriptor: &Descriptor, headers: &'a [u8]) -> Option<Self> {
        let head = roce::Head::parse(ipv4_of(descriptor, headers)?)?;
        let (source_port, origin) = (head.source_port(), Origin::of(port, descriptor, headers));
        let (key, bth) = key_of(way, head);
        Some(Self { key, source_port, origin, bth })
    }

    /// The key of an untagged packet over IPv4 without options: a quick path for nearly every frame.
    #[inline(always)]
    pub fn usual_key(way: Way, headers: &[u8]) -> Option<FlowKey> {
        Some(key_of(way, roce::Head::parse(headers.get(ethernet::HEADER_LEN..)?)?).0)
    }

    /// As [`Packet::usual`], for any packet, layer by layer.
    pub fn find(way: Way, port: PortId, descriptor: &Descriptor, headers: &'a [u8]) -> Option<Self> {
        let packet = headers.get(usize::from(descriptor.payload_offset)..)?;
        let (source, destination, offset) = match descriptor.network {
            Network::Ipv4 => {
                let ip = ipv4::View::known(packet);
                if ip.protocol() != IpProtocol::UDP || ip.is_fragment() {
                    return None;
                }
                (ip.source().into(), ip.destination().into(), ip.header_len())
            }
            Network::Ipv6 => {
                let ip = ipv6::View::known(packet);
                let upper = ip.upper_layer().ok()?;
                if upper.protocol != IpProtocol::UDP || upper.fragment.is_some() {
                    return None;
                }
                (ip.source().into(), ip.destination().into(), upper.offset)
            }
            Network::Other { .. } => return None,
        };
        let datagram = packet.get(offset..)?;
        let udp = udp::View::parse_head(datagram, usize::MAX).ok()?;
        if udp.destination_port() != roce::UDP_PORT {
            return None;
        }
        let bth = bth::View::parse(datagram.get(udp::HEADER_LEN..)?).ok()?;
        let key = FlowKey { hosts: Hosts { source, destination, way }, qp: bth.destination_qp() };
        let (source_port, origin) = (udp.source_port(), Origin::of(port, descriptor, headers));
        Some(Self { key, source_port, origin, bth })
    }
}

/// The IPv4 packet in `headers`, if there is one.
#[inline(always)]
pub(super) fn ipv4_of<'a>(descriptor: &Descriptor, headers: &'a [u8]) -> Option<&'a [u8]> {
    let packet = headers.get(usize::from(descriptor.payload_offset)..)?;
    if descriptor.network == Network::Ipv4 { Some(packet) } else { None }
}

/// The key and the BTH of a packet that crosses this `way`.
#[inline(always)]
pub(super) fn key_of(way: Way, head: roce::Head<'_>) -> (FlowKey, bth::View<&[u8]>) {
    let (source, destination) = (head.source().into(), head.destination().into());
    let bth = bth::View::known(head.into_bth());
    (FlowKey { hosts: Hosts { source, destination, way }, qp: bth.destination_qp() }, bth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use proptest::prelude::*;
    use units::Bytes;

    #[test]
    fn stations_ports_and_vlans_have_digests_of_their_own() {
        let origin =
            |port, station, vlan| Origin::new(PortId(port), MacAddress([2, 0, 0, 0, 0, station]), vlan);
        let origins = (0..64).flat_map(|port| (0..64).map(move |station| origin(port, station, 0)));
        let digests: std::collections::BTreeSet<_> = origins.map(Origin::digest).collect();
        assert_eq!(digests.len(), 64 * 64);
        assert_ne!(origin(1, 1, 7).digest(), origin(1, 1, 8).digest());
    }

    #[test]
    fn vlans_have_digests_of_their_own_and_all_fit_24_bits() {
        let digest = |vlan| Origin::new(PortId(63), MacAddress([2, 3, 5, 7, 11, 13]), vlan).digest();
        let digests: std::collections::BTreeSet<_> = (0..4_096).map(digest).collect();
        assert_eq!(digests.len(), 4_096);
        assert!(digests.iter().all(|digest| digest >> 16 == 63));
    }

    #[test]
    fn an_address_is_the_number_that_it_was_made_of() {
        let six: Ipv6Addr = "2001:db8:1:2:3:4:5:6".parse().unwrap();
        assert_eq!(Address::from(six).number(), six.to_bits());
        assert_eq!(Ipv6Addr::from(Address::from(six)), six);
        let four = Ipv4Addr::new(10, 0, 0, 255);
        assert_eq!(Ipv6Addr::from(Address::from(four)), four.to_ipv6_mapped());
    }

    #[test]
    fn directions_between_hosts_have_hashes_of_their_own() {
        let keyed = KeyedHash::new(HashKey::new(*b"an unknown key 1"));
        let hosts = |number: u64| Hosts {
            source: Address::numbered(number / 32),
            destination: Address::numbered(number % 32),
            way: Way::Out,
        };
        let hashes: std::collections::BTreeSet<_> =
            (0..1_024).map(|number| hosts(number).hash(&keyed)).collect();
        assert_eq!(hashes.len(), 1_024);
        assert_eq!(hosts(1).hash(&keyed), Hosts { way: Way::In, ..hosts(1) }.hash(&keyed));
    }

    #[test]
    fn an_origin_says_what_it_was_made_of() {
        let mac = MacAddress([2, 3, 5, 7, 11, 0xfd]);
        let origin = Origin::new(PortId(63), mac, 0xffe);
        assert_eq!((origin.port(), origin.mac(), origin.vlan()), (PortId(63), mac, 0xffe));
    }

    /// A frame with this IP header, and the UDP header and BTH of a WRITE behind it.
    fn frame(ether_type: u16, ip: &[u8]) -> Vec<u8> {
        let udp = [0xc1, 0xa2, 0x12, 0xb7, 0, 46, 0, 0];
        let addresses = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];
        [&addresses[..], &ether_type.to_be_bytes(), ip, &udp, &[0x0a], &[0; 37]].concat()
    }

    /// An IPv4 header with 4 bytes of options and these flags.
    fn v4(protocol: u8, flags: u8) -> Vec<u8> {
        let header =
            [0x46, 2, 0, 70, 0, 1, flags, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 1, 1, 1];
        frame(0x0800, &header)
    }

    /// IPv6 with these extension headers.
    fn v6(next: u8, extensions: &[u8]) -> Vec<u8> {
        let length = 46 + extensions.len() as u8;
        frame(0x86dd, &[&[0x60, 2, 0, 0, 0, length, next, 64], &[0xfd; 32][..], extensions].concat())
    }

    #[test]
    fn a_packet_is_found_behind_options_and_extension_headers_but_not_in_fragments_or_other_protocols() {
        let mut other_port = v4(17, 0x40);
        other_port[41] = 0xb8;
        for (name, bytes, found) in [
            ("options", v4(17, 0x40), true),
            ("a first fragment", v4(17, 0x20), false),
            ("TCP", v4(6, 0x40), false),
            ("another port", other_port, false),
            ("IPv6", v6(17, &[]), true),
            ("TCP over IPv6", v6(6, &[]), false),
            ("destination options", v6(60, &[17, 0, 1, 4, 0, 0, 0, 0]), true),
            ("a first fragment of IPv6", v6(44, &[17, 0, 0, 1, 0, 0, 0, 7]), false),
        ] {
            let descriptor = Descriptor::parse(&bytes, Bytes(bytes.len() as u64)).unwrap();
            let packet = Packet::find(Way::Out, PortId(3), &descriptor, &bytes);
            assert_eq!(packet.map(|it| it.source_port), found.then_some(0xc1a2), "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_finds_what_the_long_way_finds(
            changes in proptest::collection::vec((0_usize..60, any::<u8>()), 0..6),
            length in 30_usize..=80,
        ) {
            // A WRITE over IPv4 that both can read, and what becomes of it.
            let mut bytes = [0_u8; 80];
            bytes[12..14].copy_from_slice(&[8, 0]);
            bytes[14..34].copy_from_slice(&[0x45, 2, 0, 66, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            bytes[34..42].copy_from_slice(&[0xc1, 0xa2, 0x12, 0xb7, 0, 46, 0, 0]);
            bytes[42] = 0x0a;
            let unchanged = bytes;
            for (at, value) in changes {
                bytes[at] = value;
            }
            let is_changed = bytes != unchanged;
            let headers = &bytes[..length];
            if let Some(descriptor) = Descriptor::parse(headers, Bytes(80)) {
                let (way, port) = (Way::In, PortId(3));
                let fields = |it: Packet| (it.key, it.origin, it.source_port, it.bth.header());
                let usual = Packet::usual(way, port, &descriptor, headers);
                let found = Packet::find(way, port, &descriptor, headers);
                if let Some(usual) = usual {
                    prop_assert_eq!(Some(fields(usual)), found.map(fields));
                } else {
                    prop_assert!(is_changed || length < 54, "the short way reads the packet as it is");
                }
                let untagged = usize::from(descriptor.payload_offset) == ethernet::HEADER_LEN;
                if untagged && descriptor.network == Network::Ipv4 {
                    prop_assert_eq!(Packet::usual_key(way, headers), usual.map(|it| it.key));
                }
            }
        }
    }
}
