//! How long a message takes alone: store and forward over every hop, to the nanosecond.

use crate::network::{LinkEnd, NetworkSpec, NodeId, NodeKind};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};
use switch::ForwardingSettings;
use units::{BitRate, Interval, LinkClock, Nanos, PortId, WireBytes};

/// A link on a path, in the direction of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Its rate.
    pub rate: BitRate,
    /// From the last bit sent until it has arrived.
    pub delay: Interval,
}

/// How long it takes over `hops` until the last of `packets` has arrived, each of which occupies `full` bytes
/// of a link but the last, which occupies `last`; the first begins at once, and nobody else sends.
///
/// A packet is sent on when its last bit has arrived. Between two hops every instant is a whole nanosecond,
/// rounded up, while a link that stays busy keeps its fractions, exactly as [`LinkClock`] has it.
pub fn alone(hops: &[Hop], packets: u64, full: WireBytes, last: WireBytes) -> Interval {
    // When the first packet, the last full one and the last arrive at the hop.
    let [mut first, mut before, mut end] = [Nanos::ZERO; 3];
    for hop in hops {
        let mut clock = LinkClock::new(hop.rate);
        let full_packets = packets.saturating_sub(1);
        let mut arrival = [first, before];
        if full_packets > 0 {
            clock.occupy(first, full);
            arrival = [clock.free_at() + hop.delay; 2];
        }
        if full_packets > 1 {
            // If this hop is the slowest so far, it is busy all the time; otherwise it waits for the last.
            clock.occupy(first, WireBytes(full.0.saturating_mul(full_packets - 2)));
            clock.occupy(before, full);
            arrival[1] = clock.free_at() + hop.delay;
        }
        clock.occupy(end, last);
        end = clock.free_at() + hop.delay;
        [first, before] = arrival;
    }
    end.since(Nanos::ZERO)
}

/// The paths of a network, as its switches forward.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Where each port of each node leads, and over what.
    ports: Vec<Vec<Option<(LinkEnd, Hop)>>>,
    addresses: BTreeMap<NodeId, Ipv4Addr>,
    /// All different paths, each once.
    shapes: Vec<Vec<Vec<Hop>>>,
    /// Those between two hosts, as far as somebody asked.
    known: BTreeMap<(NodeId, NodeId), usize>,
}

/// Where somebody may have come to, through which port, and over what.
type Front = BTreeSet<(NodeId, PortId, Vec<Hop>)>;

impl Paths {
    /// More different kinds of equal paths are not compared; the first ones are.
    const MOST_SHAPES: usize = 64;
    /// More links are not followed.
    const MOST_HOPS: usize = 1_100;

    /// The paths of `network`.
    pub fn new(network: &NetworkSpec) -> Self {
        let mut ports: Vec<Vec<_>> = vec![Vec::new(); network.nodes.len()];
        for link in &network.links {
            let hop = Hop { rate: link.rate, delay: link.delay };
            for (from, to) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
                let of_node = &mut ports[from.node.0 as usize];
                if of_node.len() <= from.port.index() {
                    of_node.resize(from.port.index() + 1, None);
                }
                of_node[from.port.index()] = Some((to, hop));
            }
        }
        let nodes = network.nodes.iter().enumerate();
        let addresses = nodes.filter_map(|(index, node)| match &node.kind {
            NodeKind::Host(settings) => Some((NodeId(index as u32), settings.station.address)),
            NodeKind::Switch(_) => None,
        });
        Self { addresses: addresses.collect(), ports, shapes: Vec::new(), known: BTreeMap::new() }
    }

    /// The different kinds of equal paths from one host to another; none where there is no way.
    pub fn between(&mut self, network: &NetworkSpec, source: NodeId, destination: NodeId) -> &[Vec<Hop>] {
        let index = match self.known.get(&(source, destination)) {
            Some(&index) => index,
            None => {
                let found = self.search(network, source, destination);
                let index = self.shapes.iter().position(|shape| *shape == found).unwrap_or_else(|| {
                    self.shapes.push(found);
                    self.shapes.len() - 1
                });
                self.known.insert((source, destination), index);
                index
            }
        };
        &self.shapes[index]
    }

    /// The shortest time that a message takes alone, of which the packets are as [`alone`] has them; over the
    /// best of equal paths. Zero where there is no way.
    pub fn ideal(
        &mut self,
        network: &NetworkSpec,
        (source, destination): (NodeId, NodeId),
        (packets, full, last): (u64, WireBytes, WireBytes),
    ) -> Interval {
        let paths = self.between(network, source, destination);
        paths.iter().map(|hops| alone(hops, packets, full, last)).min().unwrap_or_default()
    }

    fn search(&self, network: &NetworkSpec, source: NodeId, destination: NodeId) -> Vec<Vec<Hop>> {
        let Some(&address) = self.addresses.get(&destination) else { return Vec::new() };
        let mut seen = BTreeSet::new();
        let mut front: Front = [(source, PortId(0), Vec::new())].into();
        for _ in 0..Self::MOST_HOPS {
            let mut next = Front::new();
            for (node, entry, hops) in &front {
                for port in self.leave(network, *node, *entry, address) {
                    let Some((end, hop)) = self.ports[node.0 as usize].get(port.index()).copied().flatten()
                    else {
                        continue;
                    };
                    let forwards = matches!(network.nodes[end.node.0 as usize].kind, NodeKind::Switch(_));
                    if (forwards || end.node == destination) && !seen.contains(&(end.node, end.port)) {
                        next.insert((end.node, end.port, [hops.as_slice(), &[hop]].concat()));
                    }
                }
            }
            let arrived: BTreeSet<_> = next.iter().filter(|(node, ..)| *node == destination).collect();
            if !arrived.is_empty() || next.is_empty() {
                let shapes: BTreeSet<Vec<Hop>> = arrived.into_iter().map(|(.., hops)| hops.clone()).collect();
                return shapes.into_iter().take(Self::MOST_SHAPES).collect();
            }
            seen.extend(next.iter().map(|(node, port, _)| (*node, *port)));
            front = next.into_iter().take(Self::MOST_SHAPES * network.nodes.len()).collect();
        }
        Vec::new()
    }

    /// The ports through which `node` may send on what came in through `entry`.
    fn leave(&self, network: &NetworkSpec, node: NodeId, entry: PortId, address: Ipv4Addr) -> Vec<PortId> {
        let program = match &network.nodes[node.0 as usize].kind {
            NodeKind::Host(_) => return vec![PortId(0)],
            NodeKind::Switch(program) => program,
        };
        match &program.settings().forwarding {
            ForwardingSettings::Patch(pairs) => pairs
                .iter()
                .filter_map(|&(one, other)| match entry {
                    entry if entry == one => Some(other),
                    entry if entry == other => Some(one),
                    _ => None,
                })
                .collect(),
            ForwardingSettings::Bridge(_) => {
                let ports = 0..self.ports[node.0 as usize].len();
                ports.map(|port| PortId(port as u16)).filter(|port| *port != entry).collect()
            }
            ForwardingSettings::Route(routes) => {
                let port_of =
                    |hop: IpAddr| routes.neighbours.iter().find(|it| it.address == hop).map(|it| it.port);
                if let Some(port) = port_of(address.into()) {
                    return vec![port];
                }
                let matching =
                    routes.routes.iter().filter(|route| route.prefix.contains(&IpAddr::from(address)));
                let best = matching.max_by_key(|route| route.prefix.prefix_len());
                best.map_or_else(Vec::new, |route| {
                    route.next_hops.iter().filter_map(|&hop| port_of(hop)).collect()
                })
            }
        }
    }
}
