//! The ports with metrics: sampled ports, and the ends of long-haul links.

use config::scenario::Scenario;
use simulation::topology::{Role, Topology};
use simulation::{NetworkSpec, NodeId, NodeKind};
use switch::Program;
use units::{BitRate, PortId};

/// A port, and the direction of a link in which it sends.
#[derive(Clone, Debug)]
pub struct PortPlace {
    /// Its node.
    pub node: NodeId,
    /// The port.
    pub port: PortId,
    /// Whether its node is a switch.
    pub of_switch: bool,
    /// `<node>.<port>`.
    pub name: String,
    /// `link.<link>.<node>`.
    pub link_name: String,
    /// Its link.
    pub link: usize,
    /// Its end of the link, 0 or 1.
    pub end: usize,
    /// The rate of its link.
    pub rate: BitRate,
}

impl PortPlace {
    /// The place of a port in `topology`.
    pub fn new(topology: &Topology, node: NodeId, port: PortId) -> Self {
        let of_node = topology.node(node);
        let of_port = &of_node.ports[port.index()];
        let link = &topology.links[of_port.link];
        Self {
            node,
            port,
            of_switch: of_node.role == Role::Switch,
            name: format!("{}.{}", of_node.name, of_port.name),
            link_name: format!("link.{}.{}", link.name, of_node.name),
            link: of_port.link,
            end: of_port.end,
            rate: link.settings.rate,
        }
    }
}

/// The ports of `scenario` with metrics, in the order of nodes and ports.
pub fn of_interest(scenario: &Scenario) -> Vec<PortPlace> {
    let topology = &scenario.topology;
    let mut places = scenario.sampling.ports.clone();
    let long = topology.links.iter().filter(|link| link.settings.long);
    places.extend(long.flat_map(|link| link.ends).map(|end| (end.node, end.port)));
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|(node, port)| PortPlace::new(topology, node, port)).collect()
}

/// The program of a node; `None` for hosts.
pub fn program(network: &NetworkSpec, node: NodeId) -> Option<&Program> {
    match &network.nodes[node.0 as usize].kind {
        NodeKind::Switch { program, .. } => Some(program.as_ref()),
        NodeKind::Host(_) => None,
    }
}
