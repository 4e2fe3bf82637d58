//! The time that a job takes alone in the network, in the LogGP model (Alexandrov et al., SPAA 1995): without overhead of
//! CPUs, with the latency and the gap per byte of each path.

use super::{Advance, Jobs, Progress};
use crate::ideal::{Hop, Paths, ideal_completion};
use crate::job;
use crate::network::{NetworkSpec, NodeId};
use crate::sites::LONG;
use core::cmp::Reverse;
use endpoint::{FlowId, HostSettings, Transport};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;
use units::{BitRate, Interval, Nanos, WireBytes};

/// The links between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// As they are.
    InNetwork,
    /// As if those that join [parts](crate::Options::threads), of 10 us and more, were not there: all hosts at one site.
    AtOneSite,
}

/// A way from a node to its neighbour.
#[derive(Clone, Copy, Debug)]
struct Leg {
    /// Its number, and that of the way back.
    way: usize,
    back: usize,
    hop: Hop,
    /// The sum of the rates of parallel links.
    capacity: BitRate,
}

/// An event: a flow has left its sender, has arrived, or its sender knows it; or a host is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Left(FlowId),
    Arrived(FlowId),
    Acknowledged(FlowId),
    Due(usize),
}

/// The first begin and the last end of each of the first `iterations` of job number `job` of `network`, if it is alone. Each message takes
/// [`ideal_completion`], or as long as the links on its path need for what they were given before and for itself; parallel
/// links count as one with the sum of their rates. On links that carry data both ways, acknowledgements take
/// their share. `None` if all hosts are at one site anyway and `alone` asks for that.
pub fn ideal(network: &NetworkSpec, job: usize, iterations: u32, alone: Alone) -> Option<Vec<[Nanos; 2]>> {
    if iterations == 0 {
        return Some(Vec::new());
    }
    let mut job = network.jobs.jobs[job].clone();
    job.iterations = iterations;
    let mut model = Model::new(network, Jobs::new(vec![job])?, alone);
    if alone == Alone::AtOneSite && !model.crosses() {
        return None;
    }
    model.run();
    Some(model.spans)
}

struct Model<'a> {
    network: &'a NetworkSpec,
    jobs: Jobs,
    alone: Alone,
    paths: Paths,
    hosts: BTreeMap<NodeId, usize>,
    progress: Vec<Progress>,
    events: BinaryHeap<Reverse<(Nanos, Event)>>,
    /// The numbers of ways, and the instant at which each is free.
    ways: HashMap<(NodeId, NodeId), usize>,
    free: Vec<Nanos>,
    known: HashMap<[NodeId; 2], Arc<[Leg]>>,
    spans: Vec<[Nanos; 2]>,
}

impl<'a> Model<'a> {
    fn new(network: &'a NetworkSpec, jobs: Jobs, alone: Alone) -> Self {
        let ranks = jobs.jobs.iter().flat_map(|job| &job.ranks);
        let mut hosts: BTreeMap<NodeId, usize> = ranks.map(|rank| (rank.host, 0)).collect();
        hosts.values_mut().zip(0..).for_each(|(index, number)| *index = number);
        let progress: Vec<Progress> = hosts.keys().map(|host| Progress::new(&jobs, *host)).collect();
        let due = progress.iter().enumerate().map(|(index, it)| Reverse((it.due, Event::Due(index))));
        let iterations = jobs.jobs.iter().map(|job| job.iterations as usize).sum();
        Self {
            events: due.collect(),
            network,
            alone,
            paths: Paths::new(network),
            hosts,
            progress,
            ways: HashMap::new(),
            free: Vec::new(),
            known: HashMap::new(),
            spans: vec![[Nanos::NEVER, Nanos::ZERO]; iterations],
            jobs,
        }
    }

    /// Whether a message crosses a link between sites.
    fn crosses(&mut self) -> bool {
        let mut pairs = Vec::new();
        self.jobs.reach(|from, to| pairs.push((from[0], to[0])));
        pairs.into_iter().any(|(from, to)| self.paths.path(from, to).iter().any(|hop| hop.delay >= LONG))
    }

    fn run(&mut self) {
        let (mut advance, mut due) = (Advance::default(), BTreeSet::new());
        while let Some(Reverse((now, _))) = self.events.peek().copied()
            && now < Nanos::NEVER
        {
            while let Some(Reverse((at, event))) = self.events.peek().copied()
                && at <= now
            {
                self.events.pop();
                due.extend(self.note(event));
            }
            while let Some(index) = due.pop_first() {
                let it = &mut self.progress[index];
                if it.due <= now {
                    it.advance(now, &self.jobs, &mut advance);
                    if it.due < Nanos::NEVER {
                        self.events.push(Reverse((it.due, Event::Due(index))));
                    }
                }
            }
            for (_, iteration) in advance.begun.drain(..) {
                let begin = &mut self.spans[iteration as usize][0];
                *begin = now.min(*begin);
            }
            for (_, iteration) in advance.ended.drain(..) {
                self.spans[iteration as usize][1] = now;
            }
            self.launch(now, &advance.starts);
            advance.starts.clear();
        }
    }

    /// Notes an event; returns the host that it concerns.
    fn note(&mut self, event: Event) -> Option<usize> {
        let (flow, end, note): (_, _, fn(&mut Progress, &Jobs, job::Flight)) = match event {
            Event::Due(index) => return Some(index),
            Event::Left(flow) => (flow, 0, Progress::note_left),
            Event::Acknowledged(flow) => (flow, 0, Progress::note_sent),
            Event::Arrived(flow) => (flow, 1, Progress::note_received),
        };
        let flight = self.jobs.flight(flow)?;
        let job = &self.jobs.jobs[flight.job];
        let host = job.hosts(&job.messages[flight.message as usize])[end];
        let index = self.hosts[&host];
        note(&mut self.progress[index], &self.jobs, flight);
        Some(index)
    }

    /// Starts flows that begin at one instant.
    fn launch(&mut self, now: Nanos, flows: &[FlowId]) {
        let flights: Vec<_> = flows.iter().filter_map(|flow| self.flight(*flow)).collect();
        let mut busy: Vec<bool> = self.free.iter().map(|free| *free > now).collect();
        flights.iter().flat_map(|it| it.there.iter()).for_each(|leg| busy[leg.way] = true);
        for it in flights {
            let [sender, receiver] = it.hosts.map(|host| self.settings(host));
            let wire = wire_bytes(sender, it.bytes);
            // The share that acknowledgements leave of a link that carries data in the other direction, too.
            let share = wire as f64 / (wire + acknowledgements(sender, it.bytes)) as f64;
            let hop = |leg: &Leg| Hop {
                rate: if busy[leg.back] { scaled(leg.hop.rate, share) } else { leg.hop.rate },
                ..leg.hop
            };
            let path: Vec<Hop> = it.there.iter().map(hop).collect();
            let back: Vec<Hop> = it.back.iter().map(|leg| leg.hop).collect();
            let returned = ideal_completion(&back, receiver, 0);
            let ideal = now + ideal_completion(&path, sender, it.bytes);
            let (left, passed) = self.pass(now, &it, &path, wire);
            let arrived = passed.max(ideal);
            self.events.push(Reverse((left, Event::Left(it.flow))));
            self.events.push(Reverse((arrived, Event::Arrived(it.flow))));
            self.events.push(Reverse((arrived + returned, Event::Acknowledged(it.flow))));
        }
    }

    /// Adds a message to the work of each link on its `path`. Returns when it has left the first one, and when all of it
    /// has arrived if some link still had other work.
    fn pass(&mut self, now: Nanos, flight: &Flight, path: &[Hop], wire: u64) -> (Nanos, Nanos) {
        let sender = self.settings(flight.hosts[0]);
        let packet = WireBytes::of_frame(sender.data_length(flight.bytes.min(sender.mtu.into()) as u16));
        let latency = |hop: &Hop| hop.rate.serialization().time_of(packet) + hop.delay;
        let mut behind = path.iter().map(latency).fold(Interval::ZERO, |sum, it| sum + it);
        let (mut first, mut left, mut arrived) = (now, now, Nanos::ZERO);
        for (index, (leg, hop)) in flight.there.iter().zip(path).enumerate() {
            behind = Interval(behind.0.saturating_sub(latency(hop).0));
            // A flow takes one of the parallel links.
            let share = hop.rate.bits_per_second() as f64 / leg.hop.rate.bits_per_second() as f64;
            let time = scaled(leg.capacity, share).serialization().time_of(WireBytes(wire));
            let has_work = self.free[leg.way] > first;
            let passed = self.free[leg.way].max(first) + time;
            self.free[leg.way] = passed;
            if has_work {
                arrived = arrived.max(passed + hop.delay + behind);
            }
            if index == 0 {
                left = passed;
            }
            first += latency(hop);
        }
        (left, arrived)
    }

    fn flight(&mut self, flow: FlowId) -> Option<Flight> {
        let flight = self.jobs.flight(flow)?;
        let job = &self.jobs.jobs[flight.job];
        let message = &job.messages[flight.message as usize];
        let (hosts, bytes) = (job.hosts(message), message.bytes);
        let [there, back] = [hosts, [hosts[1], hosts[0]]].map(|ends| self.legs(ends));
        Some(Flight { flow, hosts, bytes, there, back })
    }

    fn legs(&mut self, ends: [NodeId; 2]) -> Arc<[Leg]> {
        if let Some(legs) = self.known.get(&ends) {
            return legs.clone();
        }
        let mut legs = Vec::new();
        let mut nodes = self.paths.route(ends[0], ends[1]);
        if self.alone == Alone::AtOneSite {
            nodes.retain(|(.., hop)| hop.delay < LONG);
        }
        for (from, to, hop) in nodes {
            let [way, back] = [(from, to), (to, from)].map(|ends| {
                let count = self.ways.len();
                *self.ways.entry(ends).or_insert(count)
            });
            legs.push(Leg { way, back, hop, capacity: self.paths.capacity(from, to).unwrap_or(hop.rate) });
        }
        self.free.resize(self.ways.len(), Nanos::ZERO);
        let legs: Arc<[Leg]> = legs.into();
        self.known.insert(ends, legs.clone());
        legs
    }

    fn settings(&self, host: NodeId) -> &'a HostSettings {
        self.network.host(host).expect("ranks are at hosts")
    }
}

/// A message on its way.
struct Flight {
    flow: FlowId,
    hosts: [NodeId; 2],
    bytes: u64,
    there: Arc<[Leg]>,
    back: Arc<[Leg]>,
}

fn scaled(rate: BitRate, share: f64) -> BitRate {
    BitRate::new((rate.bits_per_second() as f64 * share) as u64).unwrap_or(rate)
}

/// The number of packets of a message.
fn packets(sender: &HostSettings, bytes: u64) -> u64 {
    bytes.div_ceil(sender.mtu.max(1).into()).max(1)
}

/// Bytes of a message on a link.
fn wire_bytes(sender: &HostSettings, bytes: u64) -> u64 {
    let (full, mtu) = (packets(sender, bytes) - 1, u64::from(sender.mtu.max(1)));
    let packet = |payload: u64| WireBytes::of_frame(sender.data_length(payload as u16)).0;
    full * packet(mtu) + packet(bytes - full * mtu)
}

/// Bytes of its acknowledgements on a link. Each is as long as a packet without payload.
fn acknowledgements(sender: &HostSettings, bytes: u64) -> u64 {
    let every = match sender.transport {
        Transport::GoBackN(it) => u64::from(it.ack_every.get()),
        Transport::Irn(_) | Transport::NewReno(_) => 1,
    };
    packets(sender, bytes).div_ceil(every) * WireBytes::of_frame(sender.data_length(0)).0
}
