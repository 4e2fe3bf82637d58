//! What a network consists of, ready to run: everything was checked by whoever made it.

use endpoint::{FlowId, HostSettings};
use std::sync::Arc;
use switch::Program;
use units::{BitRate, Interval, Nanos, PortId, Priority};

/// A node, by its place in [`NetworkSpec::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A network.
#[derive(Clone, Debug, Default)]
pub struct NetworkSpec {
    /// Its switches and hosts.
    pub nodes: Vec<NodeSpec>,
    /// What joins them. A port has one link at most, and a host has one port: [`PortId`] 0.
    pub links: Vec<LinkSpec>,
}

/// A switch or a host.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name in results.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A switch, as a gateway's configuration describes it.
    Switch(Arc<Program>),
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
    /// From the last bit sent until it has arrived.
    pub delay: Interval,
    /// What goes wrong with frames that end 0 sends, and with those of end 1.
    pub faults: [Faults; 2],
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Whose port.
    pub node: NodeId,
    /// Which.
    pub port: PortId,
}

/// What goes wrong in one direction of a link. Chances are between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// The chance that a data frame is lost.
    pub loss: f64,
    /// The chance that a frame arrives with a wrong FCS, and is dropped by the receiver.
    pub corruption: f64,
    /// Up to so much is added to the delay of each frame; frames keep their order.
    pub jitter: Interval,
    /// The chance that a PFC frame is lost.
    pub control_loss: f64,
    /// Added to the delay of PFC frames alone.
    pub control_delay: Interval,
    /// When the direction carries nothing: from the first instant until the second, and again every
    /// `flap_every`. What is on its way then is lost.
    pub down: Option<(Nanos, Nanos)>,
    /// How long after its start a down time begins again; once only where there is none.
    pub flap_every: Option<Interval>,
}

impl Faults {
    /// Whether anything can go wrong.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether a PFC frame may be lost, or come later than the length of the link says.
    pub fn hold_up_pauses(&self) -> bool {
        self.control_loss > 0.0
            || self.corruption > 0.0
            || self.down.is_some()
            || self.control_delay > Interval::ZERO
            || self.hold_up_data()
    }

    /// Whether a data frame may come later than the length of the link says.
    pub fn hold_up_data(&self) -> bool {
        self.jitter > Interval::ZERO
    }
}

/// A flow that is to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Its number: flows are numbered from zero in the order in which they start.
    pub id: FlowId,
    /// When.
    pub start: Nanos,
    /// From which host.
    pub source: NodeId,
    /// To which other host.
    pub destination: NodeId,
    /// How much; `None`: without end, until `stop`.
    pub bytes: Option<u64>,
    /// When it stops, where it has no length.
    pub stop: Option<Nanos>,
    /// With which priority.
    pub priority: Priority,
    /// What it is counted with in results, by its place among the names of the groups.
    pub group: u16,
}
