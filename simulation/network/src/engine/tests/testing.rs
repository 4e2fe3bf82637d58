//! Random networks of three sites, for the tests of the engine.

use super::Engine;
use crate::job::{Act, After, Job, Jobs, Moment, Operation, PlannedJob, Rank};
use crate::network::{Faults, FlowSpec, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
use crate::observer::{NetworkView, Observer, Tap};
use crate::options::Options;
use crate::outcome::{FlowRecord, Outcome};
use crate::testing::{P3, end, flow, host_settings, link, patched, switch};
use core::num::NonZeroUsize;
use endpoint::{FlowId, GoBackN, Transport};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::Volume;
use units::{BitRate, Bytes, Interval, Nanos, WireBytes};

/// The pairs of hosts that send to each other.
const PAIRS: [[u8; 2]; 3] = [[0, 2], [1, 3], [4, 5]];
/// The site of each node.
pub const SITES: [usize; 9] = [0, 0, 2, 2, 0, 0, 0, 1, 2];

/// Hosts 0, 1, 4 and 5 are at switch 6, hosts 2 and 3 at switch 8, and a relay, switch 7, is between the sites. Hosts
/// 4 and 5 send to each other, the others to the other site. The link to host 3 is slow.
pub fn three_sites() -> NetworkSpec {
    let host = |number: u8| {
        let [one, other] = PAIRS.into_iter().find(|pair| pair.contains(&number)).unwrap();
        let mut settings = host_settings(number, if number == one { other } else { one });
        let retransmission_timeout = Interval::from_micros(90);
        settings.transport = Transport::GoBackN(GoBackN { retransmission_timeout, ..GoBackN::default() });
        settings.rate = if number == 3 { SLOW } else { settings.rate };
        NodeSpec { name: format!("host{number}"), kind: NodeKind::Host(Arc::new(settings)) }
    };
    let mut far = patched(&[(0, 2), (1, 3)]);
    far.ports[3].rate = SLOW;
    let switches = [patched(&[(0, 2), (1, 3), (4, 5)]), patched(&[(0, 2), (1, 3)]), far].map(switch);
    NetworkSpec {
        nodes: (0..6).map(host).chain(switches).collect(),
        links: vec![
            link(end(0, 0), end(6, 0)),
            link(end(1, 0), end(6, 1)),
            link(end(4, 0), end(6, 4)),
            link(end(5, 0), end(6, 5)),
            link(end(6, 2), end(7, 0)),
            link(end(6, 3), end(7, 1)),
            link(end(8, 0), end(7, 2)),
            link(end(7, 3), end(8, 1)),
            link(end(8, 2), end(2, 0)),
            LinkSpec { rate: SLOW, ..link(end(3, 0), end(8, 3)) },
        ],
        jobs: Default::default(),
        reroutes: Default::default(),
    }
}

const SLOW: BitRate = BitRate::gigabits(40);

pub fn networks() -> impl Strategy<Value = NetworkSpec> {
    let time = |most| prop_oneof![Just(0), 0_u64..most].prop_map(Interval);
    let chance = || prop_oneof![Just(0.0), Just(0.02), Just(0.2)];
    let down = prop_oneof![4 => Just(None), 1 => (0_u64..80_000).prop_map(|at| Some((Nanos(at), Nanos(at + 9_000))))];
    let faulty = (chance(), chance(), time(3_000), time(9_000), time(2_000), down).prop_map(
        |(loss, control_loss, jitter, control_delay, control_jitter, down)| Faults {
            loss,
            control_loss,
            control_duplication: control_loss,
            jitter,
            control_delay,
            control_jitter,
            down,
            flap_every: Some(Interval(400_000)),
            ..Faults::default()
        },
    );
    let faults = prop_oneof![2 => Just(Faults::default()), 1 => faulty];
    let links = prop::collection::vec((1_u64..3_000, [faults.clone(), faults]), 10);
    (links, prop::option::of(jobs())).prop_map(|(changes, jobs)| {
        let mut network = three_sites();
        network.jobs = jobs.unwrap_or_default();
        for (link, (delay, faults)) in network.links.iter_mut().zip(changes) {
            let sites = link.ends.map(|end| SITES[end.node.0 as usize]);
            link.delay = Interval(if sites[0] == sites[1] { delay } else { delay * 20 });
            link.faults = faults;
        }
        network
    })
}

/// Up to two jobs of all hosts, in which each sends to its partner.
fn jobs() -> impl Strategy<Value = Arc<Jobs>> {
    // A message: the pair, its direction, its bytes, a calculation before it, and what it waits for.
    let wait = || prop::option::of(prop_oneof![Just(Moment::Begins), Just(Moment::Ends)]);
    let one = (0_usize..3, any::<bool>(), 0_u64..60_000, 0_u64..20_000, [wait(), wait()], 0_u8..2);
    let job = (prop::collection::vec(one, 1..12), 0_u64..200_000, 1_u32..4);
    prop::collection::vec(job, 1..3).prop_map(|jobs| {
        let planned = jobs.into_iter().map(|(messages, start, iterations)| {
            let rank = |host| Rank { host: NodeId(host), operations: Vec::new(), after: Vec::new() };
            let mut job = Job {
                group: 0,
                priority: P3,
                start: Nanos(start),
                iterations,
                ranks: (0..6).map(rank).collect(),
            };
            for (pair, forth, bytes, time, waits, cpu) in messages {
                let [one, other]: [u8; 2] = PAIRS[pair];
                let (from, to) = if forth { (one.into(), other.into()) } else { (other.into(), one.into()) };
                let acts = [
                    (from, Act::Calculate(Interval(time)), None),
                    (from, Act::Send { bytes, to, tag: 0 }, waits[0]),
                    (to, Act::Receive { bytes, from, tag: 0 }, waits[1]),
                ];
                for (rank, act, wait) in acts {
                    let it = &mut job.ranks[rank as usize];
                    let operation = it.operations.len() as u32;
                    let after = |moment| After { operation, other: operation - 1, moment };
                    it.after.extend(wait.filter(|_| operation > 0).map(after));
                    it.operations.push(Operation { act, cpu });
                }
            }
            PlannedJob::new(&job).unwrap()
        });
        Arc::new(Jobs::new(planned.collect()).unwrap())
    })
}

/// The flows with numbers behind those of the jobs of `network`.
pub fn numbered(network: &NetworkSpec, mut flows: Vec<FlowSpec>) -> Vec<FlowSpec> {
    flows.iter_mut().for_each(|flow| flow.id.0 += network.jobs.flows());
    flows
}

pub fn flows() -> impl Strategy<Value = Vec<FlowSpec>> {
    let kind = prop_oneof![8 => Just((None, false)), 2 => (1_u64..90_000).prop_map(|time| (Some(time), false)), 1 => Just((None, true))];
    let one = (0_u64..200_000, 1_u64..120_000, 0_usize..3, any::<bool>(), kind);
    prop::collection::vec(one, 1..14).prop_map(|mut flows| {
        flows.sort();
        let spec = |(number, (start, bytes, pair, forth, (lasts, is_looped)))| {
            let [one, other]: [u8; 2] = PAIRS[pair];
            let (source, destination) = if forth { (one, other) } else { (other, one) };
            let (lasts, is_looped): (Option<u64>, bool) = (lasts, is_looped);
            FlowSpec {
                id: FlowId(number),
                start: Nanos(start),
                source: NodeId(source.into()),
                destination: NodeId(destination.into()),
                stop: lasts.map(|time| Nanos(start + time)),
                again_until: is_looped.then_some(Nanos(300_000)),
                ..flow(lasts.is_none().then_some(bytes))
            }
        };
        (0..).zip(flows).map(spec).collect()
    })
}

/// The instant of a sample, transmissions, frames, and what links have carried and carry.
pub type Sample = (Nanos, u64, Volume, Vec<WireBytes>, Vec<Volume>);
/// Whether a frame came in, when, its length and its headers.
pub type Captured = (bool, Nanos, Bytes, Vec<u8>);

/// Everything that an observer sees. Captures are kept by node, because those of different nodes have no defined
/// order.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    pub samples: Vec<Sample>,
    pub records: Vec<FlowRecord>,
    pub frames: BTreeMap<u32, Vec<Captured>>,
}

impl Seen {
    /// Adds what was seen later.
    pub fn append(&mut self, mut later: Self) {
        self.samples.append(&mut later.samples);
        self.records.append(&mut later.records);
        for (node, mut frames) in later.frames {
            self.frames.entry(node).or_default().append(&mut frames);
        }
    }
}

impl Observer for Seen {
    fn sample(&mut self, at: Nanos, view: &NetworkView<'_>) {
        assert_eq!(view.progress().now, at);
        let ends = || (0..10).flat_map(|link| [(link, 0), (link, 1)]);
        let carried = ends().map(|(link, end)| view.carried(link, end)).collect();
        let in_flight = ends().map(|(link, end)| view.in_flight(link, end)).collect();
        self.samples.push((at, view.progress().transmissions, view.frames(), carried, in_flight));
    }

    fn completed(&mut self, record: &FlowRecord) {
        self.records.push(record.clone());
    }

    fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
        let frames = self.frames.entry(tap.node.0).or_default();
        frames.push((tap.inbound, at, length, headers.to_vec()));
    }
}

/// The outcome with the nodes of these sites in one part each.
pub fn run(network: &NetworkSpec, flows: &[FlowSpec], homes: &[usize], threads: usize) -> (Outcome, Seen) {
    let mut seen = Seen::default();
    let engine = Engine::of_parts(network.clone(), options(threads), homes.to_vec());
    let outcome = engine.run(flows.iter().cloned(), &mut seen).unwrap();
    (outcome, seen)
}

/// The options of all these runs.
pub fn options(threads: usize) -> Options {
    Options {
        sampling: Some(Interval(37_300)),
        taps: (0..9).map(NodeId).collect(),
        until: Nanos(400_000),
        limit: Nanos(3_000_000),
        stall: Interval(700_000),
        tolerate_loss: true,
        threads: NonZeroUsize::new(threads).unwrap(),
        ..Options::default()
    }
}

/// The first thing in which two runs differ.
pub fn first_difference(one: &(Outcome, Seen), other: &(Outcome, Seen)) -> Option<String> {
    let frames = |(_, seen): &(Outcome, Seen)| -> Vec<(Nanos, u32, Captured)> {
        let of_node = |(node, frames): (&u32, &Vec<Captured>)| {
            let node = *node;
            frames.clone().into_iter().map(move |frame| (frame.1, node, frame))
        };
        let mut frames: Vec<_> = seen.frames.iter().flat_map(of_node).collect();
        frames.sort();
        frames
    };
    let (ours, theirs) = (frames(one), frames(other));
    if let Some((one, other)) = ours.iter().zip(&theirs).find(|(one, other)| one != other) {
        return Some(format!("{one:?}\n{other:?}"));
    }
    let ((_, ours), (_, theirs)) = (one, other);
    let kinds = [
        ("captures", ours.frames == theirs.frames),
        ("records", ours.records == theirs.records),
        ("samples", ours.samples == theirs.samples),
    ];
    let kind = kinds.into_iter().find(|(_, same)| !same).map(|(name, _)| name.to_owned());
    kind.or_else(|| (one.0 != other.0).then(|| format!("{:#?}\n{:#?}", one.0, other.0)))
}
