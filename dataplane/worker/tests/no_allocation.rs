//! A turn that follows no command allocates nothing and frees nothing.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::collections::VecDeque;
use switch::program::Watchdog;
use units::{Interval, PortId, Priority};

/// Frames that leave at each port come in there again, and what controls left is forgotten.
fn turn_around(cables: &[Cable], spare: &mut VecDeque<TestFrame>) {
    for cable in cables {
        let outside = &mut *cable.outside();
        spare.extend(outside.outbound.drain(..));
        outside.inbound.append(spare);
        outside.control.clear();
    }
}

fn turns(benches: &mut [Bench<TestClock>], clock: &TestClock, cables: &[Cable], count: u64) -> u64 {
    let mut spare = VecDeque::with_capacity(1_024);
    let counted = allocation_counter::measure(|| {
        for _ in 0..count {
            clock.advance(Interval(1_000));
            for bench in benches.iter_mut() {
                assert!(bench.worker.turn().is_continue());
            }
            turn_around(cables, &mut spare);
        }
    });
    counted.count_total
}

#[test]
fn no_turn_costs_an_allocation_once_the_worker_is_warm() {
    for count in [1, 2] {
        let mut settings = settings(4);
        for port in &mut settings.ports {
            port.watchdog = Some(Watchdog {
                detection: Interval::from_millis(200),
                restoration: Interval::from_millis(400),
                action: switch::program::WatchdogAction::Drop,
            });
        }
        let clock = TestClock::at(START);
        let (mut benches, cables) = workers(settings, count, || clock.clone());
        for (port, cable) in (0..).zip(&cables) {
            let priority = Priority::from_low_bits(3 * (port & 1));
            cable.inject((0..100).map(|number| frame(u32::from(port), priority, 300, number)));
        }
        turns(&mut benches, &clock, &cables, 1_000);
        assert_eq!(turns(&mut benches, &clock, &cables, 10_000), 0, "{count} workers");
        for cable in &cables {
            assert!(cable.outside().inbound.len() > 10, "frames did move");
        }
        // That allocations are counted: asking for an inspection makes one.
        let counted = allocation_counter::measure(|| drop(benches[0].inspect(PortId(0))));
        assert!(counted.count_total > 0);
    }
}
