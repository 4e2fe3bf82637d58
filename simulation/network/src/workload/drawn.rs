//! A flow as it is drawn, before it has a number.

use crate::network::NodeId;
use units::{Nanos, Priority};

/// A flow drawn from a stream.
pub(super) struct Drawn {
    pub source: NodeId,
    pub destination: NodeId,
    pub bytes: Option<u64>,
    pub stop: Option<Nanos>,
    pub again_until: Option<Nanos>,
    /// Its priority, if it is not that of its part.
    pub priority: Option<Priority>,
}
