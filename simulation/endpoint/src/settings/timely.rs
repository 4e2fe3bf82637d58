//! The parameters of TIMELY.

use serde::{Deserialize, Serialize};
use units::{BitRate, Interval};

/// The parameters of TIMELY, by their names in algorithm 1. The defaults are those of the paper's section 5
/// and, where it gives none, of the analysis in "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
/// TIMELY" (CoNEXT 2016, footnote 4); the simulator of HPCC's authors has the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timely {
    /// alpha: the weight of the newest difference of round-trip times in their average, 0 to 1; the old average
    /// keeps 1 - alpha (line 4). 0.875.
    pub alpha: f64,
    /// beta: the factor of a decrease, 0 to 1. 0.8.
    pub beta: f64,
    /// T_low: below it the rate rises, whatever the gradient. 50 us.
    pub t_low: Interval,
    /// T_high: above it the rate falls, whatever the gradient. 500 us.
    pub t_high: Interval,
    /// minRTT: normalizes the gradient. 20 us.
    pub min_rtt: Interval,
    /// delta: the additive step of the rate. 10 Mb/s.
    pub step: BitRate,
    /// N in hyperactive increase: the number of steps at a time. 5.
    pub hyper_steps: u32,
    /// The minimum time between two completion events; segments acknowledged sooner are combined. Otherwise,
    /// with small segments on fast links, the paper's algorithm would cut the rate dozens of times before the
    /// first cut takes effect. 20 us, minRTT, as in the CoNEXT analysis.
    pub least_interval: Interval,
    /// Whether to limit completion events to one per round trip: each waits for an acknowledgement of data
    /// sent after the previous event. Not in the paper, but common in simulations that compare with TIMELY.
    /// Off.
    pub once_per_round_trip: bool,
    /// The minimum rate. Not in the paper, where a gradient of 1 / beta cuts the rate to zero; 100 Mb/s.
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
            step: const { BitRate::megabits(10) },
            hyper_steps: 5,
            least_interval: Interval::from_micros(20),
            once_per_round_trip: false,
            minimum: const { BitRate::megabits(100) },
        }
    }
}

impl Timely {
    /// The defaults for a path whose round trip is `round_trip` without queues: the paper's, each later by what that is
    /// above its `min_rtt`.
    pub fn for_round_trip(round_trip: Interval) -> Self {
        let paper = Self::default();
        let more = round_trip - paper.min_rtt;
        Self {
            t_low: paper.t_low + more,
            t_high: paper.t_high + more,
            min_rtt: paper.min_rtt + more,
            ..paper
        }
    }
}
