//! Two workers on two threads, each with a pair of ports.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;
use switch::{Ledger, Program, Settings, Successor};
use units::Priority;
use worker::{Command, Controls, Idle, MonotonicClock, Reply};

/// The maximum wait of a thread before the test fails.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
/// Frames that lossy queues hold without a drop, even if a thread stalls.
const IN_FLIGHT: u64 = 4_000;

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
fn frames_pass_two_workers_without_loss_and_in_order() {
    const EACH: u64 = 5_000;
    for idle in [Idle::Poll, Idle::Sleep] {
        let benches = run_with(idle, settings(4), |_, cables| {
            let (mut traffic, mut injected) = (traffic(EACH), 0);
            wait_until("all frames leave", || {
                let sent = sent(cables) as u64;
                // Even if a thread stalls, there is room for all frames in flight.
                for (port, frame) in traffic.by_ref().take((sent + IN_FLIGHT - injected) as usize) {
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
fn programs_installed_while_frames_pass_cost_none_and_all_come_back() {
    const EACH: u64 = 5_000;
    const PROGRAMS: usize = 200;
    const EACH_PROGRAM: usize = 8 * EACH as usize / PROGRAMS;
    let mut programs = Vec::new();
    let mut returned = 0;
    let benches = run(settings(4), |controls, cables| {
        let mut traffic = traffic(EACH);
        for number in 0..PROGRAMS {
            wait_until("the frames of earlier programs leave", || {
                (number * EACH_PROGRAM).saturating_sub(sent(cables)) <= IN_FLIGHT as usize / 2
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
