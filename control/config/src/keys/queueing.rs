//! Groups and queues of a port: `[[port.lossless]]`, `[[port.queue]]`, `[port.pfc]`, and their profiles.

use switch::congestion::adaptive_ecn::Settings as AdaptiveEcn;
use switch::program::{DynamicThreshold, MarkAt, Scheduling, Threshold};
use units::{BitRate, Bytes, Interval, Priority};

use crate::place::{At, Place};
use crate::section::Section;
use crate::table::{Item, List, Shape, table};
use crate::value::{PauseChoice, SchedulingWord, SizeChoice};

const PRIORITIES: &str = "priorities = [3, 4]";

table! {
    /// A lossless priority group, for one or more priorities.
    LosslessDecl {
        /// The priorities; each has its own group, and stands in one table at most
        priorities: List<Priority>, required(PRIORITIES), own;
        /// A `[profile.lossless.NAME]`
        profile: At<String>, own;
        /// Bytes that the group always has, outside the pool. SONiC: `size`
        reserved: At<Bytes>, auto("one frame; half of `xoff` where that is less");
        /// XOFF at a fixed level, reserved bytes included
        xoff: At<Bytes>;
        /// XOFF at alpha = 2^n of what is free in the shared pool. A group alone gets alpha / (1 + alpha) of the pool. SONiC: `dynamic_th`
        dynamic_th: At<DynamicThreshold>, instead_of(xoff), auto("-3 (alpha 1/8)");
        /// The sender resumes below this level. SONiC: `xon`
        xon: At<Bytes>, auto("one frame; with `xoff`, two frames below it and at least its half");
        /// With `dynamic_th`: the sender also resumes this far below the threshold, if that is more than `xon`. Zero flaps, which is a warning. SONiC: `xon_offset`
        xon_offset: At<Bytes>, auto("two frames");
        /// The most that the group may hold in the headroom pool while it pauses its sender; `"auto"` is what the distance needs. Less is an error. SONiC: `xoff`
        headroom: At<SizeChoice>, auto("`\"auto\"`");
    }
}

impl LosslessDecl {
    /// From `xoff` or `dynamic_th`.
    pub fn threshold(&self) -> Option<At<Threshold>> {
        threshold(&self.xoff, &self.dynamic_th)
    }
}

/// The fixed level, or the share.
fn threshold(fixed: &Option<At<Bytes>>, share: &Option<At<DynamicThreshold>>) -> Option<At<Threshold>> {
    let level = fixed.clone().map(|level| level.map(Threshold::Static));
    level.or(share.clone().map(|share| share.map(Threshold::Dynamic)))
}

table! {
    /// An egress queue, for one or more priorities.
    QueueDecl {
        /// The priorities
        priorities: List<Priority>, required(PRIORITIES), own;
        /// A `[profile.queue.NAME]`
        profile: At<String>, own;
        /// `"strict"`: before lower priorities and all weighted queues
        scheduling: At<SchedulingWord>, auto("strict for 6 and 7, which carry CNPs and the network's own protocols; weighted for 0 to 5");
        /// Share of the link among the weighted queues that hold frames, 1 to 255, in bytes on the wire. A turn lasts a millisecond at most, or one frame
        weight: At<u8>, unless(scheduling, SchedulingWord::Strict), auto("1");
        /// `"40G"`, or `{ rate = "40G", burst = "100kB" }`, in bytes on the wire. A limit above the link rate has no effect, which is a warning
        rate_limit: RateLimitDecl, auto("none; `burst`: two frames, or 10 us at that rate if that is more");
        ecn: EcnDecl;
        lossy: LossyDecl, absent;
    }
}

impl QueueDecl {
    /// From `scheduling` and `weight`.
    pub fn turn(&self) -> Option<At<Scheduling>> {
        match (&self.scheduling, &self.weight) {
            (Some(word), _) if word.value == SchedulingWord::Strict => {
                Some(word.clone().map(|_| Scheduling::Strict))
            }
            (_, Some(weight)) => Some(weight.clone().map(Scheduling::Weighted)),
            (Some(word), None) => Some(word.clone().map(|_| Scheduling::Weighted(1))),
            (None, None) => None,
        }
    }
}

table! {
    /// A token bucket with a burst.
    BucketDecl {
        /// The rate, in bytes on the wire
        rate: At<BitRate>, required("rate = \"40G\"");
        /// How far it may run ahead after idling
        burst: At<Bytes>, auto("two frames, or 10 us at that rate if that is more");
    }
}

/// A token bucket: a rate, or a table with a burst.
#[derive(Clone, Debug)]
pub(crate) struct RateLimitDecl(pub BucketDecl);

impl Shape for RateLimitDecl {
    fn read(section: &mut Section<'_, '_>, key: &'static str) -> Option<Self> {
        if section.is_single(key) {
            let rate: At<BitRate> = section.optional(key)?;
            return Some(Self(BucketDecl { place: rate.place.clone(), rate: Some(rate), burst: None }));
        }
        Shape::read(section, key).map(Self)
    }

    fn item(&self) -> Item {
        self.0.item()
    }

    fn place(&self) -> Option<&Place> {
        Some(&self.0.place)
    }

    fn kind() -> String {
        "rate, or table of `rate` and `burst`".into()
    }
}

table! {
    /// Where a queue marks.
    EcnDecl {
        /// Up to here nothing is marked; below `kmax`. A warning where PFC pauses or the queue drops at or below it
        kmin: At<Bytes>, required("kmin = \"1MB\"");
        /// Above this everything is marked. More than the buffer holds is a warning
        kmax: At<Bytes>, required("kmax = \"2MB\"");
        /// Probability of a mark at `kmax`, above 0 and up to 1
        pmax: At<f64>, default(0.05);
        /// Which queue length decides: the one that the frame leaves behind, or the one that it finds
        mark_at: At<MarkAt>, default(MarkAt::Dequeue);
        adaptive: AdaptiveEcnDecl;
    }

    /// Thresholds that [move with the traffic](adaptive-ecn.md), between these and `kmin` and `kmax` of the queue.
    AdaptiveEcnDecl {
        /// The lowest `kmin`; below the lowest `kmax`
        kmin: At<Bytes>, required("kmin = \"100kB\"");
        /// The lowest `kmax`
        kmax: At<Bytes>, required("kmax = \"400kB\"");
        /// The least time between two steps
        interval: At<Interval>, within(AdaptiveEcn::INTERVALS), default(Interval::from_micros(200));
        /// Ports that must feed a queue above `kmin` to lower the thresholds
        incast: At<u32>, within(2..=64), default(8_u32);
    }

    /// The limits of a queue for lossy frames.
    LossyDecl {
        /// Bytes that the queue always has, outside the pool. SONiC: `size`
        reserved: At<Bytes>, auto("one frame");
        /// The queue drops above this level, reserved bytes included. SONiC: `static_th`
        r#static: At<Bytes>;
        /// The queue drops above 2^n of what is free in `egress_lossy`. SONiC: `dynamic_th`
        dynamic_th: At<DynamicThreshold>, instead_of(r#static), auto("1 (alpha 2)");
    }
}

impl LossyDecl {
    /// From `static` or `dynamic_th`.
    pub fn threshold(&self) -> Option<At<Threshold>> {
        threshold(&self.r#static, &self.dynamic_th)
    }
}

table! {
    /// PFC as a port speaks and obeys it.
    PfcDecl {
        /// The time for which each XOFF pauses: quanta of 512 bit times, 1 to 65535, or a time, rounded up to quanta
        pause: At<PauseChoice>, auto("65535 (335.54 us at 100G)");
        /// Priorities whose received pauses the port obeys; lossless ones only
        obey: List<Priority>, auto("the lossless priorities");
        /// Whether a received 802.3x PAUSE stops everything
        global_pause: At<bool>, default(false);
    }
}
