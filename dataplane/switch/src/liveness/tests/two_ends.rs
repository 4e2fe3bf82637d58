use super::super::*;
use super::world::*;
use super::{KEY, MILLI, SECOND, next_hello, place, settings};
use proptest::prelude::*;

/// The changes of state that an end has told, with their causes.
fn told(world: &World, end: usize) -> Vec<(LinkState, Option<DownCause>)> {
    let state = |event: &LivenessEvent| match event.change {
        LinkChange::State { to, cause, .. } => Some((to, cause)),
        LinkChange::Lost { .. } | LinkChange::Crossed { .. } => None,
    };
    world.ends[end].events.iter().filter_map(state).collect()
}

/// When `end` stops to carry data, for up to `most`.
fn stops_after(world: &mut World, most: Interval) -> [Option<Interval>; 2] {
    let (start, mut stopped) = (world.now, [None; 2]);
    world.run_until(start + most, |world| {
        for (carries, at) in world.carries().into_iter().zip(&mut stopped) {
            if !carries {
                at.get_or_insert(world.now.since(start));
            }
        }
    });
    stopped
}

#[test]
fn two_ends_that_hear_each_other_are_up_and_use_the_longer_interval() {
    let intervals = [Interval::from_micros(3_300), MILLI * 10];
    let ends = [0, 1].map(|end| settings(end, intervals[end]));
    let mut world = World::with(MILLI * 2, ends, 1);
    world.run_for(SECOND * 5);
    for end in 0..2 {
        assert_eq!(told(&world, end), [(LinkState::Up, None)]);
        let report = world.ends[end].monitor.report();
        assert_eq!(report.detection, MILLI * 30);
        assert_eq!(report.peer, Some(place(1 - end)));
        let before = world.counters(end).sent;
        world.run_for(SECOND);
        let sent = world.counters(end).sent - before;
        assert!((100..=134).contains(&sent), "{sent} in a second");
    }
}

#[test]
fn a_cut_of_one_way_is_told_on_the_other_one() {
    let interval = Interval::from_micros(3_300);
    let mut world = World::up(Interval::from_micros(2_500), interval, 1);
    world.cut(0, Interval::from_micros(2_500), SECOND * 10);
    world.run_for(MILLI * 100);
    assert_eq!(told(&world, 1)[1..], [(LinkState::Out, Some(DownCause::DetectionExpired))]);
    assert_eq!(told(&world, 0)[1..], [(LinkState::Out, Some(DownCause::PeerDown))]);
}

#[test]
fn a_restarted_end_is_noticed_and_heard_again() {
    let mut world = World::up(MILLI, MILLI * 3, 1);
    world.restart(0, 1);
    world.run_for(SECOND * 5);
    let again = [(LinkState::Out, Some(DownCause::PeerDown)), (LinkState::Up, None)];
    assert_eq!(told(&world, 1)[1..], again);
    assert_eq!(world.carries(), [true; 2]);
    assert_eq!([0, 1].map(|end| world.counters(end).lost), [0; 2], "totals begin anew");
}

#[test]
fn an_end_whose_clock_was_set_back_comes_up_after_a_silence() {
    let mut world = World::up(MILLI, MILLI * 3, 1);
    let (now, early) = (world.now, Nanos(1_000_000_000));
    let mut monitor = Monitor::new(world.ends[0].settings, 7);
    monitor.carrier(early, true);
    let mut refused = 0;
    // Its hellos come at the true time, and have the numbers of a clock of 1970.
    for step in 0..20_000_u64 {
        let passed = MILLI * step;
        let (here, there) = (early + passed, now + passed);
        if let Some(hello) = next_hello(&mut monitor, here) {
            world.ends[1].monitor.hello(there, &hello);
        }
        world.ends[1].monitor.turn(there, false);
        if let Some(hello) = next_hello(&mut world.ends[1].monitor, there) {
            monitor.hello(here, &hello);
        }
        monitor.turn(here, false);
        refused = refused.max(world.counters(1).replayed);
    }
    assert!(refused > 0);
    assert!(monitor.carries_data() && world.carries()[1]);
}

#[test]
fn a_link_that_optics_restore_in_time_comes_back_without_proof() {
    let ends = [0, 1].map(|end| Liveness {
        hold_off: MILLI * 60,
        return_after: SECOND * 60,
        ..settings(end, Interval::from_micros(3_300))
    });
    let mut world = World::with(Interval::from_micros(400), ends, 1);
    world.run_for(SECOND * 5);
    world.cut_both(MILLI * 45);
    world.run_for(MILLI * 70);
    let restored = [(LinkState::Held, Some(DownCause::DetectionExpired)), (LinkState::Up, None)];
    for end in 0..2 {
        assert_eq!(told(&world, end)[1..], restored);
    }
    world.cut_both(MILLI * 100);
    world.run_for(SECOND * 10);
    assert_eq!(world.states(), [LinkState::Proving; 2]);
    world.run_for(SECOND * 60);
    assert_eq!(world.states(), [LinkState::Up; 2]);
}

#[test]
fn both_ends_follow_a_drain_which_is_no_failure() {
    let mut world = World::up(MILLI * 2, MILLI * 3, 1);
    let now = world.now;
    world.ends[0].monitor.set_drained(now, true);
    world.run_for(SECOND * 20);
    assert_eq!(world.states(), [LinkState::Drained; 2]);
    assert_eq!(world.carries(), [false; 2]);
    assert_eq!(told(&world, 0)[1..], [(LinkState::Drained, Some(DownCause::Drained))]);
    assert_eq!(told(&world, 1)[1..], [(LinkState::Drained, Some(DownCause::PeerDrained))]);
    assert_eq!(world.counters(0).failures + world.counters(1).failures, 0);
    let now = world.now;
    world.ends[0].monitor.set_drained(now, false);
    world.run_for(SECOND * 5);
    assert_eq!(world.states(), [LinkState::Up; 2]);
}

#[test]
fn an_interval_that_a_reload_changes_cuts_nothing() {
    let mut world = World::up(MILLI * 2, MILLI * 3, 1);
    for millis in [50, 1, 20, 3] {
        for end in 0..2 {
            let now = world.now;
            world.ends[end].monitor.configure(now, settings(end, MILLI * millis));
            world.run_for(MILLI * 7);
        }
        world.run_for(SECOND);
        let detections = [0, 1].map(|end| world.ends[end].monitor.report().detection);
        assert_eq!((detections, world.carries()), ([MILLI * 3 * millis; 2], [true; 2]));
    }
    assert_eq!(world.counters(0).failures + world.counters(1).failures, 0);
}

#[test]
fn another_key_begins_a_session_anew() {
    let mut world = World::up(MILLI * 2, MILLI * 3, 1);
    let mut other = [0, 1].map(|end| settings(end, MILLI * 3));
    for it in &mut other {
        let Proof::Hellos(hellos) = &mut it.proof else { panic!("it has hellos") };
        hellos.key.0[0] ^= 1;
    }
    let now = world.now;
    world.ends[0].monitor.configure(now, other[0]);
    world.run_for(SECOND * 5);
    assert_eq!(world.carries(), [false; 2]);
    assert!(world.counters(0).forged > 0 && world.counters(1).forged > 0);
    assert_eq!(told(&world, 0)[1..], [(LinkState::Out, Some(DownCause::Reconfigured))]);
    let now = world.now;
    world.ends[1].monitor.configure(now, other[1]);
    world.run_for(SECOND * 5);
    assert_eq!(world.carries(), [true; 2]);
}

/// A burst of loss on a link that is up: `lost` frames vanish although all hellos arrive.
#[test]
fn a_link_that_loses_data_and_no_hello_is_told() {
    let mut world = World::up(MILLI * 2, MILLI * 3, 1);
    world.drop_data(0, 17);
    world.run_for(SECOND * 2);
    assert_eq!([world.counters(0).lost, world.counters(1).lost], [0, 17]);
    let lost = world.ends[1].events.iter().filter_map(|event| match event.change {
        LinkChange::Lost { frames } => Some(frames),
        _ => None,
    });
    assert_eq!(lost.sum::<u64>(), 17);
    assert_eq!(world.carries(), [true; 2], "operators judge");
}

#[test]
fn a_hello_of_an_earlier_session_brings_no_link_up() {
    let mut world = World::up(MILLI * 2, MILLI * 3, 1);
    let recorded = world.ends[1].recorded.clone();
    assert!(recorded.iter().any(|hello| hello.bfd.state == State::Init || hello.bfd.state == State::Up));
    world.cut_both(SECOND * 1_000);
    for restarts in [false, true, false] {
        world.run_for(SECOND * 11);
        if restarts {
            world.restart(1, 1);
        }
        for hello in &recorded {
            world.plant(1, *hello);
            world.plant(1, *hello);
            world.run_for(MILLI);
        }
        assert_ne!(world.ends[1].monitor.report().session, State::Up);
        assert!(!world.carries()[1]);
    }
    let LivenessCounters { replayed, unexpected, .. } = world.counters(1);
    assert!(replayed > 0 && unexpected > 0);
}

/// The other end of another link of the same gateways, or this end itself, speaks here.
#[test]
fn a_crossed_cable_is_named_and_takes_the_link_down() {
    let mut world = World::up(MILLI * 2, MILLI * 3, 1);
    for other in [hello::Place { member: 1, ..place(0) }, place(1)] {
        let last = *world.ends[1].recorded.last().unwrap();
        let number = last.number + 1_000_000_000;
        let crossed = hello::Message { place: other, number, ..last }.sealed(&KEY);
        world.plant(1, crossed);
        world.run_for(MILLI * 10);
        assert!(world.carries()[1]);
        world.ends[1].recorded.push(crossed);
    }
    world.cut(0, Interval::ZERO, SECOND * 2);
    world.run_for(MILLI * 5);
    let crossed = *world.ends[1].recorded.iter().rfind(|it| it.place == place(1)).unwrap();
    world.plant(1, crossed);
    world.plant(1, crossed);
    world.run_for(SECOND);
    assert_eq!(world.counters(1).crossed, 4);
    let names = world.ends[1].events.iter().filter(|it| matches!(it.change, LinkChange::Crossed { .. }));
    assert_eq!(names.count(), 1, "one in a second");
    assert_eq!(told(&world, 1)[1..], [(LinkState::Out, Some(DownCause::CrossedCable))]);
}

/// The time without hellos here is that of two intervals and of the nap.
fn nap_of_a_busy_end(knows_lateness: bool) -> u64 {
    let interval = MILLI * 4;
    let mut failures = 0;
    for seed in 0..50 {
        let mut world = World::up(MILLI, interval, seed);
        world.knows_lateness = knows_lateness;
        for nap in 0..20 {
            world.run_for(MILLI * 30 + Interval(nap * 100_000));
            world.sleep(1, interval * 2 - Interval(1), true);
        }
        world.run_for(MILLI * 100);
        failures += world.counters(1).failures;
        assert!(world.counters(0).failures == 0 || failures > 0);
    }
    failures
}

#[test]
fn lateness_of_an_end_cuts_its_link_only_if_it_does_not_know_of_it() {
    assert_eq!(nap_of_a_busy_end(true), 0);
    assert!(nap_of_a_busy_end(false) > 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Hellos past the place of the cut still arrive.
    #[test]
    fn both_ends_stop_within_the_detection_time_and_a_way_of_a_cut(
        seed: u64,
        sender in 0_usize..2,
        delay in 0_u64..5_000_000,
        at in 0..=100_u64,
        micros in 1_000_u64..20_000,
        wait in 0_u64..20_000_000,
    ) {
        let (delay, interval) = (Interval(delay), Interval::from_micros(micros));
        let mut world = World::up(delay, interval, seed);
        world.run_for(Interval(wait));
        let after = Interval(delay.0 * at / 100);
        world.cut(sender, after, SECOND * 100);
        let stopped = stops_after(&mut world, SECOND);
        let detected = interval * 3 + (delay - after);
        prop_assert!(stopped[1 - sender].is_some_and(|it| it <= detected), "{stopped:?}");
        prop_assert!(stopped[sender].is_some_and(|it| it <= detected + delay), "{stopped:?}");
        prop_assert_eq!(world.counters(0).lost + world.counters(1).lost, 0);
    }

    #[test]
    fn no_end_goes_down_without_a_cut_while_lateness_is_short_of_two_intervals(
        seed: u64,
        delay in 0_u64..5_000_000,
        micros in 1_000_u64..20_000,
        naps in proptest::collection::vec((0_usize..2, 1_u64..50_000_000, 0..1_000_u64), 0..30),
        ring_overflows: bool,
    ) {
        let interval = Interval::from_micros(micros);
        let mut world = World::up(Interval(delay), interval, seed);
        for (end, wait, length) in naps {
            world.run_for(Interval(wait));
            // If rings overflow, hellos are missing of which the other end knows nothing, and time must pass for new
            // ones.
            let end = if ring_overflows { 0 } else { end };
            world.run_for(if ring_overflows { interval * 3 } else { Interval::ZERO });
            world.sleep(end, Interval(interval.0 * 2 * length / 1_000), ring_overflows);
        }
        world.run_for(SECOND);
        for end in 0..2 {
            let LivenessCounters { failures, lost, replayed, unexpected, .. } = world.counters(end);
            prop_assert_eq!((failures, replayed, unexpected), (0, 0, 0));
            prop_assert!(ring_overflows || lost == 0);
        }
    }

    #[test]
    fn whatever_happens_no_end_carries_data_without_hearing_the_other_one_and_all_heals(
        seed: u64,
        delay in 0_u64..5_000_000,
        micros in 1_000_u64..20_000,
        mischief in proptest::collection::vec((0..7_u8, 0_usize..2, 1_u64..3_000_000_000, any::<u64>()), 1..25),
    ) {
        let (delay, interval) = (Interval(delay), Interval::from_micros(micros));
        let mut world = World::up(delay, interval, seed);
        let carries_only_what_it_hears = |world: &World| {
            // An end that sleeps carries nothing.
            for end in world.ends.iter().filter(|end| !end.sleeps()) {
                // Grace of a late turn: at most one more detection time.
                let limit = end.monitor.report().detection * 2;
                let hears = world.now.since(end.heard) <= limit;
                assert!(!end.monitor.carries_data() || hears || end.heard == Nanos::ZERO);
            }
        };
        for (kind, end, wait, draw) in mischief {
            let until = world.now + Interval(wait);
            world.run_until(until, carries_only_what_it_hears);
            let recorded = &world.ends[end].recorded;
            let Some(old) = recorded.get(draw as usize % recorded.len().max(1)).copied() else { continue };
            match kind {
                0 => world.cut(end, Interval(delay.0 / 2), Interval(draw % 1_000_000_000)),
                1 => world.cut_both(Interval(draw % 100_000_000)),
                2 => world.restart(end, draw),
                3 => world.sleep(end, Interval(draw % (interval.0 * 5)), draw & 1 == 0),
                4 => world.loses_percent = draw as u32 % 40,
                5 => (0..5).for_each(|_| world.plant(end, old)),
                _ => {
                    let bfd = wire::bfd::Packet { state: State::Down, ..old.bfd };
                    let number = u64::MAX - 1;
                    world.plant(end, hello::Message { bfd, number, ..old });
                    world.plant(end, hello::Message { tag: draw, ..old });
                }
            }
        }
        world.loses_percent = 0;
        let until = world.now + SECOND * 30;
        world.run_until(until, carries_only_what_it_hears);
        prop_assert_eq!(world.carries(), [true; 2], "{:?}", world.states());
    }
}
