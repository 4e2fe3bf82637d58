//! The settings of a link agent.

use core::ops::RangeInclusive;
use serde::{Deserialize, Serialize};
use units::Interval;
use wire::lldp::Message;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// The intervals for which an announcement holds (`msgTxHold`, IEEE 802.1AB clause 9.2.5.6).
const HOLD: u64 = 4;

/// LLDP on a port, and what it announces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkAgent {
    /// The time between two announcements (`msgTxInterval`).
    pub interval: Interval,
    /// The announcement of the port. Its time to live follows from the interval.
    pub message: Message,
}

impl LinkAgent {
    /// The valid range of the interval (clause 9.2.5.7).
    pub const INTERVALS: RangeInclusive<Interval> = Interval::from_secs(1)..=Interval::from_secs(3_600);

    /// The announcement, which holds for [`HOLD`] intervals and a second (clause 9.2.5.22).
    pub(crate) fn announcement(&self) -> Message {
        let seconds = (self.interval.0 / NANOS_PER_SECOND).saturating_mul(HOLD) + 1;
        Message { ttl_seconds: u16::try_from(seconds).unwrap_or(u16::MAX), ..self.message }
    }

    /// The shutdown LLDPDU: the neighbour forgets the port at once (the chassis ID, the port ID and a time to live of zero,
    /// and nothing else).
    pub(crate) fn shutdown(&self) -> Message {
        let Message { chassis, port, .. } = self.message;
        Message { chassis, port, ttl_seconds: 0, ..Message::default() }
    }
}
