//! The PFC watchdog: what is a storm, what happens to its queue, and when it is over (items 21 to 25).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{patched, two_ports};
use conformance::{A, B, C, D, Flow, P1, P3, P4, Testbench};
use switch::program::{RateLimit, Settings, Watchdog, WatchdogAction};
use switch::{DropReason, PauseCause, Program, Restoration, RestorationCause, Storm, Volume};
use switch::{WatchdogChange, WatchdogCounters, WatchdogEvent};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet};

const MS: u64 = 1_000_000;
const DETECTION: u64 = 200 * MS;
const RESTORATION: u64 = 300 * MS;
/// How often a storm says stop. A pause lasts 3.36 ms at 10G, where all tests run but one.
const REFRESH: u64 = 2 * MS;

fn watchdog(action: WatchdogAction) -> Watchdog {
    Watchdog { detection: Interval(DETECTION), restoration: Interval(RESTORATION), action }
}

/// `settings` at 10G with a watchdog on all ports.
fn watched(mut settings: Settings, action: WatchdogAction) -> Settings {
    for port in &mut settings.ports {
        port.rate = BitRate::gigabits(10);
        port.watchdog = Some(watchdog(action));
    }
    settings
}

fn bench(action: WatchdogAction) -> Testbench {
    Testbench::new(watched(two_ports(), action))
}

fn at(priority: Priority) -> Flow {
    Flow::new(A, B).at(priority)
}

/// The peers of `ports` pause priority 3 again and again until `end`.
fn storm_at(bench: &mut Testbench, ports: &[PortId], end: u64) {
    while bench.now() < Nanos(end) {
        ports.iter().for_each(|port| bench.block(*port, P3));
        bench.run_until((bench.now() + Interval(REFRESH)).min(Nanos(end)));
    }
}

/// The peer of port B does.
fn storm(bench: &mut Testbench, end: u64) {
    storm_at(bench, &[B], end);
}

fn events(bench: &Testbench) -> Vec<WatchdogEvent> {
    bench.shard.watchdog_events().iter().copied().collect()
}

/// When storms were detected and ended: in milliseconds and the rest in nanoseconds, the port, and
/// whether it was the beginning.
fn times(bench: &Testbench) -> Vec<(u64, PortId, bool)> {
    let detected = |event: &WatchdogEvent| matches!(event.change, WatchdogChange::Detected(_));
    events(bench).iter().map(|event| (event.at.0, event.port, detected(event))).collect()
}

fn stormed(bench: &Testbench, port: PortId) -> bool {
    bench.shard.queue(bench.now(), port, P3).stormed
}

fn dropped(bench: &Testbench, port: PortId) -> u64 {
    bench.dropped(port, P3, DropReason::PfcWatchdog).frames
}

fn restored(cause: RestorationCause, quiet_for: u64, stormed_for: u64) -> WatchdogChange {
    let (quiet_for, stormed_for) = (Interval(quiet_for), Interval(stormed_for));
    WatchdogChange::Restored(Restoration { cause, quiet_for, stormed_for })
}

#[test]
fn a_storm_with_traffic_is_detected_after_the_detection_time_whatever_the_action() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward, WatchdogAction::Alert] {
        let mut bench = bench(action);
        bench.run_until(Nanos(5 * MS));
        bench.block(B, P3);
        bench.inject(A, at(P3).udps(10, 1_000));
        storm(&mut bench, 205 * MS - 1);
        assert!(events(&bench).is_empty() && !stormed(&bench, B));
        storm(&mut bench, 205 * MS);
        let detected = WatchdogChange::Detected(Storm {
            action,
            stalled_for: Interval(DETECTION),
            measured_for: Interval(DETECTION),
            paused_for: Interval(DETECTION),
            waiting: Volume { frames: 10, bytes: Bytes(10_000) },
        });
        let (at, queue) = (Nanos(205 * MS), P3.into());
        let expected = WatchdogEvent { at, port: B, queue, priority: P3, change: detected };
        assert_eq!(events(&bench), [expected]);
        assert!(stormed(&bench, B) && !stormed(&bench, A));
    }
}

#[test]
fn to_drop_is_to_drop_what_waits_and_what_comes_of_that_priority_and_no_other() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(100, 1_000));
    storm(&mut bench, DETECTION);
    assert_eq!((dropped(&bench, B), bench.labels(B).len()), (100, 0));
    bench.inject(A, at(P3).udps(7, 1_000));
    bench.inject(A, at(P4).udps(8, 1_000));
    bench.inject(A, at(P1).udps(9, 1_000));
    storm(&mut bench, DETECTION + 10 * MS);
    assert_eq!((dropped(&bench, B), bench.labels(B).len()), (107, 17));
    assert_eq!(bench.dropped_in_all().frames, 107);
    assert_eq!(bench.shard.group(bench.now(), A, P3).occupancy, Bytes::ZERO);
}

#[test]
fn a_sender_that_the_storm_had_us_pause_is_resumed_when_its_frames_are_dropped() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject_singly(A, at(P3).udps(120, 1_000));
    assert_eq!(bench.shard.group(bench.now(), A, P3).paused, Some(PauseCause::Threshold));
    storm(&mut bench, DETECTION);
    assert!(bench.shard.group(bench.now(), A, P3).paused.is_none());
    assert_eq!(bench.pauses(A, P3).last().unwrap().1, PauseQuanta::ZERO);
}

#[test]
fn a_queue_of_many_frames_is_dropped_part_by_part_within_the_same_instant() {
    let mut settings = watched(two_ports(), WatchdogAction::Drop);
    for port in &mut settings.ports {
        port.groups[3] = conformance::settings::lossless(10_000_000, 1_000_000, 50_000);
    }
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(5_000, 1_000));
    storm(&mut bench, DETECTION - 1);
    bench.run_clock_to(Nanos(DETECTION));
    bench.block(B, P3);
    bench.egress(B, 0);
    let first = dropped(&bench, B);
    assert!((1..5_000).contains(&first), "{first} at once");
    assert_eq!(bench.shard.port_deadline(B), Nanos::ZERO);
    bench.turn();
    assert_eq!((dropped(&bench, B), bench.now()), (5_000, Nanos(DETECTION)));
}

#[test]
fn to_forward_is_to_ignore_the_pauses_of_that_queue_and_of_no_other() {
    let mut bench = bench(WatchdogAction::Forward);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(10, 1_000));
    storm(&mut bench, DETECTION - 1);
    assert!(bench.sent(B).is_empty());
    bench.inject(A, at(P4).udps(10, 1_000));
    while bench.now() < Nanos(DETECTION + 10 * MS) {
        bench.inject_pfc(B, PrioritySet::EMPTY.with(P3).with(P4), PauseQuanta::MAX);
        bench.run_for(Interval(REFRESH));
    }
    assert_eq!(bench.data(B).filter(|sent| sent.start >= Nanos(DETECTION)).count(), 10);
    assert_eq!(bench.shard.queue(bench.now(), B, P4).waiting.frames, 10);
    bench.inject(A, at(P3).udps(5, 1_000));
    bench.run_for(Interval(10_000));
    assert_eq!((bench.labels(B).len(), bench.dropped_in_all()), (15, Volume::ZERO));
    // When it is over, pauses hold again.
    bench.release(B, P3);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(5, 1_000));
    bench.run_for(Interval(3 * MS));
    assert_eq!(bench.shard.queue(bench.now(), B, P3).waiting.frames, 5);
    bench.run_dry();
    assert_eq!(bench.labels(B).len(), 30);
}

#[test]
fn to_alert_is_to_change_nothing() {
    let mut bench = bench(WatchdogAction::Alert);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(10, 1_000));
    storm(&mut bench, 3 * DETECTION);
    assert_eq!((times(&bench), bench.sent(B).len()), (vec![(DETECTION, B, true)], 0));
    bench.run_dry();
    assert_eq!((bench.labels(B).len(), bench.dropped_in_all()), (10, Volume::ZERO));
    assert!(!stormed(&bench, B));
}

#[test]
fn a_storm_without_packets_is_never_one() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.inject(A, at(P3).udps(10, 1_000));
    bench.run_until(Nanos(MS));
    storm(&mut bench, 10 * DETECTION);
    assert!(events(&bench).is_empty());
    bench.run_for(Interval(4 * MS));
    assert_eq!(bench.shard.next_deadline(), Nanos::NEVER);
    bench.inject(A, at(P3).udps(10, 1_000));
    bench.run_dry();
    assert_eq!(bench.labels(B).len(), 20);
}

#[test]
fn a_storm_of_a_priority_that_does_not_obey_is_never_one() {
    let mut bench = bench(WatchdogAction::Drop);
    for _ in 0..300 {
        bench.inject_pfc(B, PrioritySet::ALL.without(P3).without(P4), PauseQuanta::MAX);
        bench.inject(A, at(P1).udps(2, 1_000));
        bench.run_for(Interval(REFRESH));
    }
    assert!(events(&bench).is_empty());
    assert_eq!(bench.labels(B).len(), 600);
}

#[test]
fn a_storm_that_starts_under_traffic_is_counted_from_the_last_frame_that_left() {
    let mut bench = bench(WatchdogAction::Drop);
    for _ in 0..500 {
        bench.inject(A, at(P3).udps(1, 1_000));
        bench.run_for(Interval(1_000));
    }
    let last = bench.data(B).last().unwrap().start;
    bench.inject(A, at(P3).udps(2, 1_000));
    bench.turn();
    let now = bench.data(B).last().unwrap().start;
    assert!(now > last);
    storm(&mut bench, 2 * DETECTION);
    assert_eq!(times(&bench)[0], (now.0 + DETECTION, B, true));
}

#[test]
fn traffic_that_starts_under_a_storm_is_counted_from_its_first_frame() {
    let mut bench = bench(WatchdogAction::Drop);
    storm(&mut bench, DETECTION + 123_456);
    bench.inject(A, at(P3).udps(1, 1_000));
    storm(&mut bench, 2 * DETECTION);
    bench.inject(A, at(P3).udps(1, 1_000));
    storm(&mut bench, 3 * DETECTION);
    assert_eq!(times(&bench), [(2 * DETECTION + 123_456, B, true)]);
}

#[test]
fn frames_that_were_handed_over_when_the_pause_came_leave_and_are_not_dropped() {
    let mut settings = watched(two_ports(), WatchdogAction::Drop);
    settings.ports[1].tx_window = Interval(5_000);
    let mut bench = Testbench::new(settings);
    bench.inject(A, at(P3).udps(20, 1_000));
    bench.turn();
    let handed = bench.labels(B).len() as u64;
    assert!((2..20).contains(&handed));
    storm(&mut bench, DETECTION);
    assert_eq!((bench.labels(B).len() as u64, dropped(&bench, B)), (handed, 20 - handed));
    assert_eq!(times(&bench), [(DETECTION, B, true)], "from the instant at which they were handed over");
}

#[test]
fn a_queue_that_sends_in_the_gaps_between_pauses_is_never_stormed() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.inject(A, at(P3).udps(90, 1_000));
    for _ in 0..80 {
        bench.block(B, P3);
        // A nanosecond of 3.36 ms: time for one frame to begin.
        bench.run_for(PauseQuanta::MAX.interval_at(BitRate::gigabits(10)) + Interval(1));
    }
    assert!(events(&bench).is_empty());
    assert!(bench.labels(B).len() >= 80);
}

#[test]
fn gaps_that_a_rate_limit_keeps_a_queue_from_using_do_not_hide_a_storm_until_they_are_too_long() {
    let pause = PauseQuanta::MAX.interval_at(BitRate::gigabits(10));
    for (gap, storms) in [(pause.0 / 200, 1), (pause.0 / 50, 0)] {
        let mut settings = watched(two_ports(), WatchdogAction::Alert);
        // A frame in 8 seconds.
        let limit = RateLimit { rate: BitRate::new(1_000).unwrap(), burst: Bytes(1) };
        settings.ports[1].queues[3].rate_limit = Some(limit);
        let mut bench = Testbench::new(settings);
        bench.inject(A, at(P3).udps(3, 1_000));
        bench.turn();
        assert_eq!(bench.labels(B).len(), 1);
        for _ in 0..100 {
            bench.block(B, P3);
            bench.run_for(pause + Interval(gap));
        }
        assert_eq!(bench.labels(B).len(), 1);
        assert_eq!(bench.shard.queue(bench.now(), B, P3).watchdog.storms, storms, "gaps of {gap} ns");
    }
}

#[test]
fn a_queue_is_restored_after_the_restoration_time_and_loses_no_frame_from_then_on() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward, WatchdogAction::Alert] {
        let mut bench = bench(action);
        bench.block(B, P3);
        bench.inject(A, at(P3).udps(10, 1_000));
        storm(&mut bench, 250 * MS);
        let last_xoff = 248 * MS;
        bench.run_until(Nanos(last_xoff + RESTORATION - 1));
        assert!(stormed(&bench, B));
        let lost = dropped(&bench, B);
        assert_eq!(lost, if action == WatchdogAction::Drop { 10 } else { 0 });
        bench.run_until(Nanos(last_xoff + RESTORATION));
        let expected = restored(RestorationCause::Quiet, RESTORATION, last_xoff + RESTORATION - DETECTION);
        assert_eq!(events(&bench)[1].change, expected);
        assert_eq!(
            bench.shard.queue(bench.now(), B, P3).watchdog,
            WatchdogCounters { storms: 1, restored: 1 }
        );
        bench.inject(A, at(P3).udps(50, 1_000));
        bench.run_dry();
        assert_eq!(dropped(&bench, B), lost, "no new frame");
        assert_eq!(bench.labels(B).len() as u64, 60 - lost);
    }
}

#[test]
fn an_xon_ends_a_storm_at_once() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(10, 1_000));
    storm(&mut bench, DETECTION + 7 * MS);
    bench.release(B, P3);
    assert!(!stormed(&bench, B));
    bench.inject(A, at(P3).udps(50, 1_000));
    bench.run_dry();
    assert_eq!(times(&bench), [(DETECTION, B, true), (DETECTION + 7 * MS, B, false)]);
    assert_eq!(events(&bench)[1].change, restored(RestorationCause::Xon, MS, 7 * MS));
    assert_eq!((bench.labels(B).len(), dropped(&bench, B)), (50, 10));
}

#[test]
fn twenty_storms_are_each_detected_and_ended_within_a_percent_of_their_times() {
    let mut bench = bench(WatchdogAction::Drop);
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for number in 0..20 {
        bench.run_for(Interval(1_234_567 * number));
        starts.push(bench.now().0);
        bench.block(B, P3);
        bench.inject(A, at(P3).udps(2, 1_000));
        let end = bench.now().0 + 210 * MS;
        storm(&mut bench, end);
        ends.push(bench.now().0 - REFRESH);
        bench.run_for(Interval(RESTORATION));
        bench.inject(A, at(P3).udps(3, 1_000));
        bench.run_for(Interval(MS));
    }
    let events = times(&bench);
    assert_eq!(events.len(), 40);
    for (number, pair) in events.chunks(2).enumerate() {
        let took = [pair[0].0 - starts[number], pair[1].0 - ends[number]];
        for (took, wanted) in took.into_iter().zip([DETECTION, RESTORATION]) {
            assert!(took >= wanted && took - wanted <= wanted / 100, "storm {number}: {took} ns");
        }
    }
    assert_eq!((bench.labels(B).len(), dropped(&bench, B)), (60, 40));
}

#[test]
fn two_ports_are_stormed_one_after_the_other_each_by_itself() {
    let mut bench = Testbench::new(watched(patched(4), WatchdogAction::Drop));
    for (from, to) in [(A, B), (C, D)] {
        let start = bench.now().0;
        bench.block(to, P3);
        bench.inject(from, Flow::new(from, to).at(P3).udps(10, 1_000));
        storm_at(&mut bench, &[to], start + DETECTION + MS);
        assert_eq!(times(&bench).last(), Some(&(start + DETECTION, to, true)));
        assert_eq!(dropped(&bench, to), 10);
        let other = if to == B { D } else { B };
        assert!(!stormed(&bench, other));
        bench.run_for(Interval(RESTORATION));
    }
    bench.inject(A, at(P3).udps(10, 1_000));
    bench.inject(C, Flow::new(C, D).at(P3).udps(10, 1_000));
    bench.run_dry();
    assert_eq!((bench.labels(B).len(), bench.labels(D).len()), (10, 10));
}

#[test]
fn all_ports_are_stormed_at_once_and_restored_at_once() {
    let mut bench = Testbench::new(watched(patched(64), WatchdogAction::Drop));
    let ports: Vec<_> = bench.ports().collect();
    for port in &ports {
        bench.block(*port, P3);
    }
    for port in &ports {
        let other = PortId(port.0 ^ 1);
        bench.inject(other, Flow::new(other, *port).at(P3).udps(10, 1_000));
    }
    storm_at(&mut bench, &ports, DETECTION + MS);
    assert!(ports.iter().all(|port| stormed(&bench, *port) && dropped(&bench, *port) == 10));
    bench.run_dry();
    let all = |at: u64, detected| ports.iter().map(move |port| (at, *port, detected)).collect::<Vec<_>>();
    let expected = [all(DETECTION, true), all(DETECTION + RESTORATION, false)].concat();
    assert_eq!(times(&bench), expected);
}

#[test]
fn a_port_that_is_down_for_longer_than_the_detection_time_is_not_stormed() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.run_for(Interval(4 * MS));
    bench.inject(A, at(P3).udps(10, 1_000));
    for _ in 0..100 {
        // The device takes nothing.
        bench.egress(B, 0);
        bench.run_clock_to(bench.now() + Interval(10 * MS));
    }
    assert!(events(&bench).is_empty());
    // It comes back to a peer that pauses for a moment, as one may that was down.
    bench.block(B, P3);
    bench.turn();
    bench.run_dry();
    assert_eq!((bench.labels(B).len(), events(&bench).len()), (10, 0));
}

#[test]
fn a_storm_goes_on_under_new_times_and_another_action() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(10, 1_000));
    storm(&mut bench, DETECTION + MS);
    bench.install(|settings| {
        settings.ports[1].watchdog.as_mut().unwrap().restoration = Interval(100 * MS);
        settings.ports[1].watchdog.as_mut().unwrap().detection = Interval(500 * MS);
    });
    bench.inject(A, at(P3).udps(5, 1_000));
    assert!(stormed(&bench, B) && dropped(&bench, B) == 15);
    bench.install(|settings| settings.ports[1].watchdog = Some(watchdog(WatchdogAction::Alert)));
    bench.inject(A, at(P3).udps(5, 1_000));
    storm(&mut bench, DETECTION + 11 * MS);
    assert!(stormed(&bench, B) && dropped(&bench, B) == 15, "they wait");
    bench.install(|settings| settings.ports[1].watchdog = Some(watchdog(WatchdogAction::Forward)));
    storm(&mut bench, DETECTION + 21 * MS);
    assert_eq!((bench.labels(B).len(), dropped(&bench, B)), (5, 15));
    bench.install(|settings| {
        settings.ports[1].watchdog.as_mut().unwrap().restoration = Interval(100 * MS);
    });
    bench.run_dry();
    assert_eq!(times(&bench), [(DETECTION, B, true), (DETECTION + 119 * MS, B, false)]);
}

#[test]
fn a_detection_time_that_shrinks_during_a_storm_is_met_at_once() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(10, 1_000));
    storm(&mut bench, 150 * MS);
    bench.install(|settings| {
        settings.ports[1].watchdog.as_mut().unwrap().detection = Interval(100 * MS);
    });
    bench.turn();
    assert_eq!(times(&bench), [(150 * MS, B, true)]);
}

#[test]
fn no_queue_stays_dropping_or_deaf_when_its_watchdog_or_its_obedience_goes() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        for obeys_no_more in [false, true] {
            let mut bench = bench(action);
            bench.block(B, P3);
            bench.inject(A, at(P3).udps(10, 1_000));
            storm(&mut bench, DETECTION + MS);
            let lost = dropped(&bench, B);
            bench.install(|settings| match obeys_no_more {
                true => settings.ports[1].pfc.obey = PrioritySet::EMPTY,
                false => settings.ports[1].watchdog = None,
            });
            assert!(!stormed(&bench, B));
            assert_eq!(events(&bench)[1].change, restored(RestorationCause::Configuration, MS, MS));
            bench.inject(A, at(P3).udps(10, 1_000));
            bench.turn();
            let waits = bench.shard.queue(bench.now(), B, P3).waiting.frames > 0;
            bench.run_for(Interval(2 * MS));
            assert!(waits && (bench.labels(B).len() > 10 - lost as usize) == obeys_no_more, "{action:?}");
            bench.run_dry();
            assert_eq!((bench.labels(B).len() as u64, dropped(&bench, B)), (20 - lost, lost));
        }
    }
}

#[test]
fn a_change_of_something_else_leaves_a_storm_and_its_detection_alone() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(10, 1_000));
    storm(&mut bench, 150 * MS);
    bench.install(|settings| settings.ports[1].tx_window = Interval(1_000));
    storm(&mut bench, DETECTION + MS);
    bench.install(|settings| settings.ports[1].tx_window = Interval::ZERO);
    storm(&mut bench, DETECTION + 9 * MS);
    assert_eq!(times(&bench), [(DETECTION, B, true)]);
    bench.install(|settings| settings.ports[1].rate = BitRate::gigabits(25));
    bench.run_dry();
    assert_eq!(times(&bench)[1..], [(DETECTION + 7 * MS + RESTORATION, B, false)]);
}

#[test]
fn times_out_of_range_are_refused_with_the_range() {
    let refused = |detection: u64, restoration: u64| {
        let mut settings = two_ports();
        let (detection, restoration) = (Interval(detection), Interval(restoration));
        settings.ports[1].watchdog = Some(Watchdog { detection, restoration, action: WatchdogAction::Drop });
        Program::new(settings).err().map(|error| error.to_string())
    };
    let detection = |given| {
        Some(format!(
            "port port1: a watchdog detection time of {given} is out of range; expected 100ms to 5s"
        ))
    };
    let restoration = |given| {
        Some(format!(
            "port port1: a watchdog restoration time of {given} is out of range; expected 100ms to 60s"
        ))
    };
    assert_eq!(refused(100 * MS - 1, 100 * MS), detection("99.999999ms"));
    assert_eq!(refused(5_000 * MS + 1, 100 * MS), detection("5.000000001s"));
    assert_eq!(refused(0, 100 * MS), detection("0ns"));
    assert_eq!(refused(100 * MS, 100 * MS - 1), restoration("99.999999ms"));
    assert_eq!(refused(100 * MS, u64::MAX), restoration("18446744073.709551615s"));
    assert_eq!(refused(100 * MS, 100 * MS), None);
    assert_eq!(refused(5_000 * MS, 60_000 * MS), None);
}

#[test]
fn a_storm_of_802_3x_pauses_is_one_for_every_queue_where_they_are_obeyed() {
    let mut settings = watched(two_ports(), WatchdogAction::Drop);
    settings.ports[1].pfc.obey_global_pause = true;
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    bench.inject(A, at(P1).udps(10, 1_000));
    bench.inject(A, at(P3).udps(10, 1_000));
    while bench.now() < Nanos(DETECTION) {
        bench.run_for(Interval(REFRESH));
        bench.inject_global_pause(B, PauseQuanta::MAX);
    }
    bench.turn();
    let queues: Vec<_> = events(&bench).iter().map(|event| (event.at.0, event.priority)).collect();
    assert_eq!(queues, [(DETECTION, P1), (DETECTION, P3)], "those that held packets");
    assert_eq!(bench.dropped_in_all().frames, 20);
    bench.inject_global_pause(B, PauseQuanta::ZERO);
    assert_eq!(events(&bench).len(), 4);
    bench.inject(A, at(P1).udps(10, 1_000));
    bench.run_dry();
    assert_eq!(bench.labels(B).len(), 10);
}

#[test]
fn a_short_pause_of_a_long_haul_link_costs_no_call_of_the_watchdog() {
    let mut settings = watched(two_ports(), WatchdogAction::Drop);
    settings.ports[1].rate = BitRate::gigabits(100);
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(1, 1_000));
    assert_eq!(bench.shard.next_deadline(), Nanos(335_540), "the end of the pause");
    bench.run_dry();
    assert_eq!(bench.now(), Nanos(335_540), "and nothing behind it");
}

#[test]
fn a_turn_that_comes_too_late_for_a_detection_finds_the_pause_over_and_no_storm() {
    let mut bench = bench(WatchdogAction::Drop);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(2, 1_000));
    storm(&mut bench, DETECTION - 2_000);
    bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta(50)); // 2,560 ns
    bench.inject(A, at(P4).udps(1, 9_000)); // 7.2 us on the link
    bench.turn();
    bench.run_clock_to(Nanos(DETECTION + 2_000));
    bench.turn();
    bench.run_dry();
    assert_eq!((bench.labels(B).len(), events(&bench).len()), (3, 0));
}
