//! TCP: RFC 9293 section 3.1. Options are skipped.

use core::net::{Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

use crate::bytes::{checked_head, head, put, room, u16_at, u32_at};
use crate::checksum::Sum;
use crate::error::{invalid, truncated};
use crate::ip::IpProtocol;
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of a header without options.
pub const MIN_HEADER_LEN: usize = 20;

const SOURCE_PORT: usize = 0;
const DESTINATION_PORT: usize = 2;
const SEQUENCE: usize = 4;
const ACKNOWLEDGEMENT: usize = 8;
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;

/// A sequence number, 32 bits, which wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// The distance ahead of `other`, modulo 2^32 (RFC 9293 section 3.4): -2^31 to 2^31 - 1.
    #[inline]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The sequence number `bytes` later, modulo 2^32.
    #[inline]
    #[must_use]
    pub const fn advanced_by(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes as u32))
    }
}

/// The control bits: CWR, ECE, URG, ACK, PSH, RST, SYN and FIN, from the highest bit to the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);

    /// The union of both.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A checked view of a segment.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of an IP packet, without padding. The checksum is not verified.
    ///
    /// # Errors
    /// Truncated, where the header with its options reaches past the bytes; invalid, where it is shorter than 20
    /// bytes.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let header = checked_head::<MIN_HEADER_LEN>(Protocol::Tcp, bytes.as_ref())?;
        let header_len = usize::from(header[DATA_OFFSET] >> 4) * 4;
        if header_len < MIN_HEADER_LEN {
            return Err(invalid(Protocol::Tcp, "data offset", u32::from(header[DATA_OFFSET] >> 4)));
        }
        if header_len > bytes.as_ref().len() {
            return Err(truncated(Protocol::Tcp, header_len, bytes.as_ref().len()));
        }
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; MIN_HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// Length of the header with its options, 20 to 60 bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.raw()[DATA_OFFSET] >> 4) * 4
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

    /// The number of the first byte of the payload.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        SequenceNumber(u32_at(self.raw(), SEQUENCE))
    }

    /// The number of the next expected byte, valid if [`Flags::ACK`] is set.
    #[inline]
    pub fn acknowledgement(&self) -> SequenceNumber {
        SequenceNumber(u32_at(self.raw(), ACKNOWLEDGEMENT))
    }

    /// The control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.raw()[FLAGS])
    }

    /// Whether the checksum is valid for these IPv4 addresses and a segment of `length` bytes. Bytes beyond
    /// those present count as zero.
    #[inline]
    pub fn verify_checksum_ipv4(&self, source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> bool {
        let sum = Sum::pseudo_ipv4(source, destination, IpProtocol::TCP, length);
        let bytes = self.0.as_ref();
        sum.bytes(bytes.get(..usize::from(length)).unwrap_or(bytes)).folded() == 0xffff
    }

    /// The header as a value, without its options.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            sequence: self.sequence(),
            acknowledgement: self.acknowledgement(),
            flags: self.flags(),
            window: u16_at(self.raw(), WINDOW),
            checksum: u16_at(self.raw(), CHECKSUM),
            urgent: u16_at(self.raw(), URGENT),
        }
    }
}

/// A header without options, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The number of the first byte of the payload.
    pub sequence: SequenceNumber,
    /// The number of the next expected byte.
    pub acknowledgement: SequenceNumber,
    /// The control bits.
    pub flags: Flags,
    /// Bytes that the sender of the segment can accept, unscaled.
    pub window: u16,
    /// The checksum.
    pub checksum: u16,
    /// The urgent pointer.
    pub urgent: u16,
}

impl Header {
    /// The same header with the checksum of a segment between these IPv4 addresses. The segment has `length`
    /// bytes including its header, and its payload is zero.
    #[inline]
    #[must_use]
    pub fn checked_ipv4(self, source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> Self {
        self.checked(Sum::pseudo_ipv4(source, destination, IpProtocol::TCP, length))
    }

    /// As [`Header::checked_ipv4`], between IPv6 addresses.
    #[inline]
    #[must_use]
    pub fn checked_ipv6(self, source: Ipv6Addr, destination: Ipv6Addr, length: u16) -> Self {
        self.checked(Sum::pseudo_ipv6(source, destination, IpProtocol::TCP, u32::from(length)))
    }

    #[inline]
    fn checked(self, pseudo_header: Sum) -> Self {
        let mut bytes = [0; MIN_HEADER_LEN];
        // The header fits.
        let _ = Self { checksum: 0, ..self }.emit(&mut bytes);
        Self { checksum: pseudo_header.bytes(&bytes).checksum(), ..self }
    }

    /// Writes the header; returns [`MIN_HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<MIN_HEADER_LEN>(out)?;
        put(out, SOURCE_PORT, &self.source_port.to_be_bytes());
        put(out, DESTINATION_PORT, &self.destination_port.to_be_bytes());
        put(out, SEQUENCE, &self.sequence.0.to_be_bytes());
        put(out, ACKNOWLEDGEMENT, &self.acknowledgement.0.to_be_bytes());
        put(out, DATA_OFFSET, &[(MIN_HEADER_LEN as u8 / 4) << 4, self.flags.0]);
        put(out, WINDOW, &self.window.to_be_bytes());
        put(out, CHECKSUM, &self.checksum.to_be_bytes());
        put(out, URGENT, &self.urgent.to_be_bytes());
        Ok(MIN_HEADER_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn a_header_cut_off_anywhere_or_too_short_is_refused() {
        let mut bytes = [0; 24];
        bytes[DATA_OFFSET] = 0x60;
        assert_truncated_below(24, &bytes, |bytes| View::parse(bytes).map(|_| ()));
        bytes[DATA_OFFSET] = 0x40;
        let error = ParseError::Invalid { protocol: Protocol::Tcp, field: "data offset", value: 4 };
        assert_eq!(View::parse(bytes).map(|_| ()), Err(error));
    }

    #[test]
    fn sequence_numbers_wrap_at_32_bits() {
        let number = SequenceNumber(u32::MAX - 1).advanced_by(4);
        assert_eq!(number, SequenceNumber(2));
        assert_eq!(number.distance_from(SequenceNumber(u32::MAX)), 3);
        assert_eq!(SequenceNumber(u32::MAX).distance_from(number), -3);
    }

    #[test]
    fn the_header_ends_where_its_options_do() {
        let mut bytes = [0; 60];
        for words in 5..=15 {
            bytes[DATA_OFFSET] = words << 4 | 0xf;
            assert_eq!(View::parse(bytes).unwrap().header_len(), usize::from(words) * 4);
        }
    }

    #[test]
    fn flags_contain_those_that_were_put_together_and_no_others() {
        let flags = Flags::SYN.with(Flags::ACK).with(Flags::SYN);
        assert_eq!(flags, Flags(0x12));
        assert!(flags.contains(Flags::SYN) && flags.contains(Flags::SYN.with(Flags::ACK)));
        assert!(!flags.contains(Flags::FIN) && !flags.contains(Flags::SYN.with(Flags::FIN)));
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_it_was_written_and_as_an_independent_encoder_writes_it(
            ports: [u16; 2], numbers: [u32; 2], flags in 0..64_u8, window: u16,
            source in any_ipv4(), destination in any_ipv4(), payload in 0..2_000_usize,
        ) {
            let header = Header {
                source_port: ports[0],
                destination_port: ports[1],
                sequence: SequenceNumber(numbers[0]),
                acknowledgement: SequenceNumber(numbers[1]),
                flags: Flags(flags),
                window,
                checksum: 0,
                urgent: 0,
            };
            let length = (MIN_HEADER_LEN + payload) as u16;
            let header = header.checked_ipv4(source, destination, length);
            prop_assert_eq!(header.checked_ipv4(source, destination, length), header, "the old one does not count");
            let mut bytes = vec![0; MIN_HEADER_LEN + payload];
            prop_assert_eq!(header.emit(&mut bytes), Ok(MIN_HEADER_LEN));
            let mut theirs = etherparse::TcpHeader::new(ports[0], ports[1], numbers[0], window);
            theirs.acknowledgment_number = numbers[1];
            theirs.fin = flags & 1 != 0;
            theirs.syn = flags & 2 != 0;
            theirs.rst = flags & 4 != 0;
            theirs.psh = flags & 8 != 0;
            theirs.ack = flags & 16 != 0;
            theirs.urg = flags & 32 != 0;
            let zeroes = vec![0; payload];
            let checksum = theirs.calc_checksum_ipv4_raw(source.octets(), destination.octets(), &zeroes);
            theirs.checksum = checksum.unwrap();
            prop_assert_eq!(&theirs.to_bytes()[..], &bytes[..MIN_HEADER_LEN]);
            for view in [View::parse(&bytes[..]).unwrap(), View::parse(&bytes[..MIN_HEADER_LEN]).unwrap()] {
                prop_assert_eq!(view.header(), header);
                prop_assert!(view.verify_checksum_ipv4(source, destination, length));
            }
            bytes[4] ^= 1;
            let damaged = View::parse(&bytes[..]).unwrap();
            prop_assert!(!damaged.verify_checksum_ipv4(source, destination, length));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any_bytes(70)) {
            if let Ok(view) = View::parse(&bytes[..]) {
                let _ = (view.header(), view.verify_checksum_ipv4([1; 4].into(), [2; 4].into(), 70));
                prop_assert!(view.header_len() <= bytes.len());
            }
        }
    }
}
