//! The order in which queues are served, and their rates (items 16 and 17).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{lossless, two_ports};
use conformance::{A, B, Flow, P3, P4, TestFrame, Testbench};
use switch::program::{RateLimit, Scheduling, Settings};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, Priority, PrioritySet, WireBytes};

fn priority(number: u8) -> Priority {
    Priority::from_low_bits(number)
}

fn at(number: u8) -> Flow {
    Flow::new(A, B).at(priority(number))
}

/// Two ports with a buffer that takes all that a test queues.
fn roomy() -> Settings {
    let mut settings = two_ports();
    settings.buffer.shared = Bytes(1 << 40);
    settings.buffer.egress_lossy = Bytes(1 << 40);
    for port in &mut settings.ports {
        for number in [3, 4] {
            port.groups[number] = lossless(1 << 39, 1 << 38, 50_000);
        }
    }
    settings
}

fn weighted(settings: &mut Settings, weights: &[(u8, u8)]) {
    for (number, weight) in weights {
        settings.ports[1].queues[usize::from(*number)].scheduling = Scheduling::Weighted(*weight);
    }
}

/// Frames of sizes that a seed mixes: of all lengths from 60 to 9216, short ones more often.
fn mixed(number: u8, count: u64) -> impl Iterator<Item = TestFrame> {
    let flow = at(number);
    let mut state = u64::from(number) + 1;
    (0..count).map(move |label| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (state >> 33) as usize;
        let length = if draw.is_multiple_of(4) { 60 + (draw >> 2) % 9_157 } else { 60 + (draw >> 2) % 1_455 };
        flow.headers(length).labelled(label)
    })
}

fn wire_bytes(frame: &TestFrame) -> u64 {
    WireBytes::of_frame(Bytes(frame.length)).0
}

/// The priority of a frame that `Flow::at` made.
fn priority_of(frame: &TestFrame) -> usize {
    usize::from(frame.bytes[15] >> 5)
}

/// Wire bytes of each priority among the data frames `from..to` of port B.
fn shares(bench: &Testbench, from: usize, to: usize) -> [f64; 8] {
    let mut bytes = [0; 8];
    for sent in bench.data(B).skip(from).take(to - from) {
        bytes[priority_of(&sent.frame)] += wire_bytes(&sent.frame);
    }
    let sum: u64 = bytes.iter().sum();
    bytes.map(|bytes| bytes as f64 / sum as f64)
}

fn assert_shares(bench: &Testbench, from: usize, to: usize, weights: &[(u8, u8)]) {
    let shares = shares(bench, from, to);
    let sum: f64 = weights.iter().map(|(_, weight)| f64::from(*weight)).sum();
    for (number, weight) in weights {
        let (share, fair) = (shares[usize::from(*number)], f64::from(*weight) / sum);
        assert!((share / fair - 1.0).abs() < 0.01, "priority {number}: {share} of {fair}");
    }
}

#[test]
fn a_higher_priority_always_goes_first() {
    let mut bench = Testbench::new(two_ports());
    for number in [0, 5, 2, 7, 1, 6, 4, 3] {
        bench.inject(A, at(number).udps(3, 1_000));
    }
    bench.run_dry();
    let order: Vec<_> = bench.data(B).map(|sent| priority_of(&sent.frame)).collect();
    assert_eq!(order, [7, 7, 7, 6, 6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0]);

    // One that arrives late overtakes all that waits, but not the frame on the wire.
    let mut bench = Testbench::new(two_ports());
    bench.inject(A, at(2).udps(10, 1_000));
    bench.run_for(Interval(100));
    bench.inject(A, at(7).udps(1, 1_000));
    bench.run_dry();
    assert_eq!(bench.data(B).position(|sent| priority_of(&sent.frame) == 7), Some(2));
}

#[test]
fn strict_queues_are_above_weighted_ones_whatever_their_numbers() {
    let mut settings = roomy();
    weighted(&mut settings, &[(7, 200), (5, 100)]);
    let mut bench = Testbench::new(settings);
    bench.inject(A, mixed(7, 100).chain(mixed(5, 100)).chain(mixed(0, 100)).chain(mixed(6, 100)));
    bench.run_dry();
    let order: Vec<_> = bench.data(B).map(|sent| priority_of(&sent.frame)).collect();
    assert!(order[..100].iter().all(|number| *number == 6));
    assert!(order[100..200].iter().all(|number| *number == 0));
}

#[test]
fn weighted_queues_share_wire_bytes_within_one_percent_over_a_hundred_thousand_mixed_frames() {
    for weights in [vec![(0, 1), (1, 1)], vec![(0, 1), (1, 2), (2, 5), (6, 12)], vec![(1, 255), (2, 85)]] {
        let mut settings = roomy();
        weighted(&mut settings, &weights);
        let sum: u64 = weights.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut bench = Testbench::new(settings);
        for (number, weight) in &weights {
            bench.inject(A, mixed(*number, 110_000 * u64::from(*weight) / sum + 1_500));
        }
        while bench.data(B).count() < 100_000 {
            bench.run_for(Interval::from_micros(200));
        }
        assert_shares(&bench, 0, 100_000, &weights);
    }
}

#[test]
fn queues_of_short_and_of_long_frames_have_equal_shares_of_wire_bytes() {
    let mut settings = roomy();
    weighted(&mut settings, &[(0, 1), (1, 1)]);
    let mut bench = Testbench::new(settings);
    bench.inject(A, at(0).udps(110_000, 60));
    bench.inject(A, (0..1_100).map(|_| at(1).headers(9_216)));
    while bench.data(B).count() < 100_000 {
        bench.run_for(Interval::from_micros(100));
    }
    let [short, long, ..] = shares(&bench, 0, 100_000);
    assert!((short / long - 1.0).abs() < 0.01, "{short} {long}");
}

#[test]
fn new_weights_hold_from_the_next_round_on() {
    let mut settings = roomy();
    weighted(&mut settings, &[(0, 1), (1, 3)]);
    let mut bench = Testbench::new(settings);
    bench.inject(A, mixed(0, 90_000).chain(mixed(1, 90_000)));
    while bench.data(B).count() < 40_000 {
        bench.run_for(Interval::from_micros(50));
    }
    let changed = bench.data(B).count();
    assert_shares(&bench, 0, changed, &[(0, 1), (1, 3)]);
    bench.install(|settings| weighted(settings, &[(0, 4), (1, 1)]));
    while bench.data(B).count() < changed + 50_000 {
        bench.run_for(Interval::from_micros(50));
    }
    assert_shares(&bench, changed, changed + 50_000, &[(0, 4), (1, 1)]);
    let labels = |wanted| {
        let of = bench.data(B).filter(move |sent| priority_of(&sent.frame) == wanted);
        of.map(|sent| sent.frame.label).collect::<Vec<_>>()
    };
    for number in [0, 1] {
        assert!(
            labels(number).iter().enumerate().all(|(index, label)| *label == index as u64),
            "order is kept"
        );
    }
}

#[test]
fn a_queue_that_was_idle_or_paused_has_saved_nothing_up() {
    // Priority 3 is stopped and resumed a thousand times, for one frame each; then it is free. From then
    // on all have their share, from the first rounds on.
    let mut settings = roomy();
    weighted(&mut settings, &[(3, 1), (4, 1), (5, 1)]);
    let mut bench = Testbench::new(settings);
    bench.inject(A, at(3).udps(20_000, 1_000));
    bench.inject(A, at(4).udps(40_000, 1_000));
    bench.inject(A, at(5).udps(40_000, 1_000));
    for _ in 0..1_000 {
        bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
        bench.run_for(Interval::from_micros(1));
        bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::ZERO);
        while priority_of(&bench.data(B).last().unwrap().frame) != 3 {
            bench.run_for(Interval(82));
        }
    }
    let from = bench.data(B).count();
    bench.run_for(Interval::from_micros(80));
    let to = bench.data(B).count();
    let shares = shares(&bench, from, to);
    assert!((shares[3] - 1.0 / 3.0).abs() < 0.05, "{} of the first {} frames", shares[3], to - from);
}

#[test]
fn a_queue_that_runs_empty_in_its_visit_starts_the_next_one_with_one_quantum() {
    let mut settings = roomy();
    weighted(&mut settings, &[(0, 1), (1, 1), (2, 1)]);
    let mut bench = Testbench::new(settings);
    bench.inject(A, at(1).udps(500, 1_000).chain(at(2).udps(500, 1_000)));
    for _ in 0..20 {
        bench.inject(A, at(0).udps(1, 60));
        bench.run_for(Interval::from_micros(2));
    }
    let before = bench.data(B).count();
    bench.inject(A, at(0).udps(100, 1_000));
    bench.run_for(Interval::from_micros(4));
    let order: Vec<_> = bench.data(B).skip(before).map(|sent| priority_of(&sent.frame)).collect();
    let first = order.chunk_by(|one, other| one == other).find(|visit| visit[0] == 0);
    assert_eq!(first.map(<[_]>::len), Some(9), "9,216 of a quantum of 9,240 wire bytes: {order:?}");
}

#[test]
fn a_queue_below_its_rate_limit_for_long_gets_no_more_than_its_share_when_the_limit_goes() {
    let mut settings = roomy();
    weighted(&mut settings, &[(0, 1), (1, 1), (2, 1)]);
    settings.ports[1].queues[0].rate_limit = Some(RateLimit { rate: BitRate::gigabits(1), burst: Bytes(0) });
    let mut bench = Testbench::new(settings);
    for number in [0, 1, 2] {
        bench.inject(A, at(number).udps(60_000, 1_000));
    }
    bench.run_for(Interval::from_millis(5));
    let from = bench.data(B).count();
    bench.install(|settings| settings.ports[1].queues[0].rate_limit = None);
    bench.run_for(Interval::from_micros(200));
    let shares = shares(&bench, from, bench.data(B).count());
    assert!((shares[0] - 1.0 / 3.0).abs() < 0.02, "{}", shares[0]);
}

#[test]
fn a_paused_queue_leaves_its_share_to_the_others() {
    let mut settings = roomy();
    weighted(&mut settings, &[(3, 1), (4, 1), (0, 2)]);
    let mut bench = Testbench::new(settings);
    for number in [3, 4, 0] {
        bench.inject(A, mixed(number, 20_000));
    }
    bench.block(B, P3);
    bench.run_for(Interval::from_micros(300));
    let shares = shares(&bench, 0, bench.data(B).count());
    assert_eq!(shares[3], 0.0);
    assert!((shares[4] - 1.0 / 3.0).abs() < 0.02 && (shares[0] - 2.0 / 3.0).abs() < 0.02, "{shares:?}");
    let ends = bench.data(B).last().unwrap().start;
    let bytes: u64 = bench.data(B).map(|sent| wire_bytes(&sent.frame)).sum();
    let line = BitRate::gigabits(100).bytes_in(ends.since(Nanos::ZERO));
    assert!(bytes >= line, "the link is never idle: {bytes} of {line}");
}

/// Wire bytes that left through B between `from` and `to`.
fn sent_between(bench: &Testbench, number: usize, from: Nanos, to: Nanos) -> u64 {
    let within = bench.data(B).filter(|sent| sent.start >= from && sent.start < to);
    within.filter(|sent| priority_of(&sent.frame) == number).map(|sent| wire_bytes(&sent.frame)).sum()
}

#[test]
fn a_queues_rate_limit_holds_in_wire_bytes_and_leaves_the_others_alone() {
    // The burst makes up for the frames of others that are on the wire when its turn comes.
    let odd = BitRate::new(1_234_567_890).unwrap();
    for (rate, burst) in [(BitRate::gigabits(10), 20_000), (BitRate::gigabits(33), 40_000), (odd, 20_000)] {
        let mut settings = roomy();
        settings.ports[1].queues[5].rate_limit = Some(RateLimit { rate, burst: Bytes(burst) });
        let mut bench = Testbench::new(settings);
        bench.inject(A, mixed(5, 20_000).chain(mixed(2, 20_000)));
        let end = Nanos(1_000_000);
        bench.run_until(end);
        let sent = sent_between(&bench, 5, Nanos::ZERO, end);
        let fair = rate.bytes_in(Interval::from_millis(1));
        assert!(sent <= fair + burst + 9_240, "{sent}, {fair}");
        assert!(sent + 9_240 >= fair, "{sent}, {fair}");
        let all = sent + sent_between(&bench, 2, Nanos::ZERO, end);
        assert!(
            all + 9_240 >= BitRate::gigabits(100).bytes_in(Interval::from_millis(1)),
            "the link is full: {all}"
        );
    }
}

#[test]
fn a_ports_rate_limit_holds_for_all_its_queues_together() {
    let mut settings = roomy();
    settings.ports[1].rate_limit = Some(RateLimit { rate: BitRate::gigabits(40), burst: Bytes(10_000) });
    weighted(&mut settings, &[(0, 1), (1, 3)]);
    let mut bench = Testbench::new(settings);
    bench.inject(A, mixed(0, 20_000).chain(mixed(1, 20_000)));
    let end = Nanos(2_000_000);
    bench.run_until(end);
    let [low, high] = [0, 1].map(|number| sent_between(&bench, number, Nanos::ZERO, end));
    let fair = BitRate::gigabits(40).bytes_in(Interval::from_millis(2));
    assert!(low + high <= fair + 10_000 + 9_240 && low + high + 9_240 >= fair);
    assert!((high as f64 / low as f64 - 3.0).abs() < 0.05);
}

#[test]
fn a_burst_passes_at_line_rate_and_idle_time_saves_no_more_than_it() {
    let mut settings = roomy();
    let limit = RateLimit { rate: BitRate::gigabits(1), burst: Bytes(5 * 1_024) };
    settings.ports[1].queues[5].rate_limit = Some(limit);
    let mut bench = Testbench::new(settings);
    bench.run_until(Nanos(50_000_000));
    bench.inject(A, at(5).udps(10, 1_000));
    bench.run_dry();
    let starts: Vec<_> = bench.data(B).map(|sent| sent.start.0 - 50_000_000).collect();
    // Five frames' worth of burst and the one that reaches beyond, each 81.92 ns; then one per 8,192 ns.
    assert_eq!(starts[..6], [0, 82, 164, 246, 328, 410]);
    assert_eq!(starts[6..], [8_192, 16_384, 24_576, 32_768]);
}

#[test]
fn a_pause_of_a_limited_queue_saves_up_no_more_than_its_burst() {
    let mut settings = roomy();
    settings.ports[1].queues[3].rate_limit =
        Some(RateLimit { rate: BitRate::gigabits(1), burst: Bytes(1_024) });
    let mut bench = Testbench::new(settings);
    bench.inject(A, at(3).udps(40, 1_000));
    bench.run_until(Nanos(100_000));
    bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
    bench.run_until(Nanos(300_000));
    bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::ZERO);
    bench.run_until(Nanos(340_000));
    let after: Vec<_> = bench.data(B).map(|sent| sent.start.0).filter(|start| *start >= 300_000).collect();
    assert_eq!(after, [300_000, 300_082, 308_192, 316_384, 324_576, 332_768]);
    assert_eq!(bench.shard.queue(bench.now(), B, P4).paused_for, Interval::ZERO);
}

#[test]
fn limits_change_under_load_without_loss() {
    let mut settings = roomy();
    let limit = |gigabits| Some(RateLimit { rate: BitRate::gigabits(gigabits), burst: Bytes(0) });
    settings.ports[1].queues[5].rate_limit = limit(1);
    let mut bench = Testbench::new(settings);
    bench.inject(A, at(5).udps(20_000, 1_000));
    let mut from = Nanos::ZERO;
    for gigabits in [1, 10, 2, 50] {
        bench.install(|settings| settings.ports[1].queues[5].rate_limit = limit(gigabits));
        let to = from + Interval::from_micros(500);
        bench.run_until(to);
        let sent = sent_between(&bench, 5, from, to);
        let fair = BitRate::gigabits(gigabits).bytes_in(Interval::from_micros(500));
        assert!(sent.abs_diff(fair) <= 2 * 1_024, "{gigabits}G: {sent}, {fair}");
        from = to;
    }
    bench.install(|settings| settings.ports[1].queues[5].rate_limit = None);
    bench.run_dry();
    assert_eq!(bench.labels(B), (0..20_000).collect::<Vec<_>>());
}
