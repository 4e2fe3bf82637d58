use super::*;
use units::Bytes;
use wire::int::{Header, HopNumber, LinkRate};

const LINE: BitRate = BitRate::gigabits(100);

/// With a round trip of 10 us, a window of 125,000 bytes is 100G.
const SETTINGS: settings::Hpcc = settings::Hpcc {
    eta: 0.95,
    max_stage: 5,
    additive: Bytes(1_000),
    base_rtt: Interval(10_000),
    minimum: BitRate::gigabits(1),
    hops: int::Format::Five,
    near_rtt: None,
};

/// One hop of 100G at `time` that has sent `sent` bytes and queues `queue`.
fn one(time: u64, sent: u64, queue: u64) -> Header {
    path(&[(100, time, sent, queue)])
}

/// Hops by their rate in Gb/s, time, bytes sent and queue.
fn path(hops: &[(u64, u64, u64, u64)]) -> Header {
    let mut header = Header { passed: hops.len() as u8, ..Header::default() };
    for (index, &(rate, time, sent, queue)) in hops.iter().enumerate() {
        let rate = LinkRate::of(BitRate::gigabits(rate)).unwrap();
        header.hops[index] = Some(Hop::new(rate, Nanos(time), sent, queue));
    }
    header
}

/// A flow that learned its path at time zero.
fn flow(first: &Header) -> Hpcc {
    let mut hpcc = Hpcc::new(SETTINGS, LINE, 1.0);
    hpcc.acknowledge(Nanos(0), 1, 10, first);
    hpcc
}

fn assert_close(ours: f64, by_hand: f64) {
    assert!((ours - by_hand).abs() < 1e-6 * by_hand.abs().max(1.0), "{ours}, by hand {by_hand}");
}

#[test]
fn a_flow_begins_at_the_rate_of_its_port() {
    let mut hpcc = Hpcc::new(SETTINGS, LINE, 1.0);
    assert_eq!((hpcc.window(), hpcc.rate(Nanos(0))), (125_000, LINE));
}

#[test]
fn the_window_is_given_in_bytes_of_the_message() {
    assert_eq!(Hpcc::new(SETTINGS, LINE, 0.8).window(), 100_000);
}

#[test]
fn the_first_acknowledgement_only_shows_the_path() {
    assert_eq!(flow(&one(0, 0, 1_000_000)).window(), 125_000);
}

#[test]
fn a_path_that_says_nothing_leaves_the_window_as_it_is() {
    let mut hpcc = flow(&path(&[]));
    hpcc.acknowledge(Nanos(10_000), 20, 30, &path(&[]));
    hpcc.acknowledge(Nanos(20_000), 40, 50, &path(&[]));
    assert_eq!((hpcc.window(), hpcc.links), (125_000, None));
}

#[test]
fn a_full_link_with_a_queue_shrinks_the_window_at_once_and_its_reference_once_per_round_trip() {
    let mut hpcc = flow(&one(0, 0, 51_200));
    // 5 us later the link has sent 62,464 bytes (244 units of 256; its maximum is 62,500) and the queue is
    // 51,200: u = 51200 / 125000 + 62464 / 62500 = 0.4096 + 0.999424 = 1.409024, over 5 of 10 us; U = 0.5 +
    // 0.704512 = 1.204512; W = 125000 / (1.204512 / 0.95) + 1000.
    hpcc.acknowledge(Nanos(5_000), 5, 15, &one(5_000, 62_464, 51_200));
    let utilization = 0.5 + 0.5 * (51_200.0 / 125_000.0 + 62_464.0 / 62_500.0);
    assert_close(hpcc.path.utilization, utilization);
    assert_close(hpcc.path.bytes, 125_000.0 * 0.95 / utilization + 1_000.0);
    assert_close(hpcc.path.reference, 125_000.0);
    // Packet 11 was sent after the first acknowledgement, so the reference follows.
    hpcc.acknowledge(Nanos(10_000), 11, 20, &one(10_000, 124_928, 51_200));
    let utilization = 0.5 * utilization + 0.5 * (51_200.0 / 125_000.0 + 62_464.0 / 62_500.0);
    assert_close(hpcc.path.bytes, 125_000.0 * 0.95 / utilization + 1_000.0);
    assert_close(hpcc.path.reference, hpcc.path.bytes);
    assert_eq!(hpcc.last_update, 20);
}

#[test]
fn the_queue_that_counts_is_the_smaller_of_the_two() {
    let mut hpcc = flow(&one(0, 0, 10_240));
    hpcc.acknowledge(Nanos(10_000), 5, 15, &one(10_000, 0, 51_200));
    assert_close(hpcc.path.utilization, 10_240.0 / 125_000.0);
}

#[test]
fn the_fullest_link_counts_measured_by_its_own_rate() {
    let mut hpcc = flow(&path(&[(100, 0, 0, 0), (10, 7, 0, 0)]));
    let later = path(&[(100, 10_000, 102_400, 0), (10, 8_007, 9_600, 0)]);
    hpcc.acknowledge(Nanos(10_000), 5, 15, &later);
    // 102,400 of 125,000 bytes are 0.8192. 9,600 bytes in 8 us at 10G are 0.96, over 8 of 10 us.
    assert_close(hpcc.path.utilization, 0.2 + 0.8 * 0.96);
}

#[test]
fn below_eta_the_window_grows_by_steps_and_after_five_of_them_at_once() {
    let mut hpcc = flow(&one(0, 0, 0));
    hpcc.path.reference = 20_000.0;
    let mut windows = Vec::new();
    for round in 1..=7_u64 {
        // 59,392 bytes in 10 us: 0.475136 of the link.
        let telemetry = one(10_000 * round, 59_392 * round, 0);
        hpcc.acknowledge(Nanos(10_000 * round), 10 * round + 1, 10 * round + 10, &telemetry);
        windows.push(hpcc.path.bytes);
    }
    for (stage, window) in windows[..5].iter().enumerate() {
        assert_close(*window, 21_000.0 + 1_000.0 * stage as f64);
    }
    let found = 25_000.0 * 0.95 / 0.475_136 + 1_000.0;
    assert_close(windows[5], found);
    assert_close(windows[6], found + 1_000.0);
}

#[test]
fn an_idle_path_gives_no_more_than_the_line_and_a_blocked_one_no_less_than_the_least() {
    let mut hpcc = flow(&one(0, 0, 0));
    for round in 1..=20_u64 {
        let telemetry = one(10_000 * round, 0, 0);
        hpcc.acknowledge(Nanos(10_000 * round), 10 * round + 1, 10 * round + 10, &telemetry);
    }
    assert_eq!((hpcc.window(), hpcc.rate(Nanos(0))), (125_000, LINE));
    for round in 21..=60_u64 {
        let telemetry = one(10_000 * round, 124_928 * round, 60_000_000);
        hpcc.acknowledge(Nanos(10_000 * round), 10 * round + 1, 10 * round + 10, &telemetry);
    }
    assert_eq!((hpcc.window(), hpcc.rate(Nanos(0))), (1_250, BitRate::gigabits(1)));
}

#[test]
fn a_path_that_changes_is_learned_anew() {
    let mut hpcc = flow(&one(0, 0, 60_000_000));
    let other = Header { path: HopNumber::from_low_bits(9), ..one(10_000, 1_000_000, 60_000_000) };
    hpcc.acknowledge(Nanos(10_000), 20, 30, &other);
    assert_eq!(hpcc.window(), 125_000);
    let longer = path(&[(100, 20_000, 0, 60_000_000), (100, 20_000, 0, 60_000_000)]);
    hpcc.acknowledge(Nanos(20_000), 40, 50, &longer);
    assert_eq!(hpcc.window(), 125_000);
    assert_eq!(hpcc.links, Some((longer, Nanos(20_000))));
}

#[test]
fn what_was_overtaken_or_comes_after_a_long_silence_is_not_compared() {
    let mut hpcc = flow(&one(50_000, 1_000_000, 60_000_000));
    hpcc.acknowledge(Nanos(10), 20, 30, &one(40_000, 990_000, 60_000_000));
    assert_close(hpcc.path.utilization, 1.0);
    let late = Nanos(20_000_000);
    hpcc.acknowledge(late, 40, 50, &one(20_000_000, 0, 60_000_000));
    assert_close(hpcc.path.utilization, 1.0);
    assert_eq!(hpcc.links.map(|(_, at)| at), Some(late));
}
