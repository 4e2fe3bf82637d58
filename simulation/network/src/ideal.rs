//! How long a flow takes alone.

use crate::network::{NetworkSpec, NodeId, NodeKind};
use std::collections::{HashMap, VecDeque};
use units::{BitRate, Interval, WireBytes};

/// Bytes of a packet besides its payload: Ethernet, IPv4, UDP, BTH and ICRC.
const HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
/// So many parts of a nanosecond are told apart, so that adding up links rounds nothing that could be seen.
const PARTS: u128 = 1_000_000;

/// A link on the way of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its rate.
    pub rate: BitRate,
    /// Its delay.
    pub delay: Interval,
}

/// How long a message of `bytes` in packets of up to `mtu` takes over `path` with nobody else there, from the
/// first bit sent until the last one has arrived, rounded down: each node forwards a packet when it has all of
/// it, and sends the packets of the message back to back as they come.
pub fn ideal_completion(path: &[Hop], mtu: u16, bytes: u64) -> Interval {
    let mtu = u64::from(mtu.max(1));
    let packets = bytes.div_ceil(mtu).max(1);
    let rest = bytes - (packets - 1) * mtu;
    let (mut first, mut slowest, mut end, mut delays) = (0, 0, 0, 0);
    for hop in path {
        let (full, last) = (packet_time(mtu, hop.rate), packet_time(rest, hop.rate));
        first += full;
        slowest = full.max(slowest);
        // The last packet waits until it is there, and until those in front of it have left.
        let free = if packets > 1 { first + u128::from(packets - 2) * slowest } else { 0 };
        end = free.max(end) + last;
        delays += u128::from(hop.delay.0);
    }
    Interval(u64::try_from(end / PARTS + delays).unwrap_or(u64::MAX))
}

/// How long a packet with `payload` bytes lasts.
fn packet_time(payload: u64, rate: BitRate) -> u128 {
    let stored = units::Bytes(HEADERS + payload.next_multiple_of(4));
    let wire = WireBytes::of_frame(stored).0;
    u128::from(wire) * 8_000_000_000 * PARTS / u128::from(rate.bits_per_second())
}

/// The shortest paths of a network: the fewest links, and of these the least delay.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Of each node, the links to its neighbours.
    links: Vec<Vec<(NodeId, Hop)>>,
    /// Hosts forward nothing.
    is_host: Vec<bool>,
    known: HashMap<(NodeId, NodeId), Vec<Hop>, foldhash::fast::FixedState>,
}

impl Paths {
    pub fn new(network: &NetworkSpec) -> Self {
        let mut links = vec![Vec::new(); network.nodes.len()];
        for link in &network.links {
            let hop = Hop { rate: link.rate, delay: link.delay };
            for (here, there) in [(0, 1), (1, 0)] {
                links[link.ends[here].node.0 as usize].push((link.ends[there].node, hop));
            }
        }
        let is_host = network.nodes.iter().map(|node| matches!(node.kind, NodeKind::Host(_))).collect();
        Self { links, is_host, known: HashMap::default() }
    }

    /// The links from one host to another; none where there is no way.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> &[Hop] {
        if !self.known.contains_key(&(from, to)) {
            let path = self.search(from, to);
            self.known.insert((from, to), path);
        }
        &self.known[&(from, to)]
    }

    fn search(&self, from: NodeId, to: NodeId) -> Vec<Hop> {
        // Of each node: how far it is, its delay, and how it was reached.
        let mut best: Vec<Option<(u32, Interval, NodeId, Hop)>> = vec![None; self.links.len()];
        let mut queue = VecDeque::from([(from, 0_u32, Interval::ZERO)]);
        while let Some((node, far, delay)) = queue.pop_front() {
            if node != from && (self.is_host[node.0 as usize] || node == to) {
                continue;
            }
            for (next, hop) in &self.links[node.0 as usize] {
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
            path.push(hop);
            node = before;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(gigabits: u64, delay: u64) -> Hop {
        Hop { rate: BitRate::new(gigabits * 1_000_000_000).unwrap(), delay: Interval(delay) }
    }

    /// Packet by packet: when each has passed each link.
    fn simulated(path: &[Hop], mtu: u64, bytes: u64) -> f64 {
        let packets = bytes.div_ceil(mtu).max(1);
        let mut free = vec![0.0_f64; path.len()];
        let mut end = 0.0;
        for packet in 0..packets {
            let payload = if packet + 1 < packets { mtu } else { bytes - (packets - 1) * mtu };
            let wire = (HEADERS + payload.next_multiple_of(4)).max(60) + 24;
            let mut at = 0.0;
            for (hop, free) in path.iter().zip(&mut free) {
                let start = f64::max(at, *free);
                *free = start + wire as f64 * 8e9 / hop.rate.bits_per_second() as f64;
                at = *free + hop.delay.0 as f64;
            }
            end = at;
        }
        end
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
                let (ideal, model) = (ideal_completion(&path, 1_024, bytes), simulated(&path, 1_024, bytes));
                let off = model - ideal.0 as f64;
                assert!((-0.01..1.01).contains(&off), "{path:?} {bytes}: {ideal} and {model}");
            }
        }
    }
}
