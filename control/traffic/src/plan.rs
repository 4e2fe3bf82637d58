//! Hosts of a scenario, and both ends of their flows.

use config::scenario::Scenario;
use core::net::IpAddr;
use endpoint::{Connection, End, Host, HostSettings, Transport};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use simulation::{FlowSpec, NodeId, NodeKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Interval, Nanos};
use wire::ethernet::MacAddress;
use wire::roce::{Psn, source_port_of_queue_pairs};

/// Why hosts of a scenario cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The scenario has no such host.
    #[error("the scenario has no host \"{got}\"; it has {valid}")]
    UnknownHost {
        /// The name.
        got: String,
        /// The names of its hosts.
        valid: String,
    },
    /// A host was named twice.
    #[error("host \"{0}\" is named twice")]
    Twice(String),
    /// No flow begins or ends at a host.
    #[error("host \"{0}\" sends and receives nothing in this scenario")]
    Silent(String),
    /// A flow starts again whenever it ends, which only its sender learns.
    #[error(
        "the flows of \"{0}\" start again when they end (a closed loop), which their receiver cannot know; use another kind of traffic"
    )]
    ClosedLoop(String),
    /// Hosts that speak TCP: the simulator computes no checksum of TCP.
    #[error("host \"{0}\" speaks TCP, whose checksums the simulator leaves out; use iperf3 for TCP")]
    Tcp(String),
    /// The scenario has collectives, whose messages wait for those of other hosts.
    #[error("[[collective]] cannot be played: its messages wait for each other; use [[traffic]]")]
    Collective,
    /// A host has more flows than queue pairs.
    #[error("host \"{0}\" has more flows than queue pairs; make the scenario shorter")]
    TooManyFlows(String),
}

/// One end of a flow at a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedEnd {
    /// Time from the start of the run to that of the flow.
    pub start: Interval,
    /// Time from the start of the run at which a flow without end stops.
    pub stop: Option<Interval>,
    /// Its group: an index into [`HostPlan::groups`].
    pub group: u16,
    /// Bytes of the message in each packet of its sender but the last.
    pub sender_mtu: u16,
    /// The end.
    pub connection: Connection,
}

/// The part of one host.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: Arc<HostSettings>,
    /// The ends of its flows in the order of their start, in which they reserve queue pairs.
    pub ends: Vec<PlannedEnd>,
}

/// The parts of some hosts of a scenario.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The parts, in the order in which the hosts were named.
    pub parts: Vec<Part>,
    /// The names of the groups of flows.
    pub groups: Vec<String>,
    /// The stations of all hosts of the scenario, by their addresses.
    pub stations: BTreeMap<IpAddr, MacAddress>,
}

impl HostPlan {
    /// The parts of the hosts `names` in `scenario`. A pure function of both: each machine that plays some of the hosts
    /// knows the queue pairs and sequence numbers of all others.
    ///
    /// # Errors
    /// All of [`PlanError`].
    pub fn new(scenario: &Scenario, names: &[String]) -> Result<Self, PlanError> {
        let chosen = chosen(scenario, names)?;
        let hosts = hosts(scenario);
        if let Some(tcp) = names.iter().zip(&chosen).find(|(_, id)| speaks_tcp(&hosts[id])) {
            return Err(PlanError::Tcp(tcp.0.clone()));
        }
        if !scenario.collectives.is_empty() {
            return Err(PlanError::Collective);
        }
        let mut parts: BTreeMap<NodeId, Vec<PlannedEnd>> =
            chosen.iter().map(|id| (*id, Vec::new())).collect();
        // The hosts only count their queue pairs.
        let mut tables: BTreeMap<NodeId, Host> =
            hosts.iter().map(|(id, settings)| (*id, Host::new(settings.clone()))).collect();
        let mut random = Pcg32::seed_from_u64(scenario.seed);
        for flow in scenario.flows() {
            let ends = [
                (flow.source, flow.destination, End::Sender),
                (flow.destination, flow.source, End::Receiver),
            ];
            let first_psn = Psn::from_low_bits(random.next_u32());
            let mut reserve = |id: &NodeId| tables.get_mut(id).and_then(Host::reserve).ok_or(*id);
            let reserved = reserve(&flow.destination).and_then(|it| Ok((it, reserve(&flow.source)?)));
            let name = |id: NodeId| scenario.topology.node(id).name.clone();
            let (of_receiver, of_sender) = reserved.map_err(|id| PlanError::TooManyFlows(name(id)))?;
            for (id, peer, end) in ends {
                let Some(part) = parts.get_mut(&id) else { continue };
                if flow.again_until.is_some() {
                    return Err(PlanError::ClosedLoop(name(flow.source)));
                }
                let (local, remote) = match end {
                    End::Sender => (of_sender, of_receiver),
                    End::Receiver => (of_receiver, of_sender),
                };
                let connection = Connection {
                    flow: flow.id,
                    end,
                    local,
                    remote,
                    source_port: source_port_of_queue_pairs(of_sender, of_receiver),
                    peer: hosts[&peer].station.address,
                    priority: flow.priority,
                    first_psn,
                    length: flow.bytes,
                };
                part.push(planned(&flow, hosts[&flow.source].mtu, connection));
            }
        }
        let parts: Result<Vec<_>, _> = names
            .iter()
            .zip(&chosen)
            .map(|(name, id)| {
                let ends = parts
                    .remove(id)
                    .filter(|ends| !ends.is_empty())
                    .ok_or(PlanError::Silent(name.clone()))?;
                Ok(Part { name: name.clone(), settings: hosts[id].clone(), ends })
            })
            .collect();
        let stations = hosts.values().map(|it| (it.station.address, it.station.mac)).collect();
        Ok(Self { parts: parts?, groups: scenario.groups.clone(), stations })
    }
}

fn planned(flow: &FlowSpec, sender_mtu: u16, connection: Connection) -> PlannedEnd {
    let from_start = |at: Nanos| at.since(Nanos::ZERO);
    PlannedEnd {
        start: from_start(flow.start),
        stop: flow.stop.map(from_start),
        group: flow.group,
        sender_mtu,
        connection,
    }
}

fn speaks_tcp(settings: &HostSettings) -> bool {
    matches!(settings.transport, Transport::NewReno(_))
}

/// The hosts of a scenario.
fn hosts(scenario: &Scenario) -> BTreeMap<NodeId, Arc<HostSettings>> {
    let nodes = (0..).map(NodeId).zip(&scenario.network.nodes);
    nodes
        .filter_map(|(id, node)| match &node.kind {
            NodeKind::Host(settings) => Some((id, settings.clone())),
            NodeKind::Switch { .. } => None,
        })
        .collect()
}

/// The hosts called `names`, which are all different.
fn chosen(scenario: &Scenario, names: &[String]) -> Result<Vec<NodeId>, PlanError> {
    let topology = &scenario.topology;
    if let Some(place) = (1..names.len()).find(|place| names[..*place].contains(&names[*place])) {
        return Err(PlanError::Twice(names[place].clone()));
    }
    let is_host = |id: &NodeId| topology.hosts().any(|host| host == *id);
    let found = names.iter().map(|name| {
        topology.find(name).filter(is_host).ok_or_else(|| {
            let valid: Vec<_> = topology.hosts().map(|id| topology.node(id).name.as_str()).collect();
            PlanError::UnknownHost { got: name.clone(), valid: valid.join(", ") }
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{PAIRS, scenario};

    fn plan(scenario: &Scenario, names: &[&str]) -> Result<HostPlan, PlanError> {
        HostPlan::new(scenario, &names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn both_ends_of_each_flow_agree_though_each_machine_plans_for_itself() {
        let scenario = scenario(PAIRS);
        let [left, right] =
            [["left0", "left1"], ["right0", "right1"]].map(|names| plan(&scenario, &names).unwrap().parts);
        let ends = |parts: &[Part]| -> Vec<Connection> {
            let mut ends: Vec<_> =
                parts.iter().flat_map(|part| part.ends.iter().map(|end| end.connection)).collect();
            ends.sort_by_key(|end| end.flow);
            ends
        };
        let (senders, receivers) = (ends(&left), ends(&right));
        assert_eq!((senders.len(), receivers.len()), (4, 4));
        for (sender, receiver) in senders.into_iter().zip(receivers) {
            let mirrored = Connection {
                end: End::Sender,
                local: receiver.remote,
                remote: receiver.local,
                peer: sender.peer,
                ..receiver
            };
            assert_eq!((sender, receiver.end), (mirrored, End::Receiver));
        }
    }

    #[test]
    fn a_host_reserves_the_queue_pairs_that_the_plan_counted() {
        for part in plan(&scenario(PAIRS), &["left0", "right1"]).unwrap().parts {
            let mut host = Host::new(part.settings.clone());
            assert!(part.ends.iter().all(|end| host.reserve() == Some(end.connection.local)));
        }
    }

    #[test]
    fn what_cannot_be_played_is_refused_by_name() {
        let ordinary = scenario(PAIRS);
        let unknown = plan(&ordinary, &["sw-left"]).unwrap_err();
        let valid = "left0, left1, right0, right1".into();
        assert_eq!(unknown, PlanError::UnknownHost { got: "sw-left".into(), valid });
        assert_eq!(plan(&ordinary, &["left0", "left0"]).unwrap_err(), PlanError::Twice("left0".into()));
        let one = scenario(&PAIRS.replace("left*", "left0"));
        assert_eq!(plan(&one, &["left1"]).unwrap_err(), PlanError::Silent("left1".into()));
        let tcp = scenario(&format!("{PAIRS}\n[host]\ntransport = \"new-reno\""));
        assert_eq!(plan(&tcp, &["left0"]).unwrap_err(), PlanError::Tcp("left0".into()));
    }
}
