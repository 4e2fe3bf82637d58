//! An IPv6 packet and its extension headers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ip::{Dscp, Ecn};
use wire::ipv6;

fuzz_target!(|data: &[u8]| {
    let _ = ipv6::View::parse_head(data, 1 << 17).map(|view| (view.payload().len(), view.upper_layer()));
    let Ok(view) = ipv6::View::parse(data) else { return };
    assert_eq!(view.payload().len(), view.total_len() - ipv6::HEADER_LEN);
    assert_eq!(view.payload(), view.into_payload());
    let header = view.header();
    let mut out = [0; ipv6::HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(ipv6::HEADER_LEN));
    assert_eq!(out, data[..ipv6::HEADER_LEN]);
    if let Ok(layer) = view.upper_layer() {
        assert!((ipv6::HEADER_LEN..=view.total_len()).contains(&layer.offset));
    }

    let mut copy = data.to_vec();
    let mut view = ipv6::View::parse(&mut copy[..]).expect("it was parsed before");
    view.set_ecn(Ecn::Ce);
    view.set_dscp(Dscp::DEFAULT);
    let hop_limit = view.decrement_hop_limit().unwrap_or(header.hop_limit);
    let expected = ipv6::Header { ecn: Ecn::Ce, dscp: Dscp::DEFAULT, hop_limit, ..header };
    assert_eq!(view.header(), expected);
    view.payload_mut().fill(0);
});
