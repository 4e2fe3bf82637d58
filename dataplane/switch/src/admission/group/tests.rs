//! Tests of priority groups.

use super::*;
use crate::flow_control::threshold;
use crate::program::{BufferSettings, DynamicThreshold};
use proptest::prelude::*;

#[test]
fn a_lossy_frame_is_refused_by_a_full_pool_only() {
    let buffer = BufferSettings {
        shared: Bytes(18_000_000),
        headroom: Bytes(6_000_000),
        egress_lossy: Bytes(14_000_000),
        packing: None,
    };
    let (mut pools, mut group) = (Pools::new(&buffer), Group::new(GroupSettings::Lossy));
    group.admit(Cells::within(18_000_000 - 1_008), false, &mut pools).unwrap();
    assert_eq!(group.admit(Cells(64), false, &mut pools), Err(DropReason::SharedPoolFull));
    assert_eq!(group.admit(Cells(63), false, &mut pools), Ok(Part::Shared));
}

/// 1,600 bytes reserved, and as much of the shared pool; 3,200 bytes of headroom.
const GROUP: LosslessGroup = LosslessGroup {
    reserved: Bytes(1_600),
    xoff: Threshold::Static(Bytes(3_200)),
    xon: Bytes(1_600),
    xon_offset: Bytes(0),
    headroom: Bytes(3_200),
};

#[test]
fn headroom_is_refused_past_the_share_of_the_group_and_past_the_end_of_the_pool() {
    let (mut pools, mut group) = (small_pools(), Group::new(GroupSettings::Lossless(GROUP)));
    let exceeded = Err(DropReason::HeadroomExceeded);
    assert_eq!(group.admit(Cells(100 + 201), true, &mut pools), exceeded);
    assert_eq!(group.admit(Cells(100 + 50), true, &mut pools), Ok(Part::Headroom));
    assert_eq!(group.admit(Cells(151), true, &mut pools), exceeded);
    pools.headroom.take(20_000 - 50 * Cells::SIZE - 60 * Cells::SIZE);
    let full = Err(DropReason::HeadroomPoolFull);
    assert_eq!(group.admit(Cells(62), true, &mut pools), full);
    assert_eq!(group.admit(Cells(61), true, &mut pools), full);
    assert_eq!(group.admit(Cells(60), true, &mut pools), Ok(Part::Headroom));
}

#[test]
fn a_full_pool_leaves_a_group_its_reserved_part() {
    let (mut pools, group) = (small_pools(), Group::new(GroupSettings::Lossless(GROUP)));
    pools.shared.take(50_000);
    assert!(group.has_room(Cells(100), &pools) && !group.has_room(Cells(101), &pools));
    assert_eq!(group.room(&pools), Cells(100));
}

#[test]
fn a_group_has_no_room_for_what_would_take_it_to_its_threshold() {
    let (pools, group) = (small_pools(), Group::new(GroupSettings::Lossless(GROUP)));
    assert!(group.has_room(Cells(199), &pools) && !group.has_room(Cells(200), &pools));
    assert_eq!(group.room(&pools), Cells(199));
}

#[test]
fn a_group_has_no_room_for_what_would_take_the_pool_to_its_end() {
    let (mut pools, group) = (small_pools(), Group::new(GroupSettings::Lossless(GROUP)));
    pools.shared.take(50_000 - 800);
    assert!(group.has_room(Cells(149), &pools) && !group.has_room(Cells(150), &pools));
    assert_eq!(group.room(&pools), Cells(149));
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { length: u64, paused: bool },
    Leave(usize),
    Configure(GroupSettings),
    ClearWatermarks,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (14_u64..1_500, any::<bool>()).prop_map(|(length, paused)| Step::Arrive { length, paused }),
        2 => (1_usize..8).prop_map(Step::Leave),
        1 => any_group().prop_map(Step::Configure),
        1 => Just(Step::ClearWatermarks),
    ]
}

/// The parts of a group, which alone holds all that the pools count.
fn parts(group: &Group, pools: &Pools) -> [u64; 3] {
    assert_eq!((pools.shared.held, pools.headroom.held), (Bytes(group.shared), Bytes(group.headroom)));
    let (reserved, headroom) =
        group.settings.lossless().map_or((0, 0), |settings| (settings.reserved.0, settings.headroom.0));
    assert!(group.reserved <= reserved && group.headroom <= headroom);
    assert!(group.shared == 0 || group.reserved == reserved, "the reserved part fills first");
    [group.reserved, group.shared, group.headroom]
}

fn any_group() -> impl Strategy<Value = GroupSettings> {
    let threshold = prop_oneof![
        (3_000_u64..40_000).prop_map(|xoff| Threshold::Static(Bytes(xoff))),
        (-8_i8..=8).prop_map(|n| Threshold::Dynamic(DynamicThreshold::new(n).unwrap())),
    ];
    let lossless = (0_u64..3_000, threshold, 0_u64..3_000, 0_u64..5_000, 0_u64..20_000).prop_map(
        |(reserved, xoff, xon, xon_offset, headroom)| {
            GroupSettings::Lossless(LosslessGroup {
                reserved: Bytes(reserved),
                xoff,
                xon: Bytes(xon),
                xon_offset: Bytes(xon_offset),
                headroom: Bytes(headroom),
            })
        },
    );
    prop_oneof![Just(GroupSettings::Lossy), lossless]
}

fn small_pools() -> Pools {
    Pools::new(&BufferSettings {
        shared: Bytes(50_000),
        headroom: Bytes(20_000),
        egress_lossy: Bytes(50_000),
        packing: None,
    })
}

proptest! {
    #[test]
    fn a_group_holds_the_cells_that_are_inside_whatever_comes_leaves_and_is_configured(
        settings in any_group(),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let (mut pools, mut group) = (small_pools(), Group::new(settings));
        let (mut inside, mut released) = (Vec::new(), Cells::ZERO);
        // Since they were last cleared.
        let (mut highest, mut highest_headroom) = (0, 0);
        for step in steps {
            let before = parts(&group, &pools);
            match step {
                Step::Arrive { length, paused } => {
                    let cells = Cells::of_frame(Bytes(length));
                    let admitted = group.admit(cells, paused, &mut pools);
                    let after = parts(&group, &pools);
                    let grown = [0, 1, 2].map(|part| after[part] > before[part]);
                    match admitted {
                        Ok(Part::Reserved) => prop_assert_eq!(grown, [true, false, false]),
                        Ok(Part::Shared) => prop_assert!(grown[1] && !grown[2]),
                        Ok(Part::Headroom) => prop_assert!(grown[2]),
                        Err(_) => prop_assert_eq!(after, before),
                    }
                    prop_assert!(!(paused && group.is_lossless() && grown[1]), "a paused group grows in headroom");
                    inside.extend(admitted.is_ok().then_some(cells));
                }
                Step::Leave(frames) => {
                    let gone: Cells = inside.drain(..frames.min(inside.len())).fold(Cells::ZERO, |sum, cells| sum + cells);
                    released += gone;
                    group.settle(released, &mut pools);
                    let after = parts(&group, &pools);
                    prop_assert_eq!(after[2], before[2].saturating_sub(gone.bytes().0), "headroom goes first");
                }
                Step::Configure(settings) => {
                    group.configure(settings, &mut pools);
                    prop_assert_eq!(group.is_lossless(), matches!(settings, GroupSettings::Lossless(_)));
                }
                Step::ClearWatermarks => {
                    group.clear_watermarks();
                    (highest, highest_headroom) = (0, 0);
                }
            }
            let [reserved, shared, headroom] = parts(&group, &pools);
            let cells: u64 = inside.iter().map(|cells| cells.bytes().0).sum();
            prop_assert_eq!((group.occupancy(), reserved + shared + headroom), (Bytes(cells), cells));
            prop_assert_eq!(group.is_within_reserved(), shared == 0 && headroom == 0);
            (highest, highest_headroom) = (highest.max(reserved + shared), highest_headroom.max(headroom));
            prop_assert_eq!(group.watermark.since_cleared(), Bytes(highest));
            prop_assert_eq!(group.headroom_watermark.since_cleared(), Bytes(highest_headroom));
        }
    }

    #[test]
    fn charging_a_run_within_the_room_is_charging_its_frames_one_by_one(
        settings in any_group(),
        before in proptest::collection::vec(14_u64..1_500, 0..30),
        run in proptest::collection::vec(14_u64..1_500, 1..40),
    ) {
        let (mut pools, mut group) = (small_pools(), Group::new(settings));
        let cost = |length| Cells::of_frame(Bytes(length));
        for length in before {
            let admitted = group.admit(cost(length), false, &mut pools);
            // A group whose sender is paused takes no runs.
            prop_assume!(threshold::reached(&group, &pools, &admitted).is_none());
        }
        let (room, mut sum) = (group.room(&pools), Cells::ZERO);
        let levels = [1, room.0 / 2, room.0.saturating_sub(1), room.0, room.0 + 1, 2 * room.0];
        for cells in levels.map(|cells| Cells(cells.max(1))) {
            prop_assert_eq!(group.has_room(cells, &pools), cells <= room, "{:?} of {:?}", cells, room);
        }
        let within = run.into_iter().map(cost).take_while(|cells| {
            sum += *cells;
            sum <= room
        });
        let (mut one_by_one, mut their_pools, mut total) = (group.clone(), pools.clone(), Cells::ZERO);
        for cells in within {
            let admitted = one_by_one.admit(cells, false, &mut their_pools);
            prop_assert_eq!(threshold::reached(&one_by_one, &their_pools, &admitted), None);
            prop_assert!(admitted.is_ok());
            total += cells;
        }
        group.charge_within_room(total, &mut pools);
        prop_assert_eq!(group, one_by_one);
        prop_assert_eq!(pools, their_pools);
    }

    #[test]
    fn a_frame_that_passes_leaves_what_one_leaves_that_is_charged_and_settled(
        settings in any_group(),
        before in proptest::collection::vec((14_u64..1_500, any::<bool>()), 0..30),
        length in 14_u64..1_500,
    ) {
        let (mut pools, mut group) = (small_pools(), Group::new(settings));
        let cost = |length| Cells::of_frame(Bytes(length));
        for (length, paused) in before {
            // The next ones may be shorter.
            let _ = group.admit(cost(length), paused, &mut pools);
        }
        let cells = cost(length);
        prop_assume!(group.has_room(cells, &pools));
        let (mut waits, mut their_pools) = (group.clone(), pools.clone());
        waits.charge_within_room(cells, &mut their_pools);
        waits.settle(cells, &mut their_pools);
        group.pass_within_room(cells, &mut pools);
        prop_assert_eq!(group, waits);
        prop_assert_eq!(pools, their_pools);
    }
}
