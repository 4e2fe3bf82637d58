//! An ARP packet, and the reply over it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{arp, ethernet::MacAddress};

fuzz_target!(|data: &[u8]| {
    let Ok(view) = arp::View::parse(data) else { return };
    let packet = view.packet();
    let mut out = [0; arp::PACKET_LEN];
    assert_eq!(packet.emit(&mut out), Ok(arp::PACKET_LEN));
    assert_eq!(out, data[..arp::PACKET_LEN]);

    let mut view = arp::View::parse(&mut out).expect("it was just written");
    view.turn_request_into_reply(MacAddress::BROADCAST);
    assert_eq!(view.operation(), arp::Operation::REPLY);
    assert_eq!((view.target_mac(), view.target_ip()), (packet.sender_mac, packet.sender_ip));
    assert_eq!((view.sender_mac(), view.sender_ip()), (MacAddress::BROADCAST, packet.target_ip));
});
