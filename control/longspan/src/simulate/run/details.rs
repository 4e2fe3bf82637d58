//! The rest of `summary.json` of a run: switches, hosts, links and checks by name.

use super::ports::program;
use report::{PoolsReport, PortReport, PriorityReport};
use serde::Serialize;
use serde_json::{Value, json};
use simulation::topology::Topology;
use simulation::{Checks, HostOutcome, LinkOutcome, Losses, NetworkSpec, Outcome, SwitchOutcome};
use std::collections::BTreeMap;

/// Switches, hosts, links and checks.
#[derive(Serialize)]
pub struct Details {
    switches: BTreeMap<String, SwitchReport>,
    hosts: BTreeMap<String, Value>,
    links: BTreeMap<String, Value>,
    checks: Checks,
}

/// A switch.
#[derive(Serialize)]
struct SwitchReport {
    pools: PoolsReport,
    ports: Vec<PortReport>,
}

impl Details {
    /// The details of `outcome`. `topology` has the names of the nodes and links of `network`.
    pub fn new(outcome: &Outcome, network: &NetworkSpec, topology: &Topology) -> Self {
        let name = |node: simulation::NodeId| topology.node(node).name.clone();
        let switch = |switch: &SwitchOutcome| Some((name(switch.node), SwitchReport::new(switch, network)?));
        let host = |host: &HostOutcome| (name(host.node), counters(host));
        let links = topology.links.iter().zip(&outcome.links).map(|(link, ways)| {
            let ends = link.ends.iter().zip(ways);
            let sent: BTreeMap<_, _> = ends.map(|(end, way)| (name(end.node), sent(way))).collect();
            let (rate, delay) = (link.settings.rate.bits_per_second(), link.settings.delay.0);
            (link.name.clone(), json!({ "rate_bits_per_second": rate, "delay_ns": delay, "sent": sent }))
        });
        Self {
            switches: outcome.switches.iter().filter_map(switch).collect(),
            hosts: outcome.hosts.iter().map(host).collect(),
            links: links.collect(),
            checks: outcome.checks,
        }
    }
}

impl SwitchReport {
    fn new(switch: &SwitchOutcome, network: &NetworkSpec) -> Option<Self> {
        let settings = program(network, switch.node)?.settings();
        let port = |(settings, look)| {
            let mut port = PortReport::new(settings, look);
            port.priorities.retain(is_used);
            port
        };
        Some(Self {
            pools: PoolsReport::new(&settings.buffer, &switch.pools),
            ports: settings.ports.iter().zip(&switch.ports).map(port).collect(),
        })
    }
}

/// Whether a priority had any frames or pauses.
fn is_used(priority: &PriorityReport) -> bool {
    let (ingress, egress) = (&priority.ingress, &priority.egress);
    let (sent, received) = (priority.pauses_sent.frames, priority.pauses_received.frames);
    let frames = ingress.received.frames + egress.transmitted.frames + egress.queued.frames;
    let pauses = sent.xoff + sent.slot + sent.timed + received.xoff + received.ignored;
    frames + pauses > 0
}

/// The frames that a node put on a link, and the lost ones by cause.
fn sent(way: &LinkOutcome) -> Value {
    let Losses { random, corrupted, control, down } = way.lost;
    let lost = [("random", random), ("corrupted", corrupted), ("control", control), ("down", down)];
    let lost: BTreeMap<_, _> = lost.into_iter().filter(|(_, volume)| volume.frames > 0).collect();
    json!({
        "frames": way.carried.frames,
        "bytes": way.carried.bytes.0,
        "wire_bytes": way.wire.0,
        "lost": lost,
    })
}

/// The counters of a host except for the messages that only some scenarios have, which are a metric of the run.
fn counters(host: &HostOutcome) -> Value {
    let mut counters = json!(host.counters);
    if let Some(counters) = counters.as_object_mut() {
        counters.shift_remove("messages_repeated");
    }
    counters
}
