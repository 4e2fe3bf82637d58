//! LSCC through the whole switch: its rates against an upstream that follows each of them exactly, one
//! round trip after it was told.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{INTERVAL, ROUND_TRIP, gateway, lscc_of, rate_in};
use conformance::settings::lossless;
use conformance::{A, B, Flow, P3, P4, Testbench};
use std::collections::VecDeque;
use switch::program::{GroupSettings, Lscc, Settings};
use units::{BitRate, Bytes, Interval, Nanos, WireBytes};

const FRAME: usize = 4_170;
const LINE: BitRate = BitRate::gigabits(20);
const REFERENCE: WireBytes = WireBytes(2_000_000);

/// The far end of a link of 20G, from which frames leave at `drain`.
fn far_end(drain: u64) -> Settings {
    let mut settings = gateway();
    settings.ports[A.index()].rate = BitRate::gigabits(drain);
    settings.ports[B.index()].rate = LINE;
    for port in &mut settings.ports {
        port.groups[P3.index()] = lossless(17_000_000, 16_000_000, 50_000);
    }
    let lscc = lscc_of(&mut settings);
    lscc.calculation.reference = REFERENCE;
    lscc.calculation.step = BitRate::new(500_000_000);
    lscc.calculation.least = BitRate::new(100_000_000).unwrap();
    lscc.calculation.most = LINE;
    lscc.limiting.long_flow = Some(WireBytes(LINE.bytes_in(ROUND_TRIP)));
    settings
}

/// The far end, and what the upstream sends to it.
struct Link {
    bench: Testbench,
    /// Rates that were told, by when they take effect.
    told: VecDeque<(Nanos, BitRate)>,
    rate: BitRate,
    next: Nanos,
    frames: u64,
}

impl Link {
    fn new(drain: u64) -> Self {
        let bench = Testbench::new(far_end(drain));
        Self { bench, told: VecDeque::new(), rate: LINE, next: Nanos(1_000), frames: 0 }
    }

    /// Lets `time` pass. Returns the shortest and the longest queue within it.
    fn run(&mut self, time: Interval) -> (u64, u64) {
        let end = self.next + time;
        let (mut least, mut most) = (u64::MAX, 0);
        let frame = Flow::new(B, A).at(P3).headers(FRAME);
        while self.next < end {
            self.bench.run_until(self.next);
            self.listen();
            while let Some((_, rate)) = self.told.pop_front_if(|(at, _)| *at <= self.next) {
                self.rate = rate;
            }
            self.frames += 1;
            self.bench.inject_singly(B, [frame.clone().labelled(self.frames)]);
            let queue = self.bench.shard.ledger().ingress_queue(B, P3).on_the_wire().0;
            (least, most) = (least.min(queue), most.max(queue));
            self.next += self.rate.serialization().time_of(WireBytes::of_frame(Bytes(FRAME as u64)));
        }
        (least, most)
    }

    fn listen(&mut self) {
        for sent in self.bench.newly_sent(B).iter().filter(|sent| sent.control && sent.pfc().is_none()) {
            self.told.push_back((sent.start + ROUND_TRIP, rate_in(&sent.frame).unwrap()));
        }
    }

    fn settings(&self) -> Lscc {
        self.bench.shard.program().port(B).notifiers.lscc.unwrap()
    }

    /// How far from Qref the queue may be when it has settled: what successive rates in flight differ by,
    /// and a frame at either end.
    fn ripple(&self) -> u64 {
        let settings = self.settings();
        let step = settings.calculation.step.unwrap();
        step.bytes_in(INTERVAL * (settings.rates_in_flight() as u64 + 1)) + 2 * FRAME as u64
    }

    fn assert_settled(&mut self) {
        self.assert_settled_at(REFERENCE);
    }

    fn assert_settled_at(&mut self, reference: WireBytes) {
        let (least, most) = self.run(Interval::from_millis(20));
        let (from, to) = (reference.0 - self.ripple(), reference.0 + self.ripple());
        assert!(from <= least && most <= to, "{least} to {most} and not {from} to {to}");
    }
}

#[test]
fn the_queue_settles_at_qref_and_nothing_is_lost_whatever_the_bottleneck_is() {
    for drain in [2, 5, 10, 19] {
        let mut link = Link::new(drain);
        link.run(Interval::from_millis(120));
        link.assert_settled();
        assert_eq!(link.bench.dropped_in_all().frames, 0, "{drain}G");
    }
}

#[test]
fn where_the_bottleneck_halves_the_peak_is_that_of_the_formula_and_the_queue_settles_again() {
    let mut link = Link::new(10);
    link.run(Interval::from_millis(120));
    link.bench.install(|settings| settings.ports[A.index()].rate = BitRate::gigabits(5));
    let (_, peak) = link.run(Interval::from_millis(30));
    let formula = link.settings().longest_queue(BitRate::gigabits(5)).0;
    assert!(peak.abs_diff(formula) < formula / 20, "{peak} and not {formula}");
    link.run(Interval::from_millis(60));
    link.assert_settled();
}

#[test]
fn another_qref_is_where_the_queue_settles_from_then_on() {
    let mut link = Link::new(10);
    link.run(Interval::from_millis(120));
    link.bench.install(|settings| lscc_of(settings).calculation.reference = WireBytes(4_000_000));
    link.run(Interval::from_millis(120));
    link.assert_settled_at(WireBytes(4_000_000));
}

#[test]
fn where_the_bottleneck_doubles_the_queue_settles_again() {
    let mut link = Link::new(5);
    link.run(Interval::from_millis(120));
    link.bench.install(|settings| settings.ports[A.index()].rate = BitRate::gigabits(10));
    link.run(Interval::from_millis(90));
    link.assert_settled();
}

#[test]
fn a_reload_that_changes_the_lossless_priorities_begins_an_interval_at_once() {
    let mut bench = Testbench::new(far_end(10));
    bench.turn();
    assert_eq!(bench.shard.port_deadline(B), Nanos::NEVER, "without traffic there is no interval");
    bench.install(|settings| settings.seed += 1);
    assert_eq!(bench.shard.port_deadline(B), Nanos::NEVER, "nor after another reload");
    bench.install(|settings| {
        let port = &mut settings.ports[B.index()];
        port.groups[P4.index()] = GroupSettings::Lossy;
        port.pfc.obey = port.lossless();
    });
    // Bytes that leave from now on are measured over the time that they take, and not from the next frame on.
    assert_eq!(bench.shard.port_deadline(B), bench.now() + INTERVAL);
}
