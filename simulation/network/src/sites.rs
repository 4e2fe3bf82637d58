//! The division of a network into parts that may run beside each other.

use crate::network::{LinkSpec, NetworkSpec, NodeKind};
use core::num::NonZeroUsize;
use units::{Bytes, Interval, WireBytes};

/// The delay from which on a link divides a network into sites, that of two kilometres of fibre. In this time a data center
/// with 100G links carries thousands of frames.
pub(crate) const LONG: Interval = Interval::from_micros(10);
/// The bytes that the links of a part have to carry at their full rates, for each part, within the delay of the shortest link
/// between parts: 256 frames of 1,024 bytes. They take some ten times as long as threads take to meet, which grows with
/// their number.
const BYTES_MIN: u64 = 256 * WireBytes::of_frame(Bytes(1_024)).0;

/// The part of each node, numbered from zero, for at most `parts` parts, which have about equally much to carry. They are made of
/// sites, or, in a network of one site, of switches with their hosts: as many parts as pay.
///
/// A network in which a host manages connections is one part. A receiver is closed in the very turn in which its sender
/// ends the flow, and until then it may repeat a message; a part would learn too late that it must not.
pub(crate) fn sites(network: &NetworkSpec, parts: NonZeroUsize) -> Vec<usize> {
    let manages = |kind: &NodeKind| matches!(kind, NodeKind::Host(host) if host.manages_connections());
    if network.nodes.iter().any(|node| manages(&node.kind)) {
        return vec![0; network.nodes.len()];
    }
    let sites = joined(network, |link| link.delay < LONG);
    if sites.iter().all(|root| *root == 0) {
        let racks = racks(network);
        let mut divisions = (1..=parts.get()).rev().map(|parts| divided(network, &racks, parts));
        return divisions.find(|homes| pays(network, homes)).unwrap_or(sites);
    }
    divided(network, &sites, parts.get())
}

/// Switches with their hosts, and what a link without delay joins to them.
fn racks(network: &NetworkSpec) -> Vec<usize> {
    let is_host = |node: usize| matches!(network.nodes[node].kind, NodeKind::Host(_));
    joined(network, |link| {
        link.delay == Interval::ZERO || link.ends.iter().any(|end| is_host(end.node.0 as usize))
    })
}

/// Whether each of these parts has enough to do between two meetings. One part always has.
fn pays(network: &NetworkSpec, homes: &[usize]) -> bool {
    let home = |link: &LinkSpec, end: usize| homes[link.ends[end].node.0 as usize];
    let between = network.links.iter().filter(|link| home(link, 0) != home(link, 1));
    let Some(time) = between.map(|link| link.delay).min() else { return true };
    let mut bytes = vec![0; homes.iter().max().map_or(0, |last| last + 1)];
    for link in &network.links {
        for end in [0, 1] {
            bytes[home(link, end)] += link.rate.bytes_in(time);
        }
    }
    let least = BYTES_MIN * bytes.len() as u64;
    bytes.into_iter().all(|bytes| bytes >= least)
}

/// The tree of each node, by its root, where the links that `joins` accepts join nodes. The node with the lowest number is the
/// root.
fn joined(network: &NetworkSpec, joins: impl Fn(&LinkSpec) -> bool) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..network.nodes.len()).collect();
    for link in network.links.iter().filter(|link| joins(link)) {
        let [one, other] = link.ends.map(|end| root(&mut parents, end.node.0 as usize));
        parents[one.max(other)] = one.min(other);
    }
    (0..parents.len()).map(|node| root(&mut parents, node)).collect()
}

/// The part of each node, for at most `parts` parts, none of which divides a tree. The heaviest tree goes first, each to the
/// part that is lightest so far.
fn divided(network: &NetworkSpec, trees: &[usize], parts: usize) -> Vec<usize> {
    let mut weights = vec![0; trees.len()];
    for link in &network.links {
        link.ends.iter().for_each(|end| weights[trees[end.node.0 as usize]] += link.rate.bits_per_second());
    }
    let mut roots: Vec<usize> = (0..trees.len()).filter(|node| trees[*node] == *node).collect();
    roots.sort_by_key(|root| core::cmp::Reverse(weights[*root]));
    let mut loads = vec![0; parts.min(roots.len()).max(1)];
    let mut part_of = vec![0; trees.len()];
    for root in roots {
        let lightest = (0..loads.len()).min_by_key(|part| loads[*part]).unwrap_or_default();
        loads[lightest] += weights[root].max(1);
        part_of[root] = lightest;
    }
    trees.iter().map(|root| part_of[*root]).collect()
}

/// The root of the tree of `node`. Shortens the way to it.
fn root(parents: &mut [usize], mut node: usize) -> usize {
    while parents[node] != node {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::LinkSpec;
    use crate::testing::{end, host, host_settings, link, patched, switch};
    use endpoint::{GoBackN, NewReno, Transport};
    use std::sync::Arc;
    use units::BitRate;

    /// Three sites in a row: a switch with two hosts, a relay, and a switch with one host.
    fn row() -> NetworkSpec {
        let long = |link| LinkSpec { delay: LONG, ..link };
        NetworkSpec {
            nodes: vec![
                host(0, 1),
                host(1, 0),
                host(2, 0),
                switch(patched(&[(0, 2), (1, 3)])),
                switch(patched(&[(0, 1)])),
                switch(patched(&[(0, 1)])),
            ],
            links: vec![
                link(end(0, 0), end(3, 0)),
                link(end(1, 0), end(3, 1)),
                long(link(end(3, 2), end(4, 0))),
                long(link(end(4, 1), end(5, 0))),
                link(end(5, 1), end(2, 0)),
            ],
            jobs: Arc::default(),
            reroutes: Arc::default(),
        }
    }

    #[test]
    fn long_links_alone_join_parts_and_no_more_parts_than_asked_for() {
        let sites = |parts| sites(&row(), NonZeroUsize::new(parts).unwrap());
        assert_eq!(sites(1), [0; 6]);
        assert_eq!(sites(2), [0, 0, 1, 0, 1, 1], "the relay goes with the lighter side");
        for parts in [3, 8] {
            assert_eq!(sites(parts), [0, 0, 1, 0, 2, 1]);
        }
    }

    /// Two pairs of a switch and a host, with these delays to the hosts and between the switches.
    fn racks_of(to_host: u64, between: u64) -> NetworkSpec {
        let link = |one, other, delay| LinkSpec {
            delay: Interval(delay),
            rate: BitRate::gigabits(400),
            ..link(one, other)
        };
        NetworkSpec {
            nodes: vec![host(0, 1), host(1, 0), switch(patched(&[(0, 1)])), switch(patched(&[(0, 1)]))],
            links: vec![
                link(end(0, 0), end(2, 0), to_host),
                link(end(2, 1), end(3, 1), between),
                link(end(3, 0), end(1, 0), to_host),
            ],
            jobs: Arc::default(),
            reroutes: Arc::default(),
        }
    }

    #[test]
    fn a_site_is_divided_between_racks_where_links_carry_enough_in_the_time_of_one() {
        let sites =
            |to_host, between, parts| sites(&racks_of(to_host, between), NonZeroUsize::new(parts).unwrap());
        // Two parts have to carry 536,576 bytes each, on three ends of links of 400G.
        assert_eq!(sites(100, 3_578, 2), [0, 1, 0, 1]);
        assert_eq!(sites(100, 3_577, 2), [0; 4]);
        assert_eq!(sites(100, 3_578, 8), [0, 1, 0, 1], "as many as there are racks");
        assert_eq!(sites(9_000, 0, 2), [0; 4], "between hosts and switches nothing is divided");
    }

    #[test]
    fn a_network_in_which_a_host_manages_connections_is_one_part() {
        let managed = |transport| {
            let mut network = row();
            let mut settings = host_settings(2, 0);
            settings.transport = transport;
            settings.connection_management = Some(Interval::from_micros(100));
            network.nodes[2].kind = NodeKind::Host(Arc::new(settings));
            sites(&network, NonZeroUsize::new(3).unwrap())
        };
        assert_eq!(managed(Transport::GoBackN(GoBackN::default())), [0; 6]);
        assert_eq!(
            managed(Transport::NewReno(NewReno::default())),
            [0, 0, 1, 0, 2, 1],
            "TCP has no messages"
        );
    }

    #[test]
    fn a_network_without_long_links_or_without_nodes_is_one_part() {
        let parts = NonZeroUsize::new(4).unwrap();
        assert_eq!(sites(&crate::testing::line(), parts), [0; 3]);
        assert_eq!(sites(&NetworkSpec::default(), parts), []);
    }
}
