//! Workers that share all ports: each has one receive and one transmit queue of every port.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use switch::Settings;
use switch::program::{GroupSettings, Threshold};
use units::{Bytes, Interval, PauseQuanta, Priority};
use worker::{Command, MonotonicClock};

/// Turns of both lanes, one after the other, a microsecond apart.
fn turns(benches: &mut [Bench<TestClock>], clock: &TestClock, count: usize) {
    for _ in 0..count {
        for bench in &mut *benches {
            assert!(bench.worker.turn().is_continue());
            clock.advance(Interval::from_micros(1));
        }
    }
}

fn two_lanes(settings: Settings) -> (Vec<Bench<TestClock>>, TestClock, Vec<Vec<Cable>>) {
    let clock = TestClock::at(START);
    let (benches, cables) = lanes(settings, 2, || clock.clone());
    (benches, clock, cables)
}

fn frames(flow: u32, priority: Priority, count: u64) -> impl Iterator<Item = TestFrame> {
    (0..count).map(move |number| frame(flow, priority, 1_000, number))
}

#[test]
fn a_frame_leaves_through_the_lane_that_received_it_and_the_figures_of_all_add_up() {
    let (mut benches, clock, cables) = two_lanes(settings(2));
    cables[0][A.index()].inject(frames(0, P0, 100));
    cables[1][A.index()].inject(frames(1, P3, 50));
    turns(&mut benches, &clock, 100);
    let left = |lane: usize| cables[lane][B.index()].outside().numbers();
    assert_eq!(left(0).into_iter().collect::<Vec<_>>(), [(0, (0..100).collect())]);
    assert_eq!(left(1).into_iter().collect::<Vec<_>>(), [(1, (0..50).collect())]);
    let [mut lead, other] = [0, 1].map(|lane| [A, B].map(|port| benches[lane].inspect(port)));
    lead.iter_mut().zip(&other).for_each(|(all, lane)| all.add_lane(lane));
    let [came, went] = lead;
    assert_eq!([P0, P3].map(|it| came.port.ingress.received[it.index()].frames), [100, 50]);
    assert_eq!([P0, P3].map(|it| went.port.queues[it.index()].counters.transmitted.frames), [100, 50]);
    assert_eq!((came.device.received, went.device.sent), (150, 150));
    benches.iter().for_each(|bench| assert_nothing_inside(bench.worker.shard().ledger()));
}

#[test]
fn a_pause_that_one_lane_receives_stops_all_of_them_until_it_is_over() {
    let (mut benches, clock, cables) = two_lanes(settings(2));
    cables[1][B.index()].inject([pause(PauseQuanta::MAX)]);
    turns(&mut benches, &clock, 2);
    for lane in &cables {
        lane[A.index()].inject(frames(0, P3, 10).chain(frames(1, P0, 10)));
    }
    let left = || [0, 1].map(|lane: usize| cables[lane][B.index()].outside().outbound.len());
    turns(&mut benches, &clock, 20);
    assert_eq!(left(), [10, 10], "the other priority goes on");
    // 65,535 quanta of 512 bits at 100G are 336 us.
    turns(&mut benches, &clock, 200);
    assert_eq!(left(), [20, 20]);
}

/// Priority 3 pauses at 100 kB.
fn low_threshold() -> Settings {
    let mut settings = settings(2);
    for port in &mut settings.ports {
        if let GroupSettings::Lossless(group) = &mut port.groups[P3.index()] {
            (group.xoff, group.xon) = (Threshold::Static(Bytes(100_000)), Bytes(50_000));
        }
    }
    settings
}

#[test]
fn the_first_lane_pauses_for_what_all_hold_and_alone_sends_the_frame() {
    let (mut benches, clock, cables) = two_lanes(low_threshold());
    // Nothing leaves, and neither lane holds as much as the threshold.
    cables.iter().for_each(|lane| lane[B.index()].outside().takes = Some(0));
    cables.iter().for_each(|lane| lane[A.index()].inject(frames(0, P3, 110)));
    turns(&mut benches, &clock, 50);
    let pauses = |lane: usize| cables[lane][A.index()].outside().pauses();
    assert_eq!((pauses(0).first(), pauses(1).len()), (Some(&PauseQuanta::MAX), 0));
    cables.iter().for_each(|lane| lane[B.index()].outside().takes = None);
    turns(&mut benches, &clock, 200);
    assert_eq!((pauses(0).last(), pauses(1).len()), (Some(&PauseQuanta::ZERO), 0));
    let arrived = [0, 1].map(|lane: usize| cables[lane][B.index()].outside().outbound.len());
    assert_eq!(arrived, [110, 110]);
}

/// The order in which the threads run is that of the system.
#[test]
fn two_lanes_on_two_threads_lose_no_frame_and_keep_the_order_of_each_flow() {
    const EACH: u64 = 20_000;
    let (benches, cables) = lanes(settings(2), 2, || MonotonicClock::starting_at(START));
    let ended: Vec<_> = std::thread::scope(|scope| {
        let (mut controls, mut threads) = (Vec::new(), Vec::new());
        for Bench { mut worker, controls: own, .. } in benches {
            controls.push(own);
            threads.push(scope.spawn(move || {
                worker.run();
                worker
            }));
        }
        for number in 0..EACH {
            for (flow, lane) in (0..).zip(&cables) {
                let priority = if number % 2 == 0 { P0 } else { P3 };
                let direction = usize::from(number % 3 == 0);
                lane[direction].inject([frame(
                    4 * flow + 2 * direction as u32 + (number % 2) as u32,
                    priority,
                    60,
                    number,
                )]);
            }
        }
        let left = |lane: &Vec<Cable>| lane.iter().map(|cable| cable.outside().outbound.len()).sum::<usize>();
        let started = std::time::Instant::now();
        while cables.iter().any(|lane| left(lane) < EACH as usize) && started.elapsed().as_secs() < 60 {
            std::thread::yield_now();
        }
        controls.iter_mut().for_each(|controls| controls.send(Command::Stop).unwrap());
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    ended.iter().for_each(|worker| assert_nothing_inside(worker.shard().ledger()));
    for lane in &cables {
        assert_eq!(lane.iter().map(|cable| cable.outside().outbound.len()).sum::<usize>(), EACH as usize);
        let flows = lane.iter().flat_map(|cable| cable.outside().numbers().into_values());
        flows.for_each(|numbers| assert!(numbers.is_sorted()));
    }
}
