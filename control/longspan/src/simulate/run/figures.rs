//! The metrics of the switches and hosts of a run.

use super::ports::{PortPlace, program};
use crate::simulate::figure::{Figure, Metrics};
use config::may_hold;
use simulation::{Ending, NetworkSpec, NodeKind, Outcome, SwitchOutcome};
use switch::figure::{LISTS, Reading, Seen};
use switch::{GroupReport, PoolLevel, PoolReport, PortInspection};
use units::Priority;

/// The listed figures whose sum is the number of CNPs from switches.
const FROM_SWITCHES: [&str; 2] = ["direct_cnps", "supplemental_cnps"];

/// Adds totals of all switches and hosts, and the metrics of each of `ports`.
pub fn figures(
    outcome: &Outcome,
    network: &NetworkSpec,
    ports: &[PortPlace],
    names: &[String],
    metrics: &mut Metrics,
) {
    let mut say = |name: String, value: u64| {
        metrics.insert(name, Figure(value as f64));
    };
    say("run.end_ns".into(), outcome.end.0);
    say("run.transmissions".into(), outcome.transmissions);
    say("run.deadlocked".into(), u64::from(matches!(outcome.ending, Ending::Deadlock { .. })));
    say("run.livelocked".into(), u64::from(matches!(outcome.ending, Ending::Livelock { .. })));
    say("flows.started".into(), outcome.flows_started);
    say("flows.unfinished".into(), outcome.flows_started - outcome.flows_ended);
    let settings =
        |switch: &SwitchOutcome| program(network, switch.node).map_or(&[][..], |it| &it.settings().ports);
    let seen = outcome.switches.iter().flat_map(|switch| settings(switch).iter().zip(&switch.ports));
    let cnps = seen.flat_map(|(settings, look)| listed(Seen { settings, look }));
    let direct = cnps.filter(|(_, name, _)| FROM_SWITCHES.contains(name)).map(|(.., value)| value).sum();
    let all: Vec<_> = outcome.switches.iter().flat_map(|switch| &switch.ports).collect();
    pauses("total", &all, &mut say);
    let marked = all.iter().flat_map(|port| &port.queues).map(|queue| queue.counters.marked);
    say("drops.lossless".into(), dropped(&all, true));
    say("drops.lossy".into(), dropped(&all, false));
    say("ecn.marked".into(), marked.sum());
    say("queue.max_bytes".into(), all.iter().map(|port| longest_queue(port)).max().unwrap_or_default());
    say("control.frames".into(), all.iter().map(|port| port.control_sent.frames).sum());
    hosts(outcome, network, direct, &mut say);
    let lost = |volume: u64, link: &[simulation::LinkOutcome; 2]| {
        volume + link.iter().map(|way| way.lost.total().frames).sum::<u64>()
    };
    say("links.lost".into(), outcome.links.iter().fold(0, lost));
    for switch in &outcome.switches {
        pools(switch, &names[switch.node.0 as usize], &mut say);
    }
    for place in ports.iter().filter(|place| place.of_switch) {
        let switch = outcome.switches.iter().find(|switch| switch.node == place.node);
        let look = switch.and_then(|switch| switch.ports.get(place.port.index()));
        if let Some((look, program)) = look.zip(program(network, place.node)) {
            of_port(Seen { settings: program.port(place.port), look }, &place.name, &mut say);
            if let Some(bytes) = may_hold(program.port(place.port), &program.settings().buffer) {
                say(format!("may_hold.{}.bytes", place.name), bytes.0);
            }
        }
    }
}

fn hosts(outcome: &Outcome, network: &NetworkSpec, direct: u64, say: &mut impl FnMut(String, u64)) {
    let sum = |of: fn(&endpoint::HostCounters) -> u64| -> u64 {
        outcome.hosts.iter().map(|host| of(&host.counters)).sum()
    };
    let from_hosts = sum(|counters| counters.cnps_sent);
    say("cnps.hosts".into(), from_hosts);
    say("cnps.switches".into(), direct);
    say("cnps.total".into(), from_hosts + direct);
    say("cnps.received".into(), sum(|counters| counters.cnps_received));
    say("direct_int.received".into(), sum(|counters| counters.direct_ints_received));
    say("retransmitted.packets".into(), sum(|counters| counters.retransmitted));
    say("naks.total".into(), sum(|counters| counters.naks_sent));
    say("timeouts.total".into(), sum(|counters| counters.timeouts));
    let manages = |kind: &NodeKind| matches!(kind, NodeKind::Host(host) if host.manages_connections());
    if network.nodes.iter().any(|node| manages(&node.kind)) {
        say("messages.repeated".into(), sum(|counters| counters.messages_repeated));
    }
}

/// The maximum use of each pool, without the reserved parts of queues.
fn pools(switch: &SwitchOutcome, name: &str, say: &mut impl FnMut(String, u64)) {
    let most = |of: fn(&PoolReport) -> &PoolLevel| {
        switch.pools.iter().map(|pools| of(pools).watermark.persistent().0).sum()
    };
    say(format!("pool.{name}.shared.max_bytes"), most(|pools| &pools.shared));
    say(format!("pool.{name}.headroom.max_bytes"), most(|pools| &pools.headroom));
    say(format!("pool.{name}.egress_lossy.max_bytes"), most(|pools| &pools.egress_lossy));
}

/// The maximum length of any of its egress queues.
fn longest_queue(port: &PortInspection) -> u64 {
    port.queues.iter().map(|queue| queue.watermark.persistent().0).max().unwrap_or_default()
}

/// The figures that are listed for the metrics of a run: their list, name and value.
fn listed(seen: Seen<'_>) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    let figures = LISTS.into_iter().flat_map(|list| list.figures().map(|(_, figure)| (list.name, figure)));
    figures.filter_map(move |(list, figure)| match figure.read(seen)? {
        Reading::Number(value) => Some((list, figure.of_run?, value)),
        Reading::Delay(_) => None,
    })
}

fn of_port(seen: Seen<'_>, name: &str, say: &mut impl FnMut(String, u64)) {
    let port = seen.look;
    say(format!("queue.{name}.max_bytes"), longest_queue(port));
    let lossless = port.groups.iter().filter(|group| group.lossless);
    let held = |group: &GroupReport| group.watermark.persistent().0 + group.headroom_watermark.persistent().0;
    say(format!("ingress.{name}.max_bytes"), lossless.map(held).sum());
    for (list, of_run, value) in listed(seen) {
        say(format!("{list}.{name}.{of_run}"), value);
    }
    pauses(name, &[port], say);
}

/// PFC of `ports` in both directions.
fn pauses(name: &str, ports: &[&PortInspection], say: &mut impl FnMut(String, u64)) {
    let groups = || ports.iter().flat_map(|port| &port.groups);
    let queues = || ports.iter().flat_map(|port| &port.queues);
    let sent = groups().map(|GroupReport { pauses: it, .. }| it.xoff + it.refresh + it.slot + it.timed);
    say(format!("pfc.{name}.pauses_sent"), sent.sum());
    say(format!("pfc.{name}.xoff_sent"), groups().map(|group| group.pauses.xoff).sum());
    say(
        format!("pfc.{name}.paused_ns"),
        groups().flat_map(|group| &group.paused_for).map(|time| time.0).sum(),
    );
    say(format!("pfc.{name}.pauses_received"), queues().map(|queue| queue.pauses.xoff).sum());
    say(format!("pfc.{name}.obeyed_ns"), queues().map(|queue| queue.paused_for.0).sum());
}

/// The frames of lossless or of lossy priorities that `ports` dropped.
fn dropped(ports: &[&PortInspection], lossless: bool) -> u64 {
    let classes = ports.iter().flat_map(|port| Priority::all().map(move |priority| (port, priority.index())));
    let classes = classes.filter(|(port, priority)| port.groups[*priority].lossless == lossless);
    let volumes = classes.flat_map(|(port, priority)| {
        port.ingress.dropped[priority].iter().chain(&port.queues[priority].dropped)
    });
    volumes.map(|volume| volume.frames).sum()
}
