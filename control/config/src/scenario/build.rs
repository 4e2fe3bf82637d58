//! From the file with its overrides to what runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use endpoint::{HostSettings, Station};
use simulation::topology::{Plan, PlanError, Role, Topology};
use simulation::{LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
use toml::de::DeTable;
use units::{Interval, Nanos, PortId, PrioritySet};

use super::host::HostWish;
use super::model::{Sampling, Scenario};
use super::names::Names;
use super::network::NetworkWish;
use super::run::{RunDecl, SamplingDecl};
use super::switches::{Made, Maker, NodeWish, PortWish, SwitchWish};
use super::topology;
use super::traffic::{self, Traffic};
use crate::notes::Problems;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Table, or, values};

/// More ports of switches are not recorded unless somebody asks for them.
const PORTS: usize = 16;

/// What is written, before there is a network.
struct Written {
    run: RunDecl,
    network: NetworkWish,
    host: HostWish,
    switch: SwitchWish,
    long_haul: PortWish,
    sampling: SamplingDecl,
    /// `[[node]]`.
    nodes: Vec<(Vec<usize>, NodeDecl)>,
}

/// One `[[node]]`.
struct NodeDecl {
    names: Option<At<Names>>,
    host: Option<HostWish>,
    wish: NodeWish,
    /// Where it names ports.
    ports: Vec<(String, crate::place::Place)>,
}

/// Builds the scenario; `None` where it cannot be, which has been said.
pub(super) fn build(
    table: &DeTable<'_>,
    file: (&str, Option<&Path>),
    problems: &Problems<'_>,
) -> Option<Scenario> {
    let mut document = Section::document(table, problems);
    // What there is to be run, beside the scenario itself, was read before.
    let skip = |section: &mut Section<'_, '_>| drop(section.rest());
    document.tables("variant", skip);
    document.tables("claim", skip);
    document.table("quick", skip);
    document.expect("topology", "[topology] with template = \"leaf-spine\"");
    let plan = document.table("topology", topology::read).flatten();
    let mut plan = plan?;
    document.tables("link", |it| topology::change_links(it, &mut plan));
    document.tables("route", |it| topology::route(it, &mut plan));
    // What could not be read may be what is missing.
    let whole = !problems.has_errors();
    let written = read(&mut document, &plan);
    let topology = if whole { finish(plan, &document, problems) } else { None };
    let traffic = topology.as_ref().map(|topology| {
        let mut traffic = Traffic::default();
        let reader = traffic::Reader { topology, directory: file.1, until: Nanos(written.run.until().0) };
        document.tables("traffic", |it| reader.read(it, &mut traffic));
        document.expect("traffic", "[[traffic]] with group = \"all\" and pattern = \"poisson\"");
        traffic
    });
    if topology.is_none() {
        document.tables("traffic", |it| drop(it.rest()));
    }
    document.finish();
    let (topology, traffic) = (topology?, traffic?);
    assemble(file, written, topology, traffic, problems)
}

fn read(document: &mut Section<'_, '_>, plan: &Plan) -> Written {
    let run: RunDecl = document.table("scenario", Table::read).unwrap_or_default();
    let network = document.table("network", NetworkWish::read).unwrap_or_default();
    let plain = HostWish::default();
    let host = document.table("host", |host| HostWish::read(host, &plain)).unwrap_or(plain);
    let switch = document.table("switch", SwitchWish::read).unwrap_or_default();
    let long_haul = document.table("long_haul", PortWish::read).unwrap_or_default();
    let sampling: SamplingDecl = document.table("sampling", Table::read).unwrap_or_default();
    let known = || plan.nodes.iter().map(|node| node.name.as_str());
    let nodes = document.tables("node", |section| {
        let decl = NodeDecl::read(section, &host);
        let places = decl
            .names
            .as_ref()
            .map_or_else(Vec::new, |names| Names::find(names, "node", known(), section.problems));
        decl.check(section, &places, plan);
        (places, decl)
    });
    Written { run, network, host, switch, long_haul, sampling, nodes: nodes.unwrap_or_default() }
}

impl NodeDecl {
    fn read(section: &mut Section<'_, '_>, all: &HostWish) -> Self {
        let names = section.required::<Names>("name", "name = \"gw-east\"");
        let host = section.table("host", |host| HostWish::read(host, all));
        let switch = section.table("switch", SwitchWish::read);
        let long_haul = section.table("long_haul", PortWish::read);
        let ports = section.named("port", |port| (port.place.clone(), PortWish::read(port)));
        let configuration = section.optional("configuration");
        let places = ports.iter().map(|(name, (place, _))| (name.clone(), place.clone())).collect();
        let ports = ports.into_iter().map(|(name, (_, wish))| (name, wish)).collect();
        Self { names, host, wish: NodeWish { switch, long_haul, ports, configuration }, ports: places }
    }

    /// Complains where a host is told what only a switch can be, or the other way round.
    fn check(&self, section: &Section<'_, '_>, places: &[usize], plan: &Plan) {
        let any = |role| places.iter().any(|place| plan.nodes[*place].role == role);
        if self.host.is_some() && any(Role::Switch) {
            let place = section.place_of_key("host");
            section.problems.error(&place, ProblemKind::Meaningless { with: "a switch".into() });
        }
        for key in ["switch", "long_haul", "port", "configuration"] {
            if section.contains(key) && any(Role::Host) {
                section
                    .problems
                    .error(&section.place_of_key(key), ProblemKind::Meaningless { with: "a host".into() });
            }
        }
    }
}

fn finish(plan: Plan, document: &Section<'_, '_>, problems: &Problems<'_>) -> Option<Topology> {
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
    plan.finish()
        .map_err(|error| {
            let key = if of_routes(&error) { "route" } else { "topology" };
            problems.error(&document.place_of_key(key), error);
        })
        .ok()
}

fn assemble(
    file @ (name, _): (&str, Option<&Path>),
    written: Written,
    topology: Topology,
    traffic: Traffic,
    problems: &Problems<'_>,
) -> Option<Scenario> {
    let hosts = hosts(&written, &topology);
    let switches = switches(file, &written, &topology, &traffic, &hosts, problems);
    let (sampling, taps) = sampling(&written, &topology, &traffic, problems);
    if problems.has_errors() {
        return None;
    }
    let kinds = hosts.into_iter().zip(&switches).map(|((_, host), switch)| match host {
        Some(host) => Some(NodeKind::Host(host)),
        None => switch.as_ref().map(|switch| NodeKind::Switch(switch.program.clone())),
    });
    let named = topology.nodes.iter().zip(kinds);
    let specs: Option<Vec<NodeSpec>> =
        named.map(|(node, kind)| Some(NodeSpec { name: node.name.clone(), kind: kind? })).collect();
    let links = topology.links.iter().map(|link| LinkSpec {
        ends: link.ends,
        rate: link.wish.rate,
        delay: link.wish.delay,
        faults: link.faults,
    });
    let network = NetworkSpec { nodes: specs?, links: links.collect() };
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
        sampling,
        taps,
        warnings: Vec::new(),
        switches,
        topology,
    })
}

/// A host with what was wished for it; neither at a switch.
type MadeHost = (Option<HostWish>, Option<Arc<HostSettings>>);

fn ids(topology: &Topology) -> impl Iterator<Item = NodeId> {
    (0..topology.nodes.len()).map(|index| NodeId(index as u32))
}

/// The hosts, in the order of nodes.
fn hosts(written: &Written, topology: &Topology) -> Vec<MadeHost> {
    let made = ids(topology).zip(host_wishes(written, topology)).map(|(id, wish)| {
        let settings = wish.as_ref().map(|wish| Arc::new(of_host(wish, id, topology, written)));
        (wish, settings)
    });
    made.collect()
}

/// The switches, in the order of nodes; what is wrong with them is said.
fn switches(
    (_, directory): (&str, Option<&Path>),
    written: &Written,
    topology: &Topology,
    traffic: &Traffic,
    hosts: &[MadeHost],
    problems: &Problems<'_>,
) -> Vec<Option<Made>> {
    let mut nodes: Vec<Vec<NodeWish>> = vec![Vec::new(); topology.nodes.len()];
    for (places, decl) in &written.nodes {
        for &place in places {
            nodes[place].push(decl.wish.clone());
        }
        check_ports(places, decl, topology, problems);
    }
    let settings = hosts.iter().filter_map(|(_, settings)| settings.as_ref());
    let maker = Maker {
        topology,
        network: &written.network,
        data: traffic.priorities().fold(PrioritySet::EMPTY, PrioritySet::with),
        max_frame: settings.map(|host| host.data_length(host.mtu)).max().unwrap_or_default(),
        telemetry: hosts.iter().filter_map(|(wish, _)| wish.as_ref()).any(HostWish::wants_telemetry),
        seed: written.run.seed(),
        switch: written.switch.clone(),
        long_haul: written.long_haul.clone(),
        nodes: &nodes,
        directory,
    };
    let make = |id| match topology.node(id).role {
        Role::Host => None,
        Role::Switch => maker.make(id, problems),
    };
    ids(topology).map(make).collect()
}

/// How each host sends; none at switches.
fn host_wishes(written: &Written, topology: &Topology) -> Vec<Option<HostWish>> {
    let plain = |role| (role == Role::Host).then(|| written.host.clone());
    let mut hosts: Vec<_> = topology.nodes.iter().map(|node| plain(node.role)).collect();
    for (places, decl) in &written.nodes {
        for &place in places {
            if let (Some(own), Some(host)) = (&decl.host, &mut hosts[place]) {
                *host = own.clone();
            }
        }
    }
    hosts
}

fn of_host(host: &HostWish, id: NodeId, topology: &Topology, written: &Written) -> HostSettings {
    // A host has one port.
    let port = &topology.node(id).ports[0];
    let (_, peer) = topology.peer(port);
    let station = Station { mac: port.mac, address: port.address };
    let rate = topology.links[port.link].wish.rate;
    let priorities = (written.network.lossless, written.network.dscp);
    host.settings(station, peer.mac, rate, priorities)
}

/// Complains about ports that a node has not.
fn check_ports(places: &[usize], decl: &NodeDecl, topology: &Topology, problems: &Problems<'_>) {
    for &place in places {
        let node = &topology.nodes[place];
        let names = || node.ports.iter().map(|port| port.name.as_str());
        for (name, at) in &decl.ports {
            if !names().any(|it| it == name) {
                problems.error(at, ProblemKind::undefined("port", name, names()));
            }
        }
    }
}

/// What is recorded: what the scenario says, or the ports of a small network and the long links of a large one.
fn sampling(
    written: &Written,
    topology: &Topology,
    traffic: &Traffic,
    problems: &Problems<'_>,
) -> (Sampling, Vec<NodeId>) {
    let decl = &written.sampling;
    let groups = || traffic.groups.iter().map(String::as_str);
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
        groups: flows.map(|index| index as u16).collect(),
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
                topology.links[topology.node(*node).ports[port.index()].link].wish.long
            };
            all.into_iter().filter(long).collect()
        }
    }
}
