//! How long frames waited.

use hdrhistogram::Histogram;
use units::Interval;

/// The longest wait that is told apart, in nanoseconds: longer ones count as this.
const LONGEST: u64 = 100_000_000_000;
/// One significant figure: buckets of at most 1/16 of their value, 5 KiB in all.
const SIGNIFICANT_FIGURES: u8 = 1;

/// A histogram of queue delays, 1 ns to 100 s, that never allocates after it was made.
#[derive(Clone, Debug)]
pub struct DelayHistogram(Histogram<u64>);

impl Default for DelayHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(LONGEST, SIGNIFICANT_FIGURES);
        Self(histogram.expect("a bound of at least 2 and at most 5 figures make a histogram"))
    }
}

impl DelayHistogram {
    #[inline]
    pub(crate) fn record(&mut self, delay: Interval) {
        self.0.saturating_record(delay.0);
    }

    /// How many frames it counts.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The delay that a share of `quantile` (0 to 1) of the frames did not exceed, to within a
    /// bucket.
    pub fn quantile(&self, quantile: f64) -> Interval {
        Interval(self.0.value_at_quantile(quantile))
    }

    /// The longest delay, to within a bucket.
    pub fn longest(&self) -> Interval {
        Interval(self.0.max())
    }

    /// The buckets that count any frame: upper bound and number of frames, shortest first.
    pub fn buckets(&self) -> impl Iterator<Item = (Interval, u64)> {
        self.0.iter_recorded().map(|bucket| (Interval(bucket.value_iterated_to()), bucket.count_at_value()))
    }
}
