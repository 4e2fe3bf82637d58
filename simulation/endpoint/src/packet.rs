//! The frames of a queue pair: headers that are built once and then only patched.

mod management;
mod path;
mod returning;
mod segment;

pub(crate) use management::ManagementFrame;
pub(crate) use path::{Path, ShortFrame};
pub(crate) use returning::{Collected, ReturningTemplate};
pub(crate) use segment::{AckSegmentTemplate, SegmentTemplate};

use crate::settings::{CongestionControl, HostSettings, Transport};
use core::net::IpAddr;
use path::{BTH_AT_MAX, IP_AT, behind_ip};
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;
use units::Bytes;
use wire::int;
use wire::ip::{Dscp, Ecn};
use wire::roce::bth::Telemetry;
use wire::roce::extended::Aeth;
use wire::roce::{Opcode, Psn, bth, icrc};
use wire::udp;

/// Bytes of the headers of a data packet, without telemetry; over IPv6 at most.
const DATA_HEADERS_MAX: usize = BTH_AT_MAX + bth::HEADER_LEN;
/// Bytes of an acknowledgement from its BTH on.
const ACK_TRANSPORT: usize = bth::HEADER_LEN + Aeth::LEN + icrc::LEN;
/// The variable part of an acknowledgement, which ends at the ICRC: it begins at the byte with the acknowledge request.
const ACK_VARIABLE: usize = bth::HEADER_LEN + Aeth::LEN - 8;

/// Syndrome of a positive acknowledgement without credits (InfiniBand section 9.7.5.2.1).
const SYNDROME_ACK: u8 = 0x1f;
/// Syndrome of a PSN sequence error.
const SYNDROME_SEQUENCE_ERROR: u8 = 0x60;
/// Syndrome of IRN's negative acknowledgement: the last reserved error code. The paper gives no format. The
/// PSN of the packet that arrived replaces the message sequence number.
const SYNDROME_SELECTIVE: u8 = 0x7f;

/// The format of data packets behind the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    /// RoCEv2.
    Roce,
    /// RoCEv2 with in-band telemetry after the BTH.
    Collecting(int::Format),
    /// TCP.
    Tcp,
}

impl HostSettings {
    /// The stored length, without FCS, of a data packet with `payload` bytes of a message. Of RoCEv2 over IPv4, headers and
    /// ICRC are 58 bytes, and the payload is padded to a multiple of four; in-band telemetry comes on top.
    #[inline]
    pub fn data_length(&self, payload: u16) -> Bytes {
        Format::of(self).data_length(behind_ip(self.station.address), payload)
    }

    /// The stored length, without FCS, of the longest frame that the host sends.
    pub fn longest_frame(&self) -> Bytes {
        let data = self.data_length(self.mtu);
        let message = management::frame_len(behind_ip(self.station.address));
        if self.manages_connections() { data.max(message) } else { data }
    }
}

impl Format {
    /// The format of a host.
    pub fn of(settings: &HostSettings) -> Self {
        match (settings.transport, settings.congestion_control) {
            (Transport::NewReno(_), _) => Self::Tcp,
            (_, CongestionControl::Hpcc(hpcc)) => Self::Collecting(hpcc.hops),
            _ => Self::Roce,
        }
    }

    /// The stored length, without FCS, of a data packet with `payload` bytes of a message, whose IP header ends at
    /// `behind_ip`.
    #[inline]
    const fn data_length(self, behind_ip: usize, payload: u16) -> Bytes {
        match self {
            Self::Tcp => segment::data_length(behind_ip, payload),
            Self::Roce | Self::Collecting(_) => {
                let rest = behind_ip + udp::HEADER_LEN + bth::HEADER_LEN + self.telemetry_len() + icrc::LEN;
                Bytes(rest as u64 + payload as u64 + self.padding(payload) as u64)
            }
        }
    }

    const fn telemetry_len(self) -> usize {
        match self {
            Self::Collecting(format) => format.bytes(),
            Self::Roce | Self::Tcp => 0,
        }
    }

    /// Bytes that pad everything after the BTH to a multiple of four.
    const fn padding(self, payload: u16) -> u16 {
        payload.wrapping_add(self.telemetry_len() as u16).wrapping_neg() & 3
    }
}

/// The headers of the data packets of a queue pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DataTemplate {
    path: Path,
    dscp: Dscp,
    format: Format,
    /// The payload of the last packet.
    payload: u16,
    /// The telemetry stays zero.
    #[serde(with = "BigArray")]
    bytes: [u8; DATA_HEADERS_MAX + int::LEN_MAX],
}

/// The variable fields of a data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataPacket {
    pub opcode: Opcode,
    pub psn: Psn,
    pub ack_requested: bool,
    /// Bytes of the message.
    pub payload: u16,
}

impl DataTemplate {
    pub fn new(path: Path, dscp: Dscp, format: Format) -> Self {
        let mut template =
            Self { path, dscp, format, payload: 0, bytes: [0; DATA_HEADERS_MAX + int::LEN_MAX] };
        template.emit_path(0);
        template
    }

    /// Writes the headers of `packet`; returns its stored length.
    #[inline]
    pub fn write(&mut self, packet: &DataPacket) -> Bytes {
        if packet.payload != self.payload {
            self.emit_path(packet.payload);
        }
        let header = bth::Header {
            pad_count: self.format.padding(packet.payload) as u8,
            ack_requested: packet.ack_requested,
            telemetry: match self.format {
                Format::Collecting(format) => Telemetry::Collected(format),
                Format::Roce | Format::Tcp => Telemetry::None,
            },
            psn: packet.psn,
            ..bth::Header::new(packet.opcode, self.path.remote)
        };
        // The header fits.
        let _ = header.emit(self.bytes.get_mut(self.path.bth_at()..).unwrap_or_default());
        self.format.data_length(self.path.behind_ip(), packet.payload)
    }

    fn emit_path(&mut self, payload: u16) {
        self.payload = payload;
        let length = self.format.data_length(self.path.behind_ip(), payload);
        let transport = (length.0 as usize - self.path.bth_at()) as u16;
        self.path.emit(self.dscp, Ecn::Ect0, transport, &mut self.bytes);
    }

    /// The destination.
    #[inline]
    pub fn peer(&self) -> IpAddr {
        self.path.peer()
    }

    /// The headers of the last packet.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let headers = self.path.bth_at() + bth::HEADER_LEN;
        self.bytes.get(..headers + self.format.telemetry_len()).unwrap_or_default()
    }
}

/// The answer of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Everything up to this sequence number has arrived.
    Acknowledge(Psn),
    /// This sequence number was expected, but another arrived.
    SequenceError(Psn),
    /// The first sequence number was expected, but the second arrived and was kept.
    Selective(Psn, Psn),
}

impl Answer {
    /// Parses an acknowledgement with this sequence number; `None` if receivers never send it.
    #[inline]
    pub fn parse(psn: Psn, aeth: Aeth) -> Option<Self> {
        match aeth.syndrome {
            _ if aeth.is_positive() => Some(Self::Acknowledge(psn)),
            SYNDROME_SEQUENCE_ERROR => Some(Self::SequenceError(psn)),
            SYNDROME_SELECTIVE => Some(Self::Selective(psn, aeth.message_sequence_number)),
            _ => None,
        }
    }

    /// PSN, syndrome, and the 24 bits after it: the number of received messages.
    #[inline]
    fn fields(self, messages: u32) -> (Psn, u8, Psn) {
        let messages = Psn::from_low_bits(messages);
        match self {
            Self::Acknowledge(psn) => (psn, SYNDROME_ACK, messages),
            Self::SequenceError(psn) => (psn, SYNDROME_SEQUENCE_ERROR, messages),
            Self::Selective(psn, arrived) => (psn, SYNDROME_SELECTIVE, arrived),
        }
    }
}

/// The acknowledgements of a queue pair, including the ICRC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AckTemplate {
    /// The frame and its ICRC with all variable fields zero.
    frame: ShortFrame,
}

impl AckTemplate {
    pub fn new(path: &Path, dscp: Dscp) -> Self {
        let (bth_at, length) = (path.bth_at(), path.bth_at() + ACK_TRANSPORT);
        let mut bytes = [0; ShortFrame::CAPACITY];
        path.emit(dscp, Ecn::NotEct, ACK_TRANSPORT as u16, &mut bytes);
        let header = bth::Header::new(Opcode::RC_ACKNOWLEDGE, path.remote);
        // The header fits, and this packet has a defined ICRC.
        let _ = header.emit(&mut bytes[bth_at..]);
        let _ = icrc::fill(&mut bytes[IP_AT..length]);
        Self { frame: ShortFrame { bytes, length: length as u8 } }
    }

    /// The frame with this answer, after `messages` received messages.
    #[inline]
    pub fn frame(&self, answer: Answer, messages: u32) -> ShortFrame {
        let (psn, syndrome, messages) = answer.fields(messages);
        let (sequence, messages) = (psn.number().to_be_bytes(), messages.number().to_be_bytes());
        let variable: [u8; ACK_VARIABLE] =
            [0, sequence[1], sequence[2], sequence[3], syndrome, messages[1], messages[2], messages[3]];
        let mut frame = self.frame;
        let length = usize::from(frame.length);
        if let Some(end) = frame.bytes[..length].last_chunk_mut::<{ ACK_VARIABLE + icrc::LEN }>() {
            let (fields, icrc) = end.split_at_mut(ACK_VARIABLE);
            let template = icrc.first_chunk().copied().unwrap_or_default();
            fields.copy_from_slice(&variable);
            icrc.copy_from_slice(&icrc::updated(template, &variable));
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Station;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use wire::ethernet::MacAddress;
    use wire::roce::QueuePair;
    use wire::{ipv4, ipv6};

    const BTH_AT: usize = 42;
    const UDP_AT: usize = 34;

    pub(super) fn path() -> Path {
        path_between([1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host).into()))
    }

    pub(super) fn path_v6() -> Path {
        path_between([1, 2].map(|host| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host).into()))
    }

    fn path_between([address, peer]: [IpAddr; 2]) -> Path {
        let station = Station { mac: MacAddress([2, 0, 0, 0, 0, 1]), address };
        let (next_hop, remote) = (MacAddress([2, 0, 0, 0, 0, 9]), QueuePair::from_low_bits(0x12_3456));
        Path::new(station, next_hop, peer, remote, 0xc123).unwrap()
    }

    #[test]
    fn a_path_leads_to_no_address_of_another_version() {
        let station = Station { mac: MacAddress([2, 0, 0, 0, 0, 1]), address: path().peer() };
        let remote = QueuePair::from_low_bits(2);
        assert!(Path::new(station, station.mac, path_v6().peer(), remote, 0).is_none());
    }

    #[test]
    fn over_ipv6_all_packets_have_the_longer_header_and_a_valid_icrc() {
        let (path, dscp) = (path_v6(), Dscp::from_low_bits(48));
        let ack = AckTemplate::new(&path, dscp).frame(Answer::Acknowledge(Psn::from_low_bits(7)), 1);
        let telemetry: [u8; int::LEN_MAX] = core::array::from_fn(|index| index as u8);
        let collected = Collected::new(int::Format::Eight, &telemetry).unwrap();
        let answer = Answer::SequenceError(Psn::from_low_bits(9));
        let returning = ReturningTemplate::new(&path, dscp).frame(answer, 1, collected);
        for (frame, length) in [(ack, 82), (path.notification(dscp), 94), (returning, 150)] {
            assert_eq!(frame.bytes().len(), length);
            assert_eq!(icrc::verify(&frame.bytes()[IP_AT..]), Ok(true));
            let ip = ipv6::View::parse(&frame.bytes()[IP_AT..]).unwrap();
            assert_eq!((IpAddr::V6(ip.destination()), ip.dscp()), (path.peer(), dscp));
            let bth = bth::View::parse(&frame.bytes()[BTH_AT + 20..]).unwrap();
            assert_eq!(bth.destination_qp(), path.remote);
        }
        let mut template = DataTemplate::new(path, dscp, Format::Roce);
        let packet = DataPacket {
            opcode: Opcode::RC_SEND_ONLY,
            psn: Psn::from_low_bits(3),
            ack_requested: true,
            payload: 1_024,
        };
        assert_eq!(template.write(&packet), Bytes(78 + 1_024));
        let ip = ipv6::View::parse_head(&template.bytes()[IP_AT..], 64 + 1_024).unwrap();
        assert_eq!((ip.total_len(), ip.ecn()), (64 + 1_024, Ecn::Ect0));
        assert_eq!(bth::View::parse(&template.bytes()[BTH_AT + 20..]).unwrap().psn(), packet.psn);
    }

    #[test]
    fn an_acknowledgement_has_a_valid_icrc_and_checksum() {
        let template = AckTemplate::new(&path(), Dscp::from_low_bits(48));
        for psn in [0, 1, 0x00ff_ffff, 0x0012_3456].map(Psn::from_low_bits) {
            let arrived = psn.advanced_by(5);
            for answer in
                [Answer::Acknowledge(psn), Answer::SequenceError(psn), Answer::Selective(psn, arrived)]
            {
                let frame = template.frame(answer, 1);
                let packet = &frame.bytes()[IP_AT..];
                assert_eq!(icrc::verify(packet), Ok(true));
                let ip = ipv4::View::parse(packet).unwrap();
                assert!(ip.verify_checksum());
                let bth = bth::View::parse(&frame.bytes()[BTH_AT..]).unwrap();
                assert_eq!((bth.opcode(), bth.psn()), (Opcode::RC_ACKNOWLEDGE, psn));
                let aeth = Aeth::parse(bth.payload()).unwrap();
                assert_eq!(Answer::parse(bth.psn(), aeth), Some(answer));
                assert_eq!(aeth.is_positive(), answer == Answer::Acknowledge(psn));
                assert_eq!(aeth.is_negative(), answer != Answer::Acknowledge(psn));
            }
        }
    }

    #[test]
    fn a_notification_has_a_valid_icrc_and_goes_to_the_sender() {
        let frame = path().notification(Dscp::from_low_bits(48));
        assert_eq!(frame.bytes().len(), 74);
        assert_eq!(icrc::verify(&frame.bytes()[IP_AT..]), Ok(true));
        let bth = bth::View::parse(&frame.bytes()[BTH_AT..]).unwrap();
        assert!(bth.opcode().is_cnp() && bth.becn());
        assert_eq!(bth.destination_qp().number(), 0x12_3456);
    }

    #[test]
    fn a_data_packet_is_padded_to_four_bytes_and_says_so() {
        let collecting = [int::Format::Five, int::Format::Eight];
        let collecting = collecting.map(|format| (Format::Collecting(format), Telemetry::Collected(format)));
        for (format, telemetry) in collecting.into_iter().chain([(Format::Roce, Telemetry::None)]) {
            let rest = format.telemetry_len() as u64;
            let mut template = DataTemplate::new(path(), Dscp::from_low_bits(26), format);
            for payload in [1_024, 1, 2, 3, 4, 0] {
                let (opcode, psn) = (Opcode::RC_SEND_MIDDLE, Psn::from_low_bits(7));
                let length = template.write(&DataPacket { opcode, psn, ack_requested: true, payload });
                assert_eq!(length, Bytes(58 + (rest + u64::from(payload)).next_multiple_of(4)));
                let packet = &template.bytes()[IP_AT..];
                let ip = ipv4::View::parse_head(packet, length.0 as usize - IP_AT).unwrap();
                assert!(ip.verify_checksum());
                assert_eq!((ip.total_len(), ip.ecn()), (length.0 as usize - IP_AT, Ecn::Ect0));
                let udp = udp::View::parse_head(ip.payload(), length.0 as usize - UDP_AT).unwrap();
                assert_eq!(udp.length() as u64, length.0 - UDP_AT as u64);
                let bth = bth::View::parse(&template.bytes()[BTH_AT..]).unwrap();
                assert_eq!(u64::from(bth.pad_count()), length.0 - 58 - rest - u64::from(payload));
                assert!(bth.ack_requested());
                assert_eq!(bth.telemetry(), telemetry);
                assert_eq!(bth.payload(), vec![0; rest as usize]);
            }
        }
    }
}
