//! Threshold PFC: a group pauses its sender when it reaches XOFF, and resumes it when it holds less than XON.
//!
//! The SONiC buffer model ("Empowering Azure Storage with RDMA", section 6.2). The thresholds apply beneath every
//! other scheme too, as the last line of defence: they check each frame that comes near them, not only the end of a
//! slot.

use super::sender::PauseCause;
use crate::admission::{Group, Part, Pools};
use crate::program::{GroupSettings, LosslessGroup, Threshold};
use crate::reason::DropReason;
use units::Bytes;

/// The cause to pause the sender of `group` after a frame with the result `admitted`; `None` if it may go on.
#[inline]
pub fn reached(group: &Group, pools: &Pools, admitted: &Result<Part, DropReason>) -> Option<PauseCause> {
    match admitted {
        Ok(Part::Reserved) => None,
        Ok(Part::Shared) => full(group, pools, false),
        Ok(Part::Headroom) => full(group, pools, true),
        // A pause ends with a departure, and an empty buffer has none.
        Err(_) if group.occupancy() == Bytes::ZERO && pools.are_empty() => None,
        Err(_) => full(group, pools, true),
    }
}

/// The cause to pause the sender of `group` by the level of the group alone, as after a change of thresholds.
pub fn above(group: &Group, pools: &Pools) -> Option<PauseCause> {
    if group.is_within_reserved() { None } else { full(group, pools, false) }
}

/// The cause if the group has reached its threshold, the pool is full, or a frame did not fit below them
/// (`overflowed`).
fn full(group: &Group, pools: &Pools, overflowed: bool) -> Option<PauseCause> {
    let settings = group.settings().lossless()?;
    let free = pools.shared.free();
    if group.joint() >= Group::shared_limit(settings, free) {
        Some(PauseCause::Threshold)
    } else if overflowed || free == 0 {
        Some(PauseCause::PoolFull)
    } else {
        None
    }
}

/// Whether the sender of `group` may go on: the group has fallen below its lower threshold, and all of its headroom
/// is free. The sender may need the whole headroom after the next XOFF, even if the threshold has moved.
#[inline]
pub fn is_low(group: &Group, pools: &Pools) -> bool {
    let GroupSettings::Lossless(settings) = group.settings() else { return true };
    let (occupancy, headroom_is_free) = (group.joint_occupancy(), group.joint_headroom() == Bytes::ZERO);
    let low = occupancy == Bytes::ZERO || (headroom_is_free && occupancy.0 < resume_below(settings, pools));
    low && !pools.memory_low
}

fn resume_below(settings: &LosslessGroup, pools: &Pools) -> u64 {
    match settings.xoff {
        Threshold::Static(_) => settings.xon.0,
        Threshold::Dynamic(alpha) => {
            let threshold = settings.reserved.0 + alpha.of(pools.shared.free());
            settings.xon.0.max(threshold.saturating_sub(settings.xon_offset.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BufferSettings, DynamicThreshold};
    use units::Cells;

    /// The pools of "Empowering Azure Storage with RDMA", appendix A, listing 1.
    fn azure_pools() -> Pools {
        Pools::new(&BufferSettings {
            shared: Bytes(18_000_000),
            headroom: Bytes(6_000_000),
            egress_lossy: Bytes(14_000_000),
            packing: None,
        })
    }

    /// Its `ingress_lossless_profile`.
    fn azure_group() -> LosslessGroup {
        LosslessGroup {
            reserved: Bytes(1_248),
            xoff: Threshold::Dynamic(DynamicThreshold::new(-3).unwrap()),
            xon: Bytes(1_248),
            xon_offset: Bytes(2_496),
            headroom: Bytes(96_928),
        }
    }

    /// Admits a frame to a group whose sender is not paused. Returns why it is to be.
    fn admit(group: &mut Group, pools: &mut Pools, cells: Cells) -> Option<PauseCause> {
        let admitted = group.admit(cells, false, pools);
        reached(group, pools, &admitted)
    }

    /// Admits cell after cell until the sender is to be paused. Returns what the group took, in bytes, and why.
    fn filled(group: &mut Group, pools: &mut Pools) -> (u64, PauseCause) {
        let mut cells = Cells(1);
        loop {
            if let Some(cause) = admit(group, pools, Cells(1)) {
                return (cells.bytes().0, cause);
            }
            cells += Cells(1);
        }
    }

    #[test]
    fn alpha_of_an_eighth_pauses_a_lone_group_at_a_ninth_of_the_pool() {
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(azure_group())));
        // The threshold falls as the pool fills: 2,000,000 bytes are whole cells.
        assert_eq!(filled(&mut group, &mut pools), (1_248 + 2_000_000, PauseCause::Threshold));
    }

    #[test]
    fn a_paused_group_takes_exactly_its_headroom() {
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(azure_group())));
        filled(&mut group, &mut pools);
        assert_eq!(group.admit(Cells::within(96_928), true, &mut pools), Ok(Part::Headroom));
        assert_eq!(group.admit(Cells(1), true, &mut pools), Err(DropReason::HeadroomExceeded));
        assert_eq!(group.headroom_watermark.persistent(), Bytes(96_928));
    }

    #[test]
    fn a_group_resumes_an_offset_below_the_threshold_of_the_moment() {
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(azure_group())));
        let (held, _) = filled(&mut group, &mut pools);
        // held - x < reserved + alpha * free - offset, where free has grown by x.
        let released = (1..held / Cells::SIZE).map(Cells).find(|released| {
            group.settle(*released, &mut pools);
            is_low(&group, &pools)
        });
        let released = released.unwrap().bytes().0;
        let threshold = 1_248 + (16_000_000 + released) / 8;
        let cell_before = (held - released + Cells::SIZE, 1_248 + (16_000_000 + released - Cells::SIZE) / 8);
        assert!(held - released < threshold - 2_496 && cell_before.0 >= cell_before.1 - 2_496);
    }

    #[test]
    fn an_exhausted_pool_pauses_before_the_threshold_does() {
        let fixed = LosslessGroup { xoff: Threshold::Static(Bytes(1_000_000)), ..azure_group() };
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(fixed)));
        pools.shared.take(18_000_000 - 512);
        assert_eq!(admit(&mut group, &mut pools, Cells::within(1_248 + 496)), None);
        assert_eq!(admit(&mut group, &mut pools, Cells(7)), Some(PauseCause::PoolFull));
        assert_eq!((group.joint(), group.headroom()), (512, Bytes(96)));
    }

    #[test]
    fn a_refused_frame_pauses_its_sender_where_a_departure_will_end_the_pause() {
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(azure_group())));
        let refused = Err(DropReason::HeadroomExceeded);
        assert_eq!(reached(&group, &pools, &refused), None, "nothing is inside");
        pools.shared.others = Bytes(16);
        assert_eq!(reached(&group, &pools, &refused), Some(PauseCause::PoolFull), "another group holds some");
        pools.shared.others = Bytes::ZERO;
        assert_eq!(group.admit(Cells(1), false, &mut pools), Ok(Part::Reserved));
        assert_eq!(reached(&group, &pools, &refused), Some(PauseCause::PoolFull), "the group holds some");
    }

    #[test]
    fn a_group_with_a_fixed_threshold_resumes_below_xon() {
        let fixed =
            LosslessGroup { xoff: Threshold::Static(Bytes(10_000)), xon: Bytes(1_600), ..azure_group() };
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(fixed)));
        group.admit(Cells(101), false, &mut pools).unwrap();
        let low = [1, 2].map(|released| {
            group.settle(Cells(released), &mut pools);
            is_low(&group, &pools)
        });
        assert_eq!(low, [false, true], "1600 bytes are not below it");
    }

    #[test]
    fn the_level_alone_pauses_a_sender_at_the_threshold_and_not_within_the_reserved_part() {
        let fixed = LosslessGroup {
            xoff: Threshold::Static(Bytes(1_280 + 160)),
            reserved: Bytes(1_280),
            ..azure_group()
        };
        let (mut pools, mut group) = (azure_pools(), Group::new(GroupSettings::Lossless(fixed)));
        let mut level = |cells| {
            group.admit(Cells(cells), false, &mut pools).unwrap();
            above(&group, &pools)
        };
        assert_eq!([level(80), level(9), level(1)], [None, None, Some(PauseCause::Threshold)]);
    }
}
