//! `[[port.queue]]`, `[profile.queue.NAME]` and rate limits.

use switch::program::{MarkAt, Scheduling, Threshold};
use units::{BitRate, Bytes, Priority};

use super::lossless::threshold;
use super::{Profiles, priorities, profile_of};
use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::SchedulingWord;

/// An egress queue, for one or more priorities.
#[derive(Clone, Default)]
pub(crate) struct QueueDecl {
    pub place: Option<Place>,
    pub priorities: Vec<At<Priority>>,
    /// From `scheduling` and `weight`.
    pub scheduling: Option<At<Scheduling>>,
    pub rate_limit: Option<RateLimitDecl>,
    pub ecn: Option<EcnDecl>,
    pub lossy: Option<LossyDecl>,
}

/// A token bucket.
#[derive(Clone)]
pub(crate) struct RateLimitDecl {
    pub rate: At<BitRate>,
    pub burst: Option<At<Bytes>>,
}

/// Where a queue marks.
#[derive(Clone)]
pub(crate) struct EcnDecl {
    pub kmin: At<Bytes>,
    pub kmax: At<Bytes>,
    pub pmax: Option<At<f64>>,
    pub mark_at: Option<At<MarkAt>>,
}

/// What a queue holds of lossy frames.
#[derive(Clone)]
pub(crate) struct LossyDecl {
    pub reserved: Option<At<Bytes>>,
    /// From `static` or `dynamic_th`.
    pub threshold: Option<At<Threshold>>,
}

impl QueueDecl {
    pub fn read(section: &mut Section<'_, '_>, profiles: &Profiles<Self>) -> Self {
        let priorities = priorities(section);
        let profile = profile_of(section, "queue profile", profiles);
        let own = Self::read_values(section);
        Self {
            place: own.place,
            priorities,
            scheduling: own.scheduling.or(profile.scheduling),
            rate_limit: own.rate_limit.or(profile.rate_limit),
            ecn: own.ecn.or(profile.ecn),
            lossy: own.lossy.or(profile.lossy),
        }
    }

    /// What a profile can say too.
    pub fn read_values(section: &mut Section<'_, '_>) -> Self {
        Self {
            place: Some(section.place.clone()),
            priorities: Vec::new(),
            scheduling: scheduling(section),
            rate_limit: RateLimitDecl::read(section),
            ecn: section.table("ecn", EcnDecl::read).flatten(),
            lossy: section.table("lossy", LossyDecl::read),
        }
    }
}

fn scheduling(section: &mut Section<'_, '_>) -> Option<At<Scheduling>> {
    let word = section.optional::<SchedulingWord>("scheduling");
    let weight = section.optional::<u8>("weight");
    match (word, weight) {
        (Some(At { value: SchedulingWord::Strict, place }), weight) => {
            if let Some(weight) = weight {
                let with = "scheduling = \"strict\"";
                section.problems.error(&weight.place, ProblemKind::Meaningless { with });
            }
            Some(At { value: Scheduling::Strict, place })
        }
        (_, Some(weight)) => Some(weight.map(Scheduling::Weighted)),
        (Some(word), None) => Some(word.map(|_| Scheduling::Weighted(1))),
        (None, None) => None,
    }
}

impl RateLimitDecl {
    /// `rate_limit` of a port or queue: a rate, or a table of rate and burst.
    pub fn read(section: &mut Section<'_, '_>) -> Option<Self> {
        if section.is_single("rate_limit") {
            return Some(Self { rate: section.optional("rate_limit")?, burst: None });
        }
        let read = |limit: &mut Section<'_, '_>| {
            let rate = limit.required("rate", "rate = \"40G\"");
            let burst = limit.optional("burst");
            Some(Self { rate: rate?, burst })
        };
        section.table("rate_limit", read).flatten()
    }
}

impl EcnDecl {
    fn read(ecn: &mut Section<'_, '_>) -> Option<Self> {
        let kmin = ecn.required("kmin", "kmin = \"1MB\"");
        let kmax = ecn.required("kmax", "kmax = \"2MB\"");
        let (pmax, mark_at) = (ecn.optional("pmax"), ecn.optional("mark_at"));
        Some(Self { kmin: kmin?, kmax: kmax?, pmax, mark_at })
    }
}

impl LossyDecl {
    fn read(lossy: &mut Section<'_, '_>) -> Self {
        let threshold = threshold(lossy, "static", "static");
        Self { reserved: lossy.optional("reserved"), threshold }
    }
}
