//! An Ethernet frame with its VLAN tags.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{ethernet, vlan};

fuzz_target!(|data: &[u8]| {
    let Ok(view) = ethernet::View::parse(data) else { return };
    let header = view.header();
    let mut out = [0; ethernet::HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(ethernet::HEADER_LEN));
    assert_eq!(out, data[..ethernet::HEADER_LEN]);
    assert_eq!(view.payload(), view.into_payload());
    assert_eq!(header.source.to_string().parse(), Ok(header.source));

    if let Ok(stack) = vlan::Stack::parse(data) {
        assert!(stack.payload_offset <= data.len());
        let tags = [stack.outer, stack.inner].into_iter().flatten().count();
        assert_eq!(stack.payload_offset, ethernet::HEADER_LEN + tags * vlan::TAG_LEN);
    }
    if let Ok(tag) = vlan::View::parse(&data[ethernet::HEADER_LEN..]) {
        let mut out = [0; vlan::TAG_LEN];
        let value = vlan::Header { tag: tag.tag(), ether_type: tag.ether_type() };
        assert_eq!(value.emit(&mut out), Ok(vlan::TAG_LEN));
        assert_eq!(out, data[ethernet::HEADER_LEN..][..vlan::TAG_LEN]);
        assert_eq!(tag.priority(), tag.tag().priority);
    }
});
