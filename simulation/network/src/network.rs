//! The description of a network that is ready to run. The caller has checked it.

use crate::job::Jobs;
pub use crate::node_id::NodeId;
use crate::reroute::Reroutes;
use endpoint::{FlowId, HostSettings};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use switch::Program;
use units::{BitRate, Interval, Nanos, PortId, Priority};

/// A network.
#[derive(Clone, Debug, Default)]
pub struct NetworkSpec {
    /// Its switches and hosts.
    pub nodes: Vec<NodeSpec>,
    /// The links between them. A port has at most one link, and a host has one port: [`PortId`] 0.
    pub links: Vec<LinkSpec>,
    /// The jobs of its hosts.
    pub jobs: Arc<Jobs>,
    /// The changes of its routes.
    pub reroutes: Arc<Reroutes>,
}

impl NetworkSpec {
    /// The settings of a host; `None` if that node is a switch.
    pub fn host(&self, node: NodeId) -> Option<&HostSettings> {
        match &self.nodes.get(node.0 as usize)?.kind {
            NodeKind::Host(settings) => Some(&**settings),
            NodeKind::Switch { .. } => None,
        }
    }

    /// Whether frames of a queue pair never overtake each other: no switch sprays them, and no route changes.
    pub(crate) fn keeps_order(&self) -> bool {
        self.reroutes.changes.is_empty()
            && !self.nodes.iter().any(|node| match &node.kind {
                NodeKind::Switch { program, .. } => program.settings().forwarding.sprays(),
                NodeKind::Host(_) => false,
            })
    }
}

/// A switch or a host.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name in results.
    pub name: String,
    /// Its kind, with its settings.
    pub kind: NodeKind,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A switch, as a gateway's configuration describes it.
    Switch {
        /// That of the whole switch.
        program: Arc<Program>,
        /// Its lanes ([`switch::Lanes`]), one at least.
        lanes: usize,
    },
    /// A host.
    Host(Arc<HostSettings>),
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Both ends. Their ports have the rate of the link.
    pub ends: [LinkEnd; 2],
    /// Rate of either direction.
    pub rate: BitRate,
    /// Propagation delay of either direction.
    pub delay: Interval,
    /// Faults of the frames that end 0 sends, and of those that end 1 sends.
    pub faults: [Faults; 2],
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkEnd {
    /// The node.
    pub node: NodeId,
    /// The port of the node.
    pub port: PortId,
}

/// The faults of one direction of a link. Chances are from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// The chance that a data frame is lost.
    pub loss: f64,
    /// How many successive data frames are lost together, on average; 0 and 1 mean each for itself.
    pub loss_burst: u32,
    /// The chance that a frame arrives with a wrong FCS, and is dropped by the receiver.
    pub corruption: f64,
    /// The most that is added at random to the delay of each frame; frames keep their order.
    pub jitter: Interval,
    /// The chance that a PFC or grant frame is lost.
    pub control_loss: f64,
    /// The chance that a PFC or grant frame arrives twice.
    pub control_duplication: f64,
    /// Added to the delay of PFC and grant frames only.
    pub control_delay: Interval,
    /// The most that is added at random to the delay of each PFC or grant frame, so that they overtake each other.
    pub control_jitter: Interval,
    /// The down time, from the first instant until the second, which repeats every `flap_every`. Frames in
    /// flight at any instant of it are lost.
    pub down: Option<(Nanos, Nanos)>,
    /// The time from the start of a down time to the next; `None` for a single down time.
    pub flap_every: Option<Interval>,
    /// Whether a switch whose [bundle](switch::program::Membership) has the link does not notice its down time.
    pub hidden: bool,
}

impl Faults {
    /// Whether there are any faults.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether a PFC frame may be lost, or take longer than the delay of the link.
    pub fn hold_up_pauses(&self) -> bool {
        self.control_loss > 0.0
            || self.corruption > 0.0
            || self.down.is_some()
            || self.control_delay > Interval::ZERO
            || self.control_jitter > Interval::ZERO
            || self.hold_up_data()
    }

    /// Whether a data frame may take longer than the delay of the link.
    pub fn hold_up_data(&self) -> bool {
        self.jitter > Interval::ZERO
    }
}

/// A flow to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// Its number. Flows of [jobs](crate::job::Jobs) come first, and the others follow in the order in which they start.
    pub id: FlowId,
    /// The instant at which it starts.
    pub start: Nanos,
    /// The host that sends it.
    pub source: NodeId,
    /// The host that receives it, which is another one.
    pub destination: NodeId,
    /// Length of the message in bytes; `None` for a flow without end.
    pub bytes: Option<u64>,
    /// The instant at which a flow without end stops.
    pub stop: Option<Nanos>,
    /// The end of a closed loop: each time the flow ends before this instant, it starts again, on the same path.
    pub again_until: Option<Nanos>,
    /// Its priority.
    pub priority: Priority,
    /// The group with which it is counted in results: an index into the names of the groups.
    pub group: u16,
}
