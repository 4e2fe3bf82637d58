//! The time axis. It leaves out long stretches without changes, because a capture of a minute may have all its events
//! within a millisecond.

use super::axis::{in_unit, rounded_up};
use units::Interval;
use units::human::{TIMES, unit_for};

/// The maximum number of stretches left out.
const CUTS_MAX: usize = 12;
/// A stretch is left out if it is longer than the rest, divided by this.
const CUT_PART: u64 = 8;
/// The width of a stretch left out, in pixels.
const CUT_WIDTH: i32 = 12;
/// The minimum width of a stretch shown, in pixels.
const SHOWN_WIDTH: i32 = 3;
/// The minimum distance between the middles of two labels, in pixels.
const LABEL_WIDTH: i32 = 64;
/// The approximate number of labels.
const LABELS: f64 = 10.0;

/// A stretch of time on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its start and end, since the first frame.
    pub time: (Interval, Interval),
    /// Its first pixel and its end.
    pub x: (i32, i32),
    /// Whether it is left out, because nothing changes in it.
    pub cut: bool,
}

/// The pixel of each instant.
pub struct TimeAxis {
    stretches: Vec<Stretch>,
}

impl TimeAxis {
    /// An axis for changes at `times`, in rising order, from pixel `left` to `right`.
    pub fn new(times: &[Interval], left: i32, right: i32) -> Self {
        let mut stretches = split(times);
        let cuts = stretches.iter().filter(|stretch| stretch.cut).count() as i32;
        let shown: u64 = stretches.iter().filter(|stretch| !stretch.cut).map(Stretch::length).sum();
        let least = (stretches.len() as i32 - cuts) * SHOWN_WIDTH + cuts * CUT_WIDTH;
        let width = (right - left - least).max(0) as u64;
        let mut x = left;
        let mut passed = 0;
        for stretch in &mut stretches {
            let end = if stretch.cut {
                x + CUT_WIDTH
            } else {
                // Round sums, so that the last stretch ends at the end of the axis.
                let before = part(passed, shown, width);
                passed += stretch.length();
                x + SHOWN_WIDTH + (part(passed, shown, width) - before) as i32
            };
            stretch.x = (x, end);
            x = end;
        }
        Self { stretches }
    }

    /// The pixel of `time`.
    pub fn x(&self, time: Interval) -> i32 {
        let place = self.stretches.partition_point(|stretch| stretch.time.1 < time);
        let Some(stretch) = self.stretches.get(place).or(self.stretches.last()) else { return 0 };
        let into = time.0.saturating_sub(stretch.time.0.0).min(stretch.length());
        stretch.x.0 + part(into, stretch.length(), (stretch.x.1 - stretch.x.0) as u64) as i32
    }

    /// The stretches left out.
    pub fn cuts(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(|stretch| stretch.cut)
    }

    /// The pixels and texts of the labels: round instants, or the start of a stretch without one, as far as there is
    /// room. Wide stretches come first.
    pub fn labels(&self) -> Vec<(i32, String)> {
        let mut shown: Vec<_> = self.stretches.iter().filter(|stretch| !stretch.cut).collect();
        shown.sort_by_key(|stretch| stretch.x.0 - stretch.x.1);
        let length: u64 = shown.iter().map(|stretch| stretch.length()).sum();
        let step = rounded_up((length as f64 / LABELS).max(1.0)) as u64;
        let unit = unit_for(self.stretches.last().map_or(0, |last| last.time.1.0), &TIMES);
        // A start that is not round has no more digits than the others, so that its label fits.
        let grain = 10_u64.pow(step.ilog10()).min(unit.1);
        let mut labels: Vec<(i32, String)> = Vec::new();
        for stretch in shown {
            let (start, end) = (stretch.time.0.0, stretch.time.1.0);
            let first = start.next_multiple_of(step);
            let instants = (first..=end).step_by(step as usize);
            for instant in instants.chain((first > end).then_some(start)) {
                let x = self.x(Interval(instant));
                if labels.iter().all(|(other, _)| (x - other).abs() >= LABEL_WIDTH) {
                    labels.push((x, in_unit((instant / grain * grain) as f64, unit)));
                }
            }
        }
        labels.sort();
        labels
    }
}

impl Stretch {
    fn length(&self) -> u64 {
        self.time.1.0 - self.time.0.0
    }
}

/// The part `of / whole` of `width`, rounded down.
fn part(of: u64, whole: u64, width: u64) -> u64 {
    (u128::from(of) * u128::from(width) / u128::from(whole.max(1))) as u64
}

/// The stretches from the first to the last of `times`, not yet placed.
fn split(times: &[Interval]) -> Vec<Stretch> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
    let mut gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0], pair[0], pair[1])).collect();
    // By length, longest first, then by time.
    gaps.sort_by_key(|(length, from, _)| (core::cmp::Reverse(*length), *from));
    let mut shown = *last - *first;
    let mut cuts = Vec::new();
    for (length, from, to) in gaps.into_iter().take(CUTS_MAX) {
        let rest = shown - length;
        if length.0 <= rest.0 / CUT_PART || rest == Interval::ZERO {
            break;
        }
        shown = rest;
        cuts.push((from, to));
    }
    cuts.sort();
    let mut stretches = Vec::new();
    let mut from = *first;
    let stretch = |time, cut| Stretch { time, x: (0, 0), cut };
    for cut in cuts {
        stretches.extend([stretch((from, cut.0), false), stretch(cut, true)]);
        from = cut.1;
    }
    stretches.push(stretch((from, *last), false));
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn axis(times: &[u64]) -> TimeAxis {
        let times: Vec<_> = times.iter().copied().map(Interval).collect();
        TimeAxis::new(&times, 100, 1_100)
    }

    #[test]
    fn where_something_changes_all_the_time_nothing_is_left_out() {
        let axis = axis(&(0..=100).collect::<Vec<_>>());
        assert_eq!(axis.cuts().count(), 0);
        assert_eq!([0, 50, 100].map(|time| axis.x(Interval(time))), [100, 600, 1_100]);
        assert_eq!(axis.labels().len(), 11);
        assert_eq!(axis.labels()[1], (200, "10 ns".to_owned()));
    }

    #[test]
    fn a_long_stretch_without_a_change_is_left_out() {
        let burst = |start: u64| (0..=50).map(move |step| start + step * SECOND / 1_000);
        let axis = axis(&burst(0).chain(burst(60 * SECOND)).collect::<Vec<_>>());
        let cut: Vec<_> = axis.cuts().collect();
        assert_eq!(cut.len(), 1);
        assert_eq!(cut[0].time, (Interval(SECOND / 20), Interval(60 * SECOND)));
        assert_eq!(cut[0].x.1 - cut[0].x.0, CUT_WIDTH);
        let labels = axis.labels();
        assert!(labels.iter().any(|(_, text)| text == "60.02 s"), "{labels:?}");
    }

    #[test]
    fn a_start_that_is_not_round_has_no_more_digits_than_the_others() {
        let end = 22_823_286_417;
        let axis =
            axis(&(0..=48).map(|step| step * SECOND / 10).chain([end, end + 1_000]).collect::<Vec<_>>());
        assert_eq!(axis.cuts().count(), 1);
        assert_eq!(axis.labels().last().map(|(_, text)| &**text), Some("22.8 s"), "{:?}", axis.labels());
    }

    #[test]
    fn without_a_row_or_with_one_there_is_still_an_axis() {
        assert!(axis(&[]).labels().is_empty());
        assert_eq!(axis(&[7]).labels().len(), 1);
        assert_eq!(axis(&[0, 9]).cuts().count(), 0, "something is shown");
    }

    proptest! {
        #[test]
        fn later_is_never_further_left_and_all_is_within_the_axis(
            gaps in proptest::collection::vec(0_u32..64, 1..60)
        ) {
            let mut time = 0;
            let times: Vec<u64> = gaps.iter().map(|gap| { time += 1_u64 << (gap % 50); time }).collect();
            let axis = axis(&times);
            let places: Vec<_> = times.iter().map(|time| axis.x(Interval(*time))).collect();
            prop_assert!(places.is_sorted());
            prop_assert!(places.iter().all(|x| (100..=1_100).contains(x)), "{places:?}");
            prop_assert!(axis.labels().windows(2).all(|pair| pair[1].0 - pair[0].0 >= LABEL_WIDTH));
        }
    }
}
