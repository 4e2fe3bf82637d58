//! IPv6: RFC 8200.

use core::net::Ipv6Addr;

use crate::bytes::{array, checked_head, head, put, room, swap, u16_at, u32_at};
use crate::error::{invalid, truncated};
use crate::ip::{Dscp, Ecn, IpProtocol, traffic_class};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of the fixed header.
pub const HEADER_LEN: usize = 40;

/// The maximum number of extension headers that [`View::upper_layer`] skips. RFC 8200 section 4.1 recommends
/// an order in which seven can occur; longer chains are not expected.
pub const MAX_EXTENSION_HEADERS: usize = 8;

const PAYLOAD_LENGTH: usize = 4;
const NEXT_HEADER: usize = 6;
const HOP_LIMIT: usize = 7;
const SOURCE: usize = 8;
const DESTINATION: usize = 24;

const FLOW_LABEL: u32 = 0x000f_ffff;

/// A checked view of a packet.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, which start with the header and hold the whole packet. Padding may follow. Jumbograms
    /// (RFC 2675) are not supported: their payload length of 0 is taken literally.
    ///
    /// # Errors
    /// Truncated, where the header or the payload length reaches past the bytes; invalid, where
    /// the version is not 6.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let length_on_wire = bytes.as_ref().len();
        Self::parse_head(bytes, length_on_wire)
    }

    /// Like [`View::parse`], but `bytes` need only hold the fixed header: the payload length is checked
    /// against `length_on_wire`, in bytes from the start of the header.
    ///
    /// # Errors
    /// As [`View::parse`].
    #[inline]
    pub fn parse_head(bytes: T, length_on_wire: usize) -> Result<Self, ParseError> {
        let header = checked_head::<HEADER_LEN>(Protocol::Ipv6, bytes.as_ref())?;
        if header[0] >> 4 != 6 {
            return Err(invalid(Protocol::Ipv6, "version", u32::from(header[0] >> 4)));
        }
        let total_len = HEADER_LEN + usize::from(u16_at(header, PAYLOAD_LENGTH));
        if total_len > length_on_wire {
            return Err(truncated(Protocol::Ipv6, total_len, length_on_wire));
        }
        Ok(Self(bytes))
    }

    /// Views bytes that were parsed before and whose lengths have not changed since. On any other bytes,
    /// fields are zero or arbitrary.
    #[inline(always)]
    pub const fn known(bytes: T) -> Self {
        Self(bytes)
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    #[inline(always)]
    fn first_word(&self) -> u32 {
        u32_at(self.raw(), 0)
    }

    /// Length of header and payload, in bytes.
    #[inline]
    pub fn total_len(&self) -> usize {
        HEADER_LEN + usize::from(u16_at(self.raw(), PAYLOAD_LENGTH))
    }

    /// DSCP and ECN in one octet.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (self.first_word() >> 20) as u8
    }

    /// Differentiated services codepoint.
    #[inline]
    pub fn dscp(&self) -> Dscp {
        Dscp::from_low_bits(self.traffic_class() >> 2)
    }

    /// Explicit congestion notification.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_low_bits(self.traffic_class())
    }

    /// Flow label, 20 bits (RFC 6437).
    #[inline]
    pub fn flow_label(&self) -> u32 {
        self.first_word() & FLOW_LABEL
    }

    /// The type of the next header: an extension header or the upper layer.
    #[inline]
    pub fn next_header(&self) -> IpProtocol {
        IpProtocol(self.raw()[NEXT_HEADER])
    }

    /// The hop limit.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.raw()[HOP_LIMIT]
    }

    /// The sender.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        Ipv6Addr::from_octets(array(self.raw(), SOURCE))
    }

    /// The receiver.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        Ipv6Addr::from_octets(array(self.raw(), DESTINATION))
    }

    /// Everything after the fixed header that the payload length gives, extension headers included, as far as
    /// `bytes` hold it.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        bytes.get(HEADER_LEN..self.total_len().min(bytes.len())).unwrap_or_default()
    }

    /// Skips the extension headers to the upper layer.
    ///
    /// # Errors
    /// Truncated, where an extension header reaches past the payload at hand; invalid after more
    /// than [`MAX_EXTENSION_HEADERS`] of them.
    #[inline]
    pub fn upper_layer(&self) -> Result<UpperLayer, ParseError> {
        let first = self.next_header();
        if !is_extension(first) {
            return Ok(UpperLayer { protocol: first, offset: HEADER_LEN, fragment: None });
        }
        walk(first, self.payload())
    }

    /// The header as a value.
    #[inline]
    pub fn header(&self) -> Header {
        Header {
            dscp: self.dscp(),
            ecn: self.ecn(),
            flow_label: self.flow_label(),
            payload_length: u16_at(self.raw(), PAYLOAD_LENGTH),
            next_header: self.next_header(),
            hop_limit: self.hop_limit(),
            source: self.source(),
            destination: self.destination(),
        }
    }
}

impl<'a> View<&'a [u8]> {
    /// [`View::payload`] with the lifetime of the bytes.
    #[inline]
    pub fn into_payload(self) -> &'a [u8] {
        self.0.get(HEADER_LEN..self.total_len().min(self.0.len())).unwrap_or_default()
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Sets the ECN bits. There is no checksum to update.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.set_traffic_class(traffic_class(self.dscp(), ecn));
    }

    /// Sets the DSCP.
    #[inline]
    pub fn set_dscp(&mut self, dscp: Dscp) {
        self.set_traffic_class(traffic_class(dscp, self.ecn()));
    }

    #[inline]
    fn set_traffic_class(&mut self, class: u8) {
        let word = (self.first_word() & !0x0ff0_0000) | (u32::from(class) << 20);
        put(self.0.as_mut(), 0, &word.to_be_bytes());
    }

    /// Decrements the hop limit and returns it. Returns `None` and changes nothing if it would be zero, as
    /// such a packet is not forwarded.
    #[inline]
    pub fn decrement_hop_limit(&mut self) -> Option<u8> {
        let hops = self.hop_limit();
        (hops > 1).then(|| {
            self.set_hop_limit(hops - 1);
            hops - 1
        })
    }

    /// Sets the hop limit.
    #[inline]
    pub fn set_hop_limit(&mut self, hops: u8) {
        put(self.0.as_mut(), HOP_LIMIT, &[hops]);
    }

    /// Swaps source and destination; the checksums of upper layers stay valid.
    #[inline]
    pub fn swap_addresses(&mut self) {
        swap::<16>(self.0.as_mut(), SOURCE, DESTINATION);
    }

    /// [`View::payload`], mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let end = self.total_len();
        let bytes = self.0.as_mut();
        let end = end.min(bytes.len());
        bytes.get_mut(HEADER_LEN..end).unwrap_or_default()
    }
}

/// The end of the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperLayer {
    /// The upper layer. ESP, whose contents are encrypted, and "no next header" count as one.
    pub protocol: IpProtocol,
    /// Its offset, in bytes from the start of the IPv6 header.
    pub offset: usize,
    /// The fragment header, if there is one.
    pub fragment: Option<Fragment>,
}

/// A fragment header's position fields (RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The fragment offset, in units of 8 bytes. Unless it is 0, there is no upper-layer header at
    /// [`UpperLayer::offset`].
    pub offset: u16,
    /// Whether fragments follow this one.
    pub more: bool,
}

const fn is_extension(protocol: IpProtocol) -> bool {
    matches!(
        protocol,
        IpProtocol::HOP_BY_HOP
            | IpProtocol::ROUTING
            | IpProtocol::FRAGMENT
            | IpProtocol::AUTHENTICATION
            | IpProtocol::DESTINATION_OPTIONS
    )
}

/// Out of line, because frames rarely have extension headers.
#[cold]
fn walk(first: IpProtocol, payload: &[u8]) -> Result<UpperLayer, ParseError> {
    let mut layer = UpperLayer { protocol: first, offset: HEADER_LEN, fragment: None };
    for _ in 0..MAX_EXTENSION_HEADERS {
        let at = layer.offset - HEADER_LEN;
        let rest = payload.get(at..).unwrap_or_default();
        // The shortest extension header has 8 bytes.
        let start = checked_head::<8>(Protocol::Ipv6, rest)?;
        let length = match layer.protocol {
            IpProtocol::FRAGMENT => {
                let position = u16_at(start, 2);
                layer.fragment = Some(Fragment { offset: position >> 3, more: position & 1 != 0 });
                8
            }
            // In units of 4 bytes, less 2 (RFC 4302 section 2.2).
            IpProtocol::AUTHENTICATION => (usize::from(start[1]) + 2) * 4,
            // In units of 8 bytes, not counting the first.
            _ => (usize::from(start[1]) + 1) * 8,
        };
        if length > rest.len() {
            return Err(truncated(Protocol::Ipv6, length, rest.len()));
        }
        layer.protocol = IpProtocol(start[0]);
        layer.offset += length;
        // A later fragment holds payload after its header, whatever the field says.
        if !is_extension(layer.protocol) || layer.fragment.is_some_and(|fragment| fragment.offset != 0) {
            return Ok(layer);
        }
    }
    Err(invalid(Protocol::Ipv6, "next header after the last one allowed", u32::from(layer.protocol.0)))
}

/// The fixed header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Differentiated services codepoint.
    pub dscp: Dscp,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Flow label; the low 20 bits count.
    pub flow_label: u32,
    /// Length of everything after the fixed header, in bytes.
    pub payload_length: u16,
    /// The type of the next header.
    pub next_header: IpProtocol,
    /// The hop limit.
    pub hop_limit: u8,
    /// The sender.
    pub source: Ipv6Addr,
    /// The receiver.
    pub destination: Ipv6Addr,
}

impl Header {
    /// Writes the header; returns [`HEADER_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<HEADER_LEN>(out)?;
        let class = u32::from(traffic_class(self.dscp, self.ecn));
        let word = (6 << 28) | (class << 20) | (self.flow_label & FLOW_LABEL);
        put(out, 0, &word.to_be_bytes());
        put(out, PAYLOAD_LENGTH, &self.payload_length.to_be_bytes());
        put(out, NEXT_HEADER, &[self.next_header.0, self.hop_limit]);
        put(out, SOURCE, &self.source.octets());
        put(out, DESTINATION, &self.destination.octets());
        Ok(HEADER_LEN)
    }
}

#[cfg(test)]
mod tests;
