//! A turn without a command neither allocates nor frees.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use std::collections::VecDeque;
use std::sync::Arc;
use switch::program::{Feedback, Lscc, RateCalculation, RateLimiting, Watchdog};
use switch::{BridgeSettings, ForwardingSettings, Program, Successor};
use units::{BitRate, Interval, PortId, Priority, WireBytes};
use wire::ip::Dscp;
use worker::{Command, Reply};

/// Feeds the frames that left each port back into it, and discards control frames.
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
        // Proves that allocations are counted: an inspection makes two, itself and its watchdog log.
        let counted = allocation_counter::measure(|| drop(benches[0].inspect(PortId(0))));
        assert_eq!(counted.count_total, 2);
    }
}

fn lscc(rate: BitRate, flows: u32) -> Lscc {
    let interval = Interval::from_micros(400);
    Lscc {
        interval,
        round_trip: interval,
        calculation: RateCalculation {
            reference: WireBytes(1_000_000),
            step: BitRate::new(1_000_000),
            least: BitRate::gigabits(1),
            most: rate,
        },
        limiting: RateLimiting {
            reference: WireBytes(1_000_000),
            limit: None,
            cnp_interval: Interval::from_micros(50),
            direct_int: None,
            long_flow: Some(WireBytes(rate.bytes_in(interval))),
            far_cnp_interval: None,
            flows,
            ageing: Interval::from_secs(3_600),
            learn: 16,
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::from_low_bits(6),
        },
        feedback: Feedback {
            local: [10, 255, 0, 1].into(),
            peer: [10, 255, 0, 2].into(),
            key: None,
            dscp: Dscp::from_low_bits(48),
        },
    }
}

/// A bridge with a long link, and tables of these sizes.
fn program(capacity: u32, flows: u32) -> Arc<Program> {
    let mut settings = settings(2);
    settings.forwarding =
        ForwardingSettings::Bridge(BridgeSettings { capacity, ..BridgeSettings::default() });
    let long = &mut settings.ports[1];
    long.notifiers.lscc = Some(lscc(long.rate, flows));
    Arc::new(Program::new(settings).unwrap())
}

/// The minimum size of the tables of [`program`]: a name, an instant and a port per address, and slots of 64
/// and 56 bytes and 8 bytes of index per flow.
fn tables(capacity: u32, flows: u32) -> i64 {
    24 * i64::from(capacity) + (64 + 56 + 8) * i64::from(flows)
}

#[test]
fn a_configuration_that_resizes_tables_is_put_in_force_without_an_allocation() {
    let clock = TestClock::at(START);
    let (mut benches, _cables) = workers(program(64, 1_000).settings().clone(), 1, || clock.clone());
    let bench = &mut benches[0];
    let mut least = tables(64, 1_000);
    for (capacity, flows) in [(8_192, 100_000), (64, 100), (64, 5_000), (1 << 16, 5_000)] {
        bench.send(Command::Install(Box::new(Successor::new(program(capacity, flows)))));
        let counted = allocation_counter::measure(|| {
            clock.advance(Interval(1_000));
            assert!(bench.worker.turn().is_continue());
        });
        assert_eq!((counted.count_total, counted.count_current, counted.bytes_current), (0, 0, 0));
        let Some(Reply::Installed(Ok(old))) = bench.controls.receive() else { panic!("it holds") };
        assert_ne!(bench.worker.shard().program().settings(), old.program().settings());
        // The replaced configuration and its tables are freed here; the worker has the new ones.
        let freed = allocation_counter::measure(|| drop(old));
        assert!(-freed.bytes_current >= least, "{} bytes of {least}", -freed.bytes_current);
        least = tables(capacity, flows);
    }
}
