//! What `summary.json` of a run has beyond its figures: switches, hosts, links and checks by name.

use report::{Count, PoolsReport, PortReport, PriorityReport};
use serde::Serialize;
use simulation::topology::Topology;
use simulation::{Checks, HostOutcome, LinkOutcome, Losses, NetworkSpec, NodeKind, Outcome, SwitchOutcome};
use std::collections::BTreeMap;

/// Switches, hosts, links and checks.
#[derive(Serialize)]
pub struct Details {
    switches: BTreeMap<String, SwitchReport>,
    hosts: BTreeMap<String, BTreeMap<&'static str, u64>>,
    links: BTreeMap<String, LinkReport>,
    checks: BTreeMap<&'static str, u64>,
}

/// A switch.
#[derive(Serialize)]
struct SwitchReport {
    pools: PoolsReport,
    ports: Vec<PortReport>,
}

/// A link: what each node has put on it.
#[derive(Serialize)]
struct LinkReport {
    rate_bits_per_second: u64,
    delay_ns: u64,
    sent: BTreeMap<String, SentReport>,
}

/// One direction of a link.
#[derive(Serialize)]
struct SentReport {
    frames: u64,
    bytes: u64,
    wire_bytes: u64,
    lost: BTreeMap<&'static str, Count>,
}

impl Details {
    /// What `outcome` says of the nodes and links of `network`, which have their names from `topology`.
    pub fn new(outcome: &Outcome, network: &NetworkSpec, topology: &Topology) -> Self {
        let name = |node: simulation::NodeId| topology.node(node).name.clone();
        let switch = |switch: &SwitchOutcome| Some((name(switch.node), SwitchReport::new(switch, network)?));
        let host = |host: &HostOutcome| (name(host.node), counters(host));
        let links = topology.links.iter().zip(&outcome.links).map(|(link, ways)| {
            let ends = link.ends.iter().zip(ways);
            let sent = ends.map(|(end, way)| (name(end.node), SentReport::new(way))).collect();
            let rate_bits_per_second = link.wish.rate.bits_per_second();
            (link.name.clone(), LinkReport { rate_bits_per_second, delay_ns: link.wish.delay.0, sent })
        });
        Self {
            switches: outcome.switches.iter().filter_map(switch).collect(),
            hosts: outcome.hosts.iter().map(host).collect(),
            links: links.collect(),
            checks: checks(&outcome.checks),
        }
    }
}

impl SwitchReport {
    fn new(switch: &SwitchOutcome, network: &NetworkSpec) -> Option<Self> {
        let NodeKind::Switch(program) = &network.nodes[switch.node.0 as usize].kind else { return None };
        let settings = program.settings();
        let port = |(settings, look)| {
            let mut port = PortReport::new(settings, look);
            port.priorities.retain(is_used);
            port
        };
        Some(Self {
            pools: PoolsReport::new(&settings.buffer, [&switch.pools]),
            ports: settings.ports.iter().zip(&switch.ports).map(port).collect(),
        })
    }
}

/// Whether anything happened with a priority.
fn is_used(priority: &PriorityReport) -> bool {
    let (ingress, egress) = (&priority.ingress, &priority.egress);
    let (sent, received) = (&priority.pauses_sent, &priority.pauses_received);
    let frames = ingress.received.frames + egress.transmitted.frames + egress.queued.frames;
    let pauses = sent.xoff + sent.slot + received.xoff + received.ignored;
    frames + pauses > 0
}

impl SentReport {
    fn new(way: &LinkOutcome) -> Self {
        let Losses { random, corrupted, control, down } = way.lost;
        let lost = [("random", random), ("corrupted", corrupted), ("control", control), ("down", down)];
        let lost = lost.into_iter().filter(|(_, volume)| volume.frames > 0);
        Self {
            frames: way.carried.frames,
            bytes: way.carried.bytes.0,
            wire_bytes: way.wire.0,
            lost: lost.map(|(fault, volume)| (fault, volume.into())).collect(),
        }
    }
}

fn counters(host: &HostOutcome) -> BTreeMap<&'static str, u64> {
    let counters = &host.counters;
    BTreeMap::from([
        ("data_sent", counters.data_sent),
        ("retransmitted", counters.retransmitted),
        ("data_received", counters.data_received),
        ("marked", counters.marked),
        ("cnps_sent", counters.cnps_sent),
        ("cnps_received", counters.cnps_received),
        ("naks_sent", counters.naks_sent),
        ("timeouts", counters.timeouts),
        ("pauses_received", counters.pauses_received),
        ("strays", counters.strays),
    ])
}

fn checks(checks: &Checks) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("conservation", checks.conservation),
        ("sums", checks.sums),
        ("ledger", checks.ledger),
        ("buffer", checks.buffer),
        ("drops", checks.drops),
        ("order", checks.order),
        ("pause", checks.pause),
        ("link", checks.link),
    ])
}
