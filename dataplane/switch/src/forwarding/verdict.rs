//! The fate of one frame.

use super::punt::Punt;
use crate::reason::{Consumed, DropReason};
use units::PortId;

/// The forwarding decision about one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It leaves through this port.
    Forward(PortId),
    /// It leaves through every other port.
    Flood,
    /// It was rewritten into its own answer, and leaves through its port.
    Answer(Consumed),
    /// The gateway consumes it.
    Consume(Consumed),
    /// The kernel gets it.
    Punt(Punt),
    Drop(DropReason),
}
