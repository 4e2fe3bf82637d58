use super::*;
use crate::program::MarkAt;
use proptest::prelude::*;

const RATE: BitRate = BitRate::gigabits(8);
const INTERVAL: Interval = Interval::from_micros(100);
/// The bytes that the link carries in an interval.
const FULL: u64 = 100_000;

fn red() -> program::Red {
    let adaptive = Settings { kmin: Bytes(10_000), kmax: Bytes(40_000), interval: INTERVAL, incast: 4 };
    program::Red {
        kmin: Bytes(170_000),
        kmax: Bytes(680_000),
        pmax: 0.1,
        mark_at: MarkAt::Dequeue,
        adaptive: Some(adaptive),
    }
}

/// Thresholds with a clock and totals that a test moves.
struct Bench {
    adaptive: Thresholds,
    now: Nanos,
    seen: QueueSample,
}

impl Bench {
    /// After a first look, to which all further ones compare.
    fn new(red: &program::Red) -> Self {
        let mut bench = Self {
            adaptive: Thresholds::new(red, RATE).unwrap(),
            now: Nanos(0),
            seen: QueueSample::default(),
        };
        bench.look(0, 0, 0, 0);
        bench
    }

    /// Looks an interval later: `carried` more bytes and `marked` more frames, `queue` bytes from `inputs` ports.
    fn look(&mut self, queue: u64, carried: u64, marked: u64, inputs: u32) -> bool {
        self.now += INTERVAL;
        self.seen.queue = queue;
        self.seen.carried.0 += carried;
        self.seen.marked += marked;
        self.adaptive.look(self.now, self.seen, || inputs).is_some()
    }

    fn thresholds(&self) -> (u64, u64) {
        (self.adaptive.report().kmin.0, self.adaptive.report().kmax.0)
    }
}

#[test]
fn many_inputs_lower_the_thresholds_and_so_does_growth_by_one_step_in_an_interval() {
    let mut bench = Bench::new(&red());
    assert_eq!(bench.thresholds(), (170_000, 680_000), "they begin at the highest");
    assert!(bench.look(200_000, FULL, 0, 4), "incast");
    assert_eq!(bench.thresholds(), (160_000, 640_000));
    assert!(bench.look(200_001, FULL, 0, 3), "growth");
    assert!(!bench.look(200_001, FULL, 0, 3), "neither");
    assert!(!bench.look(150_000, FULL, 0, 9), "a queue below Kmin");
    let report = bench.adaptive.report();
    assert_eq!((report.lowered_by_incast, report.lowered_by_growth, report.raised), (1, 1, 0));
    assert_eq!(bench.thresholds(), (150_000, 600_000));
}

#[test]
fn marks_on_a_link_that_is_not_busy_raise_them_unless_the_queue_was_paused() {
    let mut bench = Bench::new(&red());
    assert!(!bench.look(0, FULL / 2, 1, 0), "they are the highest already");
    (0..3).for_each(|_| assert!(bench.look(200_000, FULL, 0, 4)));
    let low = bench.thresholds();
    assert!(!bench.look(0, FULL / 2, 0, 0), "no marks");
    assert!(!bench.look(0, FULL * 95 / 100, 1, 0), "busy");
    bench.seen.paused = Interval(1);
    assert!(!bench.look(0, FULL / 2, 1, 0), "paused");
    assert!(bench.look(0, FULL * 94 / 100, 1, 0));
    assert!(bench.thresholds() > low);
    assert_eq!(bench.adaptive.report().raised, 1);
}

#[test]
fn a_look_after_a_rest_changes_nothing() {
    let mut bench = Bench::new(&red());
    bench.now = bench.now + INTERVAL + Interval(1);
    assert!(!bench.look(500_000, FULL, 9, 9));
    assert!(bench.look(500_000, FULL, 9, 9));
}

proptest! {
    #[test]
    fn thresholds_stay_within_their_bounds_and_in_order_whatever_comes(
        looks in prop::collection::vec((0_u64..1_000_000, 0..2 * FULL, 0_u64..3, 0_u32..8), 1..200),
    ) {
        let mut bench = Bench::new(&red());
        for (queue, carried, marked, inputs) in looks {
            let before = bench.thresholds();
            bench.look(queue, carried, marked, inputs);
            let (kmin, kmax) = bench.thresholds();
            prop_assert!((10_000..=170_000).contains(&kmin) && (40_000..=680_000).contains(&kmax));
            prop_assert!(kmin < kmax && kmin.abs_diff(before.0) <= 10_000 && kmax.abs_diff(before.1) <= 40_000);
        }
    }
}

#[test]
fn bounds_that_leave_no_room_change_nothing_and_count_nothing() {
    let mut red = red();
    red.adaptive = red.adaptive.map(|it| Settings { kmin: red.kmin, kmax: red.kmax, ..it });
    let mut bench = Bench::new(&red);
    (0..20).for_each(|_| assert!(!bench.look(900_000, FULL, 1, 9)));
    let unchanged = ThresholdsReport { kmin: red.kmin, kmax: red.kmax, ..Default::default() };
    assert_eq!(bench.adaptive.report(), unchanged);
}
