//! After any sequence of events, every frame is where a list of the frames inside says.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::Interval;

const PORTS: u16 = 3;

#[derive(Clone, Debug)]
struct Arrival {
    to: u16,
    priority: u8,
    /// Which of the queues of the priority.
    choice: usize,
    length: u64,
}

#[derive(Clone, Debug)]
enum Event {
    Burst { port: u16, arrivals: Vec<Arrival>, takes_lone: bool },
    Pause { port: u16, priorities: u8, quanta: u16 },
    Egress { port: u16, room: usize },
    Wait { nanos: u64 },
    Install { weights: Vec<u8> },
}

fn arrival() -> impl Strategy<Value = Arrival> {
    (0..PORTS, prop_oneof![Just(3), Just(4), 0_u8..8], 0_usize..64, 64_u64..1_600)
        .prop_map(|(to, priority, choice, length)| Arrival { to, priority, choice, length })
}

fn event() -> impl Strategy<Value = Event> {
    let burst = (0..PORTS, prop::collection::vec(arrival(), 1..24), any::<bool>());
    let lone = (0..PORTS, prop::collection::vec(arrival(), 1), any::<bool>());
    let burst = prop_oneof![burst, lone].prop_map(|(port, arrivals, takes_lone)| Event::Burst {
        port,
        arrivals,
        takes_lone,
    });
    prop_oneof![
        6 => burst,
        3 => (0..PORTS, any::<u8>(), prop_oneof![Just(0), 0_u16..200])
            .prop_map(|(port, priorities, quanta)| Event::Pause { port, priorities, quanta }),
        8 => (0..PORTS, prop_oneof![0_usize..4, Just(64)]).prop_map(|(port, room)| Event::Egress { port, room }),
        6 => (0_u64..8_000).prop_map(|nanos| Event::Wait { nanos }),
        1 => weights().prop_map(|weights| Event::Install { weights }),
    ]
}

/// For each queue its weight, or zero where it is strict.
fn weights() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0), 1_u8..20], 64)
}

fn ports(further: &[u8], weights: &[u8]) -> Vec<PortSettings> {
    let further: Vec<_> = further.iter().copied().map(Priority::from_low_bits).collect();
    let port = |number| {
        let mut port = port(number, &further);
        for (queue, weight) in port.queues.iter_mut().zip(weights).filter(|(_, weight)| **weight > 0) {
            queue.scheduling = Scheduling::Weighted(*weight);
        }
        port
    };
    (0..PORTS as u8).map(port).collect()
}

/// A switch, and for each queue of each port the labels of the frames that must wait in it.
struct Comparison {
    bench: Bench,
    further: Vec<u8>,
    waiting: Vec<Vec<VecDeque<u64>>>,
    paused_until: Vec<[Nanos; Priority::COUNT]>,
    labels: u64,
}

impl Comparison {
    fn new(further: &[u8], weights: &[u8]) -> Self {
        let ports = ports(further, weights);
        let queues = vec![VecDeque::new(); ports[0].queues.len()];
        Self {
            bench: Bench::new(ports),
            further: further.to_vec(),
            waiting: vec![queues; usize::from(PORTS)],
            paused_until: vec![Default::default(); usize::from(PORTS)],
            labels: 0,
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Burst { port, arrivals, takes_lone } => self.burst(PortId(*port), arrivals, *takes_lone),
            Event::Pause { port, priorities, quanta } => self.pause(PortId(*port), *priorities, *quanta),
            Event::Egress { port, room } => {
                let sent = self.bench.egress(PortId(*port), *room);
                self.leave(&sent);
                assert!(*room < 64 || sent.len() == 64 || !self.is_any_due(PortId(*port)));
            }
            Event::Wait { nanos } => self.bench.now += Interval(*nanos),
            Event::Install { weights } => self.bench.install(ports(&self.further, weights)),
        }
        (0..PORTS).map(PortId).for_each(|port| self.compare(port));
    }

    fn burst(&mut self, port: PortId, arrivals: &[Arrival], takes_lone: bool) {
        let mut frames = Vec::new();
        for &Arrival { to, priority, choice, length } in arrivals {
            let (to, priority) = (PortId(to), Priority::from_low_bits(priority));
            let settings = &self.bench.program.port(to);
            let queues: Vec<_> = settings.queues_of(PrioritySet::EMPTY.with(priority)).iter().collect();
            let queue = queues[choice % queues.len()];
            self.labels += 1;
            self.waiting[to.index()][queue.index()].push_back(self.labels);
            frames.push(Routed { label: self.labels, ..Routed::new(to, priority, queue, length) });
        }
        let sent = self.bench.inject(port, frames, takes_lone);
        self.leave(&sent);
    }

    fn pause(&mut self, port: PortId, priorities: u8, quanta: u16) {
        let priorities = PrioritySet::from_bits(priorities);
        self.bench.pause(port, priorities, PauseQuanta(quanta));
        for priority in priorities.iter().filter(|it| [P3, P4].contains(it)) {
            // A quantum is 64 ns.
            self.paused_until[port.index()][priority.index()] =
                self.bench.now + Interval(64 * u64::from(quanta));
        }
    }

    /// The queues of `port` that hold frames and are not paused, with their settings.
    fn ready(&self, port: PortId) -> Vec<(QueueId, QueueSettings)> {
        let queues = &self.bench.program.port(port).queues;
        let holds = |index: &usize| !self.waiting[port.index()][*index].is_empty();
        let each = (0..queues.len()).filter(holds).map(|index| (QueueId::new(index).unwrap(), queues[index]));
        each.filter(|(_, queue)| self.paused_until[port.index()][queue.priority.index()] <= self.bench.now)
            .collect()
    }

    /// Each frame was the first of a queue that was not paused and had no strict one above it.
    fn leave(&mut self, sent: &[Routed]) {
        for frame in sent {
            let ready = self.ready(frame.to);
            let (_, own) = ready.iter().find(|(id, _)| *id == frame.queue).expect("a queue that may send");
            let strict = |queue: &QueueSettings| queue.scheduling == Scheduling::Strict;
            let highest =
                ready.iter().map(|(_, queue)| queue).filter(|it| strict(it)).map(|it| it.priority).max();
            assert_eq!(highest, strict(own).then_some(own.priority), "{frame:?}");
            let first = self.waiting[frame.to.index()][frame.queue.index()].pop_front();
            assert_eq!(first, Some(frame.label), "in order");
        }
    }

    fn is_any_due(&self, port: PortId) -> bool {
        let link = self.bench.fabric.egress[port.index()].gate.link_opens_at();
        link <= self.bench.now && !self.ready(port).is_empty()
    }

    fn compare(&self, port: PortId) {
        let egress = &self.bench.fabric.egress[port.index()];
        let queues = &self.bench.program.port(port).queues;
        let mut due = Nanos::NEVER;
        for (index, (labels, queue)) in self.waiting[port.index()].iter().zip(queues).enumerate() {
            let found = egress.queue(QueueId::new(index).unwrap()).waiting().frames;
            assert_eq!(found, labels.len() as u64, "{port}, queue {index}");
            if !labels.is_empty() {
                due = due.min(self.paused_until[port.index()][queue.priority.index()]);
            }
        }
        let expected = if due == Nanos::NEVER { due } else { due.max(egress.gate.link_opens_at()) };
        let found = self.bench.fabric.egress[port.index()].deadline();
        assert_eq!(found.max(self.bench.now), expected.max(self.bench.now), "{port}");
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_overtaken_in_its_queue_and_pauses_and_strict_queues_are_obeyed(
        further in prop::collection::vec(prop_oneof![Just(3), Just(4), 0_u8..8], 1..57),
        weights in weights(),
        events in prop::collection::vec(event(), 1..200),
    ) {
        let mut comparison = Comparison::new(&further, &weights);
        for event in &events {
            comparison.happen(event);
        }
        // In the end everything leaves.
        loop {
            let deadlines = (0..PORTS).map(PortId).map(|port| (comparison.bench.fabric.port_deadline(port), port));
            let (next, port) = deadlines.min().unwrap();
            if next == Nanos::NEVER {
                break;
            }
            comparison.bench.now = comparison.bench.now.max(next);
            comparison.happen(&Event::Egress { port: port.0, room: 64 });
        }
        prop_assert!(comparison.waiting.iter().flatten().all(VecDeque::is_empty));
    }
}
