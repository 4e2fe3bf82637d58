//! All shortest paths, and routes that take precedence over them.

use super::address::{self, Rack};
use super::nodes::{Node, RouteEntry, Topology, TopologyLink, best};
use super::plan::{NetworkPlan, PlanError, Role};
use core::net::Ipv4Addr;
use std::collections::{BTreeSet, VecDeque};
use units::PortId;

struct Net<'a> {
    plan: &'a NetworkPlan,
    nodes: &'a [Node],
    links: &'a [TopologyLink],
    racks: &'a [Rack],
    /// The links that carry nothing.
    out: &'a BTreeSet<usize>,
}

/// The routes of each node to each rack that is not behind it, over the fewest links.
pub(super) fn routes(
    plan: &NetworkPlan,
    nodes: &[Node],
    links: &[TopologyLink],
    racks: &[Rack],
) -> Result<Vec<Vec<RouteEntry>>, PlanError> {
    let net = Net { plan, nodes, links, racks, out: &BTreeSet::new() };
    racks.iter().try_for_each(|rack| net.check_reach(rack, &net.distances(rack.node)))?;
    net.routes(None)
}

impl NetworkPlan {
    /// The routes of `topology`, which was made of this plan, while the links `out` carry nothing. A given route keeps the
    /// neighbours that are left, and gives way to the shortest paths if none is. A switch without any other path to a rack
    /// keeps its route.
    ///
    /// # Errors
    /// [`PlanError::RouteLoop`] if given routes then have a loop, [`PlanError::Addresses`] if `topology` is of another plan.
    pub fn routes_without(
        &self,
        topology: &Topology,
        out: &BTreeSet<usize>,
    ) -> Result<Vec<Vec<RouteEntry>>, PlanError> {
        let racks = address::assign(self, &self.sites())?.racks;
        let Topology { nodes, links, routes } = topology;
        Net { plan: self, nodes, links, racks: &racks, out }.routes(Some(routes))
    }
}

impl Net<'_> {
    /// The routes over the links that are not out. Those `before` are kept to racks that have no path.
    fn routes(&self, before: Option<&[Vec<RouteEntry>]>) -> Result<Vec<Vec<RouteEntry>>, PlanError> {
        let mut routes = vec![Vec::new(); self.nodes.len()];
        for rack in self.racks {
            let distances = self.distances(rack.node);
            for (node, entries) in routes.iter_mut().enumerate() {
                if self.nodes[node].role == Role::Host || node == rack.node {
                    continue;
                }
                if distances[node].is_none() {
                    let kept = before.into_iter().flat_map(|before| &before[node]);
                    entries.extend(kept.filter(|it| (it.prefix, it.bits) == (rack.prefix, 24)).cloned());
                    continue;
                }
                let nearer = |peer: usize| {
                    self.nodes[peer].role == Role::Switch
                        && distances[peer].is_some_and(|it| Some(it + 1) == distances[node])
                };
                let ports = self.ports_to(node, nearer);
                if !ports.is_empty() {
                    entries.push(RouteEntry { prefix: rack.prefix, bits: 24, ports });
                }
            }
        }
        self.given(&mut routes)?;
        Ok(routes)
    }

    fn is_out(&self, node: usize, port: usize) -> bool {
        self.out.contains(&self.nodes[node].ports[port].link)
    }

    fn peer(&self, node: usize, port: usize) -> usize {
        let port = &self.nodes[node].ports[port];
        self.links[port.link].ends[1 - port.end].node.0 as usize
    }

    fn ports_to(&self, node: usize, wanted: impl Fn(usize) -> bool) -> Vec<PortId> {
        let ports = (0..self.nodes[node].ports.len()).filter(|port| !self.is_out(node, *port));
        ports.filter(|port| wanted(self.peer(node, *port))).map(|port| PortId(port as u16)).collect()
    }

    /// The number of links from each node to `rack`; hosts forward nothing.
    fn distances(&self, rack: usize) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.nodes.len()];
        distances[rack] = Some(0);
        let mut waiting = VecDeque::from([rack]);
        while let Some(node) = waiting.pop_front() {
            if node != rack && self.nodes[node].role == Role::Host {
                continue;
            }
            for port in (0..self.nodes[node].ports.len()).filter(|port| !self.is_out(node, *port)) {
                let peer = self.peer(node, port);
                if distances[peer].is_none() {
                    distances[peer] = distances[node].map(|it| it + 1);
                    waiting.push_back(peer);
                }
            }
        }
        distances
    }

    fn hosts_of(&self, rack: usize) -> impl Iterator<Item = usize> {
        let ports = 0..self.nodes[rack].ports.len();
        ports.map(move |port| self.peer(rack, port)).filter(|peer| self.nodes[*peer].role == Role::Host)
    }

    fn check_reach(&self, rack: &Rack, distances: &[Option<u32>]) -> Result<(), PlanError> {
        let mut hosts = self.nodes.iter().enumerate().filter(|(_, node)| node.role == Role::Host);
        let lost = hosts.find(|(index, _)| distances[*index].is_none());
        match (lost, self.hosts_of(rack.node).next()) {
            (Some((_, from)), Some(to)) => {
                Err(PlanError::Unreachable { from: from.name.clone(), to: self.nodes[to].name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Adds the routes of the plan, which replace others to the same prefix.
    fn given(&self, routes: &mut [Vec<RouteEntry>]) -> Result<(), PlanError> {
        let mut known = BTreeSet::new();
        for given in &self.plan.routes {
            let (node, to) = (self.plan.name(given.node), self.plan.name(given.to));
            if self.nodes[given.node].role == Role::Host {
                return Err(PlanError::RouteAtHost { node });
            }
            if !known.insert((given.node, given.to)) {
                return Err(PlanError::RouteTwice { node, to });
            }
            let mut ports = Vec::new();
            for &via in &given.via {
                let through = self.ports_to(given.node, |peer| peer == via);
                if through.is_empty() && self.out.is_empty() {
                    return Err(PlanError::NotNeighbour { node, to, via: self.plan.name(via) });
                }
                ports.extend(through);
            }
            let Some((prefix, bits)) = self.prefix(given.to) else {
                return Err(PlanError::RouteToNobody { node, to });
            };
            if ports.is_empty() {
                continue;
            }
            let entries = &mut routes[given.node];
            entries.retain(|entry| (entry.prefix, entry.bits) != (prefix, bits));
            entries.push(RouteEntry { prefix, bits, ports });
        }
        let ends: BTreeSet<usize> = self.plan.routes.iter().map(|given| given.to).collect();
        ends.into_iter().try_for_each(|to| self.check_loops(to, routes))
    }

    fn prefix(&self, node: usize) -> Option<(Ipv4Addr, u8)> {
        match self.nodes[node].role {
            Role::Host => Some((self.nodes[node].ports.first()?.address, 32)),
            Role::Switch => {
                let rack = self.racks.iter().find(|rack| rack.node == node)?;
                Some((rack.prefix, 24))
            }
        }
    }

    /// Checks that frames to the hosts of `to` cannot loop.
    fn check_loops(&self, to: usize, routes: &[Vec<RouteEntry>]) -> Result<(), PlanError> {
        let hosts: Vec<usize> = match self.nodes[to].role {
            Role::Host => vec![to],
            Role::Switch => self.hosts_of(to).collect(),
        };
        for host in hosts {
            let mut state = vec![Visit::Never; self.nodes.len()];
            for node in 0..self.nodes.len() {
                if let Some(again) = self.walk(node, host, routes, &mut state) {
                    let (node, to) = (self.plan.name(again), self.plan.name(host));
                    return Err(PlanError::RouteLoop { node, to });
                }
            }
        }
        Ok(())
    }

    /// A switch that frames from `first` to `host` can pass twice, if there is one.
    fn walk(
        &self,
        first: usize,
        host: usize,
        routes: &[Vec<RouteEntry>],
        state: &mut [Visit],
    ) -> Option<usize> {
        let mut path = vec![(first, 0)];
        while let Some((node, branch)) = path.pop() {
            let next = self.next_nodes(node, host, routes);
            if branch == 0 {
                match state[node] {
                    Visit::Done => continue,
                    Visit::Open => return Some(node),
                    Visit::Never => state[node] = Visit::Open,
                }
            }
            match next.get(branch) {
                Some(&peer) => path.extend([(node, branch + 1), (peer, 0)]),
                None => state[node] = Visit::Done,
            }
        }
        None
    }

    fn next_nodes(&self, node: usize, host: usize, routes: &[Vec<RouteEntry>]) -> Vec<usize> {
        if self.nodes[node].role == Role::Host || self.hosts_of(node).any(|it| it == host) {
            return Vec::new();
        }
        let Some(address) = self.nodes[host].ports.first().map(|port| port.address) else {
            return Vec::new();
        };
        best(&routes[node], address).map_or_else(Vec::new, |entry| {
            entry.ports.iter().map(|port| self.peer(node, port.index())).collect()
        })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    Never,
    Open,
    Done,
}
