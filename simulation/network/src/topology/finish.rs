//! The step from a plan to a network.

use super::nodes::{Node, Port, Topology, TopologyLink};
use super::plan::{NetworkPlan, PlanError, Role};
use super::{address, routes};
use crate::network::{LinkEnd, NodeId};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use units::{PortId, PortSet};

impl NetworkPlan {
    /// Checks the plan, and assigns addresses and routes to its nodes.
    ///
    /// # Errors
    /// [`PlanError`] names the first problem of the plan.
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
        if count > NetworkPlan::MOST_NODES {
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

    /// The site of each node: links that are not long-haul join the nodes of a site.
    pub(super) fn sites(&self) -> Vec<usize> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for [one, other] in self.links.iter().filter(|link| !link.settings.long).map(|link| link.between) {
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
            .map(|(node, &site)| Node {
                name: node.name.clone(),
                role: node.role,
                relay: node.relay,
                site,
                ports: Vec::new(),
            })
            .collect();
        let mut links = Vec::with_capacity(self.links.len());
        let [mut pairs, mut seen] = [BTreeMap::new(), BTreeMap::new()];
        for link in &self.links {
            *pairs.entry(ordered(link.between)).or_insert(0_usize) += 1;
        }
        let long = self.links.iter().filter(|link| link.settings.long).count();
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
            let name = if link.settings.long {
                long_seen += 1;
                format!("long{}", self::suffix(long_seen - 1, long))
            } else {
                let [one, other] = link.between.map(|node| &self.nodes[node].name);
                format!("{one}/{other}{suffix}")
            };
            links.push(TopologyLink { name, ends, settings: link.settings, faults: link.faults });
        }
        (nodes, links)
    }
}

fn ordered([one, other]: [usize; 2]) -> (usize, usize) {
    (one.min(other), one.max(other))
}

/// The suffix that distinguishes one of `count` equal names.
fn suffix(index: usize, count: usize) -> String {
    if count > 1 { format!(":{index}") } else { String::new() }
}
