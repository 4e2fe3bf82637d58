//! What the switches and hosts of a run came to, in figures.

use super::ports::PortPlace;
use crate::simulate::summary::{Figure, Metrics};
use simulation::{Ending, NetworkSpec, NodeKind, Outcome, SwitchOutcome};
use switch::figure::{LISTS, Reading, Seen};
use switch::{DropReason, GroupReport, PortInspection, QueueReport, Volume};
use units::Priority;

/// Sums over all switches and hosts, and what each of `ports` held and was told.
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
    say("run.deadlocked".into(), u64::from(matches!(outcome.ending, Ending::Deadlock { .. })));
    say("run.livelocked".into(), u64::from(matches!(outcome.ending, Ending::Livelock { .. })));
    say("flows.started".into(), outcome.flows_started);
    say("flows.unfinished".into(), outcome.flows_started - outcome.flows_ended);
    let mut total = Pauses::default();
    let mut drops = Drops::default();
    let (mut marked, mut direct, mut longest) = (0, 0, 0);
    for port in outcome.switches.iter().flat_map(|switch| &switch.ports) {
        total.add(port);
        drops.add(port);
        marked += port.queues.iter().map(|queue| queue.counters.marked).sum::<u64>();
        longest = longest.max(longest_queue(port));
        direct += port.lscc.as_ref().map_or(0, |lscc| lscc.limiter.direct_cnps);
    }
    total.say("total", &mut say);
    say("drops.lossless".into(), drops.lossless);
    say("drops.lossy".into(), drops.lossy);
    say("ecn.marked".into(), marked);
    say("queue.max_bytes".into(), longest);
    hosts(outcome, direct, &mut say);
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
        let kind = &network.nodes[place.node.0 as usize].kind;
        if let (Some(look), NodeKind::Switch(program)) = (look, kind) {
            of_port(Seen { settings: program.port(place.port), look }, &place.name, &mut say);
        }
    }
}

fn hosts(outcome: &Outcome, direct: u64, say: &mut impl FnMut(String, u64)) {
    let sum = |of: fn(&endpoint::HostCounters) -> u64| -> u64 {
        outcome.hosts.iter().map(|host| of(&host.counters)).sum()
    };
    let from_hosts = sum(|counters| counters.cnps_sent);
    say("cnps.hosts".into(), from_hosts);
    say("cnps.switches".into(), direct);
    say("cnps.total".into(), from_hosts + direct);
    say("cnps.received".into(), sum(|counters| counters.cnps_received));
    say("retransmitted.packets".into(), sum(|counters| counters.retransmitted));
    say("naks.total".into(), sum(|counters| counters.naks_sent));
    say("timeouts.total".into(), sum(|counters| counters.timeouts));
}

/// The most that each pool held. What they have reserved, queues hold beside them.
fn pools(switch: &SwitchOutcome, name: &str, say: &mut impl FnMut(String, u64)) {
    let pools = &switch.pools;
    for (pool, level) in
        [("shared", &pools.shared), ("headroom", &pools.headroom), ("egress_lossy", &pools.egress_lossy)]
    {
        say(format!("pool.{name}.{pool}.max_bytes"), level.watermark.persistent().0);
    }
}

/// The most that one of its egress queues held.
fn longest_queue(port: &PortInspection) -> u64 {
    port.queues.iter().map(|queue| queue.watermark.persistent().0).max().unwrap_or_default()
}

fn of_port(seen: Seen<'_>, name: &str, say: &mut impl FnMut(String, u64)) {
    let port = seen.look;
    say(format!("queue.{name}.max_bytes"), longest_queue(port));
    let lossless = port.groups.iter().filter(|group| group.lossless);
    let held = |group: &GroupReport| group.watermark.persistent().0 + group.headroom_watermark.persistent().0;
    say(format!("ingress.{name}.max_bytes"), lossless.map(held).sum());
    for list in LISTS {
        for (_, figure) in list.figures() {
            if let Some((of_run, Reading::Number(value))) = figure.of_run.zip(figure.read(seen)) {
                say(format!("{}.{name}.{of_run}", list.name), value);
            }
        }
    }
    let mut pauses = Pauses::default();
    pauses.add(port);
    pauses.say(name, say);
}

/// PFC, both ways.
#[derive(Default)]
struct Pauses {
    sent: u64,
    xoff: u64,
    sent_ns: u64,
    received: u64,
    obeyed_ns: u64,
}

impl Pauses {
    fn add(&mut self, port: &PortInspection) {
        for GroupReport { pauses, paused_for, .. } in &port.groups {
            self.sent += pauses.xoff + pauses.refresh + pauses.slot;
            self.xoff += pauses.xoff;
            self.sent_ns += paused_for.iter().map(|time| time.0).sum::<u64>();
        }
        for QueueReport { pauses, paused_for, .. } in &port.queues {
            self.received += pauses.xoff;
            self.obeyed_ns += paused_for.0;
        }
    }

    fn say(&self, name: &str, say: &mut impl FnMut(String, u64)) {
        say(format!("pfc.{name}.pauses_sent"), self.sent);
        say(format!("pfc.{name}.xoff_sent"), self.xoff);
        say(format!("pfc.{name}.paused_ns"), self.sent_ns);
        say(format!("pfc.{name}.pauses_received"), self.received);
        say(format!("pfc.{name}.obeyed_ns"), self.obeyed_ns);
    }
}

/// Frames that switches dropped.
#[derive(Default)]
struct Drops {
    lossless: u64,
    lossy: u64,
}

impl Drops {
    fn add(&mut self, port: &PortInspection) {
        let frames = |drops: &[Volume; DropReason::COUNT]| drops.iter().map(|it| it.frames).sum::<u64>();
        for priority in Priority::all().map(Priority::index) {
            let dropped = frames(&port.ingress.dropped[priority]) + frames(&port.queues[priority].dropped);
            if port.groups[priority].lossless {
                self.lossless += dropped;
            } else {
                self.lossy += dropped;
            }
        }
    }
}
