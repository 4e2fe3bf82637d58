//! How a network is run.

use crate::network::NodeId;
use units::{Interval, Nanos};

/// How a network is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Of every random choice; the same seed gives the same run.
    pub seed: u64,
    /// Flows that would start later than this are not started. When the last flow has ended, so has the run.
    pub until: Nanos,
    /// The run ends then, whatever happens; after 2^44 ns (4.9 hours) at the latest.
    pub limit: Nanos,
    /// How often [`crate::Observer::sample`] is called, from zero on; never where there is none.
    pub sampling: Option<Interval>,
    /// Nodes of which every frame is shown to [`crate::Observer::captured`].
    pub taps: Vec<NodeId>,
    /// How often it is looked whether the network gets on; never more often than every eight times the longest
    /// delay of a link. Queues that wait for each other in a cycle for so long are a deadlock. It is a livelock
    /// where something has moved in three such times, and no flow has got on in any.
    pub stall: Interval,
    /// Whether switches may drop lossless frames: to see what a buffer that is too small costs. Otherwise such
    /// a drop is a violation, unless the faults of a link of that switch explain it.
    pub tolerate_loss: bool,
}

impl Default for Options {
    /// Seed 1, a second of virtual time, nothing sampled or tapped, a stall of 50 ms.
    fn default() -> Self {
        Self {
            seed: 1,
            until: Nanos(1_000_000_000),
            limit: Nanos(1_000_000_000),
            sampling: None,
            taps: Vec::new(),
            stall: Interval::from_millis(50),
            tolerate_loss: false,
        }
    }
}
