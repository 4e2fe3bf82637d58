//! One matter at a time.

use super::*;
use crate::egress::{RestorationCause, WatchdogChange, WatchdogEvent};
use crate::program::{NotLive, Watchdog, WatchdogAction};
use crate::reason::DropReason;
use units::{Interval, WireBytes};

fn id(number: u8) -> QueueId {
    QueueId::from_low_bits(number)
}

/// So many frames of 1,000 bytes for a queue of port B.
fn frames(priority: Priority, queue: u8, count: usize) -> Vec<Routed> {
    vec![Routed::new(B, priority, id(queue), 1_000); count]
}

fn queues_of(sent: &[Routed]) -> Vec<u8> {
    sent.iter().map(|frame| frame.queue.number()).collect()
}

#[test]
fn a_pause_stops_every_queue_of_its_priority_and_no_other() {
    let mut bench = Bench::new(vec![port(0, &[]), port(1, &[P3, P4, P3])]);
    bench.fabric.egress[B.index()].gate.occupy(Nanos::ZERO, Bytes(976));
    let all = [(P3, 3), (P4, 4), (P3, 8), (P4, 9), (P3, 10)];
    for (priority, queue) in all {
        bench.inject(A, frames(priority, queue, 1), false);
    }
    bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta(1_000));
    let mut sent = Vec::new();
    while sent.len() < 2 {
        bench.now = bench.fabric.port_deadline(B);
        sent.append(&mut bench.egress(B, 1));
    }
    assert_eq!(queues_of(&sent), [4, 9]);
    // A quantum is 512 bit times, 64 ns here.
    assert_eq!(bench.fabric.port_deadline(B), Nanos(64_000));
    bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta::ZERO);
    bench.now = bench.fabric.port_deadline(B);
    assert_eq!(queues_of(&bench.egress(B, 1)), [3]);
}

#[test]
fn within_the_window_one_call_lets_several_queues_have_their_turn() {
    let port_b = PortSettings { tx_window: Interval(10_000), ..port(1, &[]) };
    let mut bench = Bench::new(vec![port(0, &[]), port_b]);
    for (priority, queue) in [(P0, 0), (P3, 3), (P4, 4)] {
        bench.inject(A, frames(priority, queue, 2), false);
    }
    assert_eq!(queues_of(&bench.egress(B, 5)), [4, 4, 3, 3, 0]);
    assert_eq!(queues_of(&bench.egress(B, 5)), [0]);
}

/// The bytes that each queue of port B has sent after `total` wire bytes, while the queues of `filled` always hold frames.
fn shares(port_b: PortSettings, filled: &[(Priority, u8)], total: u64) -> Vec<u64> {
    let mut sent = vec![0; port_b.queues.len()];
    let mut bench = Bench::new(vec![port(0, &[]), port_b]);
    for (index, (priority, queue)) in filled.iter().enumerate() {
        // Of different lengths, so that equal shares are not equal numbers of frames.
        let frame = Routed::new(B, *priority, id(*queue), 200 + 300 * index as u64);
        let count = total / (frame.length + WireBytes::OVERHEAD) + 1;
        bench.inject(A, vec![frame; count as usize], false);
    }
    while sent.iter().sum::<u64>() < total {
        bench.now = bench.fabric.port_deadline(B);
        for frame in bench.egress(B, 32) {
            sent[frame.queue.index()] += frame.length + WireBytes::OVERHEAD;
        }
    }
    sent
}

fn assert_shares(sent: &[u64], weights: &[(usize, u64)]) {
    let (sum, weight): (u64, u64) = (sent.iter().sum(), weights.iter().map(|(_, weight)| weight).sum());
    for (queue, of_it) in weights {
        let (share, fair) = (sent[*queue] as f64 / sum as f64, *of_it as f64 / weight as f64);
        assert!((share / fair - 1.0).abs() < 0.01, "queue {queue}: {share} of {fair}");
    }
}

#[test]
fn weighted_queues_of_several_priorities_share_the_link_by_the_weight_of_each() {
    let mut port_b = port(1, &[P3, P3, P4, P0]);
    let weights = [(3, 4), (4, 2), (8, 1), (9, 3), (10, 5), (11, 1)];
    weights.iter().for_each(|(queue, weight)| weigh(&mut port_b, *queue, *weight as u8));
    let filled = [(P3, 3), (P4, 4), (P3, 8), (P3, 9), (P4, 10), (P0, 11)];
    assert_shares(&shares(port_b, &filled, 20_000_000), &weights);
}

#[test]
fn strict_queues_of_one_priority_share_the_link_evenly_and_leave_nothing_to_lower_ones() {
    let mut port_b = port(1, &[P4, P3, P4, P3]);
    weigh(&mut port_b, 7, 200);
    let filled = [(P4, 4), (P4, 8), (P4, 10), (P3, 3), (P3, 9), (Priority::from_low_bits(7), 7)];
    assert_shares(&shares(port_b, &filled, 10_000_000), &[(4, 1), (8, 1), (10, 1)]);
}

/// Port B, a quantum of which is a microsecond, pauses priority 3 for more than the detection time while frames wait in
/// queue 8.
fn storm(action: WatchdogAction) -> Bench {
    const STEP: Interval = Interval::from_millis(50);
    let mut port_b = port(1, &[P3, P3]);
    port_b.rate = BitRate::megabits(512);
    let (detection, restoration) = (Interval::from_millis(100), Interval::from_millis(100));
    port_b.watchdog = Some(Watchdog { detection, restoration, action });
    let mut bench = Bench::new(vec![port(0, &[]), port_b]);
    bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
    bench.inject(A, frames(P3, 8, 3), false);
    for _ in 0..2 {
        assert!(bench.egress(B, 8).is_empty());
        bench.now += STEP;
        bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
    }
    assert_eq!(bench.fabric.port_deadline(B), bench.now);
    bench
}

#[test]
fn the_watchdog_finds_the_queue_that_holds_frames_and_not_the_others_of_its_priority() {
    let mut bench = storm(WatchdogAction::Alert);
    bench.egress(B, 8);
    let [WatchdogEvent { at, port: B, queue, priority: P3, change: WatchdogChange::Detected(storm) }] =
        *bench.fabric.recorder.watchdog.iter().copied().collect::<Vec<_>>()
    else {
        panic!("{:?}", bench.fabric.recorder.watchdog)
    };
    assert_eq!((at, queue, storm.waiting.frames), (bench.now, id(8), 3));
    let stormed = |queue| bench.fabric.egress[B.index()].watchdog(queue).1;
    assert_eq!([3, 8, 9].map(|queue| stormed(id(queue))), [false, true, false]);
}

#[test]
fn a_stormed_queue_that_forwards_ignores_the_pause_alone() {
    let mut bench = storm(WatchdogAction::Forward);
    bench.inject(A, frames(P3, 9, 1), false);
    let mut sent = Vec::new();
    for _ in 0..4 {
        sent.append(&mut bench.egress(B, 8));
        bench.now += Interval::from_micros(100);
    }
    assert_eq!(queues_of(&sent), [8, 8, 8]);
    bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta::ZERO);
    assert_eq!(queues_of(&bench.egress(B, 8)), [9]);
}

#[test]
fn a_storm_ends_with_an_xon_and_not_with_another_xoff() {
    let mut bench = storm(WatchdogAction::Alert);
    bench.egress(B, 8);
    let stormed = |bench: &Bench| bench.fabric.egress[B.index()].watchdog(id(8)).1;
    bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta(1_000));
    assert!(stormed(&bench));
    bench.pause(B, PrioritySet::EMPTY.with(P3), PauseQuanta::ZERO);
    assert!(!stormed(&bench));
    let last = bench.fabric.recorder.watchdog.iter().last().map(|event| event.change);
    let Some(WatchdogChange::Restored(restoration)) = last else { panic!("{last:?}") };
    assert_eq!(restoration.cause, RestorationCause::Xon);
}

#[test]
fn a_stormed_queue_that_drops_loses_its_own_frames_and_those_that_come_for_it() {
    let mut bench = storm(WatchdogAction::Drop);
    bench.inject(A, frames(P3, 9, 1), false);
    bench.egress(B, 8);
    bench.inject(A, frames(P3, 8, 2), false);
    let queue = |number| bench.fabric.egress[B.index()].queue(id(number));
    let dropped = |number| queue(number).dropped[DropReason::PfcWatchdog.index()].frames;
    assert_eq!([3, 8, 9].map(dropped), [0, 5, 0]);
    assert_eq!([8, 9].map(|number| queue(number).waiting().frames), [0, 1]);
}

#[test]
fn the_priorities_of_queues_cannot_change_while_frames_may_wait_in_them() {
    let of = |further: &[Priority]| Program::new(settings(vec![port(0, &[]), port(1, further)])).unwrap();
    let refused = Err(NotLive::Queues { port: "port1".into() });
    assert_eq!(of(&[P3, P4]).can_replace(&of(&[P3, P3])), refused);
    assert_eq!(of(&[P3]).can_replace(&of(&[])), refused);
    assert_eq!(of(&[P3]).can_replace(&of(&[P3])), Ok(()));
}
