//! What hosts send: flows in the order in which they start, drawn one at a time.
//!
//! A [`Workload`] has parts, each with random choices of its own, so that a part that is added or changed
//! leaves the others as they are. [`Workload::flows`] merges them. Its memory is that of the sources, not of
//! the flows.

mod cdf;
mod drawn;
mod flows;
mod listed;
mod pattern;
mod poisson;
pub(crate) mod random;
mod sizes;

pub use cdf::{Cdf, CdfError};
pub use flows::Flows;
pub use listed::{Listed, ListedError, read_csv};
pub use pattern::{Again, Pairing, Pattern};
pub use poisson::{LoadOf, Place, Poisson, PoissonError};
pub use sizes::Sizes;

use std::sync::Arc;
use units::Priority;

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

#[cfg(test)]
mod tests;
