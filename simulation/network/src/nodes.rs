//! Switches and hosts under way.

use crate::frame::SimFrame;
use crate::network::NodeId;
use core::ops::Range;
use endpoint::{Host, HostSettings};
use std::sync::Arc;
use switch::{Program, Shard, Volume};
use units::{Nanos, PortSet};

/// What a node is, and its place among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Switch(usize),
    Station(usize),
}

/// A switch.
pub(crate) struct Switch {
    pub node: NodeId,
    pub shard: Shard<SimFrame>,
    pub program: Arc<Program>,
    /// By port, the direction in which it sends.
    pub out: Vec<Option<usize>>,
    /// The directions from which it receives, in the order of ports.
    pub inputs: Range<usize>,
    /// Ports with a link whose faults may make them drop lossless frames.
    pub unreliable: PortSet,
    /// When each port wants to be called, as it last said.
    pub deadlines: Vec<Nanos>,
    /// The first of them.
    pub next: Nanos,
    /// What came in and did not leave.
    pub held: Volume,
    /// What it kept or dropped.
    pub taken: Volume,
    pub is_tapped: bool,
}

/// A host.
pub(crate) struct Station {
    pub node: NodeId,
    pub host: Host,
    pub settings: Arc<HostSettings>,
    /// The direction in which it sends.
    pub out: Option<usize>,
    /// The direction from which it receives.
    pub input: Option<usize>,
    pub is_tapped: bool,
}
