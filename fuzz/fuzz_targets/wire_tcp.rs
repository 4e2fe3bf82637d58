//! A TCP segment and its checksum.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;
use wire::tcp::{Header, MIN_HEADER_LEN, View};

fuzz_target!(|data: &[u8]| {
    let Ok(view) = View::parse(data) else { return };
    assert!((MIN_HEADER_LEN..=data.len()).contains(&view.header_len()));
    let (one, other) = (Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST);
    let length = data.len().min(usize::from(u16::MAX)) as u16;
    let _ = view.verify_checksum_ipv4(one, other, length);

    let header: Header = view.header().checked_ipv4(one, other, MIN_HEADER_LEN as u16);
    let mut out = [0xa5; MIN_HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(MIN_HEADER_LEN));
    assert!(header.emit(&mut out[..MIN_HEADER_LEN - 1]).is_err());
    let again = View::parse(out).expect("it was just written");
    assert_eq!(again.header(), header);
    assert!(again.verify_checksum_ipv4(one, other, MIN_HEADER_LEN as u16));
});
