//! Histograms of delays.
//!
//! A log-linear histogram: each power of two is cut into [`STEPS`] equal buckets, so a bucket is
//! at most an eighth of its value wide. It is recorded into once per frame, so it has a fixed size
//! and precision, and recording is a shift and an addition without a branch that can fail.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;
use units::Interval;

/// Buckets per power of two.
const STEPS: u64 = 8;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Delays of 2^37 ns (137 s) and more share the last bucket.
const LARGEST_BITS: u32 = 37;
const BUCKETS: usize = (STEPS * (LARGEST_BITS - STEP_BITS + 1) as u64) as usize;

/// A histogram of queue delays in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayHistogram {
    #[serde(with = "BigArray")]
    counts: [u64; BUCKETS],
    longest: u64,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], longest: 0 }
    }
}

impl DelayHistogram {
    /// Counts one more delay.
    #[inline]
    pub fn record(&mut self, delay: Interval) {
        self.counts[bucket(delay.0)] += 1;
        self.longest = self.longest.max(delay.0);
    }

    /// Counts the frames of `other`, too.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.longest = self.longest.max(other.longest);
    }

    /// The number of frames.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The delay that a share of `quantile` (0 to 1) of the frames did not exceed: the upper bound of its bucket,
    /// but at most the longest delay. Zero without frames.
    pub fn quantile(&self, quantile: f64) -> Interval {
        let rank = (self.count() as f64 * quantile).ceil().max(1.0) as u64;
        let mut below = 0;
        let reached = self.buckets().find(|(_, frames)| {
            below += frames;
            below >= rank
        });
        reached.map_or(self.longest(), |(bound, _)| bound.min(self.longest()))
    }

    /// The longest delay, exactly.
    pub fn longest(&self) -> Interval {
        Interval(self.longest)
    }

    /// The buckets that are not empty, shortest delays first: largest delay of the bucket and number of frames. The
    /// last bucket has no bound of its own: its largest is the longest delay.
    pub fn buckets(&self) -> impl Iterator<Item = (Interval, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, frames)| **frames > 0);
        counted.map(|(bucket, frames)| (Interval(upper_bound(bucket, self.longest)), *frames))
    }
}

/// Below twice [`STEPS`] the bucket is the value; above, the position of the highest bit and the
/// bits that follow it.
#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = (nanos | (2 * STEPS - 1)).ilog2() - STEP_BITS;
    let bucket = u64::from(shift) * STEPS + (nanos >> shift);
    (bucket as usize).min(BUCKETS - 1)
}

fn upper_bound(bucket: usize, longest: u64) -> u64 {
    if bucket == BUCKETS - 1 {
        return longest;
    }
    let next = bucket as u64 + 1;
    let shift = (next / STEPS).saturating_sub(1);
    ((next - shift * STEPS) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delays_below_sixteen_nanoseconds_are_told_apart() {
        for nanos in 0..16 {
            let mut histogram = DelayHistogram::default();
            [nanos, 16].map(Interval).iter().for_each(|delay| histogram.record(*delay));
            assert_eq!(histogram.quantile(0.5), Interval(nanos));
        }
    }

    #[test]
    fn the_last_bucket_begins_below_2_to_37_and_has_no_end() {
        let first = 15 << 33;
        assert_eq!(
            [first - 1, first, (1 << 37) - 1, 1 << 37, u64::MAX].map(bucket),
            [278, 279, 279, 279, 279]
        );
    }

    #[test]
    fn a_sum_of_histograms_is_the_histogram_of_all_their_delays() {
        let of = |delays: &[u64]| {
            let mut histogram = DelayHistogram::default();
            delays.iter().for_each(|delay| histogram.record(Interval(*delay)));
            histogram
        };
        let mut sum = of(&[5, 5, 900]);
        sum.add(&of(&[5, 17]));
        assert_eq!(sum, of(&[5, 5, 5, 17, 900]));
        sum.add(&of(&[1_000]));
        assert_eq!(sum.longest(), Interval(1_000));
    }

    proptest! {
        #[test]
        fn a_bucket_is_at_most_an_eighth_of_its_value_wide(nanos in 0_u64..1 << 36) {
            let bound = upper_bound(bucket(nanos), u64::MAX);
            prop_assert!(nanos <= bound);
            prop_assert!(bound - nanos <= nanos / STEPS);
            prop_assert_eq!(bucket(bound), bucket(nanos), "the bound belongs to it");
            prop_assert_eq!(bucket(bound + 1), bucket(nanos) + 1, "and is its last value");
        }

        #[test]
        fn quantiles_agree_with_the_sorted_delays(
            mut delays in proptest::collection::vec(0_u64..1 << 40, 1..200),
            quantile in 0.0_f64..=1.0,
        ) {
            let mut histogram = DelayHistogram::default();
            delays.iter().for_each(|delay| histogram.record(Interval(*delay)));
            delays.sort_unstable();
            let rank = ((delays.len() as f64 * quantile).ceil() as usize).max(1);
            let exact = delays[rank - 1];
            let bound = if bucket(exact) == BUCKETS - 1 { u64::MAX } else { exact + exact / STEPS };
            let estimate = histogram.quantile(quantile).0;
            prop_assert!(exact <= estimate && estimate <= bound, "{exact} {estimate}");
            prop_assert_eq!(histogram.longest(), Interval(delays[delays.len() - 1]));
            prop_assert_eq!(histogram.count(), delays.len() as u64);
        }
    }
}
