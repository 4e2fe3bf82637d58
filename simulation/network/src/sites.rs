//! The division of a network into parts that may run beside each other.

use crate::network::{NetworkSpec, NodeKind};
use core::num::NonZeroUsize;
use units::Interval;

/// The delay from which on a link may join two parts, that of two kilometres of fibre. In this time a data center with
/// 100G links carries thousands of frames, and it is worthwhile to run its part by itself.
const LONG: Interval = Interval::from_micros(10);

/// The part of each node, numbered from zero, for at most `parts` parts. Nodes that a shorter link joins are in one part.
/// Parts have about equally many ends of links.
///
/// A network in which a host manages connections is one part. A receiver is closed in the very turn in which its sender
/// ends the flow, and until then it may repeat a message; a part would learn too late that it must not.
pub(crate) fn sites(network: &NetworkSpec, parts: NonZeroUsize) -> Vec<usize> {
    let manages = |kind: &NodeKind| matches!(kind, NodeKind::Host(host) if host.manages_connections());
    if network.nodes.iter().any(|node| manages(&node.kind)) {
        return vec![0; network.nodes.len()];
    }
    let mut sites: Vec<usize> = (0..network.nodes.len()).collect();
    for link in network.links.iter().filter(|link| link.delay < LONG) {
        let [one, other] = link.ends.map(|end| root(&mut sites, end.node.0 as usize));
        // The node with the lowest number is the root.
        sites[one.max(other)] = one.min(other);
    }
    let mut weights = vec![0_usize; sites.len()];
    for end in network.links.iter().flat_map(|link| link.ends) {
        weights[root(&mut sites, end.node.0 as usize)] += 1;
    }
    let mut roots: Vec<usize> = (0..sites.len()).filter(|node| sites[*node] == *node).collect();
    roots.sort_by_key(|root| core::cmp::Reverse(weights[*root]));
    // The heaviest site first, each to the lightest part so far.
    let mut loads = vec![0; parts.get().min(roots.len()).max(1)];
    let mut part_of = vec![0; sites.len()];
    for root in roots {
        let lightest = (0..loads.len()).min_by_key(|part| loads[*part]).unwrap_or_default();
        loads[lightest] += weights[root].max(1);
        part_of[root] = lightest;
    }
    (0..sites.len()).map(|node| part_of[root(&mut sites, node)]).collect()
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
