//! The parameters of TIMELY.

use units::{BitRate, Bytes, Interval};

/// The parameters of TIMELY, by their names in algorithm 1. The defaults are those of the paper's section 5 and,
/// where it gives none, of its analysis in "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY"
/// (CoNEXT 2016, footnote 4); the simulator of HPCC's authors has the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timely {
    /// alpha: the weight of the newest difference of round-trip times in their average, 0 to 1; the old average
    /// keeps 1 - alpha (line 4). 0.875.
    pub alpha: f64,
    /// beta: the factor of a decrease, 0 to 1. 0.8.
    pub beta: f64,
    /// T_low: below it the rate rises whatever the gradient. 50 us.
    pub t_low: Interval,
    /// T_high: above it the rate falls whatever the gradient. 500 us.
    pub t_high: Interval,
    /// minRTT, by which the gradient is divided. 20 us.
    pub min_rtt: Interval,
    /// delta: what the rate rises by at a time. 10 Mb/s.
    pub step: BitRate,
    /// Completion events in a row with a gradient that is not positive, from which on the rate rises faster
    /// (hyperactive increase). 5.
    pub hyper_after: u32,
    /// N in hyperactive increase: how many steps at a time. 5.
    pub hyper_steps: u32,
    /// Payload from one completion event to the next. 16 to 64 KB in the paper; 16 KB.
    pub segment: Bytes,
    /// The least time between two completion events; segments that are acknowledged sooner count together. With small
    /// segments on fast links the paper's algorithm would otherwise cut the rate dozens of times before the first
    /// cut can be felt. 20 us, minRTT, as in the CoNEXT analysis.
    pub least_interval: Interval,
    /// Whether there is no more than one completion event in a round trip: the next one comes with something that
    /// was sent after the last one. Not of the paper; simulations that compare with TIMELY often do so. Off.
    pub once_per_round_trip: bool,
    /// The rate below which it never falls. Not of the paper, by which a gradient of 1 / beta leaves nothing; 100 Mb/s.
    pub minimum: BitRate,
}

impl Default for Timely {
    fn default() -> Self {
        Self {
            alpha: 0.875,
            beta: 0.8,
            t_low: Interval::from_micros(50),
            t_high: Interval::from_micros(500),
            min_rtt: Interval::from_micros(20),
            step: const { BitRate::new(10_000_000).expect("it is not zero") },
            hyper_after: 5,
            hyper_steps: 5,
            segment: Bytes(16_000),
            least_interval: Interval::from_micros(20),
            once_per_round_trip: false,
            minimum: const { BitRate::new(100_000_000).expect("it is not zero") },
        }
    }
}
