//! The longest path of each host's flows: the round trip with which its timers must reckon.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use simulation::NodeId;
use simulation::job::Jobs;
use simulation::topology::{Role, Topology};
use simulation::workload::Workload;
use units::{BitRate, Interval, WireBytes};

/// A path there and back, without queues. Paths compare by their delays first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path {
    /// The delays of its links, both ways.
    pub light: Interval,
    /// How long a byte takes on all its links, one way, in picoseconds.
    byte: u64,
}

impl Path {
    /// The path with one more link.
    fn and(self, delay: Interval, rate: BitRate) -> Self {
        let byte = 8_000_000_000_000 / rate.bits_per_second();
        Self { light: self.light + delay * 2, byte: self.byte.saturating_add(byte) }
    }

    /// The round trip of a packet and its acknowledgement, each stored and forwarded on the way.
    pub fn round_trip(self, packet: WireBytes, acknowledgement: WireBytes) -> Interval {
        let bytes = (packet + acknowledgement).0;
        self.light + Interval(self.byte.saturating_mul(bytes).div_ceil(1_000))
    }
}

/// Hosts behind one switch, and the hosts to which each of them may send.
type Sending = (Vec<NodeId>, Rc<[NodeId]>);

/// The longest path from each node to the hosts to which it may send, in the order of nodes. Paths have the fewest links;
/// of several such paths, the longest counts. A node that sends nothing has a path of no length.
pub(super) fn longest(topology: &Topology, workload: &Workload, jobs: &Jobs) -> Vec<Path> {
    let mut by_switch: BTreeMap<NodeId, Vec<Sending>> = BTreeMap::new();
    let mut visit = |sources: &[NodeId], destinations: &[NodeId]| {
        let destinations: Rc<[NodeId]> = destinations.into();
        let mut groups: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for source in sources {
            groups.entry(access(topology, *source).0).or_default().push(*source);
        }
        for (switch, sources) in groups {
            by_switch.entry(switch).or_default().push((sources, Rc::clone(&destinations)));
        }
    };
    workload.reach(&mut visit);
    jobs.reach(&mut visit);
    let mut longest = vec![Path::default(); topology.nodes.len()];
    for (switch, sendings) in by_switch {
        let paths = from(topology, switch);
        for (sources, destinations) in sendings {
            let farthest = destinations.iter().filter_map(|it| paths[it.0 as usize]).max();
            for source in sources {
                let (_, delay, rate) = access(topology, source);
                let own = &mut longest[source.0 as usize];
                *own = farthest.map_or(*own, |path| path.and(delay, rate).max(*own));
            }
        }
    }
    longest
}

/// The node at the other end of a host's only link, and the delay and the rate of that link.
fn access(topology: &Topology, host: NodeId) -> (NodeId, Interval, BitRate) {
    let port = &topology.node(host).ports[0];
    let link = &topology.links[port.link];
    (link.ends[1 - port.end].node, link.settings.delay, link.settings.rate)
}

/// The path from `start` to each node, in the order of nodes.
fn from(topology: &Topology, start: NodeId) -> Vec<Option<Path>> {
    let mut paths: Vec<Option<(u32, Path)>> = vec![None; topology.nodes.len()];
    paths[start.0 as usize] = Some((0, Path::default()));
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        // Hosts forward nothing.
        let Some((far, path)) = paths[node.0 as usize].filter(|_| topology.node(node).role == Role::Switch)
        else {
            continue;
        };
        for port in &topology.node(node).ports {
            let link = &topology.links[port.link];
            let next = link.ends[1 - port.end].node;
            let found = (far + 1, path.and(link.settings.delay, link.settings.rate));
            let known = &mut paths[next.0 as usize];
            match known {
                None => waiting.push_back(next),
                Some((links, before)) if *links == found.0 && *before < found.1 => {}
                Some(_) => continue,
            }
            *known = Some(found);
        }
    }
    paths.into_iter().map(|it| it.map(|(_, path)| path)).collect()
}
