use super::super::Hpcc;
use super::*;
use units::Bytes;
use wire::int::{self, Header, Hop, HopNumber, LinkRate};

const LINE: BitRate = BitRate::gigabits(100);
const NEAR: Interval = Interval(10_000);

/// A whole path of 1 ms, over which 100G are 12.5 MB.
fn settings() -> settings::Hpcc {
    settings::Hpcc {
        eta: 0.95,
        max_stage: 0,
        additive: Bytes(1_000),
        base_rtt: Interval::from_millis(1),
        minimum: BitRate::gigabits(1),
        near_rtt: Some(NEAR),
        ..settings::Hpcc::default()
    }
}

/// A direct INT at `time` of a pseudo-queue on a link of 100G that drains at 50G, has drained `left` bytes, and has a length of
/// `queue`.
fn told(time: u64, left: u64, queue: u64) -> Content {
    let rate = LinkRate::of(LINE).unwrap();
    let hop = Hop::new(rate, Nanos(time), left, queue);
    Content::new(&[0; 42], hop, BitRate::gigabits(50)).unwrap()
}

fn flow() -> Hpcc {
    Hpcc::new(settings(), LINE, 1.0)
}

fn assert_close(ours: u64, by_hand: f64) {
    assert!((ours as f64 - by_hand).abs() < 2.0, "{ours}, by hand {by_hand}");
}

#[test]
fn a_pseudo_queue_shrinks_the_window_by_the_advertised_rate_and_the_near_round_trip() {
    let mut hpcc = flow();
    assert!(hpcc.direct_int(Nanos(0), &told(0, 0, 51_200)));
    assert_eq!(hpcc.window(), 12_500_000, "the first one only shows the path");
    // In 10 us, 62,464 of 62,500 bytes, and a queue of 51,200 of the 62,500 bytes that 50G carry in 10 us.
    hpcc.direct_int(Nanos(10_000), &told(10_000, 62_464, 51_200));
    let utilization = 51_200.0 / 62_500.0 + 62_464.0 / 62_500.0;
    assert_close(hpcc.window(), 12_500_000.0 * 0.95 / utilization + 1_000.0);
    // That many bytes in 1 ms.
    let rate = hpcc.rate(Nanos(10_000)).bits_per_second();
    assert_close(rate / 8_000, 12_500_000.0 * 0.95 / utilization + 1_000.0);
}

#[test]
fn the_reference_is_renewed_once_in_a_near_round_trip() {
    let mut hpcc = flow();
    let by_time = |hpcc: &mut Hpcc, time: u64| {
        hpcc.direct_int(Nanos(time), &told(time, 62_464 * time / 10_000, 62_464));
        hpcc.window()
    };
    by_time(&mut hpcc, 0);
    let windows = [2_000, 4_000, 6_000, 8_000, 10_000].map(|time| by_time(&mut hpcc, time));
    // Always from the same reference: the window follows the utilization down, and is not halved five times.
    assert!(windows.iter().all(|window| *window > 12_500_000 / 3), "{windows:?}");
    assert!(by_time(&mut hpcc, 20_000) < windows[4], "from the renewed reference");
}

#[test]
fn the_fullest_link_before_the_gateway_counts_too() {
    let at = |time: u64, queue| {
        let mut collected = [0; 42];
        let rate = LinkRate::of(BitRate::gigabits(10)).unwrap();
        let hop = Hop::new(rate, Nanos(time), time * 10 / 8, queue);
        int::stamp(&mut collected, int::Format::Five, HopNumber::from_low_bits(1), hop);
        Content::new(&collected, Hop::new(LinkRate::of(LINE).unwrap(), Nanos(time), 0, 0), LINE).unwrap()
    };
    let mut hpcc = flow();
    hpcc.direct_int(Nanos(0), &at(0, 12_800));
    hpcc.direct_int(Nanos(10_000), &at(10_000, 12_800));
    // 12,800 of 12,500 bytes wait, and the link is full.
    assert!(hpcc.window() < 12_500_000 / 2);
}

#[test]
fn the_window_of_the_whole_path_counts_where_it_is_less() {
    let full = |time: u64| {
        let rate = LinkRate::of(LINE).unwrap();
        let mut header = Header { passed: 1, ..Header::default() };
        header.hops[0] = Some(Hop::new(rate, Nanos(time), 12_500 * time / 1_000, 60_000_000));
        header
    };
    let (mut hpcc, mut alone) =
        (flow(), Hpcc::new(settings::Hpcc { near_rtt: None, ..settings() }, LINE, 1.0));
    for time in [0, 1_000_000, 2_000_000] {
        hpcc.direct_int(Nanos(time), &told(time, 0, 0));
        for hpcc in [&mut hpcc, &mut alone] {
            hpcc.acknowledge(Nanos(time), time + 1, time + 2, &full(time));
        }
    }
    assert!(hpcc.window() < 12_500_000 / 2);
    assert_eq!(hpcc.window(), alone.window());
}

#[test]
fn after_a_round_trip_of_silence_it_lets_go_and_starts_anew() {
    let mut hpcc = flow();
    for round in 0..20 {
        hpcc.direct_int(Nanos(round * 10_000), &told(round * 10_000, round * 62_464, 62_500_000));
    }
    assert_eq!(hpcc.window(), 125_000, "as low as it gets");
    let last = 190_000;
    assert_eq!(hpcc.rate(Nanos(last + 999_999)), BitRate::gigabits(1));
    assert_eq!((hpcc.rate(Nanos(last + 1_000_000)), hpcc.window()), (LINE, 12_500_000));
    hpcc.direct_int(Nanos(last + 1_000_001), &told(last + 1_000_001, 0, 62_500_000));
    assert_eq!(hpcc.window(), 12_500_000, "the first one only shows the path");
}

#[test]
fn what_was_overtaken_is_not_compared() {
    let mut hpcc = flow();
    hpcc.direct_int(Nanos(0), &told(50_000, 0, 0));
    hpcc.direct_int(Nanos(10), &told(40_000, 0, 62_500_000));
    assert_eq!(hpcc.window(), 12_500_000);
}

#[test]
fn without_a_near_loop_direct_int_is_not_understood() {
    let mut hpcc = Hpcc::new(settings::Hpcc { near_rtt: None, ..settings() }, LINE, 1.0);
    for round in 0..20 {
        assert!(!hpcc.direct_int(Nanos(round * 10_000), &told(round * 10_000, 0, 62_500_000)));
    }
    assert_eq!(hpcc.window(), 12_500_000);
}
