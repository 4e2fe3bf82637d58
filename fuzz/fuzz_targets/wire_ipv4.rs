//! An IPv4 packet and its checksum.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ip::{Dscp, Ecn};
use wire::ipv4;

fuzz_target!(|data: &[u8]| {
    let _ = ipv4::View::parse_head(data, 1 << 16).map(|view| view.payload().len());
    let Ok(view) = ipv4::View::parse(data) else { return };
    assert_eq!(view.payload().len(), view.total_len() - view.header_len());
    assert_eq!(view.payload(), view.into_payload());
    let header = view.header();
    assert_eq!(view.is_fragment(), view.more_fragments() || view.fragment_offset() != 0);

    let mut out = [0; ipv4::MIN_HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(ipv4::MIN_HEADER_LEN));
    let again = ipv4::View::parse_head(&out[..], 1 << 16).expect("it was just written");
    assert!(again.verify_checksum());
    assert_eq!(again.header(), header);

    // From a right checksum, incremental updates lead to the one that is computed anew.
    let mut copy = data.to_vec();
    let mut view = ipv4::View::parse(&mut copy[..]).expect("it was parsed before");
    view.fill_checksum();
    view.set_ecn(Ecn::Ce);
    view.set_dscp(Dscp::from_low_bits(data[1]));
    view.decrement_ttl();
    view.swap_addresses();
    let incremental = view.checksum();
    view.fill_checksum();
    assert_eq!(view.checksum(), incremental);
    assert!(view.verify_checksum());
    view.payload_mut().fill(0);
});
