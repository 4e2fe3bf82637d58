use etherparse::{IcmpEchoHeader, Icmpv6Header, Icmpv6Type};
use proptest::prelude::*;

use super::*;
use crate::ip::{Dscp, Ecn};
use crate::testing::*;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
const ASKER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const TARGET_ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);

/// An IPv6 packet with a solicitation for [`TARGET_ADDRESS`].
fn solicitation(source: Ipv6Addr, source_link_address: Option<MacAddress>) -> Vec<u8> {
    let mut message = [0; 32];
    let value = NeighbourSolicitation { target: TARGET_ADDRESS, source_link_address };
    let length = value.emit(source, GROUP, &mut message).unwrap();
    let header = ipv6::Header {
        dscp: Dscp::DEFAULT,
        ecn: Ecn::NotEct,
        flow_label: 0,
        payload_length: length as u16,
        next_header: IpProtocol::ICMPV6,
        hop_limit: NEIGHBOUR_HOP_LIMIT,
        source,
        destination: GROUP,
    };
    let mut packet = vec![0; ipv6::HEADER_LEN];
    header.emit(&mut packet).unwrap();
    packet.extend(&message[..length]);
    packet
}

fn advertisement(packet: &[u8]) -> (Ipv6Addr, Ipv6Addr, NeighbourAdvertisement) {
    let ip = ipv6::View::parse(packet).unwrap();
    let icmp = View::parse(ip.payload()).unwrap();
    assert!(icmp.verify_checksum(ip.source(), ip.destination()));
    assert_eq!((ip.hop_limit(), ip.total_len()), (255, ADVERTISEMENT_PACKET_LEN));
    match icmp.message() {
        Ok(Message::NeighbourAdvertisement(advertisement)) => (ip.source(), ip.destination(), advertisement),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_solicitation_becomes_the_advertisement_that_answers_it() {
    let mut packet = solicitation(ASKER, Some(MacAddress([2, 0, 0, 0, 0, 1])));
    assert_eq!(turn_solicitation_into_advertisement(&mut packet, MAC, false), Some(ASKER));
    let (source, destination, answer) = advertisement(&packet);
    assert_eq!((source, destination), (TARGET_ADDRESS, ASKER));
    let target_link_address = Some(MAC);
    let (solicited, overriding, target) = (true, true, TARGET_ADDRESS);
    let expected =
        NeighbourAdvertisement { router: false, solicited, overriding, target, target_link_address };
    assert_eq!(answer, expected);
}

#[test]
fn captured_probes_for_an_address_in_use_are_answered_to_all_nodes() {
    let mut probes = 0;
    for frame in frames(SOFT_ROCE).iter().filter(|frame| frame[12..14] == [0x86, 0xdd] && frame[54] == 135) {
        let mut packet = frame[14..].to_vec();
        assert_eq!(turn_solicitation_into_advertisement(&mut packet, MAC, false), Some(ALL_NODES));
        let (source, destination, answer) = advertisement(&packet);
        assert_eq!((source, destination, answer.solicited), (answer.target, ALL_NODES, false));
        assert_eq!(MacAddress::of_ipv6_multicast(destination).to_string(), "33:33:00:00:00:01");
        probes += 1;
    }
    assert_eq!(probes, 2, "one of each station");
}

#[test]
fn a_solicitation_without_room_for_the_answer_is_left_as_it_is() {
    let mut packet = solicitation(ASKER, None);
    let before = packet.clone();
    assert_eq!(turn_solicitation_into_advertisement(&mut packet, MAC, false), None);
    assert_eq!(packet, before);
}

#[test]
fn a_solicitation_that_was_routed_damaged_or_malformed_is_not_answered() {
    let good = solicitation(ASKER, Some(MAC));
    let answer = |at: usize, value: u8| {
        let mut packet = good.clone();
        packet[at] = value;
        turn_solicitation_into_advertisement(&mut packet, MAC, false)
    };
    // As it is, the next header, the hop limit, the type, the checksum, the target, the length of the option.
    assert_eq!(answer(0, good[0]), Some(ASKER));
    for (at, value) in [(6, 17), (7, 254), (40, 136), (43, good[43] ^ 1), (48, 0xff), (65, 0), (65, 2)] {
        assert_eq!(answer(at, value), None, "byte {at}");
    }
    for (at, value, error) in [
        (25, 0, invalid(Protocol::Icmpv6, "option length", 0)),
        (8, 0xff, invalid(Protocol::Icmpv6, "first byte of the target", 0xff)),
        (25, 2, truncated(Protocol::Icmpv6, 16, 8)),
    ] {
        let mut message = good[40..].to_vec();
        message[at] = value;
        assert_eq!(View::parse(&message[..]).unwrap().message(), Err(error));
    }
}

#[test]
fn a_request_with_a_code_of_its_own_is_no_echo_request_and_stays_as_it_is() {
    for (first, code) in [(128, 1), (129, 0)] {
        let mut bytes = [first, code, 0, 0, 0, 7, 0, 9];
        let mut view = View::parse(&mut bytes[..]).unwrap();
        assert_eq!(view.code(), code);
        assert!(!view.turn_echo_request_into_reply());
        assert_eq!(bytes, [first, code, 0, 0, 0, 7, 0, 9]);
    }
}

#[test]
fn of_several_options_the_first_with_an_address_of_six_bytes_counts() {
    let other = MacAddress([2, 0, 0, 0, 0, 1]);
    let option = |kind: u8, mac: MacAddress| [&[kind, 1][..], &mac.0].concat();
    // An option of 16 bytes has the address of another kind of link.
    let long = [&[1, 2][..], &[0xaa; 14]].concat();
    let options = [long, option(2, other), option(1, MAC), option(1, other)].concat();
    let message = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &TARGET_ADDRESS.octets(), &options].concat();
    let found = View::parse(&message[..]).unwrap().message();
    let expected = NeighbourSolicitation { target: TARGET_ADDRESS, source_link_address: Some(MAC) };
    assert_eq!(found, Ok(Message::NeighbourSolicitation(expected)));
}

#[test]
fn a_message_cut_off_is_refused() {
    let packet = solicitation(ASKER, Some(MAC));
    assert_truncated_below(HEADER_LEN, &packet[40..], |bytes| View::parse(bytes).map(|_| ()));
    for length in (HEADER_LEN..32).filter(|length| *length != NEIGHBOUR_LEN) {
        let view = View::parse(&packet[40..40 + length]).unwrap();
        assert!(matches!(view.message(), Err(ParseError::Truncated { .. })), "{length}");
    }
}

proptest! {
    #[test]
    fn an_echo_is_that_of_etherparse_and_its_reply_is_right(
        id: u16, seq: u16, data in any_bytes(60), source in any_ipv6(), destination in any_ipv6(),
    ) {
        let theirs = IcmpEchoHeader { id, seq };
        let request = Icmpv6Type::EchoRequest(theirs);
        let request = Icmpv6Header::with_checksum(request, source.octets(), destination.octets(), &data).unwrap();
        let reply = Icmpv6Type::EchoReply(theirs);
        let reply = Icmpv6Header::with_checksum(reply, destination.octets(), source.octets(), &data).unwrap();
        let mut bytes = request.to_bytes().to_vec();
        bytes.extend(&data);
        let mut view = View::parse(&mut bytes[..]).unwrap();
        prop_assert!(view.verify_checksum(source, destination));
        prop_assert!(view.turn_echo_request_into_reply());
        prop_assert!(view.verify_checksum(destination, source));
        prop_assert_eq!(&bytes[..8], &reply.to_bytes()[..]);
    }

    #[test]
    fn an_advertisement_is_read_as_it_was_written(
        (router, solicited, overriding) in any::<(bool, bool, bool)>(),
        target in any_ipv6().prop_filter("no group", |target| !target.is_multicast()),
        mac in prop::option::of(any_mac()),
    ) {
        let value = NeighbourAdvertisement { router, solicited, overriding, target, target_link_address: mac };
        let mut out = [0; 32];
        let length = value.emit(target, ALL_NODES, &mut out).unwrap();
        let view = View::parse(&out[..length]).unwrap();
        prop_assert!(view.verify_checksum(target, ALL_NODES));
        prop_assert_eq!(view.message(), Ok(Message::NeighbourAdvertisement(value)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in any_bytes(90), message_type in prop::option::of(128u8..=136)) {
        let _ = turn_solicitation_into_advertisement(&mut bytes.clone(), MAC, false);
        if let (Some(message_type), Some(start)) = (message_type, bytes.first_chunk_mut()) {
            *start = [message_type, 0];
        }
        let _ = View::parse(&bytes[..]).map(|view| view.message());
    }
}
