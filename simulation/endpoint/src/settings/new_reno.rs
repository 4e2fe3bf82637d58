//! The parameters of NewReno.

use units::Interval;

/// The parameters of NewReno.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewReno {
    /// IW: segments that may be on their way at first. 10 (RFC 6928). At least 1.
    pub initial_window: u32,
    /// Segments that may ever be on their way: the receiver's window; without limit where there is none.
    pub largest_window: Option<u32>,
    /// Duplicate acknowledgements in a row that tell of a loss. 3 (RFC 5681 section 3.2).
    pub duplicates: u32,
    /// The retransmission timeout before a round trip was measured. 1 s (RFC 6298 section 2.1).
    pub rto_initial: Interval,
    /// The least timeout. 1 s (RFC 6298 section 2.4); Linux has 200 ms, and data centers often some 10 ms.
    pub rto_least: Interval,
    /// The most that it is backed off to. 60 s (RFC 6298 section 2.5).
    pub rto_most: Interval,
}

impl Default for NewReno {
    fn default() -> Self {
        Self {
            initial_window: 10,
            largest_window: None,
            duplicates: 3,
            rto_initial: Interval::from_secs(1),
            rto_least: Interval::from_secs(1),
            rto_most: Interval::from_secs(60),
        }
    }
}
