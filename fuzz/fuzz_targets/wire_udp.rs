//! A UDP datagram.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::udp;

fuzz_target!(|data: &[u8]| {
    let _ = udp::View::parse_head(data, 1 << 16).map(|view| view.payload().len());
    let Ok(view) = udp::View::parse(data) else { return };
    assert_eq!(view.payload().len() + udp::HEADER_LEN, view.length());
    assert_eq!(view.payload(), view.into_payload());
    let mut out = [0; udp::HEADER_LEN];
    assert_eq!(view.header().emit(&mut out), Ok(udp::HEADER_LEN));
    assert_eq!(out, data[..udp::HEADER_LEN]);
});
