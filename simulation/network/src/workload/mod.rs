//! The flows that hosts send, drawn one at a time in the order of their start.
//!
//! A [`Workload`] has parts. Each makes its own random choices, so adding or changing one leaves the others
//! as they are. [`Workload::flows`] merges them. Its memory grows with the sources, not with the flows.

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

use crate::network::NodeId;
use std::collections::BTreeSet;
use std::sync::Arc;
use units::Priority;

/// The traffic of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Its parts.
    pub parts: Vec<Part>,
}

/// Flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The group with which they are counted in results.
    pub group: u16,
    /// Their priority; a list has its own.
    pub priority: Priority,
    /// The hosts between which flows arrive, and when.
    pub arrivals: Arrivals,
}

/// The hosts between which flows arrive, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At random, at a given load.
    Poisson(Arc<Poisson>),
    /// Between fixed pairs, once or repeatedly.
    Pattern(Arc<Pattern>),
    /// As a list has them.
    Listed(Arc<[Listed]>),
}

impl Workload {
    /// Calls `visit` with hosts, and with the hosts to which each of them may send, until it has named every pair. A host
    /// may be among those that it could send to.
    pub fn reach(&self, mut visit: impl FnMut(&[NodeId], &[NodeId])) {
        for part in &self.parts {
            match &part.arrivals {
                Arrivals::Poisson(poisson) => poisson.reach(&mut visit),
                Arrivals::Pattern(pattern) => match &pattern.pairs {
                    Pairing::Given(pairs) => pairs.iter().for_each(|(from, to)| visit(&[*from], &[*to])),
                    Pairing::Permutation(hosts) => visit(hosts, hosts),
                },
                Arrivals::Listed(rows) => {
                    // A list may have far more flows than pairs.
                    let pairs: BTreeSet<_> = rows.iter().map(|row| (row.source, row.destination)).collect();
                    pairs.into_iter().for_each(|(from, to)| visit(&[from], &[to]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
