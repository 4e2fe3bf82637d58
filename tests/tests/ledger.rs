//! After any sequence of events, all that the switch keeps incrementally equals a naive recount.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::model::{Held, Mark, Model};
use conformance::settings::{host_mac, routed};
use conformance::{Flow, TestFrame, Testbench};
use proptest::prelude::*;
use std::collections::BTreeMap;
use switch::program::{
    DynamicThreshold, GroupSettings, LosslessGroup, LossyQueue, RateLimit, Scheduling, Settings, Threshold,
};
use switch::{DropReason, Watermark};
use units::{BitRate, Bytes, Interval, PauseQuanta, PortId, Priority, PrioritySet};

const PORTS: u16 = 3;

#[derive(Clone, Debug)]
enum Arrival {
    Data { to: u16, priority: u8, length: usize, cut: bool },
    Expired { to: u16, priority: u8, length: usize },
    Foreign { length: usize },
    Runt { length: usize },
    Pfc { priorities: u8, quanta: u16 },
}

#[derive(Clone, Debug)]
enum Event {
    Burst { port: u16, arrivals: Vec<Arrival> },
    Egress { port: u16, room: usize },
    Wait { nanos: u64 },
    Install { seed: u64 },
    ClearWatermarks,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let length = || prop_oneof![60_usize..120, 60_usize..1_600, 60_usize..9_217];
    let data = (0..PORTS, prop_oneof![Just(3), Just(4), 0_u8..8], length(), any::<bool>())
        .prop_map(|(to, priority, length, cut)| Arrival::Data { to, priority, length, cut });
    prop_oneof![
        30 => data,
        1 => (0..PORTS, 0_u8..8, length()).prop_map(|(to, priority, length)| Arrival::Expired { to, priority, length }),
        1 => length().prop_map(|length| Arrival::Foreign { length }),
        1 => (0_usize..14).prop_map(|length| Arrival::Runt { length }),
        2 => (any::<u8>(), prop_oneof![Just(0), any::<u16>()])
            .prop_map(|(priorities, quanta)| Arrival::Pfc { priorities, quanta }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..PORTS, proptest::collection::vec(arrival(), 1..24))
            .prop_map(|(port, arrivals)| Event::Burst { port, arrivals }),
        8 => (0..PORTS, prop_oneof![0_usize..4, Just(64)]).prop_map(|(port, room)| Event::Egress { port, room }),
        6 => prop_oneof![0_u64..1_000, 0_u64..100_000].prop_map(|nanos| Event::Wait { nanos }),
        1 => any::<u64>().prop_map(|seed| Event::Install { seed }),
        1 => Just(Event::ClearWatermarks),
    ]
}

/// Numbers from a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn threshold(&mut self, least: u64, most: u64) -> Threshold {
        match self.below(2) {
            0 => Threshold::Static(Bytes(least + self.below(most - least + 1))),
            _ => Threshold::Dynamic(DynamicThreshold::new(self.below(17) as i8 - 8).unwrap()),
        }
    }
}

/// Valid settings out of `seed`: small pools, so that all their ends are met.
fn settings(seed: u64) -> Settings {
    let mut draws = Draws(seed);
    let mut settings = routed(PORTS);
    settings.buffer.shared = Bytes(10_000 + draws.below(150_000));
    settings.buffer.headroom = Bytes(draws.below(80_000));
    settings.buffer.egress_lossy = Bytes(draws.below(settings.buffer.shared.0 + 1));
    let buffer = settings.buffer;
    for port in &mut settings.ports {
        port.rate = BitRate::gigabits([1, 10, 100, 400][draws.below(4) as usize]);
        port.tx_window = Interval([0, 300, 2_000][draws.below(3) as usize]);
        port.pfc.pause = PauseQuanta(1_000 + draws.below(60_000) as u16);
        port.pfc.obey = PrioritySet::EMPTY;
        for priority in Priority::all() {
            let lossless = draws.below(8) < if [3, 4].contains(&priority.number()) { 7 } else { 1 };
            port.groups[priority.index()] =
                if lossless { group(&mut draws, &buffer) } else { GroupSettings::Lossy };
            if lossless && draws.below(4) > 0 {
                port.pfc.obey = port.pfc.obey.with(priority);
            }
            let queue = &mut port.queues[priority.index()];
            queue.lossy =
                LossyQueue { reserved: Bytes(draws.below(3_000)), threshold: draws.threshold(0, 60_000) };
            queue.scheduling = match draws.below(3) {
                0 => Scheduling::Strict,
                _ => Scheduling::Weighted(1 + draws.below(255) as u8),
            };
            let limit = RateLimit { rate: BitRate::gigabits(5), burst: Bytes(draws.below(10_000)) };
            queue.rate_limit = (draws.below(4) == 0).then_some(limit);
        }
    }
    settings
}

fn group(draws: &mut Draws, buffer: &switch::program::BufferSettings) -> GroupSettings {
    let reserved = draws.below(4_000);
    let xoff = draws.threshold(reserved + 1, reserved + buffer.shared.0.min(60_000));
    let most = if let Threshold::Static(xoff) = xoff { xoff.0 } else { 60_000 };
    GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes(reserved),
        xoff,
        xon: Bytes(draws.below(most + 1)),
        xon_offset: Bytes(draws.below(10_000)),
        headroom: Bytes(draws.below(buffer.headroom.0 + 1).min(30_000)),
    })
}

/// The switch, the recount, and what either dropped.
struct Comparison {
    bench: Testbench,
    model: Model,
    /// By ingress or egress port, priority and reason.
    dropped: BTreeMap<(u16, u8, DropReason), u64>,
    labels: u64,
}

impl Comparison {
    fn new(seed: u64) -> Self {
        let settings = settings(seed);
        Self {
            bench: Testbench::new(settings.clone()),
            model: Model::new(settings),
            dropped: BTreeMap::new(),
            labels: 0,
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Burst { port, arrivals } => self.burst(PortId(*port), arrivals),
            Event::Egress { port, room } => {
                self.bench.egress(PortId(*port), *room);
                self.depart(PortId(*port));
            }
            Event::Wait { nanos } => {
                self.bench.run_clock_to(self.bench.now() + Interval(*nanos));
            }
            Event::Install { seed } => {
                let new = settings(*seed);
                self.bench.install(|old| *old = new.clone());
                self.model.install(new);
            }
            Event::ClearWatermarks => {
                self.bench.shard.clear_watermarks();
                self.model.clear_marks();
            }
        }
        self.compare();
    }

    fn burst(&mut self, port: PortId, arrivals: &[Arrival]) {
        let frames: Vec<_> = arrivals.iter().map(|arrival| self.arrive(port, arrival)).collect();
        self.model.settle();
        self.bench.inject(port, frames);
    }

    /// Tells the model of an arrival; returns the frame.
    fn arrive(&mut self, port: PortId, arrival: &Arrival) -> TestFrame {
        self.labels += 1;
        let flow = |to: u16, priority: u8| Flow::new(port, PortId(to)).at(Priority::from_low_bits(priority));
        match *arrival {
            Arrival::Data { to, priority, length, cut } => {
                let flow = flow(to, priority);
                let frame = if cut { flow.headers(length) } else { flow.udp(length) };
                let found = Priority::from_low_bits(priority);
                let egress = PortId(to);
                let verdict = self.model.arrive((port, egress), found, length as u64, self.labels);
                if let Err(reason) = verdict {
                    let at_egress =
                        [DropReason::QueueThreshold, DropReason::EgressPoolFull].contains(&reason);
                    self.count(if at_egress { to } else { port.0 }, priority, reason);
                }
                frame.labelled(self.labels)
            }
            Arrival::Expired { to, priority, length } => {
                self.count(port.0, priority, DropReason::TtlExpired);
                let mut flow = flow(to, priority);
                flow.ttl = 1;
                flow.udp(length)
            }
            Arrival::Foreign { length } => {
                self.count(port.0, 0, DropReason::NotForUs);
                let mut flow = flow(port.0, 0);
                flow.destination_mac = host_mac(PortId(77));
                flow.udp(length)
            }
            Arrival::Runt { length } => {
                self.count(port.0, 0, DropReason::Runt);
                TestFrame::new(vec![2; length])
            }
            Arrival::Pfc { priorities, quanta } => {
                TestFrame::pfc(PrioritySet::from_bits(priorities), PauseQuanta(quanta))
            }
        }
    }

    fn count(&mut self, port: u16, priority: u8, reason: DropReason) {
        *self.dropped.entry((port, priority, reason)).or_default() += 1;
    }

    /// Tells the model what has left through `port`: the head of a queue each time.
    fn depart(&mut self, port: PortId) {
        for sent in self.bench.newly_sent(port).iter().filter(|sent| !sent.control) {
            let priority = Priority::from_low_bits(sent.frame.bytes[15] >> 5);
            let held = self.model.depart(port, priority).expect("what leaves was inside");
            assert_eq!(held.label, sent.frame.label, "{port}, priority {priority}: in order");
        }
        self.model.settle();
    }

    fn compare(&self) {
        let (shard, now) = (&self.bench.shard, self.bench.now());
        self.bench.assert_conserved();
        for port in self.bench.ports() {
            for priority in Priority::all() {
                let what = format!("{port}, priority {priority}");
                let (group, model) =
                    (shard.group(now, port, priority), self.model.groups[port.index()][priority.index()]);
                let held = (group.occupancy.0 - group.headroom.0, group.headroom.0);
                assert_eq!(held, (model.reserved + model.shared, model.headroom), "{what}");
                assert_eq!(group.paused.is_some(), model.paused, "{what}: paused");
                assert_mark(group.watermark, model.mark, &what);
                assert_mark(group.headroom_watermark, model.headroom_mark, &what);
                let queue = shard.queue(now, port, priority);
                let waiting = &self.model.queues[port.index()][priority.index()];
                assert_eq!(queue.waiting.frames, waiting.len() as u64, "{what}");
                assert_eq!(queue.waiting.bytes.0, self.model.waiting(port, priority), "{what}");
                assert_mark(queue.watermark, self.model.queue_marks[port.index()][priority.index()], &what);
                self.compare_matrix(port, priority);
                for reason in DropReason::ALL {
                    let expected =
                        self.dropped.get(&(port.0, priority.number(), reason)).copied().unwrap_or(0);
                    assert_eq!(
                        self.bench.dropped(port, priority, reason).frames,
                        expected,
                        "{what}: {reason:?}"
                    );
                }
            }
        }
        let (pools, held) = (shard.pools(), self.model.pools());
        for ((pool, held), mark) in
            [pools.shared, pools.headroom, pools.egress_lossy].iter().zip(held).zip(self.model.pool_marks)
        {
            assert_eq!(pool.held.0, held);
            assert_mark(pool.watermark, mark, "a pool");
        }
    }

    /// The ledger, entry by entry.
    fn compare_matrix(&self, egress: PortId, priority: Priority) {
        let waiting = &self.model.queues[egress.index()][priority.index()];
        for ingress in self.bench.ports() {
            let entry = self.bench.shard.ledger().occupancy(ingress, egress, priority);
            let from = waiting.iter().filter(|held| held.ingress == ingress);
            assert_eq!(entry.volume.frames, from.clone().count() as u64);
            assert_eq!(entry.volume.bytes.0, from.clone().map(|held| held.length).sum::<u64>());
            assert_eq!(entry.cells.bytes().0, from.map(Held::cost).sum::<u64>());
        }
    }
}

fn assert_mark(watermark: Watermark, mark: Mark, what: &str) {
    let found = Mark { persistent: watermark.persistent().0, since_cleared: watermark.since_cleared().0 };
    assert_eq!(found, mark, "{what}: watermark");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn every_figure_equals_a_recount_after_any_sequence_of_events(
        seed in any::<u64>(),
        events in proptest::collection::vec(event(), 1..250),
    ) {
        let mut comparison = Comparison::new(seed);
        for event in &events {
            comparison.happen(event);
        }
        // In the end everything leaves, and no one stays paused.
        comparison.bench.run_dry();
        for port in comparison.bench.ports() {
            comparison.depart(port);
        }
        comparison.compare();
        for port in comparison.bench.ports() {
            for priority in Priority::all() {
                let group = comparison.bench.shard.group(comparison.bench.now(), port, priority);
                prop_assert_eq!((group.occupancy, group.paused), (Bytes::ZERO, None));
                if let Some((_, last)) = comparison.bench.pauses(port, priority).last() {
                    prop_assert_eq!(*last, PauseQuanta::ZERO, "the neighbour was told so");
                }
            }
        }
    }
}
