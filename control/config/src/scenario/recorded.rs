//! The events of switches that are recorded: `sampling.events` and `sampling.event_kinds`.

use std::collections::BTreeMap;

use simulation::NodeId;
use simulation::topology::{Role, Topology};
use switch::EventKind;
use units::{PortId, PortSet};

use super::names::Names;
use super::run::SamplingDecl;
use crate::notes::Problems;
use crate::table::values;

/// The events of switches that a run records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedEvents {
    /// The switches, with the ports whose events count.
    pub ports: BTreeMap<NodeId, PortSet>,
    /// The kinds.
    pub kinds: Vec<EventKind>,
}

impl RecordedEvents {
    /// Reads the names of switches, ports and kinds. Notes an error for a name that matches none.
    pub(super) fn new(decl: &SamplingDecl, topology: &Topology, problems: &Problems<'_>) -> Self {
        let mut known = Vec::new();
        for (number, node) in (0..).zip(&topology.nodes).filter(|(_, node)| node.role == Role::Switch) {
            known.push((node.name.clone(), NodeId(number), PortSet::first(node.ports.len())));
            let ports = (0..).map(PortId).zip(&node.ports);
            known.extend(ports.map(|(port, it)| {
                (format!("{}.{}", node.name, it.name), NodeId(number), [port].into_iter().collect())
            }));
        }
        let mut ports: BTreeMap<NodeId, PortSet> = BTreeMap::new();
        for name in values(&decl.events) {
            let names = known.iter().map(|(name, ..)| name.as_str());
            for index in Names::find(name, "switch or port", names, problems) {
                let (_, node, more) = &known[index];
                let own = ports.entry(*node).or_insert(PortSet::EMPTY);
                *own = own.union(*more);
            }
        }
        let names = || EventKind::ALL.into_iter().map(EventKind::name);
        let stated = values(&decl.event_kinds).flat_map(|name| Names::find(name, "kind", names(), problems));
        let stated: Vec<_> = stated.map(|index| EventKind::ALL[index]).collect();
        let kinds = if decl.event_kinds.is_some() { stated } else { EventKind::ALL.into() };
        Self { ports, kinds }
    }
}
