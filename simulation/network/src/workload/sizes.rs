//! The sizes of flows.

use super::cdf::Cdf;
use super::random::Random;
use std::sync::Arc;

/// The size of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// A fixed number of bytes.
    Fixed(u64),
    /// Uniform from the first to the second number of bytes, both included.
    Uniform(u64, u64),
    /// Drawn from a distribution.
    Cdf(Arc<Cdf>),
    /// Without end, until it is stopped.
    Endless,
}

impl Sizes {
    /// The mean in bytes; `None` for flows without end.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Fixed(bytes) => Some(*bytes as f64),
            Self::Uniform(least, most) => Some((*least as f64 + *most as f64) / 2.0),
            Self::Cdf(cdf) => Some(cdf.mean()),
            Self::Endless => None,
        }
    }

    pub(super) fn draw(&self, random: &mut Random) -> Option<u64> {
        match self {
            Self::Fixed(bytes) => Some(*bytes),
            Self::Uniform(least, most) => {
                let width = most.saturating_sub(*least).saturating_add(1);
                Some(least + random.below(usize::try_from(width).unwrap_or(usize::MAX)) as u64)
            }
            Self::Cdf(cdf) => Some(cdf.draw(random)),
            Self::Endless => None,
        }
    }
}
