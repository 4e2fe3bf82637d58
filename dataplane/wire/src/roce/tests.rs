//! Tests RoCEv2 against the vectors and a capture of two soft-RoCE hosts.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bth::Telemetry;
use super::extended::{Aeth, Deth, Reth};
use super::*;
use crate::ethernet::MacAddress;
use crate::ip::{Dscp, Ecn};
use crate::testing::*;
use crate::vlan::Tag;
use crate::{ParseError, Protocol, int, ipv4, ipv6, udp, vlan};
use units::{BitRate, Nanos};

/// The BTH and everything after it, without the ICRC.
fn transport(packet: &[u8]) -> &[u8] {
    let datagram = ipv4::View::parse(packet).unwrap().into_payload();
    let transport = udp::View::parse(datagram).unwrap().into_payload();
    &transport[..transport.len() - icrc::LEN]
}

fn last_four(packet: &[u8]) -> &[u8] {
    &packet[packet.len() - 4..]
}

fn cnp() -> cnp::Frame {
    cnp::Frame {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 0x0a]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 0x0b]),
        tag: None,
        addresses: cnp::Addresses::V4 {
            source: [10, 0, 18, 1].into(),
            destination: [10, 0, 17, 1].into(),
            identification: 0x718c,
        },
        dscp: Dscp::new(48).unwrap(),
        ecn: Ecn::Ect0,
        ttl: 64,
        source_port: 0,
        destination_qp: QueuePair::from_low_bits(0x118),
    }
}

#[test]
fn every_captured_packet_verifies_its_icrc_and_a_flipped_bit_does_not() {
    let packets = [roce_packets(VECTORS), roce_packets(SOFT_ROCE)].concat();
    assert_eq!(packets.len(), 5 + 643);
    for mut packet in packets {
        assert_eq!(icrc::verify(&packet), Ok(true));
        *packet.last_mut().unwrap() ^= 1;
        assert_eq!(icrc::verify(&packet), Ok(false));
    }
}

#[test]
fn the_icrc_of_the_write_outlives_ce_and_a_hop() {
    let mut packet = vector(VECTOR_WRITE)[14..].to_vec();
    assert_eq!(last_four(&packet), hex("635c341f"));
    let mut ip = ipv4::View::parse(&mut packet[..]).unwrap();
    ip.set_ecn(Ecn::Ce);
    assert_eq!(ip.decrement_ttl(), Some(63));
    assert!(ip.verify_checksum());
    assert_eq!(icrc::compute(&packet).unwrap()[..], hex("635c341f"));
    let header = bth::View::parse(&packet[28..]).unwrap().header();
    bth::Header { becn: true, fecn: true, ..header }.emit(&mut packet[28..]).unwrap();
    assert_eq!(icrc::compute(&packet).unwrap()[..], hex("635c341f"));
    // Fields that do not change on the way are covered.
    packet[20] ^= 1;
    assert_eq!(icrc::verify(&packet), Ok(false));
}

#[test]
fn the_icrc_outlives_what_switches_add_to_telemetry_and_covers_what_an_acknowledgement_returns() {
    let packet = |telemetry: Telemetry| {
        let mut packet = vector(VECTOR_WRITE)[14..].to_vec();
        let mut header = bth::View::parse(&packet[28..]).unwrap().header();
        header.telemetry = telemetry;
        header.emit(&mut packet[28..]).unwrap();
        icrc::fill(&mut packet).unwrap();
        packet
    };
    let rate = int::LinkRate::of(BitRate::gigabits(100)).unwrap();
    for format in [int::Format::Five, int::Format::Eight] {
        for (telemetry, outlives) in [
            (Telemetry::Collected(format), true),
            (Telemetry::Returned(format), false),
            (Telemetry::None, false),
        ] {
            let mut packet = packet(telemetry);
            for hop in 0..format.hops() as u64 {
                let hop = int::Hop::new(rate, Nanos(hop), 2, 3);
                int::stamp(&mut packet[40..], format, int::HopNumber::from_low_bits(7), hop);
            }
            assert_eq!(icrc::verify(&packet), Ok(outlives), "{telemetry:?}");
        }
        let mut packet = packet(Telemetry::Collected(format));
        packet[40 + format.bytes()] ^= 1;
        assert_eq!(icrc::verify(&packet), Ok(false), "what follows is covered");
    }
}

/// A packet with only a BTH.
fn bare(telemetry: Telemetry) -> Vec<u8> {
    let mut packet = vector(VECTOR_WRITE)[14..].to_vec();
    packet.truncate(28 + bth::HEADER_LEN + icrc::LEN);
    let mut header = bth::View::parse(&packet[28..]).unwrap().header();
    header.telemetry = telemetry;
    header.emit(&mut packet[28..]).unwrap();
    let length = packet.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    ipv4::View::parse(&mut packet[..]).unwrap().fill_checksum();
    packet[24..26].copy_from_slice(&(length - 20).to_be_bytes());
    packet
}

#[test]
fn a_packet_without_a_payload_has_an_icrc_and_a_shorter_one_has_none() {
    for telemetry in [Telemetry::None, Telemetry::Collected(int::Format::Five)] {
        let mut packet = bare(telemetry);
        icrc::fill(&mut packet).unwrap();
        assert_eq!(icrc::verify(&packet), Ok(true));
        // Eight bytes of ones, then the headers with ones where they change on the way.
        let mut covered = [&[0xff; 8][..], &packet[..40]].concat();
        [1, 8, 10, 11, 20 + 6, 20 + 7, 28 + 4].iter().for_each(|at| covered[8 + at] = 0xff);
        assert_eq!(last_four(&packet), crc32fast::hash(&covered).to_le_bytes());
        packet[30] ^= 1;
        assert_eq!(icrc::verify(&packet), Ok(false));
    }
    let mut packet = bare(Telemetry::None);
    packet.pop();
    packet[3] -= 1;
    packet[25] -= 1;
    ipv4::View::parse(&mut packet[..]).unwrap().fill_checksum();
    assert!(
        matches!(icrc::verify(&packet), Err(ParseError::Truncated { .. })),
        "{:?}",
        icrc::verify(&packet)
    );
}

#[test]
fn the_write_reads_as_specified() {
    let packet = vector(VECTOR_WRITE);
    let bth = bth::View::parse(transport(&packet[14..])).unwrap();
    let expected = bth::Header {
        migrated: true,
        ack_requested: true,
        psn: Psn::from_low_bits(0x12_3456),
        ..bth::Header::new(Opcode::RC_WRITE_ONLY, QueuePair::from_low_bits(0x2a7))
    };
    assert_eq!(bth.header(), expected);
    let reth = Reth { virtual_address: 0x7f00_1234_5678, remote_key: 0x1a2b, dma_length: 64 };
    assert_eq!(Reth::parse(bth.payload()), Ok(reth));
    assert!(bth.payload()[Reth::LEN..].iter().copied().eq(0..0x40));
}

#[test]
fn the_cnp_built_has_the_bytes_of_the_vector() {
    let mut out = [0xa5; cnp::MAX_FRAME_LEN];
    let length = cnp().emit(&mut out).unwrap();
    let expected = "02000000000a02000000000b080045c2003c718c4000401191610a0012010a001101000012b7002800008100\
                    ffff4000011800000000000000000000000000000000000000009676d35f";
    assert_eq!(out[..length], hex(expected));
    assert_eq!(out[..length], vector(VECTOR_CNP));
}

#[test]
fn the_cnp_of_a_connectx_has_the_icrc_that_we_compute() {
    let frame = vector(VECTOR_CONNECTX_CNP);
    assert_eq!(last_four(&frame), hex("82fd002a"));
    assert_eq!(icrc::compute(&frame[14..]).unwrap()[..], hex("82fd002a"));
    let bth = bth::View::parse(&frame[42..]).unwrap();
    assert!(bth.opcode().is_cnp() && bth.becn() && !bth.fecn());
    assert_eq!(bth.destination_qp(), QueuePair::from_low_bits(0x118));
}

#[test]
fn a_tagged_cnp_differs_by_its_tag_alone() {
    let tag = Tag::from_tci(0xc064);
    let mut out = [0; cnp::MAX_FRAME_LEN];
    let length = cnp::Frame { tag: Some(tag), ..cnp() }.emit(&mut out).unwrap();
    assert_eq!(length, 78);
    let stack = vlan::Stack::parse(&out[..length]).unwrap();
    assert_eq!((stack.outer, stack.payload_offset), (Some(tag), 18));
    assert_eq!(out[18..length], vector(VECTOR_CNP)[14..]);
}

#[test]
fn a_cnp_over_ipv6_verifies_whatever_changes_on_the_way() {
    let (source, destination) = ("2001:db8::2".parse().unwrap(), "2001:db8::1".parse().unwrap());
    let addresses = cnp::Addresses::V6 { source, destination, flow_label: 0xabcde };
    let mut out = [0; cnp::MAX_FRAME_LEN];
    let length = cnp::Frame { addresses, tag: Some(Tag::default()), ..cnp() }.emit(&mut out).unwrap();
    assert_eq!(length, cnp::MAX_FRAME_LEN);
    let packet = &mut out[18..];
    assert_eq!(icrc::verify(packet), Ok(true));
    let mut ip = ipv6::View::parse(&mut *packet).unwrap();
    assert_eq!((ip.total_len(), ip.dscp().number(), ip.flow_label()), (80, 48, 0xabcde));
    ip.set_ecn(Ecn::Ce);
    ip.decrement_hop_limit();
    packet[3] ^= 0xff; // Flow label.
    packet[46] ^= 0xff; // UDP checksum.
    assert_eq!(icrc::verify(packet), Ok(true));
    packet[8] ^= 1; // Source address.
    assert_eq!(icrc::verify(packet), Ok(false));
}

#[test]
fn the_icrc_over_ipv6_is_the_crc_of_the_masked_packet() {
    // The definition written out: ones, the masked packet, CRC-32, least byte first.
    let addresses = cnp::Addresses::V6 { source: [1; 16].into(), destination: [2; 16].into(), flow_label: 7 };
    let mut out = [0; 94];
    cnp::Frame { addresses, ..cnp() }.emit(&mut out).unwrap();
    let mut masked = out[14..90].to_vec();
    masked[0] |= 0x0f;
    for at in [1, 2, 3, 7, 46, 47, 52] {
        masked[at] = 0xff;
    }
    let crc = crc32fast::hash(&[vec![0xff; 8], masked].concat());
    assert_eq!(out[90..], crc.to_le_bytes());
}

#[test]
fn a_packet_without_a_defined_icrc_is_refused() {
    let packet = vector(VECTOR_CNP)[14..].to_vec();
    assert_truncated_below(60, &packet, icrc::compute);
    let refused = |at: usize, value: u8| {
        let mut packet = packet.clone();
        packet[at] = value;
        icrc::compute(&packet)
    };
    let invalid = |field, value| Err(ParseError::Invalid { protocol: Protocol::Icrc, field, value });
    assert_eq!(refused(0, 0x46), invalid("IPv4 header length", 24));
    assert_eq!(refused(9, 6), invalid("upper layer", 6));
    assert_eq!(refused(7, 3), invalid("fragment offset", 3));
    let error = ParseError::Truncated { protocol: Protocol::Icrc, needed: 24, available: 23 };
    assert_eq!(refused(25, 23), Err(error));
}

#[test]
fn a_cnp_needs_its_whole_buffer() {
    let error = crate::BufferTooSmall { needed: 74, available: 73 };
    assert_eq!(cnp().emit(&mut [0; 73]), Err(error));
}

#[test]
fn the_captured_connections_are_opened_and_closed() {
    let mut counts = BTreeMap::new();
    for packet in roce_packets(SOFT_ROCE) {
        let bth = bth::View::parse(transport(&packet)).unwrap();
        if let Some(datagram) = cm::View::in_packet(&bth) {
            *counts.entry(datagram.attribute_id().0).or_insert(0) += 1;
        }
    }
    assert_eq!(counts, BTreeMap::from([(0x10, 9), (0x13, 9), (0x14, 9), (0x15, 11), (0x16, 11)]));
}

#[test]
fn the_first_captured_request_and_reply_bind_two_queue_pairs() {
    let mut messages = roce_packets(SOFT_ROCE).into_iter().filter_map(|packet| {
        let bth = bth::View::parse(transport(&packet)).unwrap();
        cm::View::in_packet(&bth).map(|datagram| datagram.message())
    });
    let local = cm::CommunicationId(0x5059_0b19);
    let other = cm::CommunicationId(0xb31a_b2ad);
    let request = cm::Message::Request {
        local,
        service_id: 0x0000_0000_0106_4853,
        qp: QueuePair::from_low_bits(0x11),
        starting_psn: Psn::from_low_bits(0x64_2a62),
        flow_label: 0x1cc8c,
    };
    assert_eq!(messages.next(), Some(request));
    let (qp, starting_psn) = (QueuePair::from_low_bits(0x1f), Psn::from_low_bits(0x3a_0e11));
    assert_eq!(messages.next(), Some(cm::Message::Reply { local: other, remote: local, qp, starting_psn }));
    assert_eq!(messages.next(), Some(cm::Message::ReadyToUse { local, remote: other }));
}

#[test]
fn a_refusal_and_an_end_lie_where_the_specification_puts_them() {
    // REJ and DREQ, behind the 24 bytes of the header.
    let body = |message: cm::Message| {
        let mut out = [0; cm::DATAGRAM_LEN];
        message.emit(7, &mut out).unwrap();
        assert_eq!(cm::View::parse(&out[..]).unwrap().message(), message);
        out[24..36].to_vec()
    };
    let (local, remote) = (cm::CommunicationId(0x0102_0304), cm::CommunicationId(0x0506_0708));
    let refusal = cm::Message::Reject { local, remote, rejected: 2, reason: 28 };
    assert_eq!(body(refusal), hex("01020304050607088000001c"));
    let end =
        cm::Message::DisconnectRequest { local, remote, remote_qp: QueuePair::from_low_bits(0xab_cdef) };
    assert_eq!(body(end), hex("0102030405060708abcdef00"));
}

#[test]
fn every_captured_end_names_the_queue_pair_of_its_receiver() {
    let mut queue_pairs = BTreeMap::new();
    let mut ends = 0;
    for packet in roce_packets(SOFT_ROCE) {
        let bth = bth::View::parse(transport(&packet)).unwrap();
        match cm::View::in_packet(&bth).map(|datagram| datagram.message()) {
            Some(cm::Message::Request { local, qp, .. } | cm::Message::Reply { local, qp, .. }) => {
                queue_pairs.insert(local, qp);
            }
            Some(cm::Message::DisconnectRequest { remote, remote_qp, .. }) => {
                assert_eq!(queue_pairs.get(&remote), Some(&remote_qp));
                ends += 1;
            }
            _ => {}
        }
    }
    assert_eq!(ends, 11);
}

#[test]
fn a_connection_sends_from_the_port_of_its_flow_label() {
    // From REQ and REP: the sender, its destination queue pair and the label.
    let mut requests = BTreeMap::new();
    let mut ports = BTreeMap::new();
    let mut compared = 0;
    for packet in roce_packets(SOFT_ROCE) {
        let ip = ipv4::View::parse(&packet[..]).unwrap();
        let bth = bth::View::parse(transport(&packet)).unwrap();
        match cm::View::in_packet(&bth).map(|datagram| datagram.message()) {
            Some(cm::Message::Request { local, flow_label, .. }) => {
                requests.insert(local, flow_label);
            }
            Some(cm::Message::Reply { remote, qp, .. }) => {
                ports.insert((ip.source(), qp), source_port_of_flow_label(requests[&remote]));
            }
            Some(_) => {}
            None => {
                if let Some(port) = ports.get(&(ip.destination(), bth.destination_qp())) {
                    assert_eq!(udp::View::parse(ip.payload()).unwrap().source_port(), *port);
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 332, "packets of connections whose opening was captured");
}

#[test]
fn a_datagram_of_another_class_or_queue_pair_is_no_connection_management() {
    let packet = roce_packets(SOFT_ROCE)
        .into_iter()
        .find(|packet| cm::View::in_packet(&bth::View::parse(transport(packet)).unwrap()).is_some())
        .unwrap();
    let mut bytes = transport(&packet).to_vec();
    let mut class = bytes.clone();
    class[bth::HEADER_LEN + Deth::LEN + 1] = 3;
    assert!(cm::View::in_packet(&bth::View::parse(&class[..]).unwrap()).is_none());
    let error = ParseError::Invalid { protocol: Protocol::Cm, field: "management class", value: 3 };
    assert_eq!(cm::View::parse(&class[20..]).map(|_| ()), Err(error));
    let header = bth::View::parse(&bytes[..]).unwrap().header();
    bth::Header { destination_qp: QueuePair::from_low_bits(2), ..header }.emit(&mut bytes).unwrap();
    assert!(cm::View::in_packet(&bth::View::parse(&bytes[..]).unwrap()).is_none());
    assert_truncated_below(276, &class, |bytes| {
        let mad = bytes.get(20..).unwrap_or_default();
        cm::View::parse(mad).map(|_| ()).or_else(|error| match error {
            ParseError::Invalid { .. } => Ok(()),
            truncated => Err(truncated),
        })
    });
}

#[test]
fn the_source_port_of_queue_pairs_is_that_of_linux() {
    // 0x118 x 0x2a7 = 0x2e6a8, 0x12345 x 0x54321 = 0x5fcb99ae5, folded by hand.
    let port = |one, other| {
        source_port_of_queue_pairs(QueuePair::from_low_bits(one), QueuePair::from_low_bits(other))
    };
    assert_eq!(port(0x118, 0x2a7), 0xc000 | (0x26a8 ^ 0xb));
    let folded = (0x5_fcb9_9ae5_u64 ^ (0x5_fcb9_9ae5_u64 >> 20)) & 0xf_ffff;
    assert_eq!(u64::from(port(0x12345, 0x54321)), 0xc000 | ((folded & 0x3fff) ^ (folded >> 14)));
    // 0xfffffe x 0xffffff = 0xfffffd000002, and 0x00002 ^ 0xfffd0 ^ 0x000ff = 0xfff2d.
    assert_eq!(port(0xff_fffe, 0xff_ffff), 0xc000 | (0x3f2d ^ 0x3f));
    assert_eq!(port(0x11, 0x1f), port(0x1f, 0x11));
}

#[test]
fn sequence_numbers_wrap_at_24_bits() {
    let psn = Psn::from_low_bits;
    assert_eq!(psn(2).distance_from(psn(0xff_fffe)), 4);
    assert_eq!(psn(0xff_fffe).distance_from(psn(2)), -4);
    assert_eq!(psn(0x80_0000).distance_from(psn(0)), -0x80_0000);
    assert_eq!(psn(0xff_ffff).advanced_by(1), psn(0));
}

#[test]
fn kinds_of_acknowledgement_are_distinguished_by_their_syndrome() {
    let aeth = |syndrome| Aeth { syndrome, message_sequence_number: Psn::default() };
    assert!(aeth(0x1f).is_positive() && !aeth(0x1f).is_negative());
    assert!(aeth(0x2e).is_receiver_not_ready() && !aeth(0x2e).is_positive() && !aeth(0x2e).is_negative());
    assert!(!aeth(0x1f).is_receiver_not_ready() && !aeth(0x60).is_receiver_not_ready());
    assert!(aeth(0x60).is_negative() && !aeth(0x60).is_positive());
}

#[test]
fn an_opcode_says_what_it_is() {
    let with = |test: fn(Opcode) -> bool| (0..=0xff).filter(|code| test(Opcode(*code))).collect::<Vec<u8>>();
    assert_eq!(with(Opcode::is_read_response), [0x0d, 0x0e, 0x0f, 0x10]);
    assert_eq!(with(Opcode::is_cnp), [0x81]);
    assert_eq!(Opcode::CNP.to_string(), "CNP");
    assert_eq!(Opcode(0xff).to_string(), "opcode 0xff");
}

#[test]
fn the_name_of_an_opcode_says_what_it_does_and_over_which_transport() {
    for opcode in (0..=0xff).map(Opcode) {
        let Some(name) = opcode.name() else { continue };
        assert_eq!(opcode.is_send(), name.contains("_SEND_"), "{name}");
        assert_eq!(opcode.is_write(), name.contains("_WRITE_"), "{name}");
        assert_eq!(opcode.is_read_request(), name == "RC_READ_REQUEST");
        let response = name.contains("READ_RESPONSE") || name.ends_with("ACKNOWLEDGE");
        assert_eq!(opcode.is_response(), response, "{name}");
        let transport = match name.split('_').next() {
            Some("RC") => Transport::ReliableConnection,
            Some("UC") => Transport::UnreliableConnection,
            Some("UD") => Transport::UnreliableDatagram,
            _ => Transport::CongestionNotification,
        };
        assert_eq!(opcode.transport(), transport, "{name}");
    }
    assert_eq!(Opcode(0x44).transport(), Transport::ReliableDatagram);
    assert_eq!(Opcode(0xbf).transport(), Transport::ExtendedReliableConnection);
    assert_eq!(Opcode(0xc0).transport(), Transport::Manufacturer);
}

#[test]
fn the_head_of_a_packet_reads_as_its_layers_do() {
    for packet in [roce_packets(VECTORS), roce_packets(SOFT_ROCE)].concat() {
        let head = Head::parse(&packet).unwrap();
        let ip = ipv4::View::parse(&packet[..]).unwrap();
        let udp = udp::View::parse(ip.payload()).unwrap();
        assert_eq!((head.source(), head.destination()), (ip.source(), ip.destination()));
        assert_eq!((head.source_port(), head.into_bth()), (udp.source_port(), udp.payload()));
    }
}

#[test]
fn a_packet_with_other_layers_has_no_head() {
    let packet = vector(VECTOR_CNP)[14..].to_vec();
    // Version, length of the header, both bytes of flags and fragment offset, protocol, destination port.
    for (at, change) in
        [(0, 0x20), (0, 0x01), (6, 0x20), (6, 0x01), (7, 0x01), (9, 0x01), (22, 0x01), (23, 0x01)]
    {
        let mut packet = packet.clone();
        packet[at] ^= change;
        assert!(Head::parse(&packet).is_none(), "{at}");
    }
    assert!(Head::parse(&packet[..head::LEN]).is_some() && Head::parse(&packet[..head::LEN - 1]).is_none());
    for (length, is_whole) in [(20, true), (19, false)] {
        let mut packet = packet.clone();
        packet[24..26].copy_from_slice(&[0, length]);
        assert_eq!(Head::parse(&packet).is_some(), is_whole, "a datagram of {length} bytes");
    }
}

fn any_telemetry() -> impl Strategy<Value = Telemetry> {
    let with = |format| [Telemetry::Collected(format), Telemetry::Returned(format)];
    let with = [int::Format::Five, int::Format::Eight].into_iter().flat_map(with);
    prop::sample::select(with.chain([Telemetry::None]).collect::<Vec<_>>())
}

fn any_opcode() -> impl Strategy<Value = Opcode> {
    any::<u8>().prop_map(Opcode)
}

proptest! {
    #[test]
    fn a_base_header_is_read_as_it_was_written(
        opcode in any_opcode(), flags: [bool; 5], telemetry in any_telemetry(), pad_count in 0..4u8, transport_version in 0..16u8,
        partition_key: u16, qp: u32, psn: u32,
    ) {
        let [solicited_event, migrated, fecn, becn, ack_requested] = flags;
        let destination_qp = QueuePair::from_low_bits(qp);
        let psn = Psn::from_low_bits(psn);
        #[rustfmt::skip]
        let header = bth::Header {
            opcode, solicited_event, migrated, pad_count, transport_version, partition_key, fecn, becn,
            destination_qp, ack_requested, telemetry, psn,
        };
        let mut out = [0xa5; bth::HEADER_LEN];
        prop_assert_eq!(header.emit(&mut out), Ok(bth::HEADER_LEN));
        prop_assert_eq!(bth::View::parse(out).unwrap().header(), header);
    }

    #[test]
    fn extended_headers_are_read_as_they_were_written(virtual_address: u64, keys: [u32; 2], syndrome: u8) {
        let [remote_key, number] = keys;
        let mut out = [0; 16];
        macro_rules! round_trip {
            ($header:ty, $value:expr) => {
                let value: $header = $value;
                prop_assert_eq!(value.emit(&mut out), Ok(<$header>::LEN));
                prop_assert_eq!(<$header>::parse(&out), Ok(value));
                prop_assert!(<$header>::parse(&out[..<$header>::LEN - 1]).is_err());
                prop_assert!(value.emit(&mut out[..<$header>::LEN - 1]).is_err());
            };
        }
        round_trip!(Reth, Reth { virtual_address, remote_key, dma_length: number });
        round_trip!(Aeth, Aeth { syndrome, message_sequence_number: Psn::from_low_bits(number) });
        round_trip!(Deth, Deth { queue_key: remote_key, source_qp: QueuePair::from_low_bits(number) });
    }

    #[test]
    fn a_management_datagram_is_read_as_it_was_written(
        kind in 0..7u8, ids: [u32; 2], qp: u32, psn: u32, service_id: u64, reason: u16, transaction_id: u64,
    ) {
        let [local, remote] = ids.map(cm::CommunicationId);
        let (qp, starting_psn) = (QueuePair::from_low_bits(qp), Psn::from_low_bits(psn));
        let message = match kind {
            0 => cm::Message::Request { local, service_id, qp, starting_psn, flow_label: psn >> 12 },
            1 => cm::Message::Reply { local, remote, qp, starting_psn },
            2 => cm::Message::ReadyToUse { local, remote },
            3 => cm::Message::Reject { local, remote, rejected: psn as u8 & 3, reason },
            4 => cm::Message::DisconnectRequest { local, remote, remote_qp: qp },
            5 => cm::Message::DisconnectReply { local, remote },
            _ => cm::Message::Other(cm::AttributeId::MRA),
        };
        let mut out = [0xa5; cm::DATAGRAM_LEN];
        prop_assert_eq!(message.emit(transaction_id, &mut out), Ok(cm::DATAGRAM_LEN));
        let view = cm::View::parse(&out[..]).unwrap();
        prop_assert_eq!((view.message(), view.transaction_id()), (message, transaction_id));
    }

    #[test]
    fn an_icrc_is_updated_as_if_computed_anew(changed in any_bytes(30), at_most in 0..30usize) {
        let mut packet = vector(VECTOR_CNP)[14..].to_vec();
        let before: [u8; icrc::LEN] = packet[56..].try_into().unwrap();
        let mut difference = changed[..changed.len().min(at_most).min(28)].to_vec();
        let start = 56 - difference.len();
        // Bytes after a BTH that announces telemetry count as ones.
        const ANNOUNCES_TELEMETRY: usize = 36;
        if let Some(byte) = ANNOUNCES_TELEMETRY.checked_sub(start).and_then(|at| difference.get_mut(at)) {
            *byte &= 0x9f;
        }
        packet[start..56].iter_mut().zip(&difference).for_each(|(byte, change)| *byte ^= change);
        // The byte with FECN and BECN counts as ones.
        prop_assume!(start > 32);
        prop_assert_eq!(icrc::compute(&packet), Ok(icrc::updated(before, &difference)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any_bytes(300), first in prop::sample::select(vec![0x45, 0x60])) {
        if let Ok(bth) = bth::View::parse(&bytes[..]) {
            let _ = (bth.header(), cm::View::in_packet(&bth));
        }
        let mut packet = bytes;
        if let [version, _, high, low, _, _, next6, _, _, next4, ..] = &mut packet[..] {
            (*version, *high, *low, *next6, *next4) = (first, 0, *low / 2, 17, 17);
        }
        if icrc::fill(&mut packet) == Ok(()) {
            prop_assert_eq!(icrc::verify(&packet), Ok(true));
        }
    }
}
