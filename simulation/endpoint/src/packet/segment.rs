//! TCP segments.
//!
//! A message is the data of one direction of an established connection: it starts at a sequence number known
//! to both ends, and its last segment has FIN. The other direction carries no data, and its sequence numbers
//! are zero. There are no options, so no window scaling or timestamps. The advertised window is the largest
//! without scaling; the sender ignores it.

use super::path::{Addresses, BTH_AT_MAX, Path, ShortFrame};
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;
use units::Bytes;
use wire::ethernet::MIN_FRAME_LEN;
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::roce::{Psn, QueuePair};
use wire::tcp::{self, Flags, SequenceNumber};
use wire::udp;

/// Bytes of all headers, over IPv6 at most.
const HEADERS_MAX: usize = BTH_AT_MAX - udp::HEADER_LEN + tcp::MIN_HEADER_LEN;

/// The port of a queue pair: the low 16 bits of its number.
#[inline]
const fn port_of(pair: QueuePair) -> u16 {
    pair.number() as u16
}

/// The sequence number of a message's first byte.
#[inline]
const fn first_sequence(first_psn: Psn) -> SequenceNumber {
    SequenceNumber(first_psn.number() << 8)
}

/// The stored length, without FCS, of a segment with `payload` bytes, whose IP header ends at `behind_ip`.
#[inline]
pub(crate) const fn data_length(behind_ip: usize, payload: u16) -> Bytes {
    let length = (behind_ip + tcp::MIN_HEADER_LEN) as u64 + payload as u64;
    Bytes(if length < MIN_FRAME_LEN as u64 { MIN_FRAME_LEN as u64 } else { length })
}

/// The constant fields of segments.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Ends {
    addresses: Addresses,
    source_port: u16,
    destination_port: u16,
}

impl Ends {
    fn new(path: &Path, local: QueuePair) -> Self {
        Self {
            addresses: path.addresses(),
            source_port: port_of(local),
            destination_port: port_of(path.remote),
        }
    }

    /// A header with the checksum of a segment whose payload is `payload` zero bytes.
    #[inline]
    fn header(
        &self,
        sequence: SequenceNumber,
        acknowledgement: SequenceNumber,
        flags: Flags,
        payload: u16,
    ) -> tcp::Header {
        let header = tcp::Header {
            source_port: self.source_port,
            destination_port: self.destination_port,
            sequence,
            acknowledgement,
            flags,
            window: u16::MAX,
            checksum: 0,
            urgent: 0,
        };
        let length = tcp::MIN_HEADER_LEN as u16 + payload;
        match self.addresses {
            Addresses::V4 { source, destination } => header.checked_ipv4(source, destination, length),
            Addresses::V6 { source, destination } => header.checked_ipv6(source, destination, length),
        }
    }
}

/// The headers of the segments of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SegmentTemplate {
    ends: Ends,
    path: Path,
    dscp: Dscp,
    first: SequenceNumber,
    /// The payload of the last segment.
    payload: u16,
    #[serde(with = "BigArray")]
    bytes: [u8; HEADERS_MAX],
}

impl SegmentTemplate {
    /// The template for the message from queue pair `local`. The first sequence number derives from
    /// `first_psn`.
    pub fn new(path: Path, local: QueuePair, first_psn: Psn, dscp: Dscp) -> Self {
        let (ends, first) = (Ends::new(&path, local), first_sequence(first_psn));
        let mut template = Self { ends, path, dscp, first, payload: 0, bytes: [0; HEADERS_MAX] };
        template.emit_path(0);
        template
    }

    /// Writes the headers of the segment at byte `offset` of the message; returns its stored length.
    #[inline]
    pub fn write(&mut self, offset: u64, payload: u16, last: bool) -> Bytes {
        if payload != self.payload {
            self.emit_path(payload);
        }
        let flags = if last { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
        let header =
            self.ends.header(self.first.advanced_by(offset), SequenceNumber::default(), flags, payload);
        // The header fits.
        let _ = header.emit(self.bytes.get_mut(self.path.behind_ip()..).unwrap_or_default());
        data_length(self.path.behind_ip(), payload)
    }

    fn emit_path(&mut self, payload: u16) {
        self.payload = payload;
        let length = tcp::MIN_HEADER_LEN as u16 + payload;
        self.path.emit_packet(self.dscp, Ecn::NotEct, IpProtocol::TCP, length, &mut self.bytes);
    }

    /// The number of message bytes before `acknowledgement`, with FIN as one more; `near` is a value close to
    /// it.
    #[inline]
    pub fn bytes_before(&self, acknowledgement: SequenceNumber, near: u64) -> Option<u64> {
        near.checked_add_signed(acknowledgement.distance_from(self.first.advanced_by(near)).into())
    }

    #[inline]
    pub fn peer(&self) -> IpAddr {
        self.path.peer()
    }

    /// The port of the far end.
    #[inline]
    pub fn remote_port(&self) -> u16 {
        self.ends.destination_port
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.path.behind_ip() + tcp::MIN_HEADER_LEN).unwrap_or_default()
    }
}

/// The acknowledgements of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AckSegmentTemplate {
    ends: Ends,
    first: SequenceNumber,
    /// A frame with Ethernet and IP headers.
    frame: ShortFrame,
    /// Where its TCP header begins.
    tcp_at: usize,
}

impl AckSegmentTemplate {
    /// Like [`SegmentTemplate::new`], for the far end.
    pub fn new(path: &Path, local: QueuePair, first_psn: Psn, dscp: Dscp) -> Self {
        let (mut bytes, tcp_at) = ([0; ShortFrame::CAPACITY], path.behind_ip());
        path.emit_packet(dscp, Ecn::NotEct, IpProtocol::TCP, tcp::MIN_HEADER_LEN as u16, &mut bytes);
        let frame = ShortFrame { bytes, length: data_length(tcp_at, 0).0 as u8 };
        Self { ends: Ends::new(path, local), first: first_sequence(first_psn), frame, tcp_at }
    }

    /// The frame that acknowledges everything before byte `before` of the message, with FIN as one more.
    #[inline]
    pub fn frame(&self, before: u64) -> ShortFrame {
        let acknowledgement = self.first.advanced_by(before);
        let header = self.ends.header(SequenceNumber::default(), acknowledgement, Flags::ACK, 0);
        let mut frame = self.frame;
        // The header fits.
        let _ = header.emit(&mut frame.bytes[self.tcp_at..]);
        frame
    }

    /// The offset of `sequence` in the message; `near` is an offset close to it.
    #[inline]
    pub fn offset_of(&self, sequence: SequenceNumber, near: u64) -> Option<u64> {
        near.checked_add_signed(sequence.distance_from(self.first.advanced_by(near)).into())
    }

    /// The port of the far end.
    #[inline]
    pub fn remote_port(&self) -> u16 {
        self.ends.destination_port
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::IP_AT;
    use super::super::tests::{path, path_v6};
    use super::*;
    use wire::checksum::Sum;
    use wire::ethernet::HEADER_LEN;
    use wire::{ipv4, ipv6};

    const LOCAL: QueuePair = QueuePair::from_low_bits(0x10_0042);
    const FIRST: Psn = Psn::from_low_bits(0xff_ffff);

    #[test]
    fn a_segment_has_valid_checksums_and_its_place_in_the_message() {
        let mut template = SegmentTemplate::new(path(), LOCAL, FIRST, Dscp::from_low_bits(8));
        for (offset, payload, last) in
            [(0, 1_460, false), (1_460, 1_460, false), (2_920, 1, true), (0, 0, true)]
        {
            let length = template.write(offset, payload, last);
            assert_eq!(length, Bytes((54 + u64::from(payload)).max(60)));
            let packet = &template.bytes()[HEADER_LEN..];
            let ip = ipv4::View::parse_head(packet, length.0 as usize - IP_AT).unwrap();
            assert!(ip.verify_checksum());
            assert_eq!((ip.protocol(), ip.ecn()), (IpProtocol::TCP, Ecn::NotEct));
            assert_eq!(ip.total_len(), 40 + usize::from(payload));
            let tcp = tcp::View::parse(&template.bytes()[34..]).unwrap();
            assert!(tcp.verify_checksum_ipv4(ip.source(), ip.destination(), 20 + payload));
            assert_eq!((tcp.source_port(), tcp.destination_port()), (0x42, 0x3456));
            assert_eq!(tcp.sequence().0, 0xffff_ff00_u32.wrapping_add(offset as u32));
            assert_eq!(tcp.flags(), if last { Flags(0x11) } else { Flags(0x10) });
        }
    }

    #[test]
    fn over_ipv6_a_segment_and_its_acknowledgement_have_valid_checksums() {
        let mut template = SegmentTemplate::new(path_v6(), LOCAL, FIRST, Dscp::from_low_bits(8));
        assert_eq!(template.write(0, 1_460, true), Bytes(74 + 1_460));
        let acks = AckSegmentTemplate::new(&path_v6(), LOCAL, FIRST, Dscp::from_low_bits(8));
        for (bytes, payload) in [(template.bytes(), 1_460), (acks.frame(7).bytes(), 0)] {
            assert_eq!(bytes.len(), 74);
            let ip = ipv6::View::parse_head(&bytes[HEADER_LEN..], usize::MAX).unwrap();
            assert_eq!((ip.total_len(), ip.next_header()), (60 + payload, IpProtocol::TCP));
            let sum = Sum::pseudo_ipv6(ip.source(), ip.destination(), IpProtocol::TCP, 20 + payload as u32);
            assert_eq!(sum.bytes(&bytes[54..]).folded(), 0xffff);
        }
    }

    #[test]
    fn an_acknowledgement_is_read_as_the_bytes_that_it_was_made_of() {
        let acks = AckSegmentTemplate::new(&path(), LOCAL, FIRST, Dscp::from_low_bits(8));
        let template = SegmentTemplate::new(path(), LOCAL, FIRST, Dscp::from_low_bits(8));
        for before in [0, 1, 5_000_000_000] {
            let frame = acks.frame(before);
            assert_eq!(frame.bytes().len(), 60);
            let ip = ipv4::View::parse(&frame.bytes()[HEADER_LEN..]).unwrap();
            assert!(ip.verify_checksum());
            let tcp = tcp::View::parse(ip.payload()).unwrap();
            assert!(tcp.verify_checksum_ipv4(ip.source(), ip.destination(), 20));
            for near in [before, before.saturating_sub(1_000_000), before + 1_000_000] {
                assert_eq!(template.bytes_before(tcp.acknowledgement(), near), Some(before));
                assert_eq!(acks.offset_of(tcp.acknowledgement(), near), Some(before));
            }
        }
        assert_eq!(template.bytes_before(SequenceNumber(0xffff_feff), 0), None, "before the first one");
    }
}
