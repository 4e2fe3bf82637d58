//! The ideal completion time of a flow: its time alone in the network.

use crate::network::{LinkEnd, NetworkSpec, NodeId, NodeKind};
use endpoint::HostSettings;
use std::collections::{HashMap, VecDeque};
use units::{BitRate, Interval, LinkClock, Nanos, PortId, PortSet, WireBytes};

/// A link on the path of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its rate.
    pub rate: BitRate,
    /// Its delay.
    pub delay: Interval,
}

/// The time that a message of `bytes` from `sender` takes over `path` without other traffic, from the first
/// bit sent until the last one has arrived. Each node stores and forwards packets, and sends those that wait
/// back to back.
///
/// The result is exact to the nanosecond: between two links every instant is a whole nanosecond, rounded up,
/// while a link that stays busy keeps its fractions, as [`LinkClock`] does. If two links differ by less than
/// a nanosecond per packet, it may be off by a nanosecond.
pub fn ideal_completion(path: &[Hop], sender: &HostSettings, bytes: u64) -> Interval {
    let mtu = u64::from(sender.mtu.max(1));
    let packets = bytes.div_ceil(mtu).max(1);
    let on_wire = |payload: u64| on_wire(sender, payload);
    let (full_packets, full, last) = (packets - 1, on_wire(mtu), on_wire(bytes - (packets - 1) * mtu));
    // The arrivals at the link of the first packet, the last full packet and the very last packet.
    let [mut first, mut before, mut end] = [Nanos::ZERO; 3];
    for hop in path {
        let mut clock = LinkClock::new(hop.rate);
        let mut arrivals = [first, before];
        if full_packets > 0 {
            clock.occupy(first, full);
            arrivals = [clock.free_at() + hop.delay; 2];
        }
        if full_packets > 1 {
            // The slowest link so far is busy all the time; a faster one is idle until the last packets come.
            clock.occupy(first, WireBytes(full.0.saturating_mul(full_packets - 2)));
            clock.occupy(before, full);
            arrivals[1] = clock.free_at() + hop.delay;
        }
        clock.occupy(end, last);
        end = clock.free_at() + hop.delay;
        [first, before] = arrivals;
    }
    end.since(Nanos::ZERO)
}

/// The bytes that a packet with `payload` bytes of a message, at most the MTU, occupies on a link.
fn on_wire(sender: &HostSettings, payload: u64) -> WireBytes {
    WireBytes::of_frame(sender.data_length(payload as u16))
}

/// The shortest paths of a network. Of the paths that the routes of its switches allow, these have the fewest
/// links, and of several such paths the least delay.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The links of each node: the port, the neighbour and the hop.
    links: Vec<Vec<(PortId, NodeId, Hop)>>,
    nodes: Vec<NodeKind>,
    known: HashMap<(NodeId, NodeId), Vec<Hop>, foldhash::fast::FixedState>,
}

impl Paths {
    pub fn new(network: &NetworkSpec) -> Self {
        let mut links = vec![Vec::new(); network.nodes.len()];
        for link in &network.links {
            let hop = Hop { rate: link.rate, delay: link.delay };
            for (here, there) in [(0, 1), (1, 0)] {
                let LinkEnd { node, port } = link.ends[here];
                links[node.0 as usize].push((port, link.ends[there].node, hop));
            }
        }
        let nodes = network.nodes.iter().map(|node| node.kind.clone()).collect();
        Self { links, nodes, known: HashMap::default() }
    }

    /// The settings of a host; `None` if that node is a switch.
    pub fn host(&self, node: NodeId) -> Option<&HostSettings> {
        match self.nodes.get(node.0 as usize)? {
            NodeKind::Host(settings) => Some(settings),
            NodeKind::Switch { .. } => None,
        }
    }

    /// The links from one host to another; empty if there is no path.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> &[Hop] {
        if !self.known.contains_key(&(from, to)) {
            let path = self.route(from, to).into_iter().map(|(.., hop)| hop).collect();
            self.known.insert((from, to), path);
        }
        &self.known[&(from, to)]
    }

    /// The ports through which `node` may forward frames for `to`; `None` for any port.
    fn ports_toward(&self, node: NodeId, to: NodeId) -> Option<PortSet> {
        match (&self.nodes[node.0 as usize], &self.nodes[to.0 as usize]) {
            (NodeKind::Switch { program, .. }, NodeKind::Host(host)) => {
                program.ports_toward(host.station.address)
            }
            _ => None,
        }
    }

    /// The nodes on that path: each with the next one, and the link between them.
    pub fn route(&self, from: NodeId, to: NodeId) -> Vec<(NodeId, NodeId, Hop)> {
        // The best path to each node so far: its links, its delay, and the last hop with the node before it.
        let mut best: Vec<Option<(u32, Interval, NodeId, Hop)>> = vec![None; self.links.len()];
        let mut queue = VecDeque::from([(from, 0_u32, Interval::ZERO)]);
        while let Some((node, far, delay)) = queue.pop_front() {
            // Hosts forward nothing.
            if node != from && matches!(self.nodes[node.0 as usize], NodeKind::Host(_)) {
                continue;
            }
            let ports = self.ports_toward(node, to);
            let links = self.links[node.0 as usize].iter();
            for (_, next, hop) in links.filter(|(port, ..)| ports.is_none_or(|ports| ports.contains(*port))) {
                let candidate = (far + 1, delay + hop.delay, node, *hop);
                let place = &mut best[next.0 as usize];
                let better = place.is_none_or(|old| (candidate.0, candidate.1) < (old.0, old.1));
                if *next != from && better {
                    *place = Some(candidate);
                    queue.push_back((*next, candidate.0, candidate.1));
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while let Some((_, _, before, hop)) = best[node.0 as usize] {
            path.push((before, node, hop));
            node = before;
        }
        path.reverse();
        path
    }

    /// The sum of the rates of all links from a node to a neighbour; `None` if it is too large for a rate.
    pub fn capacity(&self, from: NodeId, to: NodeId) -> Option<BitRate> {
        let links = self.links[from.0 as usize].iter().filter(|(_, next, _)| *next == to);
        BitRate::new(links.map(|(.., hop)| hop.rate.bits_per_second()).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hop(gigabits: u64, delay: u64) -> Hop {
        Hop { rate: BitRate::new(gigabits * 1_000_000_000).unwrap(), delay: Interval(delay) }
    }

    fn sender(mtu: u16) -> HostSettings {
        HostSettings { mtu, ..crate::testing::host_settings(0, 1) }
    }

    /// A model that sends the message packet by packet.
    fn simulated(path: &[Hop], sender: &HostSettings, bytes: u64) -> Interval {
        let mtu = u64::from(sender.mtu);
        let packets = bytes.div_ceil(mtu).max(1);
        let mut clocks: Vec<LinkClock> = path.iter().map(|hop| LinkClock::new(hop.rate)).collect();
        let mut end = Nanos::ZERO;
        for packet in 0..packets {
            let payload = if packet + 1 < packets { mtu } else { bytes - (packets - 1) * mtu };
            end = Nanos::ZERO;
            for (hop, clock) in path.iter().zip(&mut clocks) {
                clock.occupy(end, on_wire(sender, payload));
                end = clock.free_at() + hop.delay;
            }
        }
        end.since(Nanos::ZERO)
    }

    #[test]
    fn it_is_what_a_packet_by_packet_model_says() {
        let paths = [
            vec![hop(100, 1_000)],
            vec![hop(100, 1_000), hop(100, 500), hop(100, 1_000)],
            vec![hop(400, 10), hop(25, 400_000), hop(100, 7)],
            vec![hop(10, 10), hop(400, 3), hop(40, 7), hop(400, 0)],
        ];
        for path in paths {
            for bytes in [0, 1, 100, 1_000, 1_024, 1_025, 2_048, 5_000, 1_000_001] {
                let sender = sender(1_024);
                let (ideal, model) =
                    (ideal_completion(&path, &sender, bytes), simulated(&path, &sender, bytes));
                assert_eq!(ideal, model, "{path:?} {bytes}");
            }
        }
    }

    #[test]
    fn a_packet_over_three_links_of_100g_takes_three_times_as_long_as_over_one() {
        // 1024 bytes of message are 1106 on the wire, 88.48 ns; rounded up at each link.
        let path = [hop(100, 1_000); 3];
        assert_eq!(ideal_completion(&path, &sender(1_024), 1_024), Interval(3 * (89 + 1_000)));
        // Nine more follow without a gap: 884.8 ns on the last link instead of 88.48.
        assert_eq!(ideal_completion(&path, &sender(1_024), 10_240), Interval(2 * (89 + 1_000) + 885 + 1_000));
    }

    proptest! {
        #[test]
        fn it_is_what_the_model_says_for_any_path(
            hops in prop::collection::vec((0_usize..6, 0_u64..5_000_000), 1..8),
            mtu in 256_u16..=9_000,
            bytes in 0_u64..300_000,
        ) {
            let rate = |index: usize| [10, 25, 40, 100, 200, 400][index];
            let path: Vec<Hop> = hops.into_iter().map(|(index, delay)| hop(rate(index), delay)).collect();
            let sender = sender(mtu);
            prop_assert_eq!(ideal_completion(&path, &sender, bytes), simulated(&path, &sender, bytes));
        }
    }
}
