//! Templates of common networks.

use super::plan::{LinkSettings, NetworkPlan, PlanError, Role};
use units::PortSet;

/// Senders and receivers on one switch: hosts `h0`, `h1`... and `r0`..., and `sw0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Incast {
    /// Hosts `h0`...
    pub senders: usize,
    /// Hosts `r0`...
    pub receivers: usize,
    /// The links of the senders.
    pub link: LinkSettings,
    /// The links of the receivers.
    pub receiver_link: LinkSettings,
}

/// Hosts on both sides of one link: `left0`... on `sw-left`, `right0`... on `sw-right`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dumbbell {
    /// Hosts on the left.
    pub left: usize,
    /// Hosts on the right.
    pub right: usize,
    /// The links of the hosts.
    pub link: LinkSettings,
    /// The link between the switches.
    pub bottleneck: LinkSettings,
}

/// Every leaf joined to every spine: `leaf0`..., `spine0`..., hosts `h0`... numbered leaf by leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: usize,
    /// Spine switches.
    pub spines: usize,
    /// Hosts on each leaf.
    pub hosts: usize,
    /// The links of the hosts.
    pub link: LinkSettings,
    /// The links from each leaf to each spine.
    pub uplink: LinkSettings,
}

/// A fat tree (Al-Fares et al., SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, and (k/2)^2
/// core switches: `edge0`..., `agg0`..., `core0`..., hosts `h0`... numbered edge by edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FatTree {
    /// Ports of each switch, an even number.
    pub k: usize,
    /// Hosts on each edge switch; k/2 in the paper.
    pub hosts: usize,
    /// The links of the hosts.
    pub link: LinkSettings,
    /// The links between the switches.
    pub uplink: LinkSettings,
}

/// A data center at one end of the long links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataCenter {
    /// Hosts on the gateway itself.
    Hosts {
        /// Number of hosts.
        hosts: usize,
        /// Their links.
        link: LinkSettings,
    },
    /// One switch with hosts, `sw0`, joined to the gateway.
    Star {
        /// Number of hosts.
        hosts: usize,
        /// Their links.
        link: LinkSettings,
    },
    /// A leaf-spine, whose spines are joined to the gateway.
    LeafSpine(LeafSpine),
    /// A fat tree, whose core switches are joined to the gateway.
    FatTree(FatTree),
}

/// Two data centers with the gateways `gw-east` and `gw-west`, which one or more long links join. All other
/// names begin with `east-` or `west-`, except for relays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoDataCenters {
    /// The data centers behind `gw-east` and `gw-west`.
    pub sites: [DataCenter; 2],
    /// The links from each gateway to the switches of its data center.
    pub gateway_link: LinkSettings,
    /// Number of links between the gateways.
    pub long_links: usize,
    /// The properties of these links.
    pub long_link: LinkSettings,
    /// Whether a relay stands beside the gateway at each end of a long link: `relay-east` and `relay-west`, or
    /// `relay-east0`... if there are several links.
    pub relays: bool,
}

/// Checks that a count is within its range.
fn count(
    key: &'static str,
    what: &'static str,
    got: usize,
    (least, most, valid): (usize, usize, &'static str),
) -> Result<(), PlanError> {
    if (least..=most).contains(&got) { Ok(()) } else { Err(PlanError::Count { key, what, got, valid }) }
}

const OF_A_SWITCH: (usize, usize, &str) = (1, PortSet::CAPACITY, "1 to 128, the ports of a switch");

fn hosts(
    plan: &mut NetworkPlan,
    prefix: &str,
    range: core::ops::Range<usize>,
    switch: usize,
    link: LinkSettings,
) {
    for number in range {
        let host = plan.add(format!("{prefix}{number}"), Role::Host);
        plan.join(host, switch, link);
    }
}

fn switches(plan: &mut NetworkPlan, prefix: &str, count: usize) -> Vec<usize> {
    (0..count).map(|number| plan.add(format!("{prefix}{number}"), Role::Switch)).collect()
}

impl Incast {
    /// The plan of this network.
    ///
    /// # Errors
    /// [`PlanError::Count`] if a count is out of range.
    pub fn plan(&self) -> Result<NetworkPlan, PlanError> {
        count("senders", "senders", self.senders, OF_A_SWITCH)?;
        count("receivers", "receivers", self.receivers, OF_A_SWITCH)?;
        let mut plan = NetworkPlan::default();
        let switch = plan.add("sw0", Role::Switch);
        hosts(&mut plan, "h", 0..self.senders, switch, self.link);
        hosts(&mut plan, "r", 0..self.receivers, switch, self.receiver_link);
        Ok(plan)
    }
}

impl Dumbbell {
    /// The plan of this network.
    ///
    /// # Errors
    /// [`PlanError::Count`] if a count is out of range.
    pub fn plan(&self) -> Result<NetworkPlan, PlanError> {
        count("left", "hosts on the left", self.left, OF_A_SWITCH)?;
        count("right", "hosts on the right", self.right, OF_A_SWITCH)?;
        let mut plan = NetworkPlan::default();
        let left = plan.add("sw-left", Role::Switch);
        let right = plan.add("sw-right", Role::Switch);
        hosts(&mut plan, "left", 0..self.left, left, self.link);
        hosts(&mut plan, "right", 0..self.right, right, self.link);
        plan.join(left, right, self.bottleneck);
        Ok(plan)
    }
}

impl LeafSpine {
    /// The plan of this network.
    ///
    /// # Errors
    /// [`PlanError::Count`] if a count is out of range.
    pub fn plan(&self) -> Result<NetworkPlan, PlanError> {
        let mut plan = NetworkPlan::default();
        self.draw(&mut plan, "")?;
        Ok(plan)
    }

    /// Adds the nodes and links with `prefix` before each name; returns the spines.
    fn draw(&self, plan: &mut NetworkPlan, prefix: &str) -> Result<Vec<usize>, PlanError> {
        count("leaves", "leaves", self.leaves, OF_A_SWITCH)?;
        count("spines", "spines", self.spines, OF_A_SWITCH)?;
        count("hosts", "hosts on a leaf", self.hosts, OF_A_SWITCH)?;
        let leaves = switches(plan, &format!("{prefix}leaf"), self.leaves);
        let spines = switches(plan, &format!("{prefix}spine"), self.spines);
        for (index, &leaf) in leaves.iter().enumerate() {
            let range = index * self.hosts..(index + 1) * self.hosts;
            hosts(plan, &format!("{prefix}h"), range, leaf, self.link);
            for &spine in &spines {
                plan.join(leaf, spine, self.uplink);
            }
        }
        Ok(spines)
    }
}

impl FatTree {
    /// The plan of this network.
    ///
    /// # Errors
    /// [`PlanError::Count`] if a count is out of range.
    pub fn plan(&self) -> Result<NetworkPlan, PlanError> {
        let mut plan = NetworkPlan::default();
        self.draw(&mut plan, "")?;
        Ok(plan)
    }

    /// Adds the nodes and links with `prefix` before each name; returns the core switches.
    fn draw(&self, plan: &mut NetworkPlan, prefix: &str) -> Result<Vec<usize>, PlanError> {
        const VALID: &str = "an even number from 2 to 22";
        count("k", "ports of a switch", self.k, (2, 22, VALID))?;
        if !self.k.is_multiple_of(2) {
            return Err(PlanError::Count { key: "k", what: "ports of a switch", got: self.k, valid: VALID });
        }
        count("hosts", "hosts on an edge switch", self.hosts, OF_A_SWITCH)?;
        let half = self.k / 2;
        let edges = switches(plan, &format!("{prefix}edge"), self.k * half);
        let aggregations = switches(plan, &format!("{prefix}agg"), self.k * half);
        let cores = switches(plan, &format!("{prefix}core"), half * half);
        for (index, &edge) in edges.iter().enumerate() {
            let range = index * self.hosts..(index + 1) * self.hosts;
            hosts(plan, &format!("{prefix}h"), range, edge, self.link);
            let pod = index / half * half;
            for &aggregation in &aggregations[pod..pod + half] {
                plan.join(edge, aggregation, self.uplink);
            }
        }
        for (index, &aggregation) in aggregations.iter().enumerate() {
            let first = index % half * half;
            for &core in &cores[first..first + half] {
                plan.join(aggregation, core, self.uplink);
            }
        }
        Ok(cores)
    }
}

impl TwoDataCenters {
    /// The plan of this network.
    ///
    /// # Errors
    /// [`PlanError::Count`] if a count is out of range.
    pub fn plan(&self) -> Result<NetworkPlan, PlanError> {
        count("count", "long links", self.long_links, (1, 32, "1 to 32"))?;
        let mut plan = NetworkPlan::default();
        let mut gateways = [0; 2];
        for ((site, name), gateway) in self.sites.iter().zip(["east", "west"]).zip(&mut gateways) {
            *gateway = plan.add(format!("gw-{name}"), Role::Switch);
            for switch in site.draw(&mut plan, &format!("{name}-"), *gateway)? {
                plan.join(switch, *gateway, self.gateway_link);
            }
        }
        for number in 0..self.long_links {
            let ends = if self.relays { self.draw_relays(&mut plan, number, gateways) } else { gateways };
            plan.join(ends[0], ends[1], LinkSettings { long: true, ..self.long_link });
        }
        Ok(plan)
    }

    /// Adds the relays of one long link, each as far from its gateway as the switches of the data center are; returns
    /// them.
    fn draw_relays(&self, plan: &mut NetworkPlan, number: usize, gateways: [usize; 2]) -> [usize; 2] {
        let suffix = if self.long_links > 1 { number.to_string() } else { String::new() };
        let short = LinkSettings { rate: self.long_link.rate, long: false, ..self.gateway_link };
        [("east", gateways[0]), ("west", gateways[1])].map(|(site, gateway)| {
            let relay = plan.add(format!("relay-{site}{suffix}"), Role::Switch);
            plan.nodes[relay].relay = true;
            plan.join(gateway, relay, short);
            relay
        })
    }
}

impl DataCenter {
    /// Adds the nodes and links with `prefix` before each name; returns the switches to join to the gateway.
    fn draw(&self, plan: &mut NetworkPlan, prefix: &str, gateway: usize) -> Result<Vec<usize>, PlanError> {
        match self {
            Self::Hosts { hosts: many, link } => {
                count("hosts", "hosts on a gateway", *many, OF_A_SWITCH)?;
                hosts(plan, &format!("{prefix}h"), 0..*many, gateway, *link);
                Ok(Vec::new())
            }
            Self::Star { hosts: many, link } => {
                count("hosts", "hosts on a switch", *many, OF_A_SWITCH)?;
                let switch = plan.add(format!("{prefix}sw0"), Role::Switch);
                hosts(plan, &format!("{prefix}h"), 0..*many, switch, *link);
                Ok(vec![switch])
            }
            Self::LeafSpine(leaf_spine) => leaf_spine.draw(plan, prefix),
            Self::FatTree(tree) => tree.draw(plan, prefix),
        }
    }
}
