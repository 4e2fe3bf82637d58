//! The invariant CRC of arbitrary packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ip::Ecn;
use wire::roce::icrc;
use wire::{ipv4, ipv6};

fuzz_target!(|data: &[u8]| {
    let mut packet = data.to_vec();
    let Ok(expected) = icrc::compute(data) else {
        assert!(icrc::verify(data).is_err() && icrc::fill(&mut packet).is_err());
        assert_eq!(packet, data);
        return;
    };
    assert_eq!(icrc::fill(&mut packet), Ok(()));
    assert_eq!(icrc::verify(&packet), Ok(true));
    // Changes on the way leave it as it is.
    if let Ok(mut ip) = ipv4::View::parse(&mut packet[..]) {
        ip.set_ecn(Ecn::Ce);
        ip.decrement_ttl();
        ip.fill_checksum();
    } else if let Ok(mut ip) = ipv6::View::parse(&mut packet[..]) {
        ip.set_ecn(Ecn::Ce);
        ip.decrement_hop_limit();
    }
    assert_eq!(icrc::compute(&packet), Ok(expected));
});
