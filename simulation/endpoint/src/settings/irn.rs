//! The parameters of IRN.

use serde::{Deserialize, Serialize};
use units::Interval;

/// The parameters of IRN. The defaults are those of the paper's section 4.1, for 40G and a longest round trip
/// of 24 us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Irn {
    /// The BDP cap: the maximum number of packets in flight, and the size of the bitmap. 110. At least 1.
    pub window: u32,
    /// RTO_low: the retransmission timeout while few packets are in flight. 100 us.
    pub rto_low: Interval,
    /// RTO_high: the retransmission timeout otherwise. 320 us.
    pub rto_high: Interval,
}

impl Default for Irn {
    fn default() -> Self {
        let (rto_low, rto_high) = (Interval::from_micros(100), Interval::from_micros(320));
        Self { window: 110, rto_low, rto_high }
    }
}

impl Irn {
    /// The round trip for which the paper's timeouts are.
    const ROUND_TRIP: Interval = Interval::from_micros(24);
    /// No window is larger.
    const SEQUENCE_NUMBERS: u64 = 1 << 24;

    /// The defaults for a path whose round trip is `round_trip` without queues, in which a host sends `packets`. The
    /// timeouts are the paper's, each later by what that is above the paper's 24 us; the window is no less than the
    /// paper's.
    pub fn for_round_trip(round_trip: Interval, packets: u64) -> Self {
        let paper = Self::default();
        let more = round_trip - Self::ROUND_TRIP;
        Self {
            window: paper.window.max(packets.min(Self::SEQUENCE_NUMBERS) as u32),
            rto_low: paper.rto_low + more,
            rto_high: paper.rto_high + more,
        }
    }
}
