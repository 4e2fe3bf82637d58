//! Plans of networks: named nodes, and the links between them.

use crate::network::Faults;
use units::{BitRate, Distance, Interval, PortSet};

/// The role of a node.
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
    /// Its name, unique in the plan.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Whether it is a switch that relays pauses between its two links.
    pub relay: bool,
}

/// The properties of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// Rate of either direction.
    pub rate: BitRate,
    /// Propagation delay of either direction.
    pub delay: Interval,
    /// The length of fibre that has this delay.
    pub distance: Distance,
    /// Whether it is a long-haul link, which joins two sites.
    pub long: bool,
}

impl LinkSettings {
    /// A link within a data center.
    pub fn new(rate: BitRate, delay: Interval) -> Self {
        let metres = (u128::from(delay.0) * u128::from(Distance::FIBRE_SPEED)).div_ceil(1_000_000_000);
        let distance = Distance(u64::try_from(metres).unwrap_or(u64::MAX));
        Self { rate, delay, distance, long: false }
    }
}

/// A link of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLink {
    /// Its nodes: indices into [`NetworkPlan::nodes`].
    pub between: [usize; 2],
    /// Its properties.
    pub settings: LinkSettings,
    /// Faults of the frames that its first node sends, and of those that its second sends.
    pub faults: [Faults; 2],
    /// How long after the link goes down, and after it is up again, routes follow; never if it is `None`.
    pub reroute: Option<Interval>,
}

/// A route that takes precedence over the shortest paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRoute {
    /// The switch that has the route.
    pub node: usize,
    /// The destination: a host, or a switch with its hosts.
    pub to: usize,
    /// The next hops; several share the flows.
    pub via: Vec<usize>,
}

/// Nodes and links, not checked yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkPlan {
    /// The nodes.
    pub nodes: Vec<PlannedNode>,
    /// The links; ports are numbered in their order.
    pub links: Vec<PlannedLink>,
    /// Routes that take precedence over the shortest paths.
    pub routes: Vec<PlannedRoute>,
}

/// The reason why a plan is not a valid network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Fewer than two hosts.
    #[error("the network has {}; a flow needs two", hosts(*count))]
    Hosts {
        /// Hosts in the plan.
        count: usize,
    },
    /// A count that is out of the range of a template.
    #[error("{got} {what} are out of range; expected {valid}")]
    Count {
        /// The key of the template.
        key: &'static str,
        /// The things that are counted.
        what: &'static str,
        /// The count that was asked for.
        got: usize,
        /// The valid counts.
        valid: &'static str,
    },
    /// Too many nodes.
    #[error("{count} nodes are too many; expected up to {}", NetworkPlan::MOST_NODES)]
    Nodes {
        /// Nodes in the plan.
        count: usize,
    },
    /// Two nodes have the same name.
    #[error("two nodes are called \"{name}\"")]
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
    /// A host has no link, or several.
    #[error("host {host} has {count} links; a host has exactly one")]
    HostLinks {
        /// The host.
        host: String,
        /// Its links.
        count: usize,
    },
    /// A switch has too many ports.
    #[error("switch {switch} has {count} links; a switch has up to {} ports", PortSet::CAPACITY)]
    Ports {
        /// The switch.
        switch: String,
        /// Its links.
        count: usize,
    },
    /// There is no path between two hosts.
    #[error("no path leads from {from} to {to}")]
    Unreachable {
        /// One host.
        from: String,
        /// The other.
        to: String,
    },
    /// The address plan has no room for the hosts of a node.
    #[error(
        "{what} is beyond the address plan, 10.site.rack.host, which has room for 254 sites and 256 racks in each"
    )]
    Addresses {
        /// The node.
        what: String,
    },
    /// A route leads through a node that is not a neighbour.
    #[error("the route of {node} to {to} leads through {via}, which no link joins to {node}")]
    NotNeighbour {
        /// The switch with the route.
        node: String,
        /// The destination.
        to: String,
        /// The next hop.
        via: String,
    },
    /// A host has a route.
    #[error("{node} is a host, so it has no routes")]
    RouteAtHost {
        /// The host.
        node: String,
    },
    /// A route leads to a switch without hosts.
    #[error("the route of {node} leads to {to}, which has no hosts")]
    RouteToNobody {
        /// The switch with the route.
        node: String,
        /// The destination.
        to: String,
    },
    /// A switch has two routes to the same destination.
    #[error("{node} has two routes to {to}")]
    RouteTwice {
        /// The switch with the routes.
        node: String,
        /// The destination.
        to: String,
    },
    /// The routes have a loop.
    #[error("the routes send frames to {to} in a loop through {node}")]
    RouteLoop {
        /// A switch that frames pass more than once.
        node: String,
        /// The destination.
        to: String,
    },
}

impl PlanError {
    /// The key of the template that is at fault, if it is one.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Count { key, .. } => Some(key),
            _ => None,
        }
    }
}

fn hosts(count: usize) -> &'static str {
    if count == 0 { "no hosts" } else { "one host" }
}

impl NetworkPlan {
    /// The most nodes of a plan, which the address plan has room for.
    pub const MOST_NODES: usize = 20_000;

    /// Adds a node; returns its index.
    pub fn add(&mut self, name: impl Into<String>, role: Role) -> usize {
        self.nodes.push(PlannedNode { name: name.into(), role, relay: false });
        self.nodes.len() - 1
    }

    /// Adds a link without faults.
    pub fn join(&mut self, one: usize, other: usize, settings: LinkSettings) {
        let faults = Default::default();
        self.links.push(PlannedLink { between: [one, other], settings, faults, reroute: None });
    }

    pub(super) fn name(&self, node: usize) -> String {
        self.nodes[node].name.clone()
    }
}
