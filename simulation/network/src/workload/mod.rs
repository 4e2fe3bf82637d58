//! What hosts send: flows in the order in which they start, drawn one at a time.
//!
//! A [`Workload`] has parts, each with random choices of its own, so that a part that is added or changed
//! leaves the others as they are. [`Workload::flows`] merges them. Its memory is that of the sources, not of
//! the flows.

mod cdf;
mod flows;
mod listed;
mod pattern;
mod poisson;
pub(crate) mod random;

pub use cdf::{Cdf, CdfError};
pub use flows::Flows;
pub use listed::{Listed, ListedError, read_csv};
pub use pattern::{Again, Pairing, Pattern};
pub use poisson::{LoadOf, Place, Poisson, PoissonError};

use random::Random;
use std::sync::Arc;
use units::{Nanos, Priority};

/// All that is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Its parts.
    pub parts: Vec<Part>,
}

/// Flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What they are counted with.
    pub group: u16,
    /// With which priority they are sent; lists have their own.
    pub priority: Priority,
    /// Who sends when, to whom.
    pub arrivals: Arrivals,
}

/// Who sends when, to whom.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At random, at a load.
    Poisson(Arc<Poisson>),
    /// The same pairs, once or again and again.
    Pattern(Arc<Pattern>),
    /// As a list says.
    Listed(Arc<[Listed]>),
}

/// How long a flow is.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// So many bytes.
    Fixed(u64),
    /// Each number of bytes from the first to the second as likely.
    Uniform(u64, u64),
    /// As a distribution has it.
    Cdf(Arc<Cdf>),
    /// Without end, until it is stopped.
    Endless,
}

impl Sizes {
    /// The mean, in bytes; `None` where flows have no end.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Fixed(bytes) => Some(*bytes as f64),
            Self::Uniform(least, most) => Some((*least as f64 + *most as f64) / 2.0),
            Self::Cdf(cdf) => Some(cdf.mean()),
            Self::Endless => None,
        }
    }

    fn draw(&self, random: &mut Random) -> Option<u64> {
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

impl Workload {
    /// Its flows, with the random choices of `seed`, as far as they start by `until`; numbered from zero.
    pub fn flows(&self, seed: u64, until: Nanos) -> Flows {
        Flows::new(self, seed, until)
    }
}

#[cfg(test)]
mod tests;
