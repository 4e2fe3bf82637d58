//! The plan of a long link: from its distance, rate and scheme to the configuration of both gateways, with each formula.
//!
//! A [`LinkPlan`] computes nothing that the rest of this crate computes. It writes the configuration, reads it as
//! [`crate::parse`] does, and shows the sums of the gateway that came of it. It adds what no configuration says: the
//! thresholds for full throughput, how long a pause may last, how the schemes compare, and what the hosts need.
//!
//! `docs/plan.md` describes the command.

mod built;
mod compare;
mod hosts;
mod lacks;
mod levels;
pub(crate) mod longest;
mod marks;
mod parts;
mod pauses;
pub(crate) mod planned;
mod proof;
mod request;
mod scheme;
mod slot;
pub(crate) mod step;
mod text;

pub use built::Built;
pub use compare::{Row, SlotRow, compare};
pub use hosts::{Hosts, Window};
pub use lacks::Lack;
pub use pauses::{Neighbour, Pauses, WatchdogVerdict};
pub use planned::Unreached;
pub use proof::{Case, Proof, Run, RunEnd, Throughput};
pub use request::{PlanError, Request};
pub use scheme::{Scheme, UnknownScheme};
pub use step::{Part, Quantity, Step};

/// A plan.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// The gateways.
    pub built: Built,
    /// Why it does not hold; empty if it does.
    pub lacks: Vec<Lack>,
    /// The formulas: link, headroom, thresholds, marks, LSCC, memory.
    pub parts: Vec<Part>,
    /// The longest pauses.
    pub pauses: Pauses,
    /// The schemes on this link.
    pub schemes: Vec<(Scheme, Result<Row, PlanError>)>,
    /// What other slots would hold; empty for schemes without slots.
    pub slots: Vec<SlotRow>,
    /// The needs of hosts.
    pub hosts: Hosts,
}

impl LinkPlan {
    /// Plans the link of `request`.
    ///
    /// # Errors
    /// [`PlanError`] if no gateway for it would run without warnings.
    pub fn new(request: &Request) -> Result<Self, PlanError> {
        let built = Built::new(request)?;
        let pauses = Pauses::new(&built);
        let hosts = Hosts::new(&built, &pauses);
        let (parts, slots) = (parts::all(&built), compare::curve(&built));
        let lacks = lacks::lacks(&built);
        Ok(Self { lacks, parts, pauses, schemes: compare(request), slots, hosts, built })
    }
}
