//! ICMP for IPv4 and for IPv6, and the answers written in place.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::Ipv6Addr;
use wire::ethernet::MacAddress;
use wire::icmpv6::{self, Message};
use wire::{icmpv4, ipv6};

fuzz_target!(|data: &[u8]| {
    echo_over_ipv4(data);
    message_over_ipv6(data);
    solicitation(data);
});

fn echo_over_ipv4(data: &[u8]) {
    let mut copy = data.to_vec();
    let Ok(mut view) = icmpv4::View::parse(&mut copy[..]) else { return };
    let was_right = view.verify_checksum();
    let is_request = view.is_echo_request();
    assert_eq!(view.turn_request_into_reply(), is_request);
    assert_eq!(view.verify_checksum(), was_right);
}

fn message_over_ipv6(data: &[u8]) {
    let Ok(view) = icmpv6::View::parse(data) else { return };
    let here = Ipv6Addr::LOCALHOST;
    let mut out = [0; 32];
    match view.message() {
        Ok(message @ Message::NeighbourSolicitation(solicitation)) => {
            let length = solicitation.emit(here, here, &mut out).expect("32 bytes are enough");
            let again = icmpv6::View::parse(&out[..length]).expect("it was just written");
            assert_eq!(again.message(), Ok(message));
            assert!(again.verify_checksum(here, here));
        }
        Ok(message @ Message::NeighbourAdvertisement(advertisement)) => {
            let length = advertisement.emit(here, here, &mut out).expect("32 bytes are enough");
            let again = icmpv6::View::parse(&out[..length]).expect("it was just written");
            assert_eq!(again.message(), Ok(message));
        }
        _ => {}
    }
    let mut copy = data.to_vec();
    let mut view = icmpv6::View::parse(&mut copy[..]).expect("it was parsed before");
    view.fill_checksum(here, here);
    view.turn_echo_request_into_reply();
    assert!(view.verify_checksum(here, here));
}

/// `data` as the upper layer of a packet whose checksum is right, so that the walk gets past it.
fn solicitation(data: &[u8]) {
    let (mac, here) = (MacAddress([2, 0, 0, 0, 0, 1]), Ipv6Addr::LOCALHOST);
    let _ = icmpv6::turn_solicitation_into_advertisement(&mut data.to_vec(), mac, false);
    let Ok(payload_length) = u16::try_from(data.len()) else { return };
    let header = ipv6::Header {
        dscp: wire::ip::Dscp::DEFAULT,
        ecn: wire::ip::Ecn::NotEct,
        flow_label: 0,
        payload_length,
        next_header: wire::ip::IpProtocol::ICMPV6,
        hop_limit: icmpv6::NEIGHBOUR_HOP_LIMIT,
        source: here,
        destination: here,
    };
    let mut packet = vec![0; ipv6::HEADER_LEN];
    header.emit(&mut packet).expect("40 bytes are enough");
    packet.extend(data);
    if let Ok(mut view) = icmpv6::View::parse(&mut packet[ipv6::HEADER_LEN..]) {
        view.fill_checksum(here, here);
    }
    let before = packet.clone();
    match icmpv6::turn_solicitation_into_advertisement(&mut packet, mac, false) {
        Some(destination) => {
            let ip = ipv6::View::parse(&packet[..]).expect("it was just written");
            assert_eq!((ip.total_len(), ip.destination()), (icmpv6::ADVERTISEMENT_PACKET_LEN, destination));
            let icmp = icmpv6::View::parse(ip.payload()).expect("it was just written");
            assert!(icmp.verify_checksum(ip.source(), ip.destination()));
            assert!(
                matches!(icmp.message(), Ok(Message::NeighbourAdvertisement(it)) if it.target == ip.source())
            );
        }
        None => assert_eq!(packet, before),
    }
}
