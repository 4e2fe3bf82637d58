//! Plans of named nodes and links, and the networks with addresses and routes that follow from them.
//!
//! A [`NetworkPlan`] is drawn by hand or by a template ([`Incast`], [`Dumbbell`], [`LeafSpine`],
//! [`FatTree`], [`TwoDataCenters`]). [`NetworkPlan::finish`] rejects impossible plans, and returns a [`Topology`]:
//! ports in the order of links, readable addresses, and the shortest paths with all their equal-cost next
//! hops.

mod address;
mod finish;
mod nodes;
mod plan;
mod routes;
mod template;

pub use address::{IPV6_BITS, ipv6_of};
pub use nodes::{Node, Port, RouteEntry, Topology, TopologyLink};
pub use plan::{LinkSettings, NetworkPlan, PlanError, PlannedLink, PlannedNode, PlannedRoute, Role};
pub use template::{DataCenter, Dumbbell, FatTree, Incast, LeafSpine, TwoDataCenters};

#[cfg(test)]
mod tests;
