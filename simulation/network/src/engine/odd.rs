//! Unusual events of switches.

use crate::violation::Broken;
use switch::Volume;
use units::{PortId, Priority};

/// Unusual events of one call of a switch. Most calls have none.
#[derive(Debug, Default)]
pub(super) struct Odd {
    /// Whether any other field is set.
    pub is_any: bool,
    /// Frames that the switch made.
    pub made: Volume,
    /// Frames lost to faults.
    pub lost: Volume,
    /// Frames sent to unconnected ports.
    pub unconnected: Volume,
    /// Frames that waited, and left while some priority was paused.
    pub while_paused: u64,
    /// Whether the switch made anything but pauses.
    pub moved: bool,
    /// The first violation.
    pub broken: Option<Broken>,
    /// The first frame that was sent against a pause, with its port.
    pub suspect: Option<(PortId, Priority, Broken)>,
}
