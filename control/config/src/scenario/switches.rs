//! Generates the configuration of each switch from the plan and the layers of the scenario, and reads it like the
//! file of a gateway.

use std::collections::BTreeMap;
use std::sync::Arc;

use simulation::NodeId;
use simulation::topology::{Node as PlanNode, Port, Role, RouteEntry, Topology};
use switch::Route;
use switch::program::Program;
use toml::de::DeTable;
use units::{BitRate, Bytes, PortId, PrioritySet};

use super::beside::Beside;
use super::layers::{EcnDecl, PortLayer, SwitchLayer};
use super::network::NetworkDecl;
use super::node::NodeDecl;
use super::tree::{Node, Tree};
use super::uses::Uses;
use crate::gateway::Gateway;
use crate::keys::port::{AllProfiles, SCHEME_TABLES};
use crate::link::Senders;
use crate::load;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::{ConfigError, Problem, ProblemKind};
use crate::render::render;
use crate::section::Section;
use crate::table::{Shape, at};
use crate::value::Written;

/// The default shared pool of a switch, as in the paper of HPCC.
const SHARED: &str = "32MB";
/// A key for hellos: a simulation has no attackers.
const KEY_OF_HELLOS: &str = "5c0ff1e5c0ff1e5c0ff1e5c0ff1e5c0f";

/// Everything that the configurations of switches depend on.
pub(super) struct Maker<'a> {
    pub topology: &'a Topology,
    pub network: &'a NetworkDecl,
    /// The priorities of all flows.
    pub data: PrioritySet,
    /// The longest frame of any host.
    pub max_frame: Bytes,
    /// Whether packets collect in-band telemetry.
    pub telemetry: bool,
    /// The senders that LSCC on a link expects, if any host has DCQCN.
    pub senders: Option<Senders>,
    pub seed: u64,
    pub switch: &'a SwitchLayer,
    pub long_haul: &'a PortLayer,
    /// The keys of each node, in the order of nodes.
    pub nodes: &'a [Vec<&'a NodeDecl>],
    pub beside: &'a Beside,
    pub uses: &'a Uses,
}

/// A switch, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub program: Arc<Program>,
    /// The number of its lanes.
    pub lanes: usize,
    /// Its complete configuration.
    pub text: String,
}

impl Maker<'_> {
    /// Makes the switch `id`. Returns `None` and notes errors if that fails. A problem that was noted for another
    /// switch is not repeated.
    pub fn make(&self, id: NodeId, problems: &Problems<'_>) -> Option<Made> {
        let node = self.topology.node(id);
        let decls = &self.nodes[id.0 as usize];
        if let Some(file) = decls.iter().rev().find_map(|decl| decl.configuration.as_ref()) {
            return self.load(node, file, problems);
        }
        let (mut document, unread) = self.document(id);
        let mut text = document.text();
        let name = format!("{} (generated)", node.name);
        let mut parsed = load::parse(&text, &name);
        if let Ok(gateway) = &parsed
            && let Some(bundles) = self.bundles(id, gateway)
        {
            document.put("bundle", bundles);
            text = document.text();
            parsed = load::parse(&text, &name);
        }
        let (made, found) = match parsed {
            Ok(Gateway { program, runtime, warnings, .. }) => (Some((program, runtime.dpdk.lanes)), warnings),
            Err(ConfigError::Invalid { problems }) => (None, problems),
            Err(ConfigError::Unreadable { .. }) => (None, Vec::new()),
        };
        note(&found, &document, &text, node, problems);
        for (port, tables) in node.ports.iter().zip(unread) {
            check_unread(&tables, &port.name, node, problems);
        }
        made.map(|(program, lanes)| Made { program, lanes, text })
    }

    fn load(&self, node: &PlanNode, file: &At<String>, problems: &Problems<'_>) -> Option<Made> {
        let of_file = |reason: String| ProblemKind::File { path: file.value.clone(), reason };
        let loaded = self.beside.gateway(&file.value);
        let gateway = loaded.map_err(|reason| problems.error(&file.place, of_file(reason))).ok()?;
        for warning in &gateway.warnings {
            problems.warning(&file.place, of_file(warning.to_string()));
        }
        self.check_file(node, file, &gateway, problems)?;
        let text = render(&gateway);
        Some(Made { program: gateway.program, lanes: gateway.runtime.dpdk.lanes, text })
    }

    /// Checks that the ports of a file match the links of its node.
    fn check_file(
        &self,
        node: &PlanNode,
        file: &At<String>,
        gateway: &Gateway,
        problems: &Problems<'_>,
    ) -> Option<()> {
        let (file, place) = (file.value.clone(), &file.place);
        let ports = &gateway.program.settings().ports;
        if ports.len() != node.ports.len() {
            let (switch, ports, links) = (node.name.clone(), ports.len(), node.ports.len());
            problems.error(place, ProblemKind::PortsOfFile { file, switch, ports, links });
            return None;
        }
        let mut links = node.ports.iter().map(|port| &self.topology.links[port.link]).zip(ports);
        let Some((link, port)) = links.find(|(link, port)| port.rate != link.settings.rate) else {
            return Some(());
        };
        let (rate, of_link) = (port.rate, link.settings.rate);
        let (port, link) = (port.name.clone(), link.name.clone());
        problems.error(place, ProblemKind::RateOfFile { file, port, link, rate, of_link });
        None
    }

    /// The configuration of a switch, and the tables that each of its ports does not read, as profiles.
    fn document(&self, id: NodeId) -> (Node, Vec<Node>) {
        let node = self.topology.node(id);
        let decls = &self.nodes[id.0 as usize];
        // With equal seeds, all switches would choose alike between equal-cost paths.
        let own = (u64::from(id.0) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let seed = (self.seed ^ own).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let (name, seed) = (Node::leaf(node.name.as_str()), Node::leaf((seed >> 1) as i64));
        let layers = self.layers(id).filter_map(|layer| layer.document.as_ref());
        let lanes = layers.clone().rev().find_map(|layer| layer.get("dpdk")?.get("lanes"));
        let has_lanes = lanes.is_some_and(|lanes| lanes.tree != Tree::Leaf(1.into()));
        let ports = node.ports.iter().map(|port| self.port(port, node, decls, has_lanes));
        let (ports, unread): (Vec<Node>, Vec<Node>) = ports.unzip();
        let mut document = Node::table([
            ("gateway", Node::table([("name", name), ("seed", seed)])),
            ("buffer", Node::table([("shared", Node::leaf(SHARED))])),
            ("forwarding", self.forwarding(id)),
            ("port", Node::array(without_marks_beside_lscc(ports))),
        ]);
        layers.cloned().for_each(|layer| document.merge(layer));
        (document, unread)
    }

    /// The layers for a switch, later ones over earlier ones.
    fn layers(&self, id: NodeId) -> impl DoubleEndedIterator<Item = &SwitchLayer> + Clone {
        let own = self.nodes[id.0 as usize].iter().filter_map(|decl| decl.switch.as_ref());
        [self.switch].into_iter().chain(own)
    }

    /// Refuses settings of bundles of which there is none.
    pub fn check_bundles(&self, made: &[Option<Made>], problems: &Problems<'_>) {
        let has_none = |made: &Made| made.program.settings().ports.iter().all(|port| port.bundle.is_none());
        let own = made.iter().zip(self.nodes).filter(|(made, _)| made.as_ref().is_some_and(has_none));
        let own = own.flat_map(|(_, decls)| decls.iter().filter_map(|decl| decl.switch.as_ref()));
        let all = made.iter().flatten().all(has_none).then_some(self.switch);
        for place in own.chain(all).filter_map(|layer| layer.bundle.as_ref()?.origin.as_ref()) {
            let with = "switches that no two links join to another one".into();
            problems.error(place, ProblemKind::Meaningless { with });
        }
    }

    /// The bundles of a switch: its links to one other switch each, where their settings allow it.
    fn bundles(&self, id: NodeId, gateway: &Gateway) -> Option<Node> {
        let (node, settings) = (self.topology.node(id), gateway.program.settings());
        let mut groups: BTreeMap<&str, Vec<PortId>> = BTreeMap::new();
        for (number, port) in (0..).map(PortId).zip(&node.ports) {
            let (peer, _) = self.topology.peer(port);
            if peer.role == Role::Switch && gateway.links[number.index()].distance.is_some() {
                groups.entry(&peer.name).or_default().push(number);
            }
        }
        groups.retain(|_, members| settings.may_bundle(members).is_ok());
        let bundle = |(peer, members): (&&str, &Vec<PortId>)| {
            let members = members.iter().map(|it| Node::leaf(node.ports[it.index()].name.as_str()));
            let mut made =
                Node::table([("name", Node::leaf(*peer)), ("members", Node::array(members.collect()))]);
            self.layers(id).filter_map(|layer| layer.bundle.clone()).for_each(|stated| made.merge(stated));
            if made.is("liveness", "hello") && made.get("key").is_none() && made.get("key_file").is_none() {
                made.set("key", KEY_OF_HELLOS);
            }
            made
        };
        (!groups.is_empty()).then(|| Node::array(groups.iter().map(bundle).collect()))
    }

    fn forwarding(&self, id: NodeId) -> Node {
        let node = self.topology.node(id);
        let neighbour = |port: &Port| {
            let (_, peer) = self.topology.peer(port);
            Node::table([
                ("address", Node::leaf(self.network.address(peer.address).to_string())),
                ("mac", Node::leaf(peer.mac.to_string())),
                ("port", Node::leaf(port.name.as_str())),
            ])
        };
        let route = |entry: &RouteEntry| {
            let Route { prefix, next_hops } = next_hops(self.topology, self.network, id, entry);
            let hops = next_hops.iter().map(|hop| Node::leaf(hop.to_string())).collect();
            Node::table([("prefix", Node::leaf(prefix.to_string())), ("next_hops", Node::array(hops))])
        };
        let routes = routed(self.topology, id, &self.topology.routes[id.0 as usize]);
        Node::table([
            ("mode", Node::leaf("route")),
            ("neighbour", Node::array(node.ports.iter().map(neighbour).collect())),
            ("route", Node::array(routes.map(route).collect())),
        ])
    }

    fn port(&self, port: &Port, node: &PlanNode, decls: &[&NodeDecl], has_lanes: bool) -> (Node, Node) {
        let link = &self.topology.links[port.link].settings;
        let long = link.long;
        let mut layers = vec![&self.switch.port];
        layers.extend(long.then_some(self.long_haul));
        for own in decls {
            layers.extend(own.switch.as_ref().map(|switch| &switch.port));
            layers.extend(own.long_haul.as_ref().filter(|_| long));
            layers.extend(own.ports().filter(|(name, _)| *name == port.name).map(|(_, (_, port))| port));
        }
        let mut made = self.bare_port(port, node, has_lanes);
        // A relay stands in the link, and its queue is bytes of the link.
        let unstated = EcnDecl { on: at(!node.relay), ..EcnDecl::default() };
        let ecn = layers.iter().fold(unstated, |below, layer| layer.ecn.on_top_of(below));
        let mut lossless = Node::array(self.group().into_iter().collect());
        let mut queue = Node::array(self.queue(link.rate, &ecn).into_iter().collect());
        // The thresholds of the switches would pause the long link whenever a relay's buffer does its work.
        let has_own_thresholds = node.relay && long;
        for (depth, layer) in layers.iter().enumerate() {
            layer.port.iter().for_each(|over| made.merge(over.clone()));
            if depth > 0 || !has_own_thresholds {
                layer.lossless.iter().for_each(|over| lossless.merge_each(over.clone()));
            }
            layer.queue.iter().for_each(|over| queue.merge_each(over.clone()));
        }
        // Papers use headroom that no distance would allow, so the distance can be removed.
        if made.is("distance", "none") {
            made.take("distance");
        }
        let mut unread = Node::table([("port", self.take_unread(&mut made, &layers))]);
        // The generated code points are of no use to a port that does not read them.
        if let Some(classify) = made.get_mut("classify")
            && classify.get("trust").is_some_and(|it| it.tree != Tree::Leaf("dscp".into()))
            && classify.get("dscp").is_some_and(|it| it.origin.is_none())
        {
            classify.take("dscp");
        }
        for (key, list) in [("lossless", lossless), ("queue", queue)] {
            let is_empty = matches!(&list.tree, Tree::Array(elements) if elements.is_empty());
            let tables = layers.iter().filter_map(|layer| {
                let table = if key == "lossless" { &layer.lossless } else { &layer.queue };
                table.as_ref().filter(|it| matches!(it.tree, Tree::Table(_)))
            });
            unread.put(key, self.unread_tables(tables, !is_empty, key));
            if !is_empty {
                made.put(key, list);
            }
        }
        self.complete_lscc(&mut made, port, node);
        (made, unread)
    }

    /// A port as its link and the network have it, before any layer.
    fn bare_port(&self, port: &Port, node: &PlanNode, has_lanes: bool) -> Node {
        let link = &self.topology.links[port.link].settings;
        let mut made = Node::table([
            ("name", Node::leaf(port.name.as_str())),
            ("mac", Node::leaf(port.mac.to_string())),
            ("rate", Node::leaf(link.rate.to_string())),
            ("distance", Node::leaf(link.distance.to_string())),
            ("max_frame", Node::leaf(self.max_frame.0 as i64)),
            ("watchdog", Node::leaf("none")),
        ]);
        // A simulated switch has no device, and its worker is never late. Lanes learn late of each other, and share a window.
        if !has_lanes {
            made.set("tx_window", "0us");
            made.set("interface_delay", "0us");
        }
        if self.telemetry {
            made.set("int", true);
        }
        if node.relay && !self.network.lossless().is_empty() {
            made.set("flow_control", "relay");
        }
        if self.network.dscp.is_some() {
            let mut dscp = Node::table([]);
            for (code, priority) in self.network.dscp().into_iter().zip(0_i64..) {
                dscp.set(&code.to_string(), priority);
            }
            made.put("classify", Node::table([("default", Node::leaf(0)), ("dscp", dscp)]));
        }
        made
    }

    /// Takes the tables of schemes that the port does not use: the layers may state them for the ports that do.
    fn take_unread(&self, made: &mut Node, layers: &[&PortLayer]) -> Node {
        let mut unread = Node::table([]);
        let Some(Tree::Leaf(chosen)) = made.get("flow_control").map(|it| it.tree.clone()) else {
            return unread;
        };
        let chosen = chosen.to_string();
        for (table, words) in SCHEME_TABLES {
            let is_read = words.iter().any(|it| it.write() == chosen);
            for place in layers.iter().filter_map(|layer| layer.port.as_ref()?.get(table)?.origin.as_ref()) {
                let choice = format!("flow_control = {}", words[0].write());
                self.uses.note(place, is_read, ProblemKind::Unread { choice, what: "port" });
            }
            if !is_read && let Some(taken) = made.take(table) {
                unread.put(table, taken);
            }
        }
        unread
    }

    /// The tables for generated groups or queues, of which a port that has none reads nothing.
    fn unread_tables<'n>(&self, tables: impl Iterator<Item = &'n Node>, is_read: bool, key: &str) -> Node {
        let mut unread = Node::table([]);
        for table in tables {
            let choice = if key == "lossless" { "a lossless priority" } else { "data in priorities 0 to 5" };
            if let Some(place) = &table.origin {
                self.uses.note(place, is_read, ProblemKind::Unread { choice: choice.into(), what: "port" });
            }
            if !is_read {
                unread.merge(table.clone());
            }
        }
        unread
    }

    /// The lossless group, if any priority is lossless.
    fn group(&self) -> Option<Node> {
        let lossless = self.network.lossless();
        (!lossless.is_empty()).then(|| Node::table([("priorities", numbers(lossless))]))
    }

    /// The queue of all data, with ECN if `ecn` is on.
    fn queue(&self, rate: BitRate, ecn: &EcnDecl) -> Option<Node> {
        let lossless = self.network.lossless();
        let all = lossless.iter().chain(self.data.iter());
        // 6 and 7 are for the network itself, so their queues are strict and do not mark.
        let data = all.filter(|it| it.number() < 6).fold(PrioritySet::EMPTY, PrioritySet::with);
        if data.is_empty() {
            return None;
        }
        let mut queue = Node::table([("priorities", numbers(data))]);
        if ecn.on() {
            let [kmin, kmax] = [ecn.kmin(), ecn.kmax()].map(|size| ecn.scaled(size, rate).to_string());
            let pmax = Node::leaf(ecn.pmax().0);
            queue.put(
                "ecn",
                Node::table([("kmin", Node::leaf(kmin)), ("kmax", Node::leaf(kmax)), ("pmax", pmax)]),
            );
        }
        Some(queue)
    }

    /// Completes LSCC on a link: both ends use the addresses of their ports, and no key, because a simulation has no
    /// attackers. They expect the hosts as senders.
    fn complete_lscc(&self, made: &mut Node, port: &Port, node: &PlanNode) {
        let Some(mut lscc) = made.take("lscc") else { return };
        let (peer_node, peer) = self.topology.peer(port);
        if peer_node.role == Role::Switch && node.role == Role::Switch {
            for (key, value) in [("local", port.address), ("peer", peer.address)] {
                if lscc.get(key).is_none() {
                    lscc.set(key, value.to_string());
                }
            }
            if lscc.get("key").is_none() && lscc.get("key_file").is_none() {
                lscc.set("key", "none");
            }
        }
        if let Some(Senders { rate, additive_increase, rate_timer }) = self.senders {
            let mut senders = lscc.take("senders").unwrap_or_else(|| Node::table([]));
            for (key, value) in [
                ("rate", rate.to_string()),
                ("additive_increase", additive_increase.to_string()),
                ("rate_timer", rate_timer.to_string()),
            ] {
                if senders.get(key).is_none() {
                    senders.set(key, value);
                }
            }
            lscc.put("senders", senders);
        }
        made.put("lscc", lscc);
    }
}

/// Those of the `entries` of a switch that need a route. A host behind one of its ports is a neighbour, which implies its route.
pub(super) fn routed<'e>(
    topology: &Topology,
    id: NodeId,
    entries: &'e [RouteEntry],
) -> impl Iterator<Item = &'e RouteEntry> {
    let ports = &topology.node(id).ports;
    entries.iter().filter(move |entry| {
        let is_host = |port| topology.peer(port).1.address == entry.prefix;
        entry.bits != 32 || !ports.iter().any(is_host)
    })
}

/// The route of a switch for `entry`.
pub(super) fn next_hops(topology: &Topology, network: &NetworkDecl, id: NodeId, entry: &RouteEntry) -> Route {
    let ports = &topology.node(id).ports;
    let peers = entry.ports.iter().map(|port| topology.peer(&ports[port.index()]).1);
    Route {
        prefix: network.prefix(entry.prefix, entry.bits),
        next_hops: peers.map(|peer| network.address(peer.address)).collect(),
    }
}

/// Removes generated marks from ports whose frames may come through a port with LSCC, which keeps a queue on purpose.
fn without_marks_beside_lscc(mut ports: Vec<Node>) -> Vec<Node> {
    let with: Vec<bool> = ports.iter().map(|port| port.get("lscc").is_some()).collect();
    for (index, port) in ports.iter_mut().enumerate() {
        let beside = with.iter().enumerate().any(|(other, lscc)| *lscc && other != index);
        let queues = port.get_mut("queue").filter(|_| beside).map(|queues| &mut queues.tree);
        let Some(Tree::Array(queues)) = queues else { continue };
        for queue in queues {
            if queue.get("ecn").is_some_and(|ecn| ecn.origin.is_none()) {
                queue.take("ecn");
            }
        }
    }
    ports
}

fn numbers(priorities: PrioritySet) -> Node {
    Node::array(priorities.iter().map(|priority| Node::leaf(i64::from(priority.number()))).collect())
}

/// Notes the problems of a generated configuration, at their origins in the scenario.
fn note(found: &[Problem], document: &Node, text: &str, node: &PlanNode, problems: &Problems<'_>) {
    let written = DeTable::parse(text).map(toml::Spanned::into_inner).unwrap_or_default();
    // A simulation has no attackers, and finds a standstill without a watchdog.
    let of_wires =
        |kind: &ProblemKind| matches!(kind, ProblemKind::LsccUnsigned { .. } | ProblemKind::Unwatched { .. });
    for problem in found.iter().filter(|problem| !of_wires(&problem.kind)) {
        let offset = problem.location.offset_in(text);
        let (switch, key) = (node.name.clone(), problem.key.clone());
        let kind = ProblemKind::InSwitch { switch, key, kind: Box::new(problem.kind.clone()) };
        let place =
            document.origin_at(&written, offset).unwrap_or(Place { key: "topology".into(), offset: 0 });
        problems.of_switch(&place, problem.severity, kind);
    }
}

/// Notes what is wrong with tables that a port does not read, by their keys: `port`, `lossless` and `queue`.
fn check_unread(unread: &Node, port: &str, node: &PlanNode, problems: &Problems<'_>) {
    let Tree::Table(kinds) = &unread.tree else { return };
    let mut profiles = Node::table([]);
    for (kind, tables) in kinds.iter().filter(|(_, tables)| tables.has_any()) {
        profiles.put(kind, Node::table([(port, tables.clone())]));
    }
    if !profiles.has_any() {
        return;
    }
    let document = Node::table([("profile", profiles)]);
    let text = document.text();
    let of_text = Problems::new(&node.name, &text);
    let read = load::table(&text, &of_text).map(|table| {
        drop(<AllProfiles as Shape>::read(&mut Section::document(&table, &of_text), "profile"));
    });
    let Err(ConfigError::Invalid { problems: mut found }) = of_text.finish(read) else { return };
    for problem in &mut found {
        let below = |kind: &str| problem.key.strip_prefix(&format!("profile.{kind}.{port}"));
        let renamed = kinds.keys().find_map(|kind| match (kind.as_str(), below(kind)?) {
            ("port", rest) => Some(format!("port{rest}")),
            (kind, rest) => Some(format!("port.{kind}{rest}")),
        });
        problem.key = renamed.unwrap_or_default();
    }
    note(&found, &document, &text, node, problems);
}
