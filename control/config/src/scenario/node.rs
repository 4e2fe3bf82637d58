//! `[[node]]`: keys of single nodes.

use simulation::topology::{NetworkPlan, Role, Topology};

use super::host::HostDecl;
use super::layers::{PortLayer, SwitchLayer};
use super::names::Names;
use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{Shape, Table as _, table};

table! {
    /// Keys of some nodes.
    NodeDecl {
        /// Name of a switch or host; several by `[0-3]` or `*`
        name: At<Names>, required("name = \"gw-east\"");
        /// Goes over `[host]`, key by key
        host: HostDecl;
        /// As `[switch]`
        switch: SwitchLayer;
        /// As `[long_haul]`
        long_haul: PortLayer;
        /// Ports by name, each with the keys of `[switch.port]` and the tables of `[long_haul]`
        port: Ports;
        /// A gateway's file, relative to the directory of the scenario, instead of the generated configuration. Its ports are the links of the node in their order and have the same rates; its addresses and routes must be those above
        configuration: At<String>;
    }
}

impl NodeDecl {
    /// Reports keys of hosts that apply only to switches, and the other way round.
    pub fn check(&self, section: &Section<'_, '_>, places: &[usize], plan: &NetworkPlan) {
        let refuse = |key: &str, role, with: &str| {
            if section.contains(key) && places.iter().any(|place| plan.nodes[*place].role == role) {
                let kind = ProblemKind::Meaningless { with: with.into() };
                section.problems.error(&section.place_of_key(key), kind);
            }
        };
        refuse("host", Role::Switch, "a switch");
        for key in ["switch", "long_haul", "port", "configuration"] {
            refuse(key, Role::Host, "a host");
        }
    }

    /// The layers for its ports, by name.
    pub fn ports(&self) -> impl Iterator<Item = &(String, (Place, PortLayer))> {
        self.port.iter().flat_map(|ports| &ports.0)
    }

    /// Reports layers for ports that a node does not have.
    pub fn check_ports(&self, places: &[usize], topology: &Topology, problems: &Problems<'_>) {
        let is_long = |place: &usize| {
            topology.nodes[*place].ports.iter().any(|port| topology.links[port.link].settings.long)
        };
        if let Some(at) = self.place_of("long_haul").filter(|_| !places.iter().any(is_long)) {
            let with = "a switch without long-haul links".into();
            problems.error(at, ProblemKind::Meaningless { with });
        }
        for &place in places {
            let node = &topology.nodes[place];
            let names = || node.ports.iter().map(|port| port.name.as_str());
            for (name, (at, _)) in self.ports() {
                if !names().any(|it| it == name) {
                    problems.error_with(at, || ProblemKind::undefined("port", name, names()));
                }
            }
        }
    }
}

/// Layers for ports, by name.
#[derive(Clone, Debug)]
pub(super) struct Ports(Vec<(String, (Place, PortLayer))>);

impl Shape for Ports {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        Some(Self(section.named(key, |port| (port.place.clone(), PortLayer::of(port)))))
    }
}
