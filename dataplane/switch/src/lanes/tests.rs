//! Tests of the bounds and of one lane's end of the board.

use super::*;

#[test]
fn what_nobody_sees_of_a_lane_is_a_burst_and_the_grain() {
    assert_eq!(unseen(Bytes(1_082)), Bytes(51_712));
}

#[test]
fn headroom_grows_with_each_lane_by_what_nobody_sees_twice() {
    assert_eq!([1, 2, 4].map(|lanes| extra_headroom(lanes, Bytes(1_082))), [0, 103_424, 310_272].map(Bytes));
    assert_eq!([1, 2, 4].map(|lanes| beyond_pools(lanes, Bytes(1_082))), [0, 51_712, 155_136].map(Bytes));
}

const PORT: PortId = PortId(1);
const P3: Priority = Priority::from_low_bits(3);

fn lanes<const N: usize>() -> [Lane; N] {
    let board = Arc::new(Board::new(N, 2));
    core::array::from_fn(|number| Lane::new(board.clone(), number))
}

fn show(lane: &mut Lane, cells: u64) {
    let level = |_| Level { shared: Cells(cells), headroom: Cells(2 * cells), ..Level::default() };
    lane.show(PORT, PrioritySet::EMPTY.with(P3), level, Own::default());
    lane.end_turn(PoolUse { shared: Bytes(16 * cells), ..PoolUse::default() });
}

#[test]
fn a_lane_sees_the_sum_of_the_others_and_not_itself() {
    let [mut one, mut two, mut three] = lanes();
    show(&mut one, 5_000);
    show(&mut two, 200);
    show(&mut three, 30_000);
    let seen =
        |lane: &Lane| (lane.level_of_others(PORT, P3, Bytes(1_082)).shared, lane.pools_of_others().shared.0);
    assert_eq!(seen(&one), (30_200 * 16, 30_200 * 16));
    assert_eq!(seen(&two), (35_000 * 16, 35_000 * 16));
    assert_eq!(two.level_of_others(PORT, P3, Bytes(1_082)).headroom, 70_000 * 16);
}

#[test]
fn a_level_is_shown_when_it_is_off_by_the_grain_or_falls_to_nothing() {
    let [mut one, two] = lanes();
    let mut shown = |cells| {
        show(&mut one, cells);
        two.level_of_others(PORT, P3, Bytes(1_082)).shared / Cells::SIZE
    };
    assert_eq!(
        [1, 500, 1_025, 1_500, 2_100, 1_700, 0].map(&mut shown),
        [1, 1, 1_025, 1_025, 2_100, 2_100, 0]
    );
}

#[test]
fn there_is_news_of_a_lane_when_it_shows_something_new_and_once() {
    let [mut one, mut two] = lanes();
    assert!(!two.has_news(PORT));
    show(&mut one, 5_000);
    assert!(two.has_news(PORT) && !two.has_news(PORT));
    show(&mut one, 5_001);
    assert!(!two.has_news(PORT), "it is within the grain");
    one.tell_pause(Nanos(16_000), PORT, P3, Interval(3_200));
    assert!(two.has_news(PORT));
    one.show_paused(PORT, PrioritySet::EMPTY.with(P3), PrioritySet::EMPTY);
    assert!(two.has_news(PORT));
    one.show_paused(PORT, PrioritySet::EMPTY.with(P3), PrioritySet::EMPTY);
    assert!(!two.has_news(PORT));
    show(&mut one, 0);
    assert!(two.has_news(PORT), "it has let go of all");
    two.forget();
    assert!(two.has_news(PORT), "the settings have changed");
}

#[test]
fn what_grows_by_less_than_the_grain_each_turn_is_shown_in_the_end_whatever_is_claimed_meanwhile() {
    let [mut one, mut two] = lanes();
    let mut cells = [0; Priority::COUNT];
    for turn in 1..=400 {
        // A grain is claimed each time.
        one.settle(PORT, 0, 20_000);
        cells[P3.index()] = 600 * turn;
        one.show(PORT, PrioritySet::EMPTY, |_| Level::default(), Own { cells, ..Own::default() });
        if two.has_news(PORT) {
            two.look_at_waiting(PORT);
        }
        let seen = two.ports[PORT.index()].elsewhere[P3.index()];
        assert!(u64::from(cells[P3.index()]) - seen < GRAIN.0, "{seen} of {}", cells[P3.index()]);
    }
}

#[test]
fn a_limiter_that_starts_anew_counts_from_there() {
    let [mut one, mut two] = lanes();
    let mut limited = |counted| {
        one.show(PORT, PrioritySet::EMPTY, |_| Level::default(), Own { counted, ..Own::default() });
        two.limited_of_others(PORT).0
    };
    let counted = [Some(50_000), Some(90_000), None, Some(1_000_000), Some(1_020_000), Some(7), Some(20_007)];
    assert_eq!(counted.map(&mut limited), [0, 40_000, 0, 0, 20_000, 0, 20_000]);
}

#[test]
fn the_newest_pause_counts_whoever_received_it() {
    let [mut one, mut two, mut three] = lanes();
    let heard = |lane: &mut Lane, now| {
        let mut heard = Vec::new();
        lane.hear_pauses(Nanos(now), PORT, |priority, left, _| heard.push((priority, left.0)));
        heard
    };
    one.tell_pause(Nanos(16_000), PORT, P3, Interval(3_200));
    assert_eq!(heard(&mut two, 16_160), [(P3, 3_040)], "less than the whole is left");
    assert_eq!(heard(&mut two, 16_176), [], "and it is heard once");
    two.tell_pause(Nanos(16_320), PORT, P3, Interval::ZERO);
    assert_eq!(heard(&mut one, 16_400), [(P3, 0)]);
    assert_eq!(heard(&mut three, 16_400), [(P3, 2_800), (P3, 0)], "the last one stands");
    one.tell_pause(Nanos(17_000), PORT, P3, Interval(160));
    assert_eq!(heard(&mut two, 20_000), [(P3, 0)], "it has run out");
}

#[test]
fn stamps_wrap_and_still_tell_older_from_newer() {
    let wrap = 1_u64 << 36;
    for at in [wrap - 16, wrap, wrap + 16, 5 * wrap - 16] {
        let [mut one, mut two] = lanes();
        one.tell_pause(Nanos(at), PORT, P3, Interval(1_600));
        let mut heard = None;
        two.hear_pauses(Nanos(at + 160), PORT, |_, left, _| heard = Some(left.0));
        assert_eq!(heard, Some(1_440));
        two.tell_pause(Nanos(at + 320), PORT, P3, Interval::ZERO);
        one.tell_pause(Nanos(at + 160), PORT, P3, Interval(1_600));
        heard = None;
        two.hear_pauses(Nanos(at + 480), PORT, |_, left, _| heard = Some(left.0));
        assert_eq!(heard, None, "an older one does not replace a newer one");
    }
}

#[test]
fn what_a_follower_wants_keeps_the_lead_and_what_the_lead_pauses_keeps_the_followers() {
    let [mut lead, mut follower] = lanes();
    let mut own = Own::default();
    own.wants[P3.index()] = Some(PauseCause::MemoryLow);
    follower.show(PORT, PrioritySet::EMPTY, |_| Level::default(), own);
    assert_eq!(lead.kept(PORT)[P3.index()], Some(PauseCause::MemoryLow));
    assert_eq!(follower.kept(PORT), [None; Priority::COUNT]);
    let p3 = PrioritySet::EMPTY.with(P3);
    lead.show_paused(PORT, p3, PrioritySet::EMPTY);
    assert_eq!(follower.kept(PORT)[P3.index()], Some(PauseCause::Threshold));
    lead.show_paused(PORT, p3, p3);
    assert_eq!(follower.kept(PORT)[P3.index()], Some(PauseCause::ReceiveRing));
    follower.show(PORT, PrioritySet::EMPTY, |_| Level::default(), Own::default());
    assert_eq!(lead.kept(PORT), [None; Priority::COUNT]);
}
