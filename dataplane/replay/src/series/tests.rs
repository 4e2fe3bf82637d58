//! Tests that rows are limited in number and equal those of sampling at the longer interval.

use super::*;
use proptest::prelude::*;
use units::PortId;

/// An empty series of two columns.
fn empty(interval: u64, rows: u32) -> Series {
    Series::new(Sampling { interval: Interval(interval), rows }, columns::first_two(PortId(0)))
}

/// The state just before `time`. Each of `changes` is an instant and the state from then on.
fn before(changes: &[(u64, u64)], time: u64) -> [Option<u64>; 2] {
    let (_, value) = changes[..changes.partition_point(|(at, _)| *at < time)].last().unwrap_or(&(0, 0));
    // The second column is undefined until the value exceeds one.
    [Some(*value), (*value > 1).then_some(value / 2)]
}

/// Samples up to `end` at the ends of intervals, using the current interval.
fn sampled(mut series: Series, changes: &[(u64, u64)], end: u64) -> Series {
    for time in 0..end {
        if time.is_multiple_of(series.interval().0) {
            series.push(Interval(time), &before(changes, time));
        }
    }
    series.make_room();
    let last = series.interval_end(Interval(end));
    series.end(last, &before(changes, last.0));
    series
}

fn csv(series: &Series) -> String {
    let mut text = Vec::new();
    series.write_csv(&["dc0"], &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_row_is_written_where_something_changed_and_at_the_end() {
    let series = sampled(empty(10, 100), &[(25, 7), (26, 1), (70, 0), (71, 1), (95, 4)], 130);
    let expected = "time_ns,dc0.ingress_lossless_wire_bytes,dc0.egress_bytes\n\
                    0,0,\n30,1,\n100,4,2\n130,4,2\n";
    assert_eq!(csv(&series), expected);
}

#[test]
fn without_a_frame_there_is_only_the_header() {
    assert_eq!(csv(&empty(10, 100)), "time_ns,dc0.ingress_lossless_wire_bytes,dc0.egress_bytes\n");
}

#[test]
fn no_interval_is_so_long_and_no_bound_so_small_that_it_does_not_end() {
    let mut series = empty(u64::MAX / 3, 0);
    for (number, time) in [0, u64::MAX / 3, u64::MAX / 3 * 2, u64::MAX - 1, u64::MAX].into_iter().enumerate()
    {
        series.push(Interval(time), &[Some(number as u64), None]);
    }
    assert!(series.times().len() <= 4, "{:?}", series.times());
}

proptest! {
    #[test]
    fn what_is_left_of_a_fine_series_is_the_coarse_one(
        gaps in proptest::collection::vec((1_u64..40, 0_u64..4), 0..120),
        rows in 0_u32..40,
    ) {
        let mut now = 0;
        let changes: Vec<_> = gaps.into_iter().map(|(gap, value)| { now += gap; (now, value) }).collect();
        let fine = sampled(empty(1, rows), &changes, now + 1);
        prop_assert!(fine.times().len() <= rows.max(Sampling::ROWS_MIN) as usize);
        let coarse = sampled(empty(fine.interval().0, 10_000), &changes, now + 1);
        prop_assert_eq!(csv(&fine), csv(&coarse));
    }
}
