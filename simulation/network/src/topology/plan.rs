//! Nodes and links by name, and what makes a network of them.

use super::address;
use super::routes::{self, RouteEntry};
use crate::network::{Faults, LinkEnd, NodeId};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use units::{BitRate, Distance, Interval, PortId, PortSet};
use wire::ethernet::MacAddress;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends and receives, and has one port.
    Host,
    /// It forwards.
    Switch,
}

/// A node of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNode {
    /// Its name, each once.
    pub name: String,
    /// What it does.
    pub role: Role,
}

/// What a link is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkWish {
    /// Rate of either direction.
    pub rate: BitRate,
    /// From the last bit sent until it has arrived.
    pub delay: Interval,
    /// The fibre that takes so long.
    pub distance: Distance,
    /// Whether it is a long-haul link. What only such links join are sites.
    pub long: bool,
}

impl LinkWish {
    /// A link of a data center.
    pub fn new(rate: BitRate, delay: Interval) -> Self {
        let metres = (u128::from(delay.0) * u128::from(Distance::FIBRE_SPEED)).div_ceil(1_000_000_000);
        let distance = Distance(u64::try_from(metres).unwrap_or(u64::MAX));
        Self { rate, delay, distance, long: false }
    }
}

/// A link of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLink {
    /// The places of its nodes in [`Plan::nodes`].
    pub between: [usize; 2],
    /// What it is like.
    pub wish: LinkWish,
    /// What goes wrong with frames that its first node sends, and with those of its second.
    pub faults: [Faults; 2],
}

/// A route that goes before those that follow from the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRoute {
    /// The switch that has it.
    pub node: usize,
    /// The host, or the switch with its hosts, that it leads to.
    pub to: usize,
    /// The neighbours through which it leads; several share the flows.
    pub via: Vec<usize>,
}

/// Nodes and links, not checked yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The nodes.
    pub nodes: Vec<PlannedNode>,
    /// The links; ports are numbered in their order.
    pub links: Vec<PlannedLink>,
    /// Routes that go before the shortest paths.
    pub routes: Vec<PlannedRoute>,
}

/// Why a plan is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Flows need two hosts.
    #[error("there {} in it; a flow needs two", hosts(*count))]
    Hosts {
        /// Hosts in the plan.
        count: usize,
    },
    /// A count that a template cannot have.
    #[error("{got} {what} are impossible; valid is {valid}")]
    Count {
        /// The key of the template.
        key: &'static str,
        /// What is counted.
        what: &'static str,
        /// How many were asked for.
        got: usize,
        /// How many there may be.
        valid: &'static str,
    },
    /// More nodes than are simulated.
    #[error("there are {count} nodes; up to {} are possible", Plan::MOST_NODES)]
    Nodes {
        /// Nodes in the plan.
        count: usize,
    },
    /// Two nodes have a name.
    #[error("there are two nodes called \"{name}\"")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A link from a node to itself.
    #[error("a link joins {node} to itself")]
    SelfLink {
        /// The node.
        node: String,
    },
    /// A host has no port, or several.
    #[error("the host {host} has {count} links; a host has exactly one")]
    HostLinks {
        /// The host.
        host: String,
        /// Its links.
        count: usize,
    },
    /// A switch has too many ports.
    #[error("the switch {switch} has {count} links; a switch has up to {} ports", PortSet::CAPACITY)]
    Ports {
        /// The switch.
        switch: String,
        /// Its links.
        count: usize,
    },
    /// There is no way between two hosts.
    #[error("there is no way from {from} to {to}")]
    Unreachable {
        /// One host.
        from: String,
        /// The other.
        to: String,
    },
    /// The plan of addresses has no place for it.
    #[error("{what} cannot be addressed: 10.site.rack.host has room for 254 sites and 256 racks in each")]
    Addresses {
        /// What has no address.
        what: String,
    },
    /// A route at a host, or through something that is no neighbour.
    #[error("the route of {node} to {to} leads through {via}, which is not joined to {node}")]
    NotNeighbour {
        /// The switch with the route.
        node: String,
        /// Where it leads.
        to: String,
        /// The next hop.
        via: String,
    },
    /// A route at something that does not forward.
    #[error("{node} is a host, and has no routes")]
    RouteAtHost {
        /// The host.
        node: String,
    },
    /// A route to a switch without hosts.
    #[error("the route of {node} leads to {to}, which has no hosts")]
    RouteToNobody {
        /// The switch with the route.
        node: String,
        /// Where it leads.
        to: String,
    },
    /// Two routes for the same.
    #[error("{node} has two routes to {to}")]
    RouteTwice {
        /// The switch with the routes.
        node: String,
        /// Where they lead.
        to: String,
    },
    /// Frames would go round.
    #[error("with the routes that are given, frames to {to} go round through {node}")]
    RouteLoop {
        /// A switch that they pass more than once.
        node: String,
        /// Where they are to go.
        to: String,
    },
}

impl PlanError {
    /// The key of a template that it is about.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Count { key, .. } => Some(key),
            _ => None,
        }
    }
}

fn hosts(count: usize) -> &'static str {
    if count == 0 { "are no hosts" } else { "is one host" }
}

/// A port of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name: that of the node at the other end, with `:0`, `:1` behind it where several links go there.
    pub name: String,
    /// Its link, by its place in [`Topology::links`].
    pub link: usize,
    /// Which end of the link it is.
    pub end: usize,
    /// From which it sends.
    pub mac: MacAddress,
    /// The address of this end: that of a host, 172.16.0.0/12 at a switch.
    pub address: Ipv4Addr,
}

/// A node of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// What it can reach without a long-haul link: sites are numbered from zero.
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
    /// What it is like.
    pub wish: LinkWish,
    /// What goes wrong with frames of either end.
    pub faults: [Faults; 2],
}

/// A network: whatever a plan asks for is possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its nodes, in the order of the plan.
    pub nodes: Vec<Node>,
    /// Its links, in the order of the plan.
    pub links: Vec<TopologyLink>,
    /// The routes of each node, in the order of nodes; none at hosts.
    pub routes: Vec<Vec<RouteEntry>>,
}

impl Topology {
    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(|index| NodeId(index as u32))
    }

    /// The node with that number, which is one of this network.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The hosts, in the order of nodes.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.role == Role::Host).map(|(index, _)| NodeId(index as u32))
    }

    /// What is at the other end of a port's link.
    pub fn peer(&self, port: &Port) -> (&Node, &Port) {
        let end = self.links[port.link].ends[1 - port.end];
        let node = self.node(end.node);
        (node, &node.ports[end.port.index()])
    }
}

impl Plan {
    /// More than anybody simulates, and few enough for their addresses.
    pub const MOST_NODES: usize = 20_000;

    /// Adds a node; gives back its place.
    pub fn add(&mut self, name: impl Into<String>, role: Role) -> usize {
        self.nodes.push(PlannedNode { name: name.into(), role });
        self.nodes.len() - 1
    }

    /// Adds a link on which nothing goes wrong.
    pub fn join(&mut self, one: usize, other: usize, wish: LinkWish) {
        self.links.push(PlannedLink { between: [one, other], wish, faults: Default::default() });
    }

    /// Checks it, and gives addresses and routes to its nodes.
    ///
    /// # Errors
    /// [`PlanError`]: the first thing that makes it impossible.
    pub fn finish(self) -> Result<Topology, PlanError> {
        self.check_nodes()?;
        self.check_links()?;
        let sites = self.sites();
        let addresses = address::assign(&self, &sites)?;
        let (nodes, links) = self.build(&sites, &addresses.hosts);
        let routes = routes::routes(&self, &nodes, &links, &addresses.racks)?;
        Ok(Topology { nodes, links, routes })
    }

    fn check_nodes(&self) -> Result<(), PlanError> {
        let count = self.nodes.len();
        if count > Self::MOST_NODES {
            return Err(PlanError::Nodes { count });
        }
        let hosts = self.nodes.iter().filter(|node| node.role == Role::Host).count();
        if hosts < 2 {
            return Err(PlanError::Hosts { count: hosts });
        }
        let mut names = BTreeSet::new();
        match self.nodes.iter().find(|node| !names.insert(&node.name)) {
            Some(twice) => Err(PlanError::DuplicateName { name: twice.name.clone() }),
            None => Ok(()),
        }
    }

    fn check_links(&self) -> Result<(), PlanError> {
        if let Some(link) = self.links.iter().find(|link| link.between[0] == link.between[1]) {
            return Err(PlanError::SelfLink { node: self.name(link.between[0]) });
        }
        let mut counts = vec![0_usize; self.nodes.len()];
        for &end in self.links.iter().flat_map(|link| &link.between) {
            counts[end] += 1;
        }
        for (node, count) in self.nodes.iter().zip(counts) {
            match node.role {
                Role::Host if count != 1 => {
                    return Err(PlanError::HostLinks { host: node.name.clone(), count });
                }
                Role::Switch if count > PortSet::CAPACITY => {
                    return Err(PlanError::Ports { switch: node.name.clone(), count });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn name(&self, node: usize) -> String {
        self.nodes[node].name.clone()
    }

    /// The site of each node: what links that are not long-haul join.
    fn sites(&self) -> Vec<usize> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for [one, other] in self.links.iter().filter(|link| !link.wish.long).map(|link| link.between) {
            neighbours[one].push(other);
            neighbours[other].push(one);
        }
        let mut sites = vec![usize::MAX; self.nodes.len()];
        let mut count = 0;
        for first in 0..self.nodes.len() {
            if sites[first] != usize::MAX {
                continue;
            }
            let mut waiting = vec![first];
            while let Some(node) = waiting.pop() {
                if sites[node] == usize::MAX {
                    sites[node] = count;
                    waiting.extend(&neighbours[node]);
                }
            }
            count += 1;
        }
        sites
    }

    fn build(&self, sites: &[usize], hosts: &BTreeMap<usize, Ipv4Addr>) -> (Vec<Node>, Vec<TopologyLink>) {
        let mut nodes: Vec<Node> = self
            .nodes
            .iter()
            .zip(sites)
            .map(|(node, &site)| Node { name: node.name.clone(), role: node.role, site, ports: Vec::new() })
            .collect();
        let mut links = Vec::with_capacity(self.links.len());
        let [mut pairs, mut seen] = [BTreeMap::new(), BTreeMap::new()];
        for link in &self.links {
            *pairs.entry(ordered(link.between)).or_insert(0_usize) += 1;
        }
        let long = self.links.iter().filter(|link| link.wish.long).count();
        let mut long_seen = 0;
        for (index, link) in self.links.iter().enumerate() {
            let pair = ordered(link.between);
            let before = seen.entry(pair).or_insert(0_usize);
            let suffix = suffix(*before, pairs[&pair]);
            *before += 1;
            let ends = [0, 1].map(|end| {
                let (node, peer) = (link.between[end], link.between[1 - end]);
                let number = nodes[node].ports.len();
                let (mac, address) = match hosts.get(&node) {
                    Some(&address) => (address::host_mac(address), address),
                    None => (address::switch_mac(node, number), address::of_link(index, end)),
                };
                let name = format!("{}{suffix}", self.nodes[peer].name);
                nodes[node].ports.push(Port { name, link: index, end, mac, address });
                LinkEnd { node: NodeId(node as u32), port: PortId(number as u16) }
            });
            let name = if link.wish.long {
                long_seen += 1;
                format!("long{}", self::suffix(long_seen - 1, long))
            } else {
                let [one, other] = link.between.map(|node| &self.nodes[node].name);
                format!("{one}/{other}{suffix}")
            };
            links.push(TopologyLink { name, ends, wish: link.wish, faults: link.faults });
        }
        (nodes, links)
    }
}

fn ordered([one, other]: [usize; 2]) -> (usize, usize) {
    (one.min(other), one.max(other))
}

/// What tells one of `count` alike from the others.
fn suffix(index: usize, count: usize) -> String {
    if count > 1 { format!(":{index}") } else { String::new() }
}
