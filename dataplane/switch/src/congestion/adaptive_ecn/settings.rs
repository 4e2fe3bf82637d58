//! The settings of ECN thresholds that move.

use core::ops::RangeInclusive;
use serde::{Deserialize, Serialize};
use units::{Bytes, Interval};

/// Thresholds that move with the traffic, between those below and those of [`Red`](crate::program::Red), with which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The lowest Kmin.
    pub kmin: Bytes,
    /// The lowest Kmax.
    pub kmax: Bytes,
    /// The least time between two steps.
    pub interval: Interval,
    /// The ports that must feed a queue to count as incast.
    pub incast: u32,
}

impl Settings {
    /// Valid intervals.
    pub const INTERVALS: RangeInclusive<Interval> = Interval::from_micros(10)..=Interval::from_secs(1);

    /// Checks the settings of a queue whose highest thresholds are `kmin` and `kmax`.
    ///
    /// # Errors
    /// [`AdaptiveEcnError`] for what is out of order or out of range.
    pub(crate) fn validate(&self, [kmin, kmax]: [Bytes; 2]) -> Result<(), AdaptiveEcnError> {
        let Self { kmin: least_kmin, kmax: least_kmax, interval: given, incast } = *self;
        if least_kmin >= least_kmax || least_kmin > kmin || least_kmax > kmax {
            return Err(AdaptiveEcnError::Order { kmin, kmax, least_kmin, least_kmax });
        }
        if !Self::INTERVALS.contains(&given) {
            let (least, most) = (*Self::INTERVALS.start(), *Self::INTERVALS.end());
            return Err(AdaptiveEcnError::Interval { given, least, most });
        }
        if incast < 2 { Err(AdaptiveEcnError::Incast { incast }) } else { Ok(()) }
    }
}

/// An error in the settings of thresholds that move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum AdaptiveEcnError {
    #[error(
        "adaptive thresholds fall from {kmin} and {kmax} to {least_kmin} and {least_kmax}; the lowest Kmin must be below the lowest Kmax, and neither above the other end"
    )]
    Order { kmin: Bytes, kmax: Bytes, least_kmin: Bytes, least_kmax: Bytes },
    #[error("an interval of {given} for adaptive thresholds is out of range; expected {least} to {most}")]
    Interval { given: Interval, least: Interval, most: Interval },
    #[error("an incast of {incast} ports is out of range; expected 2 or more")]
    Incast { incast: u32 },
}
