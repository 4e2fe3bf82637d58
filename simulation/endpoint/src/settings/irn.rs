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
