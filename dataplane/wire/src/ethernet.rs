//! Ethernet II: IEEE 802.3 clause 3.

use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

use crate::bytes::{array, checked_head, head, put, room, u16_at};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of the header: two addresses and the EtherType.
pub const HEADER_LEN: usize = 14;

/// The shortest frame, in bytes without the frame check sequence.
pub const MIN_FRAME_LEN: usize = 60;

const DESTINATION: usize = 0;
const SOURCE: usize = 6;
const ETHER_TYPE: usize = 12;

/// A MAC address, in transmission order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All zeros: unknown, as in the target of an ARP request.
    pub const ZERO: Self = Self([0; 6]);
    /// All ones.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// 01-80-C2-00-00-01, the destination of PFC and PAUSE frames (IEEE 802.3 clause 31B).
    pub const MAC_CONTROL: Self = Self([0x01, 0x80, 0xc2, 0, 0, 0x01]);
    /// 01-80-C2-00-00-03, nearest non-TPMR bridge (IEEE 802.1Q table 8-1): the far end of the link, even
    /// through a two-port relay.
    pub const NEAREST_NON_TPMR_BRIDGE: Self = Self([0x01, 0x80, 0xc2, 0, 0, 0x03]);
    /// 01-80-C2-00-00-0E, nearest bridge: LLDP (IEEE 802.1AB), gPTP (IEEE 802.1AS).
    pub const NEAREST_BRIDGE: Self = Self([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

    /// Whether it is a group address, broadcast included.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether it addresses one station: neither a group nor zero.
    #[inline]
    pub const fn is_unicast(self) -> bool {
        !self.is_multicast() && self.bits() != 0
    }

    /// Whether it is one of 01-80-C2-00-00-00 to 0F, which no bridge forwards (IEEE 802.1Q
    /// reserved addresses): PFC, PAUSE, LLDP, LACP, spanning tree.
    #[inline]
    pub const fn is_link_local_control(self) -> bool {
        self.bits() & !0xf == 0x0180_c200_0000
    }

    /// The group address of an IPv6 multicast address, 33-33 and its low four bytes (RFC 2464
    /// section 7).
    #[inline]
    pub const fn of_ipv6_multicast(group: core::net::Ipv6Addr) -> Self {
        let [.., a, b, c, d] = group.octets();
        Self([0x33, 0x33, a, b, c, d])
    }

    const fn bits(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The text is not a MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a MAC address is six pairs of hexadecimal digits, such as 02:00:5e:10:00:01")]
pub struct ParseMacAddressError;

impl FromStr for MacAddress {
    type Err = ParseMacAddressError;

    /// Parses six pairs of hexadecimal digits, all separated by colons or all by hyphens.
    fn from_str(text: &str) -> Result<Self, ParseMacAddressError> {
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut octets = [0; 6];
        let mut pairs = text.split(separator);
        for octet in &mut octets {
            let pair = pairs.next().ok_or(ParseMacAddressError)?;
            // from_str_radix alone would accept "+1".
            if pair.len() != 2 || !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(ParseMacAddressError);
            }
            *octet = u8::from_str_radix(pair, 16).map_err(|_| ParseMacAddressError)?;
        }
        if pairs.next().is_some() { Err(ParseMacAddressError) } else { Ok(Self(octets)) }
    }
}

/// An EtherType (IEEE registry). A value below 0x0600 is a length (IEEE 802.3 clause 3.2.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// Customer VLAN tag (IEEE 802.1Q).
    pub const VLAN: Self = Self(0x8100);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// MAC control: PAUSE and PFC (IEEE 802.3 clause 31).
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// Service VLAN tag (IEEE 802.1Q, formerly 802.1ad).
    pub const SERVICE_VLAN: Self = Self(0x88a8);
    /// Encrypted or authenticated payload (MACsec, IEEE 802.1AE clause 9.8).
    pub const MACSEC: Self = Self(0x88e5);
    /// A service VLAN tag before it had its own type (0x88a8). It is not read.
    pub const OLD_SERVICE_VLAN: Self = Self(0x9100);
    /// Precision Time Protocol over Ethernet (IEEE 1588 annex E, IEEE 802.1AS).
    pub const PTP: Self = Self(0x88f7);
    /// LLDP (IEEE 802.1AB).
    pub const LLDP: Self = Self(0x88cc);
    /// Local experimental EtherType 1 (IEEE 802).
    pub const LOCAL_EXPERIMENTAL_1: Self = Self(0x88b5);
    /// Local experimental EtherType 2 (IEEE 802).
    pub const LOCAL_EXPERIMENTAL_2: Self = Self(0x88b6);

    /// Whether a customer or service VLAN tag follows.
    #[inline]
    pub const fn is_vlan(self) -> bool {
        matches!(self, Self::VLAN | Self::SERVICE_VLAN)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A checked view of a frame.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `frame`, which starts with the destination address and has no frame check sequence.
    ///
    /// # Errors
    /// Truncated below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn parse(frame: T) -> Result<Self, ParseError> {
        checked_head::<HEADER_LEN>(Protocol::Ethernet, frame.as_ref())?;
        Ok(Self(frame))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// The destination address.
    #[inline]
    pub fn destination(&self) -> MacAddress {
        MacAddress(array(self.raw(), DESTINATION))
    }

    /// The source address.
    #[inline]
    pub fn source(&self) -> MacAddress {
        MacAddress(array(self.raw(), SOURCE))
    }

    /// The EtherType of the payload.
    #[inline]
    pub fn ether_type(&self) -> EtherType {
        EtherType(u16_at(self.raw(), ETHER_TYPE))
    }

    /// Everything after the header, padding included.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.0.as_ref().get(HEADER_LEN..).unwrap_or_default()
    }

    /// The header as a value.
    #[inline]
    pub fn header(&self) -> Header {
        Header { destination: self.destination(), source: self.source(), ether_type: self.ether_type() }
    }

    /// The underlying bytes.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<'a> View<&'a [u8]> {
    /// [`View::payload`] with the lifetime of the frame.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        self.0.get(HEADER_LEN..).unwrap_or_default()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Sets the destination address.
    #[inline]
    pub fn set_destination(&mut self, address: MacAddress) {
        put(self.0.as_mut(), DESTINATION, &address.0);
    }

    /// Sets the source address.
    #[inline]
    pub fn set_source(&mut self, address: MacAddress) {
        put(self.0.as_mut(), SOURCE, &address.0);
    }
}

/// The header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The destination address.
    pub destination: MacAddress,
    /// The source address.
    pub source: MacAddress,
    /// The EtherType of the payload.
    pub ether_type: EtherType,
}

impl Header {
    /// Writes the header; returns [`HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<HEADER_LEN>(out)?;
        put(out, DESTINATION, &self.destination.0);
        put(out, SOURCE, &self.source.0);
        put(out, ETHER_TYPE, &self.ether_type.0.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn the_lowest_bit_of_the_first_byte_tells_groups_from_stations() {
        let station = MacAddress([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff]);
        let group = MacAddress([0x01, 0, 0x5e, 0, 0, 1]);
        let all = MacAddress([0xff; 6]);
        for (mac, multicast) in [(station, false), (group, true), (all, true)] {
            assert_eq!(mac.is_multicast(), multicast, "{mac}");
        }
        assert!(station.is_unicast() && !group.is_unicast() && !all.is_unicast());
        assert!(!MacAddress([0; 6]).is_unicast(), "no one has it");
    }

    #[test]
    fn a_type_is_shown_with_all_of_its_digits() {
        assert_eq!(
            (EtherType::ARP.to_string(), format!("{:?}", EtherType(8))),
            ("0x0806".into(), "0x0008".into())
        );
    }

    #[test]
    fn what_follows_the_header_is_the_payload_however_it_is_asked_for() {
        let frame = [7; HEADER_LEN + 3];
        let view = View::parse(&frame[..]).unwrap();
        assert_eq!((view.payload(), view.into_payload()), (&[7; 3][..], &[7; 3][..]));
    }

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let mac = MacAddress([0x02, 0, 0x5e, 0x10, 0, 0xff]);
        assert_eq!(mac.to_string(), "02:00:5e:10:00:ff");
        assert_eq!("02:00:5E:10:00:ff".parse(), Ok(mac));
        assert_eq!("02-00-5e-10-00-ff".parse(), Ok(mac));
    }

    #[test]
    fn text_that_is_no_address_is_refused() {
        for text in [
            "",
            "02:00:5e:10:00",
            "02:00:5e:10:00:ff:00",
            "2:0:5e:10:0:ff",
            "+2:00:5e:10:00:ff",
            "02:00-5e:10:00:ff",
            "02:00:5e:10:00:fg",
            "é:00:5e:10:00:ff",
        ] {
            assert_eq!(text.parse::<MacAddress>(), Err(ParseMacAddressError), "{text}");
        }
    }

    #[test]
    fn only_sixteen_addresses_stay_on_the_link() {
        let address = |last| MacAddress([0x01, 0x80, 0xc2, 0, 0, last]);
        assert!((0..16).all(|last| address(last).is_link_local_control()));
        assert!(!address(16).is_link_local_control());
        assert!(!MacAddress::BROADCAST.is_link_local_control());
        assert!(MacAddress::BROADCAST.is_multicast());
        assert!(MacAddress::MAC_CONTROL.is_multicast() && !MacAddress::ZERO.is_unicast());
    }

    #[test]
    fn a_frame_shorter_than_its_header_is_refused() {
        assert_truncated_below(HEADER_LEN, &[0; HEADER_LEN], |bytes| View::parse(bytes).map(|_| ()));
    }

    proptest! {
        #[test]
        fn the_header_is_that_of_etherparse(destination in any_mac(), source in any_mac(), ether_type: u16) {
            let header = Header { destination, source, ether_type: EtherType(ether_type) };
            let mut bytes = [0; HEADER_LEN];
            prop_assert_eq!(header.emit(&mut bytes), Ok(HEADER_LEN));
            let (theirs, _) = etherparse::Ethernet2Header::from_slice(&bytes).unwrap();
            prop_assert_eq!(theirs.destination, destination.0);
            prop_assert_eq!(theirs.source, source.0);
            prop_assert_eq!(theirs.ether_type.0, ether_type);
            prop_assert_eq!(View::parse(theirs.to_bytes()).unwrap().header(), header);
        }

        #[test]
        fn setters_write_what_accessors_read(mut frame: [u8; 20], destination in any_mac(), source in any_mac()) {
            let payload = frame[HEADER_LEN..].to_vec();
            let mut view = View::parse(&mut frame).unwrap();
            view.set_destination(destination);
            view.set_source(source);
            let ether_type = view.ether_type();
            prop_assert_eq!(view.header(), Header { destination, source, ether_type });
            prop_assert_eq!(view.payload(), payload);
        }
    }
}
