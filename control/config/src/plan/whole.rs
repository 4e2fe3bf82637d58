//! A plan as a whole.

use super::built::Built;
use super::compare::{Row, compare};
use super::hosts::Hosts;
use super::parts;
use super::pauses::Pauses;
use super::request::{PlanError, Request};
use super::scheme::Scheme;
use super::step::Part;

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The gateways.
    pub built: Built,
    /// The formulas: link, headroom, thresholds, marks, LSCC, memory.
    pub parts: Vec<Part>,
    /// The longest pauses.
    pub pauses: Pauses,
    /// The schemes on this link.
    pub schemes: Vec<(Scheme, Result<Row, PlanError>)>,
    /// The needs of hosts.
    pub hosts: Hosts,
}

impl Plan {
    /// Plans the link of `request`.
    ///
    /// # Errors
    /// [`PlanError`] if no gateway for it would run without warnings.
    pub fn new(request: &Request) -> Result<Self, PlanError> {
        let built = Built::new(request)?;
        let pauses = Pauses::new(&built);
        let hosts = Hosts::new(&built, &pauses);
        let mut parts = vec![parts::link(&built)];
        parts.extend(parts::headroom(&built));
        parts.push(parts::thresholds(&built));
        parts.extend(parts::local(&built));
        parts.extend(parts::marks(&built));
        parts.extend(parts::lscc(&built));
        parts.push(parts::memory(&built));
        Ok(Self { parts, pauses, schemes: compare(request), hosts, built })
    }
}
