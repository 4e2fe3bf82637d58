//! UDP: RFC 768; over IPv6, RFC 8200 section 8.1.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::bytes::{checked_head, head, put, room, u16_at};
use crate::checksum::Sum;
use crate::error::{invalid, truncated};
use crate::ip::IpProtocol;
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of the header.
pub const HEADER_LEN: usize = 8;

const SOURCE_PORT: usize = 0;
const DESTINATION_PORT: usize = 2;
const LENGTH: usize = 4;
const CHECKSUM: usize = 6;

/// A checked view of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of an IP packet. The checksum is not verified.
    ///
    /// # Errors
    /// Truncated, where the header or the length reaches past the bytes; invalid, where the length
    /// is less than the header's.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let length_on_wire = bytes.as_ref().len();
        Self::parse_head(bytes, length_on_wire)
    }

    /// Like [`View::parse`], but `bytes` need only hold the header: the length is checked against
    /// `length_on_wire`, in bytes from the start of the header.
    ///
    /// # Errors
    /// As [`View::parse`].
    #[inline]
    pub fn parse_head(bytes: T, length_on_wire: usize) -> Result<Self, ParseError> {
        let header = checked_head::<HEADER_LEN>(Protocol::Udp, bytes.as_ref())?;
        let length = u16_at(header, LENGTH);
        if usize::from(length) < HEADER_LEN {
            return Err(invalid(Protocol::Udp, "length", u32::from(length)));
        }
        if usize::from(length) > length_on_wire {
            return Err(truncated(Protocol::Udp, usize::from(length), length_on_wire));
        }
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// The sender's port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        u16_at(self.raw(), SOURCE_PORT)
    }

    /// The receiver's port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        u16_at(self.raw(), DESTINATION_PORT)
    }

    /// Length of header and payload, in bytes.
    #[inline]
    pub fn length(&self) -> usize {
        usize::from(u16_at(self.raw(), LENGTH))
    }

    /// The checksum field; 0 means none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.raw(), CHECKSUM)
    }

    /// The payload that the length gives, as far as `bytes` hold it.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.datagram().get(HEADER_LEN..).unwrap_or_default()
    }

    #[inline(always)]
    fn datagram(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        bytes.get(..self.length()).unwrap_or(bytes)
    }

    /// Whether the checksum is valid for these IPv4 addresses, or zero, which means none. Needs the whole
    /// datagram.
    #[inline]
    pub fn verify_checksum_ipv4(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        let sum = Sum::pseudo_ipv4(source, destination, IpProtocol::UDP, u16_at(self.raw(), LENGTH));
        self.checksum() == 0 || sum.bytes(self.datagram()).folded() == 0xffff
    }

    /// Whether the checksum is valid for these IPv6 addresses. Zero is invalid by RFC 8200; callers that
    /// accept it for a tunnel or for RoCEv2 (RFC 6935) check [`View::checksum`] first. Needs the whole
    /// datagram.
    #[inline]
    pub fn verify_checksum_ipv6(&self, source: Ipv6Addr, destination: Ipv6Addr) -> bool {
        let length = u32::from(u16_at(self.raw(), LENGTH));
        let sum = Sum::pseudo_ipv6(source, destination, IpProtocol::UDP, length);
        self.checksum() != 0 && sum.bytes(self.datagram()).folded() == 0xffff
    }

    /// The header as a value.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            length: u16_at(self.raw(), LENGTH),
            checksum: self.checksum(),
        }
    }
}

impl<'a> View<&'a [u8]> {
    /// [`View::payload`] with the lifetime of the bytes.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        self.0.get(HEADER_LEN..self.length().min(self.0.len())).unwrap_or_default()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Sets the checksum field.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.0.as_mut(), CHECKSUM, &checksum.to_be_bytes());
    }

    /// Computes and writes the checksum for these IPv4 addresses. Needs the whole datagram.
    #[inline]
    pub fn fill_checksum_ipv4(&mut self, source: Ipv4Addr, destination: Ipv4Addr) {
        let sum = Sum::pseudo_ipv4(source, destination, IpProtocol::UDP, u16_at(self.raw(), LENGTH));
        self.fill_checksum(sum);
    }

    /// Computes and writes the checksum for these IPv6 addresses. Needs the whole datagram.
    #[inline]
    pub fn fill_checksum_ipv6(&mut self, source: Ipv6Addr, destination: Ipv6Addr) {
        let length = u32::from(u16_at(self.raw(), LENGTH));
        self.fill_checksum(Sum::pseudo_ipv6(source, destination, IpProtocol::UDP, length));
    }

    #[inline]
    fn fill_checksum(&mut self, pseudo_header: Sum) {
        self.set_checksum(0);
        let checksum = pseudo_header.bytes(self.datagram()).checksum();
        // Zero would mean no checksum, so the equivalent 0xffff replaces it (RFC 768).
        self.set_checksum(if checksum == 0 { 0xffff } else { checksum });
    }
}

/// The header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Length of header and payload, in bytes.
    pub length: u16,
    /// The checksum, 0 for none.
    pub checksum: u16,
}

impl Header {
    /// Writes the header; returns [`HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<HEADER_LEN>(out)?;
        put(out, SOURCE_PORT, &self.source_port.to_be_bytes());
        put(out, DESTINATION_PORT, &self.destination_port.to_be_bytes());
        put(out, LENGTH, &self.length.to_be_bytes());
        put(out, CHECKSUM, &self.checksum.to_be_bytes());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn a_datagram_cut_off_anywhere_is_refused() {
        let bytes = hex("c1a212b7000a0000ffff");
        assert_truncated_below(10, &bytes, |bytes| View::parse(bytes).map(|_| ()));
    }

    #[test]
    fn a_length_below_that_of_the_header_is_refused() {
        for length in 0..8u8 {
            let error =
                ParseError::Invalid { protocol: Protocol::Udp, field: "length", value: length.into() };
            assert_eq!(View::parse([0, 1, 0, 2, 0, length, 0, 0]).map(|_| ()), Err(error));
        }
    }

    #[test]
    fn a_lone_header_has_its_length_checked_against_the_wire() {
        let bytes = hex("c1a212b7000a0000ff");
        assert_eq!(View::parse_head(&bytes[..], 10).unwrap().payload(), [0xff]);
        assert!(View::parse_head(&bytes[..], 9).is_err());
    }

    #[test]
    fn a_zero_checksum_is_none_over_ipv4_and_wrong_over_ipv6() {
        let view = View::parse([0, 1, 0, 2, 0, 8, 0, 0]).unwrap();
        assert!(view.verify_checksum_ipv4(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST));
        assert!(!view.verify_checksum_ipv6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn a_sum_of_zero_is_written_as_ones() {
        // With these addresses and ports, all words add up to 0xffff.
        let mut view = View::parse([0xff, 0xde, 0, 0, 0, 8, 0, 0]).unwrap();
        let nobody = Ipv4Addr::UNSPECIFIED;
        view.fill_checksum_ipv4(nobody, nobody);
        assert_eq!(view.checksum(), 0xffff);
        assert!(view.verify_checksum_ipv4(nobody, nobody));
    }

    #[test]
    fn a_damaged_datagram_has_a_wrong_checksum() {
        let mut bytes = hex("c1a212b7000a0000ffff");
        let (four, six) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        View::parse(&mut bytes[..]).unwrap().fill_checksum_ipv4(four, four);
        bytes[9] ^= 1;
        assert!(!View::parse(&bytes[..]).unwrap().verify_checksum_ipv4(four, four));
        View::parse(&mut bytes[..]).unwrap().fill_checksum_ipv6(six, six);
        bytes[9] ^= 1;
        assert!(!View::parse(&bytes[..]).unwrap().verify_checksum_ipv6(six, six));
    }

    proptest! {
        #[test]
        fn header_and_checksums_are_those_of_etherparse(
            source_port: u16, destination_port: u16, payload in any_bytes(50),
            (source4, destination4) in (any_ipv4(), any_ipv4()), (source6, destination6) in (any_ipv6(), any_ipv6()),
        ) {
            let length = (HEADER_LEN + payload.len()) as u16;
            let header = Header { source_port, destination_port, length, checksum: 0 };
            let mut bytes = vec![0; HEADER_LEN];
            prop_assert_eq!(header.emit(&mut bytes), Ok(HEADER_LEN));
            bytes.extend(&payload);
            let (mut theirs, _) = etherparse::UdpHeader::from_slice(&bytes).unwrap();
            prop_assert_eq!(&theirs.to_bytes(), &bytes[..HEADER_LEN]);
            let mut view = View::parse(&mut bytes[..]).unwrap();
            prop_assert_eq!(view.header(), header);

            view.fill_checksum_ipv4(source4, destination4);
            theirs.checksum =
                theirs.calc_checksum_ipv4_raw(source4.octets(), destination4.octets(), &payload).unwrap();
            prop_assert_eq!(view.checksum(), theirs.checksum);
            prop_assert!(view.verify_checksum_ipv4(source4, destination4));

            view.fill_checksum_ipv6(source6, destination6);
            let theirs = theirs.calc_checksum_ipv6_raw(source6.octets(), destination6.octets(), &payload).unwrap();
            prop_assert_eq!(view.checksum(), theirs);
            prop_assert!(view.verify_checksum_ipv6(source6, destination6));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any_bytes(40)) {
            if let Ok(view) = View::parse(&bytes[..]) {
                prop_assert_eq!(view.payload().len() + HEADER_LEN, view.length());
                prop_assert_eq!(view.payload(), view.into_payload());
            }
        }
    }
}
