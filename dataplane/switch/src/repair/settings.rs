//! The settings of repair.

use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, PrioritySet, WireBytes};
use wire::rate_feedback::Key;

/// Repair of the frames that a link loses, between its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The priorities whose frames are kept and sent again.
    pub priorities: PrioritySet,
    /// From a frame until the other end says that it has come, at most.
    pub round_trip: Interval,
    /// Bytes on the wire that may be kept: what the link carries until the other end has told that they have arrived.
    pub retention: WireBytes,
    /// The most frames that may be kept, and the most numbers of the other end that are missing or held.
    pub frames: u32,
    /// The time from one status to the next while there is something to tell.
    pub period: Interval,
    /// The longest silence of the other end for which frames are kept.
    pub outage: Interval,
    /// Whether a held frame waits for lost ones of its bucket; if not, each goes on at once.
    pub keeps_order: bool,
    /// The key that tags statuses, if any.
    pub key: Option<Key>,
}

impl Repair {
    /// Bytes on the wire that a new frame takes more.
    pub const SHIM: Bytes = Bytes(wire::repair::NEW_LEN as u64);
    /// From one status to the next while nothing is kept, missing or held.
    pub const REST: Interval = Interval::from_millis(10);
    /// A link without a status for so many periods is silent.
    pub const SILENT_AFTER: u64 = 3;

    /// What a link of `rate` carries until the other end has told that it has arrived: what is to be kept, and by which the buffer
    /// of the other end is to be larger.
    pub fn in_flight(&self, rate: BitRate) -> WireBytes {
        WireBytes(rate.bytes_in(self.round_trip + self.period * Self::SILENT_AFTER))
    }

    /// What may be lost on a link of `rate` before its other end knows of it.
    pub fn unknown(&self, rate: BitRate) -> WireBytes {
        WireBytes(rate.bytes_in(self.period * Self::SILENT_AFTER))
    }

    /// The memory of an end for numbers.
    pub fn numbers(&self) -> Bytes {
        Bytes(u64::from(self.frames) * Self::NUMBER.0)
    }

    /// Checks it on a port with these `lossless` priorities.
    pub(crate) fn validate(&self, lossless: PrioritySet) -> Result<(), RepairError> {
        if self.priorities.is_empty() || !self.priorities.difference(lossless).is_empty() {
            return Err(RepairError::Lossy);
        }
        let Self { retention, frames, period, .. } = *self;
        if retention == WireBytes(0) || frames == 0 || period == Interval::ZERO {
            return Err(RepairError::Empty);
        }
        Ok(())
    }
}

/// An error in the settings of repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// Another priority is lossy, or there is none.
    #[error("repair needs priorities that are lossless")]
    Lossy,
    /// Nothing could be kept or told.
    #[error("repair needs room for frames, and a time between statuses")]
    Empty,
    /// No bound is known for it.
    #[error(
        "repair has no bound for this flow control; expected thresholds, or slots with a history of grants"
    )]
    FlowControl,
    /// Frames of a member that fails would have to be numbered anew.
    #[error("no member of a bundle is repaired")]
    Bundle,
}
