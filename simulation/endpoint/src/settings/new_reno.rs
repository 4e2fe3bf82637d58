//! The parameters of NewReno.

use serde::{Deserialize, Serialize};
use units::Interval;

/// The parameters of NewReno.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewReno {
    /// IW: the initial window in segments. 10 (RFC 6928). At least 1.
    pub initial_window: u32,
    /// Consecutive duplicate acknowledgements that indicate a loss. 3 (RFC 5681 section 3.2).
    pub duplicates: u32,
    /// The retransmission timeout before the first round-trip measurement. 1 s (RFC 6298 section 2.1).
    pub rto_initial: Interval,
    /// The minimum timeout. 1 s (RFC 6298 section 2.4); Linux uses 200 ms, and data centers often about 10
    /// ms.
    pub rto_least: Interval,
    /// The maximum timeout after backoff. 60 s (RFC 6298 section 2.5).
    pub rto_most: Interval,
}

impl Default for NewReno {
    fn default() -> Self {
        Self {
            initial_window: 10,
            duplicates: 3,
            rto_initial: Interval::from_secs(1),
            rto_least: Interval::from_secs(1),
            rto_most: Interval::from_secs(60),
        }
    }
}
