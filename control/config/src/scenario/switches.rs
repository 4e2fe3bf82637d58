//! The configuration of each switch: made from the plan, with what the scenario says on top, and read like the
//! file of any gateway.

use std::path::Path;
use std::sync::Arc;

use simulation::NodeId;
use simulation::topology::{Node as PlanNode, Port, Role, Topology};
use switch::program::Program;
use toml::Value as Toml;
use toml::de::DeTable;
use units::{BitRate, Bytes, PrioritySet};

use super::network::NetworkDecl;
use super::node::NodeDecl;
use super::tree::{Node, Tree};
use super::wishes::{EcnDecl, PortWish, SwitchWish};
use crate::gateway::Gateway;
use crate::load;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::{ConfigError, Problem, ProblemKind, Severity};
use crate::render::render;

/// The shared pool of a switch where nothing is said, as in the paper of HPCC.
const SHARED: &str = "32MB";
/// All that switches are made from.
pub(super) struct Maker<'a> {
    pub topology: &'a Topology,
    pub network: &'a NetworkDecl,
    /// Priorities with which something is sent.
    pub data: PrioritySet,
    /// The longest frame of any host.
    pub max_frame: Bytes,
    /// Whether packets collect in-band telemetry.
    pub telemetry: bool,
    pub seed: u64,
    pub switch: &'a SwitchWish,
    pub long_haul: &'a PortWish,
    /// The wishes for each node, in the order of nodes.
    pub nodes: &'a [Vec<&'a NodeDecl>],
    pub directory: Option<&'a Path>,
}

/// A switch, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub program: Arc<Program>,
    /// Its configuration in full.
    pub text: String,
}

impl Maker<'_> {
    /// The switch `id`; `None` where it could not be made, which has been said. What was said of another switch is
    /// not said again.
    pub fn make(&self, id: NodeId, problems: &Problems<'_>) -> Option<Made> {
        let node = self.topology.node(id);
        let wishes = &self.nodes[id.0 as usize];
        if let Some(file) = wishes.iter().rev().find_map(|wish| wish.configuration.as_ref()) {
            return self.load(node, file, problems);
        }
        let document = self.document(id);
        let text = document.text();
        let name = format!("{} (generated)", node.name);
        match load::parse(&text, &name) {
            Ok(gateway) => {
                note(&gateway.warnings, &document, &text, node, problems);
                Some(Made { program: gateway.program, text })
            }
            Err(ConfigError::Invalid { problems: found }) => {
                note(&found, &document, &text, node, problems);
                None
            }
            Err(ConfigError::Unreadable { .. }) => None,
        }
    }

    fn load(&self, node: &PlanNode, file: &At<String>, problems: &Problems<'_>) -> Option<Made> {
        let refuse = |reason: String| {
            let kind = ProblemKind::File { path: file.value.clone(), reason };
            problems.error(&file.place, kind);
        };
        let Some(directory) = self.directory else {
            refuse("a scenario that is not a file has no directory to find it in".into());
            return None;
        };
        let gateway =
            load::load(directory.join(&file.value)).map_err(|error| refuse(error.to_string())).ok()?;
        for warning in &gateway.warnings {
            let (path, reason) = (file.value.clone(), warning.to_string());
            problems.warning(&file.place, ProblemKind::File { path, reason });
        }
        self.check_file(node, file, &gateway, problems)?;
        Some(Made { text: render(&gateway), program: gateway.program })
    }

    /// Whether the ports of a file are the links of its node.
    fn check_file(
        &self,
        node: &PlanNode,
        file: &At<String>,
        gateway: &Gateway,
        problems: &Problems<'_>,
    ) -> Option<()> {
        let ports = &gateway.program.settings().ports;
        let name = || file.value.clone();
        if ports.len() != node.ports.len() {
            let (switch, links) = (node.name.clone(), node.ports.len());
            let kind = ProblemKind::PortsOfFile { file: name(), switch, ports: ports.len(), links };
            problems.error(&file.place, kind);
            return None;
        }
        let links = node.ports.iter().map(|port| &self.topology.links[port.link]);
        let Some((port, link)) = ports.iter().zip(links).find(|(port, link)| port.rate != link.wish.rate)
        else {
            return Some(());
        };
        let kind = ProblemKind::RateOfFile {
            file: name(),
            port: port.name.clone(),
            link: link.name.clone(),
            rate: port.rate,
            of_link: link.wish.rate,
        };
        problems.error(&file.place, kind);
        None
    }

    /// The configuration of a switch.
    fn document(&self, id: NodeId) -> Node {
        let node = self.topology.node(id);
        let wishes = &self.nodes[id.0 as usize];
        let mut document = Node::table();
        let mut gateway = Node::table();
        gateway.set("name", node.name.as_str());
        // Equal-cost paths would be chosen alike by all switches if their seeds were the same.
        let own = (u64::from(id.0) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let seed = (self.seed ^ own).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        gateway.set("seed", (seed >> 1) as i64);
        document.put("gateway", gateway);
        let mut buffer = Node::table();
        buffer.set("shared", SHARED);
        document.put("buffer", buffer);
        document.put("forwarding", self.forwarding(id));
        let ports: Vec<Node> = node.ports.iter().map(|port| self.port(port, node, wishes)).collect();
        document.put("port", Node::array(without_marks_beside_lscc(ports)));
        let own = wishes.iter().filter_map(|wish| wish.switch.as_ref());
        for over in [self.switch].into_iter().chain(own).filter_map(|wish| wish.document.clone()) {
            document.merge(over);
        }
        document
    }

    fn forwarding(&self, id: NodeId) -> Node {
        let node = self.topology.node(id);
        let mut forwarding = Node::table();
        forwarding.set("mode", "route");
        let neighbour = |port: &Port| {
            let (_, peer) = self.topology.peer(port);
            let mut neighbour = Node::table();
            neighbour.set("address", peer.address.to_string());
            neighbour.set("mac", peer.mac.to_string());
            neighbour.set("port", port.name.as_str());
            neighbour
        };
        forwarding.put("neighbour", Node::array(node.ports.iter().map(neighbour).collect()));
        let route = |entry: &simulation::topology::RouteEntry| {
            let hops = entry.ports.iter().map(|port| {
                let (_, peer) = self.topology.peer(&node.ports[port.index()]);
                Node { tree: Tree::Leaf(peer.address.to_string().into()), origin: None }
            });
            let mut route = Node::table();
            route.set("prefix", format!("{}/{}", entry.prefix, entry.bits));
            route.put("next_hops", Node::array(hops.collect()));
            route
        };
        // A host behind a port of its own is a neighbour, which is a route already.
        let own = |entry: &&simulation::topology::RouteEntry| {
            entry.bits == 32
                && node.ports.iter().any(|port| self.topology.peer(port).1.address == entry.prefix)
        };
        let routes = self.topology.routes[id.0 as usize].iter().filter(|entry| !own(entry));
        forwarding.put("route", Node::array(routes.map(route).collect()));
        forwarding
    }

    fn port(&self, port: &Port, node: &PlanNode, wishes: &[&NodeDecl]) -> Node {
        let wish = &self.topology.links[port.link].wish;
        let long = wish.long;
        let mut layers = vec![&self.switch.port];
        layers.extend(long.then_some(self.long_haul));
        for own in wishes {
            layers.extend(own.switch.as_ref().map(|switch| &switch.port));
            layers.extend(own.long_haul.as_ref().filter(|_| long));
            layers.extend(own.ports().filter(|(name, _)| *name == port.name).map(|(_, (_, wish))| wish));
        }
        let mut made = Node::table();
        made.set("name", port.name.as_str());
        made.set("mac", port.mac.to_string());
        made.set("rate", wish.rate.to_string());
        made.set("distance", wish.distance.to_string());
        made.set("max_frame", self.max_frame.0 as i64);
        // There is no device between a switch and its link, and its worker is never late.
        made.set("tx_window", "0us");
        made.set("interface_delay", "0us");
        made.set("watchdog", "none");
        if self.telemetry {
            made.set("int", true);
        }
        if self.network.dscp.is_some() {
            let mut classify = Node::table();
            let mut dscp = Node::table();
            for (code, priority) in self.network.dscp().into_iter().zip(0_i64..) {
                dscp.set(&code.to_string(), priority);
            }
            classify.put("dscp", dscp);
            made.put("classify", classify);
        }
        let ecn = layers.iter().fold(EcnDecl::default(), |below, layer| layer.ecn.on_top_of(below));
        let mut lossless = Node::array(self.group().into_iter().collect());
        let mut queue = Node::array(self.queue(wish.rate, &ecn).into_iter().collect());
        for layer in layers {
            if let Some(over) = &layer.port {
                made.merge(over.clone());
            }
            if let Some(over) = &layer.lossless {
                lossless.merge_each(over.clone());
            }
            if let Some(over) = &layer.queue {
                queue.merge_each(over.clone());
            }
        }
        // For headroom that the paper of an experiment has, and no distance would allow.
        if made.get("distance").is_some_and(|it| it.tree == Tree::Leaf("none".into())) {
            made.take("distance");
        }
        // What another layer says of Bifrost is for ports that have it.
        if made.get("flow_control").is_some_and(|it| it.tree == Tree::Leaf("pfc".into())) {
            made.take("bifrost");
        }
        for (key, list) in [("lossless", lossless), ("queue", queue)] {
            if !matches!(&list.tree, Tree::Array(elements) if elements.is_empty()) {
                made.put(key, list);
            }
        }
        self.addresses_of_lscc(&mut made, port, node);
        made
    }

    /// The lossless group, if anything is lossless.
    fn group(&self) -> Option<Node> {
        let mut group = Node::table();
        group.put("priorities", numbers(self.network.lossless()));
        (!self.network.lossless().is_empty()).then_some(group)
    }

    /// The queue of all data, marked if `ecn` says so.
    fn queue(&self, rate: BitRate, ecn: &EcnDecl) -> Option<Node> {
        let lossless = self.network.lossless();
        let all = lossless.iter().chain(self.data.iter());
        // 6 and 7 are for the network itself: strict, and not marked.
        let data = all.filter(|it| it.number() < 6).fold(PrioritySet::EMPTY, PrioritySet::with);
        if data.is_empty() {
            return None;
        }
        let mut queue = Node::table();
        queue.put("priorities", numbers(data));
        if ecn.on() {
            let mut red = Node::table();
            red.set("kmin", ecn.scaled(ecn.kmin(), rate).to_string());
            red.set("kmax", ecn.scaled(ecn.kmax(), rate).to_string());
            red.set("pmax", ecn.pmax().0);
            queue.put("ecn", red);
        }
        Some(queue)
    }

    /// Both ends of a link with LSCC speak with the addresses of their ends, and without a key: in a simulation
    /// nobody else sends.
    fn addresses_of_lscc(&self, made: &mut Node, port: &Port, node: &PlanNode) {
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
        made.put("lscc", lscc);
    }
}

/// LSCC keeps a queue on purpose, so generated queues do not mark where frames leave that came through a port with
/// LSCC.
fn without_marks_beside_lscc(mut ports: Vec<Node>) -> Vec<Node> {
    let with: Vec<bool> = ports.iter().map(|port| port.get("lscc").is_some()).collect();
    for (index, port) in ports.iter_mut().enumerate() {
        let beside = with.iter().enumerate().any(|(other, lscc)| *lscc && other != index);
        if !beside {
            continue;
        }
        let Some(mut queues) = port.take("queue") else { continue };
        if let Tree::Array(queues) = &mut queues.tree {
            for queue in queues {
                if queue.get("ecn").is_some_and(|ecn| ecn.origin.is_none()) {
                    queue.take("ecn");
                }
            }
        }
        port.put("queue", queues);
    }
    ports
}

fn numbers(priorities: PrioritySet) -> Node {
    let leaf = |number: u8| Node { tree: Tree::Leaf(Toml::Integer(number.into())), origin: None };
    Node::array(priorities.iter().map(|priority| leaf(priority.number())).collect())
}

/// Says what is wrong with a generated configuration: where the scenario says what is at fault, there.
fn note(found: &[Problem], document: &Node, text: &str, node: &PlanNode, problems: &Problems<'_>) {
    let written = DeTable::parse(text).map(toml::Spanned::into_inner).unwrap_or_default();
    // In a simulation nobody else sends, and a standstill is found without a watchdog.
    let of_wires =
        |kind: &ProblemKind| matches!(kind, ProblemKind::LsccUnsigned { .. } | ProblemKind::Unwatched { .. });
    for problem in found.iter().filter(|problem| !of_wires(&problem.kind)) {
        let offset = problem.location.offset_in(text);
        let kind = || ProblemKind::InSwitch {
            switch: node.name.clone(),
            key: problem.key.clone(),
            kind: Box::new(problem.kind.clone()),
        };
        let place =
            document.origin_at(&written, offset).unwrap_or(Place { key: "topology".into(), offset: 0 });
        problems.of_switch(&place, problem.severity == Severity::Error, kind());
    }
}
