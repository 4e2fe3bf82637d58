//! IPv4: RFC 791, with DSCP (RFC 2474) and ECN (RFC 3168) in the type of service.

use core::net::Ipv4Addr;

use crate::bytes::{array, checked_head, head, put, room, swap, u16_at};
use crate::checksum::{self, Sum};
use crate::error::{invalid, truncated};
use crate::ip::{Dscp, Ecn, IpProtocol, traffic_class};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of a header without options.
pub const MIN_HEADER_LEN: usize = 20;

/// The first byte of a header without options: version 4, and five words.
pub const VERSION_AND_LENGTH: u8 = 0x45;
const TOS: usize = 1;
const TOTAL_LENGTH: usize = 2;
const IDENTIFICATION: usize = 4;
const FLAGS: usize = 6;
const TTL: usize = 8;
const PROTOCOL: usize = 9;
const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// A checked view of a packet.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, which start with the header and hold the whole packet. Padding may follow. The checksum
    /// is not verified: see [`View::verify_checksum`].
    ///
    /// # Errors
    /// Truncated, where the header or the total length reaches past the bytes; invalid, where the
    /// version is not 4, the header is shorter than 20 bytes, or the packet shorter than its
    /// header.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let length_on_wire = bytes.as_ref().len();
        Self::parse_head(bytes, length_on_wire)
    }

    /// Like [`View::parse`], but `bytes` need only hold the header: the total length is checked against
    /// `length_on_wire`, in bytes from the start of the header.
    ///
    /// # Errors
    /// As [`View::parse`].
    #[inline(always)]
    pub fn parse_head(bytes: T, length_on_wire: usize) -> Result<Self, ParseError> {
        // Fast path: nearly all packets have no options.
        if let Some(header) = bytes.as_ref().first_chunk::<MIN_HEADER_LEN>()
            && header[0] == VERSION_AND_LENGTH
            && (MIN_HEADER_LEN..=length_on_wire).contains(&usize::from(u16_at(header, TOTAL_LENGTH)))
        {
            return Ok(Self(bytes));
        }
        match Self::examine(bytes.as_ref(), length_on_wire) {
            Ok(()) => Ok(Self(bytes)),
            Err(error) => Err(error),
        }
    }

    /// Views bytes that were parsed before and whose lengths have not changed since. On any other bytes,
    /// fields are zero or arbitrary.
    #[inline(always)]
    pub const fn known(bytes: T) -> Self {
        Self(bytes)
    }

    #[inline(never)]
    fn examine(bytes: &[u8], length_on_wire: usize) -> Result<(), ParseError> {
        let available = bytes.len();
        let header = checked_head::<MIN_HEADER_LEN>(Protocol::Ipv4, bytes)?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let total_len = u16_at(header, TOTAL_LENGTH);
        if header[0] >> 4 != 4 {
            return Err(invalid(Protocol::Ipv4, "version", u32::from(header[0] >> 4)));
        }
        if header_len < MIN_HEADER_LEN {
            return Err(invalid(Protocol::Ipv4, "header length (IHL)", u32::from(header[0] & 0x0f)));
        }
        if usize::from(total_len) < header_len {
            return Err(invalid(Protocol::Ipv4, "total length", u32::from(total_len)));
        }
        if header_len > available {
            return Err(truncated(Protocol::Ipv4, header_len, available));
        }
        if usize::from(total_len) > length_on_wire {
            return Err(truncated(Protocol::Ipv4, usize::from(total_len), length_on_wire));
        }
        Ok(())
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; MIN_HEADER_LEN] {
        head(self.0.as_ref())
    }

    #[inline(always)]
    fn flags_and_offset(&self) -> u16 {
        u16_at(self.raw(), FLAGS)
    }

    /// Length of the header with its options, 20 to 60 bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.raw()[0] & 0x0f) * 4
    }

    /// Length of header and payload, in bytes.
    #[inline]
    pub fn total_len(&self) -> usize {
        usize::from(u16_at(self.raw(), TOTAL_LENGTH))
    }

    /// DSCP and ECN in one byte, as in [`crate::ip::traffic_class`].
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        self.raw()[TOS]
    }

    /// Differentiated services codepoint.
    #[inline]
    pub fn dscp(&self) -> Dscp {
        Dscp::from_low_bits(self.raw()[TOS] >> 2)
    }

    /// Explicit congestion notification.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_low_bits(self.raw()[TOS])
    }

    /// Identification, shared by the fragments of a packet.
    #[inline]
    pub fn identification(&self) -> u16 {
        u16_at(self.raw(), IDENTIFICATION)
    }

    /// Whether fragmentation is forbidden.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.flags_and_offset() & DONT_FRAGMENT != 0
    }

    /// Whether fragments follow this one.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.flags_and_offset() & MORE_FRAGMENTS != 0
    }

    /// The fragment offset, in units of 8 bytes, 0 to 8191. Unless it is 0, the payload does not start with
    /// the upper layer's header.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        self.flags_and_offset() & FRAGMENT_OFFSET
    }

    /// Whether this is a fragment, first or later.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.flags_and_offset() & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0
    }

    /// Time to live, in hops.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.raw()[TTL]
    }

    /// The upper layer.
    #[inline]
    pub fn protocol(&self) -> IpProtocol {
        IpProtocol(self.raw()[PROTOCOL])
    }

    /// The header checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.raw(), CHECKSUM)
    }

    /// Whether the header checksum is valid.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        if self.raw()[0] == VERSION_AND_LENGTH {
            return checksum::is_right(self.raw());
        }
        let header = self.0.as_ref().get(..self.header_len()).unwrap_or_default();
        Sum::ZERO.bytes(header).folded() == 0xffff
    }

    /// The sender.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(array(self.raw(), SOURCE))
    }

    /// The receiver.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets(array(self.raw(), DESTINATION))
    }

    /// The payload that the total length gives, as far as `bytes` hold it.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        bytes.get(self.header_len()..self.total_len().min(bytes.len())).unwrap_or_default()
    }

    /// The header as a value, without its options.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            dscp: self.dscp(),
            ecn: self.ecn(),
            total_length: u16_at(self.raw(), TOTAL_LENGTH),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_offset: self.fragment_offset(),
            ttl: self.ttl(),
            protocol: self.protocol(),
            source: self.source(),
            destination: self.destination(),
        }
    }
}

impl<'a> View<&'a [u8]> {
    /// [`View::payload`] with the lifetime of the bytes.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        self.0.get(self.header_len()..self.total_len().min(self.0.len())).unwrap_or_default()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Sets the ECN bits and updates the checksum (RFC 1624).
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.set_tos(traffic_class(self.dscp(), ecn));
    }

    /// Sets the DSCP and updates the checksum (RFC 1624).
    #[inline]
    pub fn set_dscp(&mut self, dscp: Dscp) {
        self.set_tos(traffic_class(dscp, self.ecn()));
    }

    #[inline]
    fn set_tos(&mut self, tos: u8) {
        let [version_ihl, old, ..] = *self.raw();
        let word = |tos| u16::from_be_bytes([version_ihl, tos]);
        let checksum = checksum::updated(self.checksum(), word(old), word(tos));
        put(self.0.as_mut(), TOS, &[tos]);
        self.set_checksum(checksum);
    }

    /// Decrements the TTL and updates the checksum (RFC 1624). Returns the new TTL. Returns `None` and
    /// changes nothing if it would be zero, as such a packet is not forwarded.
    #[inline]
    pub fn decrement_ttl(&mut self) -> Option<u8> {
        let ttl = self.ttl();
        (ttl > 1).then(|| {
            // `set_ttl` simplified for one hop: 0x0100 less in the sum is 0x0100 more in its complement.
            let sum = u32::from(self.checksum()) + 0x0100;
            put(self.0.as_mut(), TTL, &[ttl - 1]);
            self.set_checksum((sum + u32::from(sum >= 0xffff)) as u16);
            ttl - 1
        })
    }

    /// Sets the TTL and updates the checksum (RFC 1624).
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        let word = |ttl| u16::from_be_bytes([ttl, self.protocol().0]);
        let checksum = checksum::updated(self.checksum(), word(self.ttl()), word(ttl));
        put(self.0.as_mut(), TTL, &[ttl]);
        self.set_checksum(checksum);
    }

    /// Swaps source and destination; the checksum stays valid.
    #[inline]
    pub fn swap_addresses(&mut self) {
        swap::<4>(self.0.as_mut(), SOURCE, DESTINATION);
    }

    /// Sets the checksum field.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.0.as_mut(), CHECKSUM, &checksum.to_be_bytes());
    }

    /// Computes and writes the checksum over header and options.
    #[inline]
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        let header = self.0.as_ref().get(..self.header_len()).unwrap_or_default();
        self.set_checksum(Sum::ZERO.bytes(header).checksum());
    }

    /// [`View::payload`], mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let (start, end) = (self.header_len(), self.total_len());
        let bytes = self.0.as_mut();
        let end = end.min(bytes.len());
        bytes.get_mut(start..end).unwrap_or_default()
    }
}

/// A header without options, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Differentiated services codepoint.
    pub dscp: Dscp,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Length of header and payload, in bytes.
    pub total_length: u16,
    /// Identification, shared by the fragments of a packet.
    pub identification: u16,
    /// Whether fragmentation is forbidden.
    pub dont_fragment: bool,
    /// Whether fragments follow this one.
    pub more_fragments: bool,
    /// The fragment offset, in units of 8 bytes; the low 13 bits count.
    pub fragment_offset: u16,
    /// Time to live, in hops.
    pub ttl: u8,
    /// The upper layer.
    pub protocol: IpProtocol,
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
}

impl Header {
    /// Writes the header with its checksum; returns [`MIN_HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<MIN_HEADER_LEN>(out)?;
        let flags = (u16::from(self.dont_fragment) * DONT_FRAGMENT)
            | (u16::from(self.more_fragments) * MORE_FRAGMENTS)
            | (self.fragment_offset & FRAGMENT_OFFSET);
        put(out, 0, &[0x45, traffic_class(self.dscp, self.ecn)]);
        put(out, TOTAL_LENGTH, &self.total_length.to_be_bytes());
        put(out, IDENTIFICATION, &self.identification.to_be_bytes());
        put(out, FLAGS, &flags.to_be_bytes());
        put(out, TTL, &[self.ttl, self.protocol.0, 0, 0]);
        put(out, SOURCE, &self.source.octets());
        put(out, DESTINATION, &self.destination.octets());
        let checksum = Sum::ZERO.bytes(out).checksum();
        put(out, CHECKSUM, &checksum.to_be_bytes());
        Ok(MIN_HEADER_LEN)
    }
}

#[cfg(test)]
mod tests;
