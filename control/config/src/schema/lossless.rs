//! `[[port.lossless]]` and `[profile.lossless.NAME]`.

use switch::program::{DynamicThreshold, Threshold};
use units::{Bytes, Priority};

use super::{Profiles, priorities, profile_of};
use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::SizeWish;

/// A lossless priority group, for one or more priorities.
#[derive(Clone, Default)]
pub(crate) struct LosslessDecl {
    pub place: Option<Place>,
    pub priorities: Vec<At<Priority>>,
    pub reserved: Option<At<Bytes>>,
    /// From `xoff` or `dynamic_th`.
    pub xoff: Option<At<Threshold>>,
    pub xon: Option<At<Bytes>>,
    pub xon_offset: Option<At<Bytes>>,
    pub headroom: Option<At<SizeWish>>,
}

impl LosslessDecl {
    pub fn read(section: &mut Section<'_, '_>, profiles: &Profiles<Self>) -> Self {
        let priorities = priorities(section);
        let profile = profile_of(section, "lossless profile", profiles);
        let own = Self::read_values(section);
        Self {
            place: own.place,
            priorities,
            reserved: own.reserved.or(profile.reserved),
            xoff: own.xoff.or(profile.xoff),
            xon: own.xon.or(profile.xon),
            xon_offset: own.xon_offset.or(profile.xon_offset),
            headroom: own.headroom.or(profile.headroom),
        }
    }

    /// What a profile can say too.
    pub fn read_values(section: &mut Section<'_, '_>) -> Self {
        let xoff = threshold(section, "xoff", "xoff");
        Self {
            place: Some(section.place.clone()),
            priorities: Vec::new(),
            reserved: section.optional("reserved"),
            xoff,
            xon: section.optional("xon"),
            xon_offset: section.optional("xon_offset"),
            headroom: section.optional("headroom"),
        }
    }
}

/// The fixed level at `fixed`, or the share at `dynamic_th`; both are an error.
pub(super) fn threshold(
    section: &mut Section<'_, '_>,
    fixed: &'static str,
    other: &'static str,
) -> Option<At<Threshold>> {
    let level = section.optional::<Bytes>(fixed).map(|level| level.map(Threshold::Static));
    let share = section.optional::<DynamicThreshold>("dynamic_th");
    let share = share.map(|share| share.map(Threshold::Dynamic));
    if let (Some(_), Some(share)) = (&level, &share) {
        section.problems.error(&share.place, ProblemKind::Conflict { other });
    }
    level.or(share)
}
