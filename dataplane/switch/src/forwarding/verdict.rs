//! What becomes of one frame.

use crate::reason::{Consumed, DropReason};
use units::PortId;

/// What the forwarding decision says of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Out through this port.
    Forward(PortId),
    /// Out through every port but its own.
    Flood,
    /// The frame was rewritten into its own answer: back through its port.
    Answer(Consumed),
    /// The gateway keeps it.
    Consume(Consumed),
    Drop(DropReason),
}
