//! The run-time profile, on a clock that only devices and tests advance.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use units::{Interval, Nanos};
use worker::{Clock, Command, Controls, Idle, Profile, ProfileStage, Reply, SAMPLED_TURNS};

/// All different, so that no stage passes for another.
const COSTS: Costs =
    Costs { memory: Interval(3), receive: Interval(10), transmit: Interval(100), flush: Interval(1_000) };

/// A worker whose devices take time.
fn slow() -> (Bench<TestClock>, TestClock, Cable, Cable) {
    let (bench, clock, a, b) = one_worker(settings(2));
    for cable in [&a, &b] {
        cable.takes_time(&clock, COSTS);
    }
    (bench, clock, a, b)
}

fn turns(bench: &mut Bench<TestClock>, count: u32) {
    for _ in 0..count {
        assert!(bench.worker.turn().is_continue());
    }
}

/// Idle turns up to the first sample.
fn until_sample(bench: &mut Bench<TestClock>) {
    turns(bench, SAMPLED_TURNS - 1);
}

/// The profile of all turns before the one in which it is asked for.
fn profile(bench: &mut Bench<TestClock>) -> Profile {
    bench.inspect(A).profile
}

/// The profile of idle turns: in each, a look at memory, and both ports are polled and flushed.
fn profile_of_idle(turns: u32) -> Profile {
    let turns = u64::from(turns);
    Profile { turns, elapsed: Interval(turns * (3 + 2 * 10 + 2 * 1_000)), ..Profile::default() }
}

/// The sum of the stages of sampled turns.
fn sum(profile: &Profile) -> Interval {
    profile.sampled.into_iter().fold(Interval::ZERO, |sum, stage| sum + stage)
}

#[test]
fn idle_turns_take_the_time_of_their_polls_and_are_no_samples() {
    let (mut bench, ..) = slow();
    turns(&mut bench, 100);
    assert_eq!(profile(&mut bench), profile_of_idle(100));
}

#[test]
fn the_time_of_each_call_of_a_device_belongs_to_its_stage() {
    let (mut bench, _, a, b) = slow();
    until_sample(&mut bench);
    let before = profile_of_idle(SAMPLED_TURNS - 1);
    // Frames that arrive together leave in egress.
    a.inject((0..2).map(|number| frame(1, P3, 100, number)));
    b.inject((0..3).map(|number| frame(2, P3, 100, number)));
    turns(&mut bench, 1);
    let seen = profile(&mut bench);
    assert_eq!((seen.turns, seen.busy_turns, seen.sampled_turns), (before.turns + 1, 1, 1));
    assert_eq!((seen.bursts, seen.frames), (2, 5));
    let stages = [2 * 10, 0, 5 * 100 + 2 * 1_000, 3].map(Interval);
    assert_eq!(seen.sampled, stages, "{:?}", ProfileStage::ALL);
    assert_eq!((seen.elapsed - before.elapsed, seen.busy), (sum(&seen), sum(&seen)));
}

#[test]
fn a_frame_that_is_sent_as_it_arrives_is_sent_within_ingress() {
    let (mut bench, _, a, _) = slow();
    until_sample(&mut bench);
    a.inject([frame(1, P3, 100, 0)]);
    turns(&mut bench, 1);
    let ingress = profile(&mut bench).sampled[ProfileStage::Ingress as usize];
    assert_eq!(ingress, COSTS.transmit);
}

#[test]
fn stages_add_up_to_the_time_of_their_turns_whatever_arrives_when() {
    let (mut bench, clock, a, b) = slow();
    let rounds = 3 * SAMPLED_TURNS;
    for round in 0..rounds {
        a.inject((0..u64::from(round % 5)).map(|number| frame(1, P3, 100, number)));
        b.inject((0..u64::from(round % 3)).map(|number| frame(2, P0, 100, number)));
        turns(&mut bench, 1);
        clock.advance(Interval(u64::from(round)));
    }
    let seen = profile(&mut bench);
    assert_eq!(seen.turns, rounds.into());
    // The turn of round 60 was to be a sample as well, but was idle.
    let at = |round: u64| [round % 5, round % 3].map(|frames| (frames, u64::from(frames > 0)));
    let sampled = [121, 182]
        .map(|round| (3 + 2 * 10 + 2 * 1_000 + at(round).iter().map(|it| it.0 * 100).sum::<u64>()) + round);
    assert_eq!((seen.sampled_turns, sum(&seen)), (2, Interval(sampled.iter().sum())));
    let all = (0..u64::from(rounds)).map(at);
    let idle = all.clone().filter(|[a, b]| a.0 + b.0 == 0).count() as u64;
    assert_eq!(seen.busy_turns, seen.turns - idle);
    let (frames, bursts) = all.flatten().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    assert_eq!((seen.frames, seen.bursts), (frames, bursts));
    assert!(seen.busy < seen.elapsed && idle > 0);
}

/// Counts its readings.
#[derive(Clone)]
struct Readings(Arc<AtomicU64>);

impl Clock for Readings {
    fn now(&mut self) -> Nanos {
        START + Interval(1_000 * self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn whoever_sends_what_one_turn_in_61_reads_the_clock_more_often() {
    let clock = Readings(Arc::default());
    let (mut benches, cables) = workers(settings(2), 1, || clock.clone());
    for frames in [0, 1, 32] {
        let mut more = Vec::new();
        for turn in 0..4 * SAMPLED_TURNS {
            cables.iter().for_each(|cable| cable.inject((0..frames).map(|number| frame(1, P3, 100, number))));
            let before = clock.0.load(Ordering::Relaxed);
            assert!(benches[0].worker.turn().is_continue());
            let readings = clock.0.load(Ordering::Relaxed) - before;
            // One at the start, and one before each burst.
            let usual = 1 + 2 * u64::from(frames > 0);
            if readings > usual {
                more.push((turn % SAMPLED_TURNS, readings - usual));
            }
        }
        // Behind memory, polls and egress, and behind each burst.
        let further = 3 + 2 * u64::from(frames > 0);
        assert_eq!(more, [(SAMPLED_TURNS - 1, further); 4], "bursts of {frames}");
    }
}

/// Advances by a microsecond with each reading, and stops the worker at the last one.
#[derive(Clone, Default)]
struct Ending {
    readings: Arc<AtomicU64>,
    last: u64,
    controls: Arc<Mutex<Option<Controls>>>,
}

impl Clock for Ending {
    fn now(&mut self) -> Nanos {
        let reading = self.readings.fetch_add(1, Ordering::Relaxed);
        if reading == self.last {
            let mut controls = self.controls.lock().unwrap();
            controls.as_mut().unwrap().send(Command::Stop).unwrap();
        }
        START + Interval(1_000 * reading)
    }
}

#[test]
fn sleep_is_no_part_of_the_idle_turn_that_it_follows() {
    let clock = Ending { last: 200, ..Ending::default() };
    let (mut benches, _cables) = workers(settings(2), 1, || clock.clone());
    let Bench { worker, controls, .. } = benches.remove(0);
    clock.controls.lock().unwrap().replace(controls);
    let mut worker = worker.while_idle(Idle::Sleep);
    worker.run();
    let mut controls = clock.controls.lock().unwrap().take().unwrap();
    controls.send(Command::Inspect(A, Box::default())).unwrap();
    assert!(worker.turn().is_continue());
    let Some(Reply::Inspected(_, look)) = controls.receive() else { panic!("it answers") };
    let seen = look.profile;
    // From the 64th turn on it sleeps after each but the last, between two readings.
    let sleeps = seen.turns - 64;
    assert!(sleeps > 10 && seen.busy_turns == 0);
    assert_eq!(seen.asleep, Interval(1_000 * sleeps));
    // Beside its sleep and its own reading, a turn takes three more if it is a sample, and one is between the sleep and it.
    let samples = seen.turns / u64::from(SAMPLED_TURNS);
    assert_eq!(seen.elapsed - seen.asleep, Interval(1_000 * (seen.turns + 3 * samples + sleeps)));
}
