//! P-PFC against a ledger and a pool that a test fills. Each port decides for itself, as in the switch.

use super::settings::PPfc as Settings;
use super::*;
use crate::admission::Pools;
use crate::ledger::{Ledger, Load, Volume};
use crate::program::BufferSettings;
use proptest::prelude::*;
use units::{Bytes, PauseQuanta, PortId};

const RATE: BitRate = BitRate::gigabits(40);
const P3: Priority = Priority::from_low_bits(3);
/// Where the frames leave.
const OUT: PortId = PortId(8);
const PORTS: u16 = 12;
const POOL: u64 = 4_000_000;
/// The cells that a link of 40G carries in a microsecond.
const LINE: u64 = 5_000 / 16;
const PAPER: Settings = Settings {
    horizon: Interval::from_micros(100),
    coverage: 0.8,
    interval: Interval::from_micros(1),
    kmax: Bytes(200_000),
};

fn load(cells: u64) -> Load {
    Load { cells: Cells(cells), volume: Volume { frames: 1, bytes: Bytes(16 * cells) } }
}

struct Bench {
    ledger: Ledger,
    pools: Pools,
    ports: Vec<(PPfc, PauseSender)>,
    now: Nanos,
}

impl Bench {
    fn new(settings: Settings, key: u64) -> Self {
        let (shared, none) = (Bytes(POOL), Bytes::ZERO);
        let size = BufferSettings { shared, headroom: none, egress_lossy: none, packing: None };
        let mut bench = Self {
            ledger: Ledger::new(PORTS.into(), 1),
            pools: Pools::new(&size),
            ports: Vec::new(),
            now: Nanos(0),
        };
        for port in (0..PORTS).map(PortId) {
            let scheme = PPfc::new(settings, RATE, HashKey::from(key), bench.look(port));
            bench.ports.push((scheme, PauseSender::new(PauseQuanta::MAX, RATE)));
        }
        bench
    }

    fn look(&self, port: PortId) -> Look<'_> {
        let lossless = PrioritySet::EMPTY.with(P3);
        let inside = self.ledger.ingress_load(port, P3).cells > Cells::ZERO;
        let holding = if inside { lossless } else { PrioritySet::EMPTY };
        Look {
            port,
            lossless,
            received: &[Volume::ZERO; Priority::COUNT],
            accounts: (&self.ledger).into(),
            shared_free: Bytes(self.pools.shared.free()),
            shared_held: Bytes(self.pools.shared.held_by_all()),
            holding,
        }
    }

    fn arrive(&mut self, port: u16, egress: PortId, cells: u64) {
        self.ledger.admit(PortId(port), egress, P3, load(cells));
        self.pools.shared.take(16 * cells);
        self.ports[usize::from(port)].0.wake(self.now);
    }

    fn leave(&mut self, port: u16, egress: PortId, cells: u64) {
        self.ledger.depart(PortId(port), egress, P3, load(cells));
        self.pools.shared.held -= Bytes(16 * cells);
    }

    fn part(&self, port: u16, egress: PortId) -> u64 {
        self.ledger.cells(PortId(port), egress, P3).0
    }

    /// Goes to the next tick, and returns the ports that pause their upstream there, with the quanta.
    fn tick(&mut self) -> Vec<(u16, PauseQuanta)> {
        self.now = Nanos((self.now.0 / 1_000 + 1) * 1_000);
        let (now, mut ports, mut paused) = (self.now, core::mem::take(&mut self.ports), Vec::new());
        for (port, (scheme, sender)) in (0..).zip(&mut ports) {
            if scheme.next <= now {
                scheme.on_deadline(now, self.look(PortId(port)), sender);
            }
            if sender.deadline() == Nanos::ZERO {
                paused.extend(sender.take_due(now, now)[3].map(|quanta| (port, quanta)));
            }
        }
        self.ports = ports;
        paused
    }

    /// Lets `parts` arrive for [`OUT`], and half as much again within the next tick from those that grow. Returns what
    /// is paused then.
    fn after_growth(&mut self, parts: &[(u64, bool)]) -> Vec<(u16, PauseQuanta)> {
        for (port, (part, _)) in (0..).zip(parts) {
            self.arrive(port, OUT, *part);
        }
        self.tick();
        // The pool fills before the first look at the parts.
        for (port, (part, grows)) in (0..).zip(parts).filter(|(_, (part, _))| *part > 0) {
            if *grows { self.arrive(port, OUT, part.div_ceil(4)) } else { self.leave(port, OUT, part / 8) }
        }
        assert!(self.tick().is_empty(), "the first look at a queue pauses no one");
        for (port, (part, grows)) in (0..).zip(parts).filter(|(_, (part, _))| *part > 0) {
            if *grows { self.arrive(port, OUT, part.div_ceil(4)) } else { self.leave(port, OUT, part / 8) }
        }
        self.tick()
    }
}

#[test]
fn a_port_that_is_drawn_pauses_for_its_part_and_its_growth() {
    let mut bench = Bench::new(PAPER, 1);
    let paused = bench.after_growth(&[(4_000, true); 5]);
    assert!((4..=5).contains(&paused.len()), "four of five equal parts cover 80 %: {paused:?}");
    for (port, quanta) in paused {
        let bytes = 16 * (bench.part(port, OUT) + 1_000);
        assert_eq!(bench.part(port, OUT), 6_000);
        assert_eq!(quanta, PauseQuanta::covering(RATE.serialization().time_of(WireBytes(bytes)), RATE));
    }
    let report = bench.ports[0].0.report;
    assert_eq!((report.ticks, report.alarms), (3, 2));
}

#[test]
fn nobody_is_paused_while_the_pool_lasts_beyond_the_horizon() {
    let horizon = |micros| Settings { horizon: Interval::from_micros(micros), ..PAPER };
    for (micros, pauses) in [(100, true), (1, false)] {
        let paused = Bench::new(horizon(micros), 1).after_growth(&[(4_000, true); 5]);
        assert_eq!(!paused.is_empty(), pauses, "{micros} us");
    }
    let slow = Bench::new(PAPER, 1).after_growth(&[(4_000, false), (4_000, false), (4_000, false)]);
    assert!(slow.is_empty(), "the pool empties");
}

#[test]
fn nobody_is_paused_for_an_egress_queue_up_to_kmax() {
    let at = |kmax| Bench::new(Settings { kmax: Bytes(kmax), ..PAPER }, 1).after_growth(&[(4_000, true); 4]);
    let queue = 4 * 6_000 * 16;
    assert!(at(queue).is_empty());
    assert!(!at(queue - 1).is_empty());
}

#[test]
fn a_priority_that_is_paused_already_gets_no_other_pause() {
    let mut bench = Bench::new(Settings { coverage: 1.0, ..PAPER }, 1);
    let paused = bench.after_growth(&[(4_000, true); 4]);
    assert_eq!(paused.len(), 4);
    let until = bench.ports[0].1.paused_until(P3);
    // They go on to send for a while, as a pause needs time to arrive.
    while bench.now < until {
        for port in 0..4 {
            bench.arrive(port, OUT, 2 * LINE);
        }
        let again = bench.tick();
        assert!(bench.now >= until || again.is_empty(), "{again:?} at {}", bench.now);
    }
    assert_eq!(bench.ports[0].0.report.pauses, 2);
}

#[test]
fn a_port_at_rest_has_no_ticks_and_one_that_holds_frames_has_one_in_each_interval() {
    let mut bench = Bench::new(PAPER, 1);
    assert_eq!(bench.ports[0].0.next, Nanos::NEVER);
    bench.now = Nanos(1_700);
    bench.arrive(0, OUT, 10);
    assert_eq!(bench.ports[0].0.next, Nanos(2_000), "ticks are aligned");
    bench.tick();
    assert_eq!(bench.ports[0].0.next, Nanos(3_000));
    bench.leave(0, OUT, 10);
    bench.tick();
    assert_eq!(bench.ports[0].0.next, Nanos::NEVER);
    assert_eq!((bench.ports[0].0.report.ticks, bench.ports[1].0.report.ticks), (2, 0));
}

#[test]
fn new_settings_hold_from_the_next_tick_on_and_what_was_counted_stays() {
    let mut bench = Bench::new(PAPER, 1);
    bench.arrive(0, OUT, 10);
    bench.tick();
    let slower = Settings { interval: Interval::from_micros(10), ..PAPER };
    bench.ports[0].0.configure(slower, RATE, HashKey::from(1));
    bench.tick();
    assert_eq!(bench.ports[0].0.next, Nanos(10_000));
    assert_eq!(bench.ports[0].0.report.ticks, 2);
}

#[test]
fn a_sender_of_short_frames_is_drawn_for_the_buffer_that_they_take() {
    // As many bytes of frames from both, in frames of 64 and of 1,500 bytes.
    let cells = |length: u64| 24_000 / length * Cells::of_frame(Bytes(length)).0;
    let (mut bench, mut firsts) = (Bench::new(Settings { coverage: 0.01, ..PAPER }, 7), [0; 2]);
    let mut tick = || {
        [64, 1_500]
            .into_iter()
            .zip(0..)
            .for_each(|(length, port)| bench.arrive(port, OUT, 4 * cells(length)));
        let paused = bench.tick();
        paused.iter().for_each(|(port, _)| firsts[usize::from(*port)] += 1);
        // As if each pause were over at once.
        bench.ports.iter_mut().for_each(|(_, sender)| *sender = PauseSender::new(PauseQuanta::MAX, RATE));
        if bench.pools.shared.free() < 1_000_000 {
            [64, 1_500].into_iter().zip(0..).for_each(|(length, port)| {
                let excess = bench.part(port, OUT) - 4 * cells(length);
                bench.leave(port, OUT, excess);
            });
        }
    };
    (0..4_000).for_each(|_| tick());
    let share = f64::from(firsts[0]) / f64::from(firsts[0] + firsts[1]);
    let expected = cells(64) as f64 / (cells(64) + cells(1_500)) as f64;
    assert!(expected > 0.55 && (share - expected).abs() < 0.03, "{firsts:?}, expected {expected}");
}

#[test]
fn frames_in_short_queues_hide_nobody() {
    let mut bench = Bench::new(Settings { coverage: 1.0, kmax: Bytes(150_000), ..PAPER }, 1);
    // Port 0 holds more in each of three short queues than in the long one.
    for _ in 0..2 {
        (9..12).for_each(|egress| bench.arrive(0, PortId(egress), 4_000));
        (0..4).for_each(|port| bench.arrive(port, OUT, 3_500));
        bench.tick();
    }
    let mut drawn = false;
    for _ in 0..8 {
        (0..4).for_each(|port| bench.arrive(port, OUT, 4 * LINE));
        drawn |= bench.tick().iter().any(|(port, _)| *port == 0);
    }
    assert!(drawn, "{:?}", bench.ports[0].0);
}

#[test]
fn a_flood_pauses_others_for_no_longer_than_their_own_frames_take_and_only_at_its_queue() {
    let mut bench = Bench::new(Settings { coverage: 1.0, ..PAPER }, 3);
    let mut paused_for = Interval::ZERO;
    for _ in 0..60 {
        bench.arrive(0, OUT, 10 * LINE);
        bench.arrive(1, OUT, 4);
        // Port 2 has its own queue, which is short.
        bench.arrive(2, PortId(9), LINE);
        for (port, quanta) in bench.tick() {
            assert_ne!(port, 2);
            if port == 1 {
                paused_for += quanta.interval_at(RATE);
                let most = RATE.serialization().time_of(WireBytes(16 * (bench.part(1, OUT) + 4)));
                assert!(quanta <= PauseQuanta::covering(most, RATE));
            }
        }
        bench.leave(2, PortId(9), LINE);
    }
    assert!(paused_for > Interval::ZERO && paused_for < Interval::from_micros(60), "{paused_for}");
}

/// The part of a port and whether it grows.
fn parts() -> impl Strategy<Value = Vec<(u64, bool)>> {
    proptest::collection::vec((prop_oneof![Just(0), 1_u64..10_000], any::<bool>()), 1..usize::from(OUT.0))
}

proptest! {
    #[test]
    fn those_paused_grow_and_cover_the_queue_and_the_last_of_them_was_needed(
        parts in parts(),
        coverage in 0.05_f64..1.0,
        key in any::<u64>(),
    ) {
        let mut bench = Bench::new(Settings { coverage, kmax: Bytes(1_000), ..PAPER }, key);
        let paused = bench.after_growth(&parts);
        let now = |port: u16| bench.part(port, OUT);
        for (port, quanta) in &paused {
            let (part, grows) = parts[usize::from(*port)];
            prop_assert!(part > 0 && grows, "port {port}");
            let most = RATE.serialization().time_of(WireBytes(16 * 2 * now(*port)));
            prop_assert!(*quanta <= PauseQuanta::covering(most, RATE));
        }
        if paused.is_empty() {
            return Ok(());
        }
        let queue: u64 = (0..OUT.0).map(now).sum();
        let growing: u64 = (0..).zip(&parts).filter(|(_, it)| it.1).map(|(port, _)| now(port)).sum();
        let sum: u64 = paused.iter().map(|(port, _)| now(*port)).sum();
        let most = paused.iter().map(|(port, _)| now(*port)).max().unwrap_or(0);
        let wanted = coverage * queue as f64;
        prop_assert!(sum as f64 >= wanted.min(growing as f64), "{sum} of {queue}");
        prop_assert!(((sum - most) as f64) < wanted, "one more than needed");
    }
}
