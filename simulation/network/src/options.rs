//! The options of a run.

use crate::network::NodeId;
use core::num::NonZeroUsize;
use units::{Interval, Nanos};

/// The options of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seed of all random choices; the same seed gives the same run.
    pub seed: u64,
    /// The last instant at which flows start. The run ends when the last flow has ended.
    pub until: Nanos,
    /// The instant at which the run ends in any case; at most 2^44 ns (4.9 hours).
    pub limit: Nanos,
    /// Interval between calls of [`crate::Observer::sample`], which begin at zero; `None` for no calls.
    pub sampling: Option<Interval>,
    /// Nodes whose frames are all passed to [`crate::Observer::captured`].
    pub taps: Vec<NodeId>,
    /// Interval between looks for a standstill; raised to eight times the longest delay of a link if it is
    /// shorter. Queues that wait for each other in a cycle for one interval are a deadlock. If frames moved
    /// in three intervals but no flow made progress in any of them, that is a livelock.
    pub stall: Interval,
    /// Whether switches may drop lossless frames, to see the cost of a buffer that is too small. Otherwise
    /// such a drop is a violation, unless the PFC watchdog or the faults of a link of that switch explain it.
    pub tolerate_loss: bool,
    /// The most threads that run the network, each one part of it. They change no result, except what is left of a run
    /// that is interrupted or breaks an invariant. A network in which a host manages connections is one part, and one
    /// thread runs it.
    pub threads: NonZeroUsize,
}

impl Default for Options {
    /// Seed 1, a second of virtual time, nothing sampled or tapped, a stall of 50 ms, one thread.
    fn default() -> Self {
        Self {
            seed: 1,
            until: Nanos(1_000_000_000),
            limit: Nanos(1_000_000_000),
            sampling: None,
            taps: Vec::new(),
            stall: Interval::from_millis(50),
            tolerate_loss: false,
            threads: NonZeroUsize::MIN,
        }
    }
}
