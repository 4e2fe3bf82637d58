//! Two workers on two threads.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;
use switch::program::{GroupSettings, Threshold};
use switch::{DropReason, Ledger, Program, Settings, Successor};
use units::{Bytes, Cells, PauseQuanta, PortId, Priority};
use worker::{Command, Controls, Idle, MonotonicClock, Reply};

/// The maximum wait of a thread before the test fails.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// Runs two workers on two threads while `test` plays their environment; then stops them.
fn run(settings: Settings, test: impl FnOnce(&mut [Controls], &[Cable])) -> Vec<Bench<MonotonicClock>> {
    run_with(Idle::Poll, settings, test)
}

/// Like [`run`], with the behaviour of idle workers.
fn run_with(
    idle: Idle,
    settings: Settings,
    test: impl FnOnce(&mut [Controls], &[Cable]),
) -> Vec<Bench<MonotonicClock>> {
    let (benches, cables) = workers(settings, 2, || MonotonicClock::starting_at(START));
    std::thread::scope(|scope| {
        let (mut controls, mut threads) = (Vec::new(), Vec::new());
        for Bench { worker, controls: own, monitor } in benches {
            controls.push(own);
            threads.push(scope.spawn(move || {
                let mut worker = worker.while_idle(idle);
                worker.run();
                (worker, monitor)
            }));
        }
        // Workers that no one stops would keep a failed test from ending.
        let outcome = catch_unwind(AssertUnwindSafe(|| test(&mut controls, &cables)));
        controls.iter_mut().for_each(|it| it.send(Command::Stop).unwrap());
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
        ended
            .into_iter()
            .zip(controls)
            .map(|((worker, monitor), controls)| Bench { worker, controls, monitor })
            .collect()
    })
}

fn ledger_of(benches: &[Bench<MonotonicClock>]) -> &Ledger {
    benches[0].worker.shard().ledger()
}

/// Frames of both priorities for each of four ports, numbered within their flow.
fn traffic(each: u64) -> impl Iterator<Item = (usize, TestFrame)> {
    (0..each).flat_map(move |number| {
        (0..4_u32).flat_map(move |port| {
            let length = 60 + ((number * 37 + u64::from(port) * 211) % 1_400) as usize;
            [Priority::from_low_bits(0), P3].map(|priority| {
                let flow = 2 * port + u32::from(priority == P3);
                (port as usize, frame(flow, priority, length, number))
            })
        })
    })
}

fn assert_complete(cables: &[Cable], each: u64) {
    for (port, cable) in cables.iter().enumerate() {
        let partner = (port ^ 1) as u32;
        let numbers = cable.outside().numbers();
        assert_eq!(numbers.keys().copied().collect::<Vec<_>>(), [2 * partner, 2 * partner + 1]);
        for (flow, numbers) in numbers {
            assert!(numbers.into_iter().eq(0..each), "flow {flow} is complete and in order");
        }
    }
}

fn sent(cables: &[Cable]) -> usize {
    cables.iter().map(|cable| cable.outside().outbound.len()).sum()
}

#[test]
fn frames_cross_from_worker_to_worker_without_loss_and_in_order() {
    const EACH: u64 = 5_000;
    for idle in [Idle::Poll, Idle::Sleep] {
        let benches = run_with(idle, settings(4), |_, cables| {
            let (mut traffic, mut injected) = (traffic(EACH), 0);
            wait_until("all frames leave", || {
                let sent = sent(cables) as u64;
                // Even if a thread stalls, there is room for all frames in flight.
                for (port, frame) in traffic.by_ref().take((sent + LOSSY_BACKLOG - injected) as usize) {
                    cables[port].inject([frame]);
                    injected += 1;
                }
                sent == 8 * EACH
            });
            assert_complete(cables, EACH);
        });
        assert_nothing_inside(ledger_of(&benches));
        for bench in &benches {
            // Half of the frames arrive here, and a turn takes at most one burst from each of two ports.
            let least = 4 * EACH / (2 * worker::BURST as u64);
            assert!(
                (least..=bench.monitor.turns()).contains(&bench.monitor.busy()),
                "{}",
                bench.monitor.busy()
            );
            assert_eq!(bench.monitor.stage(), worker::Stage::Idle);
        }
    }
}

#[test]
fn programs_installed_while_frames_cross_cost_none_and_all_come_back() {
    const EACH: u64 = 5_000;
    const PROGRAMS: usize = 200;
    const EACH_PROGRAM: usize = 8 * EACH as usize / PROGRAMS;
    let mut programs = Vec::new();
    let mut returned = 0;
    let benches = run(settings(4), |controls, cables| {
        let mut traffic = traffic(EACH);
        for number in 0..PROGRAMS {
            wait_until("the frames of earlier programs leave", || {
                (number * EACH_PROGRAM).saturating_sub(sent(cables)) <= LOSSY_BACKLOG as usize / 2
            });
            for (port, frame) in traffic.by_ref().take(EACH_PROGRAM) {
                cables[port].inject([frame]);
            }
            let mut settings = settings(4);
            settings.seed = number as u64;
            let program = Arc::new(Program::new(settings).unwrap());
            programs.push(Arc::downgrade(&program));
            for controls in controls.iter_mut() {
                controls.send(Command::Install(Box::new(Successor::new(program.clone())))).unwrap();
                wait_until("the worker answers", || match controls.receive() {
                    Some(Reply::Installed(Ok(old))) => {
                        assert!(!Arc::ptr_eq(old.program(), &program));
                        returned += 1;
                        true
                    }
                    Some(reply) => panic!("{reply:?}"),
                    None => false,
                });
            }
        }
        wait_until("all frames leave", || sent(cables) as u64 == 8 * EACH);
        assert_complete(cables, EACH);
    });
    assert_eq!(returned, 2 * PROGRAMS);
    assert_nothing_inside(ledger_of(&benches));
    let last = programs.pop().unwrap();
    assert!(
        programs.iter().all(|program| program.strong_count() == 0),
        "no one holds those that were replaced"
    );
    assert_eq!(last.strong_count(), 2, "and both workers the last one");
}

/// The sender at port A: it obeys pauses and counts them.
struct Sender {
    read: usize,
    paused: bool,
    xoffs: usize,
}

impl Sender {
    fn listen(&mut self, cable: &Cable) {
        let pauses = cable.outside().pauses();
        for pause in &pauses[self.read..] {
            self.paused = *pause != PauseQuanta::ZERO;
            self.xoffs += usize::from(self.paused);
        }
        self.read = pauses.len();
    }
}

#[test]
fn a_slow_port_of_one_worker_pauses_the_sender_of_the_other_and_nothing_is_lost() {
    const FRAMES: u64 = 20_000;
    let mut settings = settings(2);
    for port in &mut settings.ports {
        if let GroupSettings::Lossless(group) = &mut port.groups[P3.index()] {
            // When a pause arrives, the sender's frames in flight are in its cable: at most one chunk.
            (group.xoff, group.xon) = (Threshold::Static(Bytes(100_000)), Bytes(50_000));
        }
    }
    settings.ports[B.index()].rate = units::BitRate::gigabits(1);
    let mut sender = Sender { read: 0, paused: false, xoffs: 0 };
    let mut cable = Cable::default();
    let benches = run(settings, |_, cables| {
        let mut next = 0;
        wait_until("all frames leave", || {
            sender.listen(&cables[0]);
            let taken = cables[0].outside().inbound.is_empty();
            if taken && !sender.paused && next < FRAMES {
                let chunk = next..FRAMES.min(next + 1_000);
                next = chunk.end;
                cables[0].inject(chunk.map(|number| frame(1, P3, 500, number)));
            }
            cables[1].outside().outbound.len() as u64 == FRAMES
        });
        assert!(cables[1].outside().numbers()[&1].iter().copied().eq(0..FRAMES));
        cable = cables[0].clone();
        wait_until("the sender may go on", || {
            sender.listen(&cable);
            !sender.paused
        });
    });
    // Read the pauses that a delayed worker sent since.
    sender.listen(&cable);
    assert_nothing_inside(ledger_of(&benches));
    let shard = benches[0].worker.shard();
    // The number of pauses depends on the threads. The sender received each of them, and the last one was a
    // resume.
    let pauses = shard.group(START, PortId(0), P3).pauses;
    assert_eq!((sender.xoffs as u64, pauses.slot), (pauses.xoff + pauses.refresh, 0), "{pauses:?}");
    assert!(pauses.xoff >= 1 && pauses.xon == pauses.xoff, "{pauses:?}");
    let ingress = shard.ingress_counters(PortId(0));
    assert_eq!(ingress.received[P3.index()].frames, FRAMES);
}

/// The capacity of a ring in handoffs.
const RING: u64 = 1_024;
/// Handoffs in the outbox before a ring, and those waiting behind it, beyond which lossy frames are dropped.
const LOSSY_BACKLOG: u64 = 256 + 4_096;

/// Two workers, of which the second stalls.
struct Stalled {
    clock: TestClock,
    benches: Vec<Bench<TestClock>>,
    cables: Vec<Cable>,
}

impl Stalled {
    fn new(settings: Settings) -> Self {
        let clock = TestClock::at(START);
        let (benches, cables) = workers(settings, 2, || clock.clone());
        Self { clock, benches, cables }
    }

    fn turn(&mut self, worker: usize) {
        self.clock.advance(units::Interval(1_000));
        assert!(self.benches[worker].worker.turn().is_continue());
    }

    /// Lets the first worker receive all of these frames.
    fn take_in(&mut self, frames: impl IntoIterator<Item = TestFrame>) {
        self.cables[0].inject(frames);
        while !self.cables[0].outside().inbound.is_empty() {
            self.turn(0);
        }
    }

    fn inside(&self, priority: Priority) -> Bytes {
        self.ledger().egress_queue(B, priority).bytes
    }

    fn ledger(&self) -> &Ledger {
        self.benches[0].worker.shard().ledger()
    }

    /// The drops of the first worker, by reason.
    fn dropped(&self, priority: Priority) -> Vec<(DropReason, u64)> {
        let dropped = self.benches[0].worker.shard().ingress_counters(A).dropped[priority.index()];
        let counts = DropReason::ALL.map(|reason| (reason, dropped[reason.index()].frames));
        counts.into_iter().filter(|(_, frames)| *frames > 0).collect()
    }

    /// Resumes the second worker until nothing is queued. Returns the frame numbers of each flow.
    fn go_on(mut self) -> BTreeMap<u32, Vec<u64>> {
        while Priority::all().any(|priority| self.inside(priority) > Bytes::ZERO) {
            self.turn(1);
            self.turn(0);
        }
        assert_nothing_inside(self.ledger());
        self.cables[1].outside().numbers()
    }
}

#[test]
fn lossy_frames_for_a_worker_that_stands_still_are_dropped_by_name_beyond_a_limit() {
    let mut stalled = Stalled::new(settings(2));
    let wait = RING + LOSSY_BACKLOG;
    stalled.take_in((0..20_000).map(|number| frame(1, P0, 200, number)));
    assert_eq!(stalled.inside(P0), Bytes(200 * wait));
    assert_eq!(stalled.dropped(P0), [(DropReason::HandoffFull, 20_000 - wait)]);
    stalled.take_in((0..2_000).map(|number| frame(2, P3, 200, number)));
    assert_eq!(stalled.dropped(P3), [], "there is room for what is lossless");
    let numbers = stalled.go_on();
    assert!(numbers[&1].iter().copied().eq(0..wait) && numbers[&2].iter().copied().eq(0..2_000));
}

#[test]
fn lossless_frames_of_any_length_find_room_up_to_the_bounds_of_the_buffer_while_a_worker_stands_still() {
    for length in [60, 200, 1_500] {
        // XOFF at 2 MB and headroom for 1 MB, with a sender that ignores pauses.
        let mut settings = settings(2);
        if let GroupSettings::Lossless(group) = &mut settings.ports[A.index()].groups[P3.index()] {
            (group.xoff, group.xon) = (Threshold::Static(Bytes(2_000_000)), Bytes(1_000_000));
            group.headroom = Bytes(1_000_000);
        }
        let mut stalled = Stalled::new(settings);
        let fitting = 3_000_000 / Cells::of_frame(Bytes(length)).bytes().0;
        stalled.take_in((0..fitting + 5_000).map(|number| frame(1, P3, length as usize, number)));
        assert_eq!(stalled.inside(P3), Bytes(fitting * length));
        assert_eq!(stalled.dropped(P3), [(DropReason::HeadroomExceeded, 5_000)]);
        assert!(stalled.go_on()[&1].iter().copied().eq(0..fitting), "{length}");
    }
}

#[test]
fn frames_for_a_worker_that_stands_still_wait_in_order_and_are_not_lost() {
    const FRAMES: u64 = 20_000;
    let clock = TestClock::at(START);
    let (mut benches, cables) = workers(settings(2), 2, || clock.clone());
    cables[0].inject((0..FRAMES).map(|number| frame(1, P3, 200, number)));
    let turns = |bench: &mut Bench<TestClock>, count| {
        for _ in 0..count {
            clock.advance(units::Interval(1_000));
            assert!(bench.worker.turn().is_continue());
        }
    };
    let [one, other] = &mut benches[..] else { panic!("two workers") };
    turns(one, FRAMES / 32 + 1);
    assert_eq!(cables[1].outside().outbound.len(), 0);
    assert_eq!(one.worker.shard().ledger().egress_queue(B, P3).frames, FRAMES, "they are charged");
    let held_back = one.inspect(A).held_back;
    assert!(held_back > FRAMES / 2, "the ring was full: {held_back}");
    for _ in 0..FRAMES / 32 {
        turns(other, 1);
        turns(one, 1);
    }
    assert!(cables[1].outside().numbers()[&1].iter().copied().eq(0..FRAMES));
    assert_nothing_inside(one.worker.shard().ledger());
}
