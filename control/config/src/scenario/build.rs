//! Builds a scenario from its file and overrides.

use std::collections::BTreeSet;
use std::sync::Arc;

use endpoint::{CongestionControl, Dcqcn, HostSettings, Station};
use simulation::job::Jobs;
use simulation::topology::{NetworkPlan, PlanError, Role, Topology};
use simulation::{LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec, Reroutes};
use toml::de::DeTable;
use units::{Interval, Nanos, PortId, PrioritySet};

use super::beside::Beside;
use super::host::{Farthest, HostDecl, packet};
use super::layers::{PortLayer, SwitchLayer};
use super::model::{Sampling, Scenario};
use super::names::Names;
use super::network::NetworkDecl;
use super::node::NodeDecl;
use super::paths::{self, Path};
use super::recorded::RecordedEvents;
use super::reroute;
use super::run::{RunDecl, SamplingDecl};
use super::switches::{Made, Maker};
use super::topology;
use super::traffic::{self, Traffic};
use super::uses::Uses;
use crate::link::Senders;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Shape, Table, or, values};

/// Maximum number of switch ports that are recorded by default.
const PORTS: usize = 16;

/// The parts of the file that are read before the network is built.
struct Written {
    plan: NetworkPlan,
    /// The place of routes that change, as far as all links are at fault.
    links: Place,
    run: RunDecl,
    network: NetworkDecl,
    host: HostDecl,
    switch: SwitchLayer,
    long_haul: PortLayer,
    sampling: SamplingDecl,
    /// `[[node]]`.
    nodes: Vec<(Vec<usize>, NodeDecl)>,
}

/// Builds the scenario. Returns `None` and notes errors if that fails.
pub(super) fn build(table: &DeTable<'_>, file: (&str, &Beside), problems: &Problems<'_>) -> Option<Scenario> {
    let mut document = Section::document(table, problems);
    // Variants and claims were read before.
    let skip = |section: &mut Section<'_, '_>| drop(section.rest());
    document.tables("variant", skip);
    document.tables("claim", skip);
    document.table("quick", skip);
    document.expect("topology", "[topology] with template = \"leaf-spine\"");
    let plan = document.table("topology", topology::read).flatten();
    let mut plan = plan?;
    document.tables("link", |it| topology::change_links(it, &mut plan));
    document.tables("route", |it| topology::route(it, &mut plan));
    // A missing part may be one that could not be read.
    let whole = !problems.has_errors();
    let written = read(&mut document, plan);
    let topology = if whole { finish(written.plan.clone(), &document, problems) } else { None };
    let is_long = |topology: &Topology| topology.links.iter().any(|link| link.settings.long);
    if let Some(place) =
        written.long_haul.place().filter(|_| topology.as_ref().is_some_and(|it| !is_long(it)))
    {
        let with = "a network without long-haul links".into();
        problems.error(place, ProblemKind::Meaningless { with });
    }
    let traffic = topology.as_ref().map(|topology| {
        let mut traffic = Traffic::default();
        let reader = traffic::Reader { topology, beside: file.1, until: Nanos(written.run.until().0) };
        document.tables("traffic", |it| reader.read(it, &mut traffic));
        document.tables("collective", |it| reader.read_collective(it, &mut traffic));
        if !document.contains("collective") {
            let example = "[[traffic]] with group = \"all\" and pattern = \"poisson\"";
            document.expect("traffic", example);
        }
        traffic
    });
    if topology.is_none() {
        ignore_traffic(&mut document);
    }
    document.finish();
    let (topology, traffic) = (topology?, traffic?);
    let collectives = document.place_of_key("collective");
    assemble(file, written, topology, (traffic, collectives), problems)
}

/// Leaves out what needs a topology.
fn ignore_traffic(document: &mut Section<'_, '_>) {
    document.tables("traffic", |it| drop(it.rest()));
    document.tables("collective", |it| drop(it.rest()));
}

fn read(document: &mut Section<'_, '_>, plan: NetworkPlan) -> Written {
    let run: RunDecl = Shape::read(document, "scenario").unwrap_or_default();
    let network = Shape::read(document, "network").unwrap_or_default();
    let host: HostDecl = Shape::read(document, "host").unwrap_or_default();
    let switch = Shape::read(document, "switch").unwrap_or_default();
    let long_haul = Shape::read(document, "long_haul").unwrap_or_default();
    let sampling = Shape::read(document, "sampling").unwrap_or_default();
    let known = || plan.nodes.iter().map(|node| node.name.as_str());
    let nodes = document.tables("node", |section| {
        let mut decl: NodeDecl = Table::read(section);
        decl.host = decl.host.map(|own| own.over(host.clone()));
        let names = decl.name.iter();
        let places = names.flat_map(|names| Names::find(names, "node", known(), section.problems));
        let places: Vec<usize> = places.collect();
        decl.check(section, &places, &plan);
        (places, decl)
    });
    let nodes = nodes.unwrap_or_default();
    let links = Place { key: "link.reroute".into(), ..document.place_of_key("link") };
    Written { plan, links, run, network, host, switch, long_haul, sampling, nodes }
}

fn finish(plan: NetworkPlan, document: &Section<'_, '_>, problems: &Problems<'_>) -> Option<Topology> {
    let of_routes = |error: &PlanError| {
        use PlanError as E;
        matches!(
            error,
            E::NotNeighbour { .. }
                | E::RouteAtHost { .. }
                | E::RouteToNobody { .. }
                | E::RouteTwice { .. }
                | E::RouteLoop { .. }
        )
    };
    let refuse = |error| {
        let key = if of_routes(&error) { "route" } else { "topology" };
        problems.error(&document.place_of_key(key), error);
    };
    plan.finish().map_err(refuse).ok()
}

fn assemble(
    file @ (name, _): (&str, &Beside),
    written: Written,
    topology: Topology,
    (traffic, place): (Traffic, Place),
    problems: &Problems<'_>,
) -> Option<Scenario> {
    let uses = Uses::default();
    let jobs = jobs(&traffic, &place, problems)?;
    let paths = paths::longest(&topology, &traffic.workload, &jobs);
    let hosts = hosts(&written, &topology, &paths);
    hosts.iter().filter_map(|(decl, _)| *decl).for_each(|decl| decl.note_tables(&uses));
    check_paths(&written, &topology, &hosts, &paths, problems);
    let switches = switches(file, &written, &topology, &traffic, (&hosts, &uses), problems);
    uses.warn(problems);
    let reroutes = reroutes(&written, &topology, &switches, problems);
    let (sampling, taps) = sampling(&written, &topology, &traffic, problems);
    let counted = counted(&written, &traffic, problems);
    let events = RecordedEvents::new(&written.sampling, &topology, problems);
    if problems.has_errors() {
        return None;
    }
    let network = network(&topology, hosts, &switches, jobs, reroutes)?;
    check_queue_pairs(&network, &place, problems)?;
    let names = topology.nodes.iter().map(|node| node.name.clone());
    let switches = names.zip(switches).filter_map(|(name, switch)| Some((name, switch?.text))).collect();
    let run = written.run;
    Some(Scenario {
        name: name.into(),
        seed: run.seed(),
        until: Nanos(run.until().0),
        limit: Nanos(run.limit_or_default().0),
        stall: run.stall(),
        tolerate_loss: run.tolerate_loss(),
        title: run.title.map(|title| title.value),
        network,
        groups: traffic.groups,
        traffic: traffic.workload,
        collectives: traffic.collectives.into_iter().map(|(collected, _)| collected).collect(),
        sampling,
        counted,
        taps,
        events,
        warnings: Vec::new(),
        switches,
        topology,
    })
}

/// The network of `topology`; `None` if a switch could not be made.
fn network(
    topology: &Topology,
    hosts: Vec<MadeHost<'_>>,
    switches: &[Option<Made>],
    jobs: Jobs,
    reroutes: Reroutes,
) -> Option<NetworkSpec> {
    let kinds = hosts.into_iter().zip(switches).map(|((_, host), switch)| match host {
        Some(host) => Some(NodeKind::Host(host)),
        None => switch.as_ref().map(|it| NodeKind::Switch { program: it.program.clone(), lanes: it.lanes }),
    });
    let named = topology.nodes.iter().zip(kinds);
    let specs: Option<Vec<NodeSpec>> =
        named.map(|(node, kind)| Some(NodeSpec { name: node.name.clone(), kind: kind? })).collect();
    let links = topology.links.iter().map(|link| LinkSpec {
        ends: link.ends,
        rate: link.settings.rate,
        delay: link.settings.delay,
        faults: link.faults,
    });
    let (links, jobs, reroutes) = (links.collect(), Arc::new(jobs), Arc::new(reroutes));
    Some(NetworkSpec { nodes: specs?, links, jobs, reroutes })
}

/// The jobs that its collectives are. Reports an error if they have too many flows.
fn jobs(traffic: &Traffic, place: &Place, problems: &Problems<'_>) -> Option<Jobs> {
    let jobs = Jobs::new(traffic.collectives.iter().map(|(_, job)| job.clone()).collect());
    if jobs.is_none() {
        problems.error(place, ProblemKind::TooManyMessages);
    }
    jobs
}

/// Reports an error if a host needs more queue pairs than it can have.
fn check_queue_pairs(network: &NetworkSpec, place: &Place, problems: &Problems<'_>) -> Option<()> {
    let most = |host| network.host(host).map_or(0, HostSettings::queue_pairs);
    let Some((host, count)) = network.jobs.crowded(most) else { return Some(()) };
    let name = network.nodes[host.0 as usize].name.clone();
    problems.error(place, ProblemKind::Crowded { host: name, count, most: most(host) });
    None
}

/// The keys and settings of a host; `None` for a switch.
type MadeHost<'a> = (Option<&'a HostDecl>, Option<Arc<HostSettings>>);

fn ids(topology: &Topology) -> impl Iterator<Item = NodeId> {
    (0..topology.nodes.len()).map(|index| NodeId(index as u32))
}

/// The hosts, in the order of nodes.
fn hosts<'a>(written: &'a Written, topology: &Topology, paths: &[Path]) -> Vec<MadeHost<'a>> {
    let plain = |role| (role == Role::Host).then_some(&written.host);
    let mut decls: Vec<_> = topology.nodes.iter().map(|node| plain(node.role)).collect();
    for (places, decl) in &written.nodes {
        for &place in places {
            if let (Some(own), Some(host)) = (&decl.host, &mut decls[place]) {
                *host = own;
            }
        }
    }
    let longest = paths.iter().copied().max().unwrap_or_default();
    let made = ids(topology).zip(decls).zip(paths);
    let made = made.map(|((id, host), own)| {
        let paths = [*own, longest];
        (host, host.map(|host| Arc::new(of_host(host, id, topology, written, paths))))
    });
    made.collect()
}

/// Warns of stated values that cannot work on the paths of the hosts that have them, once for each table.
fn check_paths(
    written: &Written,
    topology: &Topology,
    hosts: &[MadeHost<'_>],
    paths: &[Path],
    problems: &Problems<'_>,
) {
    let own = written.nodes.iter().filter_map(|(_, node)| node.host.as_ref());
    for decl in core::iter::once(&written.host).chain(own) {
        let all = topology.nodes.iter().zip(hosts).zip(paths);
        let those = all.filter(|((_, (own, _)), _)| own.is_some_and(|own| core::ptr::eq(own, decl)));
        let farthest = those.max_by_key(|(_, path)| **path);
        let Some(((node, (_, Some(host))), path)) = farthest else { continue };
        let least = decl.least_round_trip(*path);
        let path = Farthest { host: &node.name, least, rate: host.rate, packet: packet(host) };
        decl.check_path(&path, problems);
        if written.network.connection_management() {
            let repeated = "messages are repeated before an answer can arrive";
            path.check(&written.network.connection_timeout, repeated, problems);
        }
    }
}

/// Makes the switches, in the order of nodes, and notes their problems.
fn switches(
    (_, beside): (&str, &Beside),
    written: &Written,
    topology: &Topology,
    traffic: &Traffic,
    (hosts, uses): (&[MadeHost<'_>], &Uses),
    problems: &Problems<'_>,
) -> Vec<Option<Made>> {
    let mut nodes: Vec<Vec<&NodeDecl>> = vec![Vec::new(); topology.nodes.len()];
    for (places, decl) in &written.nodes {
        for &place in places {
            nodes[place].push(decl);
        }
        decl.check_ports(places, topology, problems);
    }
    let settings = hosts.iter().filter_map(|(_, settings)| settings.as_ref());
    let maker = Maker {
        topology,
        network: &written.network,
        data: traffic.priorities().fold(PrioritySet::EMPTY, PrioritySet::with),
        max_frame: settings.map(|host| host.longest_frame()).max().unwrap_or_default(),
        telemetry: hosts.iter().filter_map(|(host, _)| *host).any(HostDecl::wants_telemetry),
        senders: senders(hosts),
        seed: written.run.seed(),
        switch: &written.switch,
        long_haul: &written.long_haul,
        nodes: &nodes,
        beside,
        uses,
    };
    let make = |id| match topology.node(id).role {
        Role::Host => None,
        Role::Switch => maker.make(id, problems),
    };
    let made: Vec<_> = ids(topology).map(make).collect();
    maker.check_bundles(&made, problems);
    made
}

/// The changes of routes that follow faults, if there are all switches.
fn reroutes(
    written: &Written,
    topology: &Topology,
    switches: &[Option<Made>],
    problems: &Problems<'_>,
) -> Reroutes {
    if problems.has_errors() {
        return Reroutes::default();
    }
    let (plan, decl) = (&written.plan, &written.network);
    let limit = Nanos(written.run.limit_or_default().0);
    reroute::Network { plan, topology, decl, switches }.reroutes(limit, &written.links, problems)
}

/// The hosts with DCQCN as senders for LSCC. If they differ, the fewest of them fill a link, and the slowest increase
/// counts.
fn senders(hosts: &[MadeHost<'_>]) -> Option<Senders> {
    let each = hosts.iter().filter_map(|(_, settings)| match settings.as_ref()?.congestion_control {
        CongestionControl::Dcqcn(Dcqcn { additive_increase, rate_timer, .. }) => {
            Some(Senders { rate: settings.as_ref()?.rate, additive_increase, rate_timer })
        }
        _ => None,
    });
    each.reduce(|one, other| Senders {
        rate: one.rate.max(other.rate),
        additive_increase: one.additive_increase.min(other.additive_increase),
        rate_timer: one.rate_timer.max(other.rate_timer),
    })
}

fn of_host(
    host: &HostDecl,
    id: NodeId,
    topology: &Topology,
    written: &Written,
    paths: [Path; 2],
) -> HostSettings {
    // Every host has one port.
    let port = &topology.node(id).ports[0];
    let (_, peer) = topology.peer(port);
    let station = Station { mac: port.mac, address: written.network.address(port.address) };
    let rate = topology.links[port.link].settings.rate;
    host.settings(station, peer.mac, rate, &written.network, paths)
}

/// The times in which the flows start that metrics count. Reports an error if no flow can start then.
fn counted(written: &Written, traffic: &Traffic, problems: &Problems<'_>) -> Option<(Nanos, Nanos)> {
    let At { value, place } = written.sampling.counted.as_ref()?;
    // Collectives go on after `until`.
    if value.0.0 > written.run.until().0 && traffic.collectives.is_empty() {
        let kind = ProblemKind::out_of_range(Interval(value.0.0), "a first time of scenario.until or less");
        problems.error(place, kind);
    }
    Some(*value)
}

/// The figures to record: as stated, or all ports of a small network and the long-haul links of a large one.
fn sampling(
    written: &Written,
    topology: &Topology,
    traffic: &Traffic,
    problems: &Problems<'_>,
) -> (Sampling, Vec<NodeId>) {
    let decl = &written.sampling;
    // Flows of collectives have no rates of their own.
    let has_part = |group: &usize| traffic.workload.parts.iter().any(|it| usize::from(it.group) == *group);
    let drawn: Vec<usize> = (0..traffic.groups.len()).filter(has_part).collect();
    let groups = || drawn.iter().map(|group| traffic.groups[*group].as_str());
    let flows = values(&decl.flows).flat_map(|name| Names::find(name, "group", groups(), problems));
    let switches: Vec<NodeId> = ids(topology).filter(|id| topology.node(*id).role == Role::Switch).collect();
    let names = || switches.iter().map(|id| topology.node(*id).name.as_str());
    let taps = values(&decl.taps).flat_map(|name| Names::find(name, "switch", names(), problems));
    let rows = decl.rows();
    let default = Interval(written.run.until().0 / u64::from(rows)).max(Interval::from_micros(1));
    let sampling = Sampling {
        interval: or(&decl.interval, default),
        rows,
        ports: sampled_ports(decl, topology, problems),
        groups: flows.map(|index| drawn[index] as u16).collect(),
    };
    (sampling, taps.map(|index| switches[index]).collect())
}

fn sampled_ports(decl: &SamplingDecl, topology: &Topology, problems: &Problems<'_>) -> Vec<(NodeId, PortId)> {
    let mut all = Vec::new();
    let mut names = Vec::new();
    for id in ids(topology).filter(|id| topology.node(*id).role == Role::Switch) {
        let node = topology.node(id);
        for (number, port) in node.ports.iter().enumerate() {
            all.push((id, PortId(number as u16)));
            names.push(format!("{}.{}", node.name, port.name));
        }
    }
    match &decl.ports {
        Some(list) => {
            let known = names.iter().map(String::as_str);
            let found = list.value.iter().flat_map(|name| Names::find(name, "port", known.clone(), problems));
            let found: BTreeSet<usize> = found.collect();
            found.into_iter().map(|index| all[index]).collect()
        }
        None if all.len() <= PORTS => all,
        None => {
            let long = |(node, port): &(NodeId, PortId)| {
                topology.links[topology.node(*node).ports[port.index()].link].settings.long
            };
            all.into_iter().filter(long).collect()
        }
    }
}
