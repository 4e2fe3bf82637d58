//! From a plan of named nodes and links to a network with addresses and routes.
//!
//! A [`Plan`] is drawn by hand or by a template ([`Incast`], [`Dumbbell`], [`Linear`], [`LeafSpine`],
//! [`FatTree`], [`TwoDataCenters`]). [`Plan::finish`] refuses what no network can be, and yields a
//! [`Topology`]: ports in the order of links, addresses that can be read, and the shortest paths with all
//! their equal-cost next hops.

mod address;
mod finish;
mod nodes;
mod plan;
mod routes;
mod template;

pub use nodes::{Node, Port, RouteEntry, Topology, TopologyLink};
pub use plan::{LinkWish, Plan, PlanError, PlannedLink, PlannedNode, PlannedRoute, Role};
pub use template::{DataCenter, Dumbbell, FatTree, Incast, LeafSpine, Linear, TwoDataCenters};

#[cfg(test)]
mod tests;
