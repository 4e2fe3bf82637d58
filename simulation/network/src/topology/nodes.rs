//! A network whose nodes have addresses and routes.

use super::plan::{LinkSettings, Role};
use crate::network::{Faults, LinkEnd, NodeId};
use core::net::Ipv4Addr;
use units::PortId;
use wire::ethernet::MacAddress;

/// A route of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The destinations: a rack, or a host.
    pub prefix: Ipv4Addr,
    /// Bits of the prefix: 24 or 32.
    pub bits: u8,
    /// The ports that lead there; several share the flows. Never empty.
    pub ports: Vec<PortId>,
}

/// A port of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name: that of the node at the other end, followed by `:0`, `:1` if several links go there.
    pub name: String,
    /// Its link: an index into [`Topology::links`].
    pub link: usize,
    /// Its end of the link, 0 or 1.
    pub end: usize,
    /// The source address of its frames.
    pub mac: MacAddress,
    /// Its IP address: that of the host, or one of 172.16.0.0/12 at a switch.
    pub address: Ipv4Addr,
}

/// A node of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Whether it is a switch that relays pauses between its two ports.
    pub relay: bool,
    /// Its site, numbered from zero: nodes of a site reach each other without long-haul links.
    pub site: usize,
    /// Its ports, in the order of its links.
    pub ports: Vec<Port>,
}

/// A link of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyLink {
    /// Its name: `long` (`long:0`, `long:1`) for long-haul links, otherwise both nodes with a `/` between.
    pub name: String,
    /// Its ends.
    pub ends: [LinkEnd; 2],
    /// Its rate, delay and length.
    pub settings: LinkSettings,
    /// Faults of the frames that each end sends.
    pub faults: [Faults; 2],
}

/// A network, made of a valid plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its nodes, in the order of the plan.
    pub nodes: Vec<Node>,
    /// Its links, in the order of the plan.
    pub links: Vec<TopologyLink>,
    /// The routes of each node, in the order of nodes; hosts have none.
    pub routes: Vec<Vec<RouteEntry>>,
}

impl Topology {
    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(|index| NodeId(index as u32))
    }

    /// The node `id`.
    ///
    /// # Panics
    /// If the network has no such node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The hosts, in the order of nodes.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.role == Role::Host).map(|(index, _)| NodeId(index as u32))
    }

    /// The node and port at the other end of a port's link.
    pub fn peer(&self, port: &Port) -> (&Node, &Port) {
        let end = self.links[port.link].ends[1 - port.end];
        let node = self.node(end.node);
        (node, &node.ports[end.port.index()])
    }

    /// The ports through which `node` may forward frames for `host`.
    pub fn ports_toward(&self, node: NodeId, host: NodeId) -> Vec<PortId> {
        let address = self.node(host).ports.first().map(|port| port.address);
        let entry = address.and_then(|address| best(&self.routes[node.0 as usize], address));
        entry.map_or_else(Vec::new, |entry| entry.ports.clone())
    }
}

/// The route to `address` with the longest prefix.
pub(super) fn best(entries: &[RouteEntry], address: Ipv4Addr) -> Option<&RouteEntry> {
    let has = |entry: &&RouteEntry| {
        let mask = u32::MAX << (32 - u32::from(entry.bits));
        u32::from(address) & mask == u32::from(entry.prefix)
    };
    entries.iter().filter(has).max_by_key(|entry| entry.bits)
}
