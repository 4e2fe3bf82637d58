//! The settings of RED.

use crate::congestion::adaptive_ecn::{AdaptiveEcnError, Settings as Adaptive};
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Random early detection that marks and never drops (RFC 3168; DCQCN, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Red {
    /// The length up to which nothing is marked.
    pub kmin: Bytes,
    /// The length above which everything is marked.
    pub kmax: Bytes,
    /// Probability of a mark at `kmax`, 0 to 1.
    pub pmax: f64,
    /// The time at which the length of the queue decides.
    pub mark_at: MarkAt,
    /// How far the thresholds fall below these; fixed without it.
    pub adaptive: Option<Adaptive>,
}

/// The instant whose queue length decides about a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkAt {
    /// The length behind the frame as it leaves: the most recent one.
    #[default]
    Dequeue,
    /// The length that the frame finds.
    Enqueue,
}

impl Red {
    /// Checks the rule.
    ///
    /// # Errors
    /// [`RedError`] for what is out of order or out of range.
    pub(crate) fn validate(&self) -> Result<(), RedError> {
        let Self { kmin, kmax, pmax, adaptive, .. } = *self;
        if kmin >= kmax {
            return Err(RedError::Order { kmin, kmax });
        }
        if !(pmax > 0.0 && pmax <= 1.0) {
            return Err(RedError::Probability { pmax });
        }
        adaptive.map_or(Ok(()), |it| Ok(it.validate([kmin, kmax])?))
    }
}

/// An error in a marking rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message names its fields")]
pub enum RedError {
    #[error("Kmin ({kmin}) must be below Kmax ({kmax})")]
    Order { kmin: Bytes, kmax: Bytes },
    #[error("Pmax {pmax} is out of range; expected a probability above 0, up to 1")]
    Probability { pmax: f64 },
    #[error(transparent)]
    Adaptive(#[from] AdaptiveEcnError),
}
