//! `[network]`: settings that all switches and hosts share.

use units::{Priority, PrioritySet};
use wire::ip::Dscp;

use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{List, Shape, table, values};
use crate::value::Value;

table! {
    /// Priorities and their code points.
    NetworkDecl {
        /// Priorities that PFC protects at every switch and host; `[]` for none
        lossless: List<Priority>, auto("`[3]`");
        /// Code points that hosts write: `{ 3 = 26 }`, all different
        dscp: CodePoints, auto("8 p + 2 for priorities 1 to 5; 0, 48 and 56 for 0, 6 and 7");
    }
}

impl NetworkDecl {
    /// The priorities that PFC protects.
    pub fn lossless(&self) -> PrioritySet {
        let stated = values(&self.lossless).map(|at| at.value).fold(PrioritySet::EMPTY, PrioritySet::with);
        if self.lossless.is_some() { stated } else { stated.with(Priority::from_low_bits(3)) }
    }

    /// The code point that hosts write for each priority.
    pub fn dscp(&self) -> [Dscp; Priority::COUNT] {
        self.dscp.clone().unwrap_or_default().0
    }
}

/// The code point that hosts write for each priority.
#[derive(Clone, Debug)]
pub(super) struct CodePoints(pub [Dscp; Priority::COUNT]);

/// Data has the class selector plus 2, so that RDMA on priority 3 has DSCP 26. The network's own priorities have 48
/// and 56.
impl Default for CodePoints {
    fn default() -> Self {
        Self([0, 10, 18, 26, 34, 42, 48, 56].map(Dscp::from_low_bits))
    }
}

impl Shape for CodePoints {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        let problems = section.problems;
        let entries = section.entries(key);
        let mut codes = Self::default();
        for (name, place, value) in &entries {
            let priority = name.parse().ok().and_then(|number| Priority::new(number).ok());
            match (priority, Dscp::read(value)) {
                (Some(priority), Ok(dscp)) => codes.0[priority.index()] = dscp,
                (None, _) => {
                    let kind = ProblemKind::Malformed { got: (*name).into(), want: "a priority, 0 to 7" };
                    problems.error(place, kind);
                }
                (_, Err(kind)) => problems.error(place, kind),
            }
        }
        let twice = |dscp: &&Dscp| codes.0.iter().filter(|it| it == dscp).count() > 1;
        let (_, first, _) = entries.first()?;
        if let Some(dscp) = codes.0.iter().find(twice) {
            problems.error(first, ProblemKind::SameCode { dscp: *dscp });
        }
        Some(codes)
    }

    fn kind() -> String {
        "table of code points".into()
    }
}
