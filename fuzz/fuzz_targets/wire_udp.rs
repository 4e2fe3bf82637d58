//! A UDP datagram and its checksums.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::udp;

fuzz_target!(|data: &[u8]| {
    let _ = udp::View::parse_head(data, 1 << 16).map(|view| view.payload().len());
    let Ok(view) = udp::View::parse(data) else { return };
    assert_eq!(view.payload().len() + udp::HEADER_LEN, view.length());
    assert_eq!(view.payload(), view.into_payload());
    let mut out = [0; udp::HEADER_LEN];
    assert_eq!(view.header().emit(&mut out), Ok(udp::HEADER_LEN));
    assert_eq!(out, data[..udp::HEADER_LEN]);

    let (four, six) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let _ = (view.verify_checksum_ipv4(four, four), view.verify_checksum_ipv6(six, six));
    let mut copy = data.to_vec();
    let mut view = udp::View::parse(&mut copy[..]).expect("it was parsed before");
    view.fill_checksum_ipv4(four, four);
    assert!(view.checksum() != 0 && view.verify_checksum_ipv4(four, four));
    view.fill_checksum_ipv6(six, six);
    assert!(view.verify_checksum_ipv6(six, six));
});
