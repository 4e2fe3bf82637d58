//! CaPFC against a ledger that a test fills.

use super::settings::CaPfc as Settings;
use super::*;
use crate::ledger::{Ledger, Load, Volume};
use proptest::prelude::*;
use units::Bytes;

const RATE: BitRate = BitRate::gigabits(40);
const P3: Priority = Priority::from_low_bits(3);
/// Where the frames leave.
const OUT: PortId = PortId(4);
const PORTS: u16 = 6;
/// WARN, in cells.
const WARN: u64 = 12_000;
const SETTINGS: Settings = Settings { warn: Bytes(16 * WARN), interval: Interval::from_micros(1) };
const LONGEST: PauseQuanta = PauseQuanta::MAX;

struct Bench {
    ledger: Ledger,
    ports: Vec<(CaPfc, PauseSender)>,
    lossless: PrioritySet,
    now: Nanos,
}

impl Bench {
    fn new() -> Self {
        let port = |_| (CaPfc::new(SETTINGS, RATE), PauseSender::new(LONGEST, RATE));
        let (ledger, lossless) = (Ledger::new(PORTS.into(), 1), PrioritySet::EMPTY.with(P3));
        Self { ledger, ports: (0..PORTS).map(port).collect(), lossless, now: Nanos(0) }
    }

    fn arrive(&mut self, port: u16, egress: PortId, cells: u64) {
        let load = Load { cells: Cells(cells), volume: Volume::ZERO };
        self.ledger.admit(PortId(port), egress, P3, load);
        self.ports[usize::from(port)].0.wake(self.now);
    }

    fn leave(&mut self, port: u16, egress: PortId, cells: u64) {
        let load = Load { cells: Cells(cells), volume: Volume::ZERO };
        self.ledger.depart(PortId(port), egress, P3, load);
    }

    /// Goes to the next tick, and returns what each port asks of its upstream there.
    fn tick(&mut self) -> Vec<(u16, PauseQuanta)> {
        self.now += Interval(1_000);
        let (now, mut asked, ledger) = (self.now, Vec::new(), &self.ledger);
        for (number, (scheme, sender)) in (0..).zip(&mut self.ports) {
            let (port, lossless) = (PortId(number), self.lossless);
            let holds = ledger.ingress_load(port, P3).cells > Cells::ZERO;
            let holding = if holds { PrioritySet::EMPTY.with(P3) } else { PrioritySet::EMPTY };
            let (received, none) = (&[Volume::ZERO; Priority::COUNT], Bytes::ZERO);
            let (shared_free, shared_held) = (none, none);
            if scheme.next <= now {
                let look = Look {
                    port,
                    lossless,
                    received,
                    accounts: ledger.into(),
                    shared_free,
                    shared_held,
                    holding,
                };
                scheme.on_deadline(now, look, sender);
            }
            if sender.deadline() == Nanos::ZERO {
                asked.extend(sender.take_due(now, now)[3].map(|quanta| (number, quanta)));
            }
        }
        asked
    }
}

#[test]
fn a_port_above_its_share_of_a_congested_queue_is_paused_until_it_is_below_it() {
    let mut bench = Bench::new();
    // Of four inputs, one holds more than a quarter of WARN.
    bench.arrive(0, OUT, WARN / 4 + 1);
    (1..4).for_each(|port| bench.arrive(port, OUT, WARN / 4));
    assert_eq!(bench.tick(), [(0, LONGEST)]);
    assert!(bench.tick().is_empty(), "it stays paused");
    bench.leave(0, OUT, 1);
    assert_eq!(bench.tick(), [(0, PauseQuanta::ZERO)]);
    assert_eq!(bench.ports[0].0.report.warnings, 1);
}

#[test]
fn a_queue_up_to_warn_pauses_nobody_and_its_end_resumes_everybody() {
    let mut bench = Bench::new();
    bench.arrive(0, OUT, WARN - 1);
    bench.arrive(1, OUT, 1);
    assert!(bench.tick().is_empty(), "WARN is not above it");
    bench.arrive(1, OUT, 1);
    assert_eq!(bench.tick(), [(0, LONGEST)]);
    bench.leave(0, OUT, WARN - 1);
    assert_eq!(bench.tick(), [(0, PauseQuanta::ZERO)]);
    assert_eq!(bench.ports[0].0.next, Nanos::NEVER, "nothing is inside");
}

#[test]
fn a_priority_that_becomes_lossy_is_resumed_once() {
    let mut bench = Bench::new();
    bench.arrive(0, OUT, WARN + 1);
    assert_eq!(bench.tick(), [(0, LONGEST)]);
    bench.lossless = PrioritySet::EMPTY;
    assert_eq!(bench.tick(), [(0, PauseQuanta::ZERO)]);
    bench.ports[0].0.wake(bench.now);
    assert!(bench.tick().is_empty() && bench.tick().is_empty());
}

#[test]
fn a_pause_is_refreshed_at_half_of_its_time() {
    let mut bench = Bench::new();
    bench.arrive(0, OUT, WARN + 1);
    assert_eq!(bench.tick(), [(0, LONGEST)]);
    let half = Nanos(1_000) + Interval(LONGEST.interval_at(RATE).0 / 2);
    let refresh = core::iter::from_fn(|| (bench.now < Nanos(1_000_000)).then(|| (bench.tick(), bench.now)))
        .find(|(asked, _)| !asked.is_empty());
    let (asked, at) = refresh.unwrap();
    assert_eq!(asked, [(0, LONGEST)]);
    assert!(at > half && at <= half + Interval(1_000), "{at}");
}

#[test]
fn frames_in_short_queues_hide_nobody() {
    let mut bench = Bench::new();
    bench.arrive(0, PortId(5), WARN - 1);
    bench.arrive(0, OUT, WARN / 2 + 2);
    bench.arrive(1, OUT, WARN / 2 - 1);
    let paused: Vec<_> = (0..2).flat_map(|_| bench.tick()).collect();
    assert_eq!(paused, [(0, LONGEST)], "at the second tick");
}

proptest! {
    #[test]
    fn only_ports_that_hold_frames_of_a_queue_above_warn_are_paused_and_one_of_them_always_is(
        parts in proptest::collection::vec(0_u64..10_000, 1..usize::from(OUT.0)),
    ) {
        let mut bench = Bench::new();
        for (port, part) in (0..).zip(&parts).filter(|(_, part)| **part > 0) {
            bench.arrive(port, OUT, *part);
        }
        let (paused, queue) = (bench.tick(), parts.iter().sum::<u64>());
        prop_assert_eq!(!paused.is_empty(), queue > WARN, "{} of {}", queue, WARN);
        let inputs = parts.iter().filter(|part| **part > 0).count() as u64;
        for (port, part) in (0..).zip(&parts) {
            let is_above = queue > WARN && part * inputs > WARN;
            prop_assert_eq!(paused.contains(&(port, LONGEST)), is_above, "port {}", port);
        }
    }
}
