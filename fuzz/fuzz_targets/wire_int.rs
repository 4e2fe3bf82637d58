//! In-band telemetry, and a hop that is added to whatever is there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use units::{BitRate, Nanos};
use wire::int::{self, Hop, HopNumber, LEN, LinkRate, View};

fuzz_target!(|data: &[u8]| {
    let rate = LinkRate::of(BitRate::gigabits(100)).expect("it has a code");
    let hop = Hop::new(rate, Nanos(data.len() as u64), 1_000_000, 5_000);
    let mut stamped = data.to_vec();
    int::stamp(&mut stamped, HopNumber::from_low_bits(0x123), hop);
    assert_eq!(stamped.get(LEN..), data.get(LEN..));

    let Ok(view) = View::parse(data) else { return };
    let header = view.header();
    let mut out = [0xa5; LEN];
    assert_eq!(header.emit(&mut out), Ok(LEN));
    assert!(header.emit(&mut out[..LEN - 1]).is_err());
    assert_eq!(View::parse(out).expect("it was just written").header(), header);

    let after = View::parse(&stamped[..]).expect("a valid hop was added");
    let recorded = view.recorded();
    assert_eq!(after.hop(recorded), (recorded < int::HOPS).then_some(hop));
    assert!((0..recorded).all(|index| after.hop(index) == view.hop(index)));
    if let (Some(one), Some(other)) = (view.hop(0), view.hop(1)) {
        let _ = (one.nanos_since(&other), one.bytes_since(&other), one.queue_bytes());
    }
});
