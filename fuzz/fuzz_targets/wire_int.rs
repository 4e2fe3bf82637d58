//! In-band telemetry, a hop that is added to whatever is there, and direct INT.

#![no_main]

use libfuzzer_sys::fuzz_target;
use units::{BitRate, Nanos};
use wire::int::{self, Format, Hop, HopNumber, LEN_MAX, LinkRate, View};
use wire::roce::direct_int::{Content, HEADER_LEN};

fuzz_target!(|data: &[u8]| {
    [Format::Five, Format::Eight].into_iter().for_each(|format| check(data, format));
    check_direct(data);
});

/// Content that is accepted as direct INT has hops, and room for one more or not.
fn check_direct(data: &[u8]) {
    let Ok(content) = Content::parse(data) else { return };
    let header = content.header();
    let hops = header.hops.iter().flatten().count();
    assert_eq!(hops, usize::from(header.passed));
    let mut collected = [0; HEADER_LEN];
    header.emit(Format::Five, &mut collected).expect("there is room");
    let pseudo_queue = header.hops[0].expect("there is one at least");
    let again = Content::new(&collected, pseudo_queue, content.advertised());
    assert_eq!(again.map(|it| it.header().passed), (hops < 5).then_some(header.passed + 1));
    let _ = format!("{content:?}");
}

fn check(data: &[u8], format: Format) {
    let rate = LinkRate::of(BitRate::gigabits(100)).expect("it has a code");
    let hop = Hop::new(rate, Nanos(data.len() as u64), 1_000_000, 5_000);
    let mut stamped = data.to_vec();
    int::stamp(&mut stamped, format, HopNumber::from_low_bits(0x123), hop);
    let length = format.bytes();
    assert_eq!(stamped.get(length..), data.get(length..));

    let Ok(view) = View::parse(data, format) else { return };
    let header = view.header();
    let mut out = [0xa5; LEN_MAX];
    assert_eq!(header.emit(format, &mut out), Ok(length));
    assert!(header.emit(format, &mut out[..length - 1]).is_err());
    assert_eq!(View::parse(out, format).expect("it was just written").header(), header);

    let after = View::parse(&stamped[..], format).expect("a valid hop was added");
    let recorded = view.recorded();
    assert_eq!(after.hop(recorded), (recorded < format.hops()).then_some(hop));
    assert!((0..recorded).all(|index| after.hop(index) == view.hop(index)));
    if let (Some(one), Some(other)) = (view.hop(0), view.hop(1)) {
        let _ = (one.nanos_since(&other), one.bytes_since(&other), one.queue_bytes());
    }
}
