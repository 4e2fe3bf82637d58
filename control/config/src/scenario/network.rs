//! `[network]`: what all switches and hosts have to agree on.

use units::{Priority, PrioritySet};
use wire::ip::Dscp;

use crate::problem::ProblemKind;
use crate::section::Section;
use crate::value::Value;

/// Priorities and their code points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetworkWish {
    /// What PFC protects.
    pub lossless: PrioritySet,
    /// What a host writes for each priority.
    pub dscp: [Dscp; Priority::COUNT],
    /// Whether that is what switches make of it without being told.
    pub plain: bool,
}

/// The class selector and 2 for data, so that RDMA on priority 3 has DSCP 26; 48 and 56 for the network itself.
fn dscp(priority: Priority) -> Dscp {
    let selector = 8 * priority.number();
    Dscp::from_low_bits(if (1..6).contains(&priority.number()) { selector + 2 } else { selector })
}

impl Default for NetworkWish {
    fn default() -> Self {
        let all = core::array::from_fn(|index| dscp(Priority::from_low_bits(index as u8)));
        Self { lossless: PrioritySet::EMPTY.with(Priority::from_low_bits(3)), dscp: all, plain: true }
    }
}

impl NetworkWish {
    pub fn read(section: &mut Section<'_, '_>) -> Self {
        let mut wish = Self::default();
        if let Some(lossless) = section.list::<Priority>("lossless") {
            wish.lossless = lossless.value.iter().fold(PrioritySet::EMPTY, |set, it| set.with(it.value));
        }
        let problems = section.problems;
        let entries = section.entries("dscp");
        for (name, place, value) in &entries {
            let priority = name.parse().ok().and_then(|number| Priority::new(number).ok());
            match (priority, Dscp::read(value)) {
                (Some(priority), Ok(dscp)) => {
                    wish.dscp[priority.index()] = dscp;
                    wish.plain = false;
                }
                (None, _) => {
                    let kind = ProblemKind::Malformed { got: (*name).into(), want: "a priority, 0 to 7" };
                    problems.error(place, kind);
                }
                (_, Err(kind)) => problems.error(place, kind),
            }
        }
        let twice = |dscp: &&Dscp| wish.dscp.iter().filter(|it| it == dscp).count() > 1;
        if let (Some(dscp), Some((_, place, _))) = (wish.dscp.iter().find(twice), entries.first()) {
            let kind = ProblemKind::SameCode { dscp: *dscp };
            problems.error(place, kind);
        }
        wish
    }

    /// `{ "26" = 3 }`, as switches are told.
    pub fn classes(&self) -> impl Iterator<Item = (String, i64)> {
        let all = self.dscp.iter().enumerate();
        all.map(|(priority, dscp)| (dscp.number().to_string(), priority as i64))
    }
}
