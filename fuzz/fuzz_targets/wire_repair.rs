//! The shim of a frame that two gateways repair.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::repair::{BUCKETS, FARTHEST, Shim, end_of_tags};

fuzz_target!(|data: &[u8]| {
    let Ok(Some((shim, place))) = Shim::find(data) else { return };
    assert_eq!(end_of_tags(data), Ok(place.start));
    assert_eq!(shim.bytes()[..shim.length()], data[place.clone()]);
    assert_eq!(Shim::parse(&data[place]), Ok(shim));
    assert!(shim.bucket < BUCKETS && shim.back <= FARTHEST);
});
