//! Events of a switch against its counters and against the frames on its links.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::gateway;
use conformance::settings::{XOFF, two_ports};
use conformance::{A, B, Flow, P3, Testbench};
use proptest::prelude::*;
use switch::program::{Bifrost, FlowControl, Settings, VirtualIncoming, Watchdog, WatchdogAction};
use switch::{DropReason, Event, Happening, PauseDirection, PortHalf, WatchdogChange};
use units::{Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet, WireBytes};

const MS: Interval = Interval::from_millis(1);

/// The events so far.
fn take(bench: &mut Testbench, into: &mut Vec<Event>) {
    let now = bench.now();
    if bench.shard.has_events(now) {
        bench.shard.take_events(now, |events| into.append(events));
    }
}

/// The sum of all pauses of a port in one direction that are over.
fn paused_for(events: &[Event], port: PortId, wanted: PauseDirection) -> Interval {
    let time = |event: &Event| match event.what {
        Happening::Resumed { direction, since, .. } if direction == wanted && event.port == Some(port) => {
            Some(event.at.since(since))
        }
        _ => None,
    };
    events.iter().filter_map(time).fold(Interval::ZERO, |sum, time| sum + time)
}

fn kinds(events: &[Event], kind: impl Fn(&Happening) -> bool) -> Vec<&Event> {
    events.iter().filter(|event| kind(&event.what)).collect()
}

/// Bifrost on port A: pauses of fixed times beside those of the thresholds.
fn bifrost() -> Settings {
    let mut settings = gateway();
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: Interval::from_micros(10),
        round_trip: Interval::from_micros(100),
        check_every: core::num::NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::Counter,
        holdover: Interval::from_micros(5),
        lateness: Interval::ZERO,
    };
    bifrost.buffer.0 = 2 * bifrost.buffer_terms(settings.ports[0].rate, Bytes(9_216)).total().0;
    let xoff = 2 * bifrost.buffer.0;
    settings.ports[A.index()].groups[P3.index()] = conformance::settings::lossless(xoff, 1_000_000, 0);
    settings.ports[A.index()].flow_control = FlowControl::Bifrost(bifrost);
    settings
}

/// A step: frames for B, the pause of priority 3 that B receives, and a time.
type Step = (u32, Option<u16>, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pause = proptest::option::of(prop_oneof![Just(0), Just(u16::MAX), 1..3_000_u16]);
    proptest::collection::vec((0..40_u32, pause, 0..60_000_u64), 1..60)
}

fn play(settings: Settings, steps: &[Step], records: bool) -> (Testbench, Vec<Event>) {
    let (mut bench, mut events) = (Testbench::new(settings), Vec::new());
    if records {
        bench.shard.record_events();
    }
    for (frames, pause, time) in steps {
        bench.inject(A, Flow::new(A, B).at(P3).udps((*frames).into(), 1_000));
        if let Some(quanta) = pause {
            bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta(*quanta));
        }
        bench.run_for(Interval(*time));
        take(&mut bench, &mut events);
    }
    // All pauses are over, and their ends were looked for.
    bench.run_for(MS * 20);
    take(&mut bench, &mut events);
    bench.run_for(MS * 2);
    take(&mut bench, &mut events);
    (bench, events)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pauses_add_up_to_what_the_meters_say_to_the_nanosecond_and_recording_them_changes_nothing(
        steps in steps(),
        is_bifrost in any::<bool>(),
    ) {
        let settings = || if is_bifrost { bifrost() } else { two_ports() };
        let (bench, events) = play(settings(), &steps, true);
        let now = bench.now();
        let metered: Interval = Priority::all()
            .flat_map(|priority| bench.shard.group(now, A, priority).paused_for)
            .fold(Interval::ZERO, |sum, time| sum + time);
        prop_assert_eq!(paused_for(&events, A, PauseDirection::Sent), metered);
        let received = bench.shard.queue(now, B, P3).paused_for;
        prop_assert_eq!(paused_for(&events, B, PauseDirection::Received), received);
        let begun = kinds(&events, |what| matches!(what, Happening::Paused { .. })).len();
        let ended = kinds(&events, |what| matches!(what, Happening::Resumed { .. })).len();
        prop_assert_eq!(begun, ended, "every pause has its end");
        let (unwatched, none) = play(settings(), &steps, false);
        prop_assert!(none.is_empty());
        for port in [A, B] {
            prop_assert!(unwatched.sent(port) == bench.sent(port));
        }
    }
}

#[test]
fn a_congested_group_reaches_xoff_takes_headroom_and_resumes_and_each_is_one_event() {
    let (mut bench, mut events) = (Testbench::new(two_ports()), Vec::new());
    bench.shard.record_events();
    bench.block(B, P3);
    for _ in 0..13 {
        bench.inject(A, Flow::new(A, B).at(P3).udps(10, 1_000));
        bench.run_for(Interval(1_000));
    }
    bench.release(B, P3);
    bench.run_for(MS * 2);
    take(&mut bench, &mut events);
    let of_a = |event: &&Event| event.port == Some(A);
    let whats: Vec<_> = events.iter().filter(of_a).map(|event| (event.at.0, event.what)).collect();
    let [xoff, paused, headroom, resumed, xon] = whats[..] else { panic!("{whats:?}") };
    assert!(matches!(xoff, (9_000, Happening::XoffReached { held, .. }) if held.0 >= XOFF), "{xoff:?}");
    assert!(matches!(paused.1, Happening::Paused { direction: PauseDirection::Sent, .. }), "{paused:?}");
    assert!(matches!(headroom, (10_000, Happening::HeadroomEntered { held }) if held.0 > 0), "{headroom:?}");
    assert!(matches!(resumed.1, Happening::Resumed { ran_out: false, .. }), "{resumed:?}");
    assert!(matches!(xon.1, Happening::XonReached { .. }), "{xon:?}");
    let start = bench.pauses(A, P3)[0].0;
    assert_eq!(Nanos(paused.0), start, "the instant of a pause is that of its frame on the link");
}

#[test]
fn each_congestion_of_a_group_is_an_event_even_if_its_pause_was_never_sent() {
    let mut settings = two_ports();
    settings.ports[A.index()].rate = units::BitRate::gigabits(1);
    let (mut bench, mut events) = (Testbench::new(settings), Vec::new());
    bench.shard.record_events();
    for _ in 0..2 {
        // The link to A is busy until long after the group is empty again.
        bench.inject_singly(B, Flow::new(B, A).at(P3).udps(1, 9_000));
        bench.inject(A, Flow::new(A, B).at(P3).udps(100, 1_000));
        bench.run_for(MS * 2);
        take(&mut bench, &mut events);
    }
    assert!(bench.pauses(A, P3).is_empty());
    let whats: Vec<_> = events.iter().map(|event| (event.port, event.what)).collect();
    let [xoff, xon, again, and_again] = whats[..] else { panic!("{whats:?}") };
    for what in [xoff, again] {
        assert!(matches!(what, (Some(A), Happening::XoffReached { .. })), "{what:?}");
    }
    for what in [xon, and_again] {
        assert!(matches!(what, (Some(A), Happening::XonReached { held: Bytes(0) })), "{what:?}");
    }
}

#[test]
fn a_flood_of_dropped_frames_is_an_event_a_second_with_its_sum() {
    let (mut bench, mut events) = (Testbench::new(two_ports()), Vec::new());
    bench.shard.record_events();
    let runts = || (0..10).map(|_| conformance::TestFrame::new(vec![0; 10]));
    for _ in 0..250 {
        bench.inject(A, runts());
        bench.run_for(MS * 10);
        take(&mut bench, &mut events);
    }
    let told: Vec<_> = events.iter().map(|event| (event.at.0 / MS.0, event.what)).collect();
    let dropped = |frames| {
        let volume = switch::Volume { frames, bytes: Bytes(10 * frames) };
        Happening::Dropped { reason: DropReason::Runt, half: PortHalf::Ingress, volume }
    };
    assert_eq!(told, [(10, dropped(10)), (1_010, dropped(1_000)), (2_010, dropped(1_000))]);
    let (now, mut last) = (bench.now(), Vec::new());
    bench.shard.take_last_events(now, |events| last.append(events));
    let whats: Vec<_> = last.iter().map(|event| event.what).collect();
    assert_eq!(whats, [dropped(490)], "nothing is left behind at the end");
}

#[test]
fn pauses_that_toggle_at_line_rate_leave_room_for_a_storm_and_are_counted_where_they_find_none() {
    let mut settings = two_ports();
    settings.ports[B.index()].watchdog =
        Some(Watchdog { detection: MS * 100, restoration: MS * 100, action: WatchdogAction::Alert });
    let (mut bench, mut events) = (Testbench::new(settings), Vec::new());
    bench.shard.record_events();
    bench.inject(A, Flow::new(A, B).at(P3).udps(5, 1_000));
    bench.block(B, P3);
    // No one takes events meanwhile.
    for _ in 0..3_000 {
        bench.inject_pfc(B, PrioritySet::EMPTY.with(Priority::from_low_bits(4)), PauseQuanta(1));
        bench.inject_pfc(B, PrioritySet::EMPTY.with(Priority::from_low_bits(4)), PauseQuanta::ZERO);
    }
    while bench.now() < Nanos::ZERO + MS * 110 {
        bench.block(B, P3);
        bench.run_for(Interval::from_micros(100));
    }
    take(&mut bench, &mut events);
    let storms = kinds(&events, |what| matches!(what, Happening::Watchdog(WatchdogChange::Detected(_))));
    assert_eq!(storms.len(), 1);
    let lost = kinds(&events, |what| matches!(what, Happening::Lost { .. }));
    assert!(matches!(lost[..], [Event { what: Happening::Lost { events: 5_000.. }, .. }]), "{lost:?}");
    assert!(events.len() < 1_100, "{}", events.len());
    bench.release(B, P3);
    bench.run_for(MS);
}

#[test]
fn a_priority_that_no_longer_obeys_is_resumed_by_the_configuration() {
    let (mut bench, mut events) = (Testbench::new(two_ports()), Vec::new());
    bench.shard.record_events();
    bench.block(B, P3);
    bench.run_for(Interval(500));
    bench.install(|settings| settings.ports[B.index()].pfc.obey = PrioritySet::EMPTY);
    take(&mut bench, &mut events);
    let whats: Vec<_> = events.iter().map(|event| (event.at.0, event.priority)).collect();
    assert_eq!(whats, [(0, Some(P3)), (500, Some(P3))]);
    assert!(matches!(events[1].what, Happening::Resumed { since: Nanos(0), ran_out: false, .. }));
}
