//! The parameters of NewReno.

use serde::{Deserialize, Serialize};
use units::Interval;

/// The parameters of NewReno.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewReno {
    /// The retransmission timeout before the first round-trip measurement. 1 s (RFC 6298 section 2.1).
    pub rto_initial: Interval,
    /// The minimum timeout. 1 s (RFC 6298 section 2.4); Linux uses 200 ms, and data centers often about 10
    /// ms.
    pub rto_least: Interval,
}

impl Default for NewReno {
    fn default() -> Self {
        Self { rto_initial: Interval::from_secs(1), rto_least: Interval::from_secs(1) }
    }
}

impl NewReno {
    /// The defaults for a path whose round trip is `round_trip` without queues: the first timeout is at least two of them.
    pub fn for_round_trip(round_trip: Interval) -> Self {
        let usual = Self::default();
        Self { rto_initial: usual.rto_initial.max(round_trip * 2), ..usual }
    }
}
