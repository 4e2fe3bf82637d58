//! Nodes and links by name, and what makes a network of them.

use crate::network::Faults;
use units::{BitRate, Distance, Interval, PortSet};

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

    pub(super) fn name(&self, node: usize) -> String {
        self.nodes[node].name.clone()
    }
}
