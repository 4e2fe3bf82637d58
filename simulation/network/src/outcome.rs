//! What came of a simulation.

use crate::network::FlowSpec;
use units::{Interval, Nanos};

/// A flow that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    /// What it was.
    pub flow: FlowSpec,
    /// When its last byte had arrived, and everything before it.
    pub end: Nanos,
    /// How long it takes alone in the network, at the rate of its slowest link.
    pub ideal: Interval,
    /// Packets that were sent more than once.
    pub retransmitted: u64,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The instant of its last event.
    pub end: Nanos,
}
