//! ECN thresholds that move with the traffic, within bounds.
//!
//! Low thresholds keep queues and so the latency of short flows low; high ones keep the link busy for long flows (IEEE
//! 802 Nendica report "Intelligent Lossless Data Center Networks", draft of 2021, section "Intelligent ECN threshold
//! optimization"). The report has a model that learns. Here it is a rule with three lines. Two of its inputs are the
//! report's: the ports that feed the queue (incast ratio) and the growth of the queue. Instead of the third, the mix of
//! mice and elephants, it looks at how busy the link is.
//!
//! It has no timer; it looks when frames leave, at most once in an interval. An idle port therefore costs nothing, and
//! bounds that leave no room give what fixed thresholds give, to the byte.

pub(crate) mod figures;
mod settings;

pub use settings::{AdaptiveEcnError, Settings};

use super::red::Red;
use crate::program;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Interval, Nanos, WireBytes};

/// Steps between the lowest and the highest thresholds.
const STEPS: u64 = 16;
/// The share of the link, in percent, from which it counts as busy.
const BUSY_PERCENT: u128 = 95;

/// The changes of the thresholds of one queue, by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThresholdsReport {
    /// Steps up: frames were marked, and the link was not busy.
    pub raised: u64,
    /// Steps down: at least [`Settings::incast`] ports fed a queue above Kmin.
    pub lowered_by_incast: u64,
    /// Steps down: a queue above Kmin grew.
    pub lowered_by_growth: u64,
    /// Kmin in force.
    pub kmin: Bytes,
    /// Kmax in force.
    pub kmax: Bytes,
}

units::named! {
    /// The reason for a step of the thresholds.
    ThresholdStep [serde] {
        /// Up: frames were marked, and the link was not busy.
        Underused = "underused",
        /// Down: many ports fed the queue.
        Incast = "incast",
        /// Down: the queue grew.
        Growth = "growth",
    }
}

impl ThresholdsReport {
    /// The reason for the last step since `before`; `None` if there was none.
    pub(crate) fn step_since(&self, before: &Self) -> Option<ThresholdStep> {
        let steps = [
            (self.raised > before.raised, ThresholdStep::Underused),
            (self.lowered_by_incast > before.lowered_by_incast, ThresholdStep::Incast),
            (self.lowered_by_growth > before.lowered_by_growth, ThresholdStep::Growth),
        ];
        steps.into_iter().find_map(|(grew, step)| grew.then_some(step))
    }

    /// The sum of both: all changes, and the lowest thresholds.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            raised: self.raised + other.raised,
            lowered_by_incast: self.lowered_by_incast + other.lowered_by_incast,
            lowered_by_growth: self.lowered_by_growth + other.lowered_by_growth,
            kmin: self.kmin.min(other.kmin),
            kmax: self.kmax.min(other.kmax),
        }
    }
}

/// The figures that a look sees. All but `queue` and `inputs` are totals.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QueueSample {
    /// Bytes in the queue.
    pub queue: u64,
    /// Bytes that the link has carried.
    pub carried: WireBytes,
    /// Frames of the queue that were marked, or would have been.
    pub marked: u64,
    /// For how long the queue was paused.
    pub paused: Interval,
}

/// The thresholds of one queue.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Thresholds {
    settings: Settings,
    red: program::Red,
    rate: BitRate,
    /// Steps above the lowest thresholds.
    level: u64,
    at: Nanos,
    before: QueueSample,
    report: ThresholdsReport,
}

impl Thresholds {
    /// The thresholds of `red` to begin with, which are the highest; `None` if they are fixed.
    pub fn new(red: &program::Red, rate: BitRate) -> Option<Self> {
        let report = ThresholdsReport { kmin: red.kmin, kmax: red.kmax, ..Default::default() };
        let (at, before) = (Nanos::ZERO, QueueSample::default());
        Some(Self { settings: red.adaptive?, red: *red, rate, level: STEPS, at, before, report })
    }

    /// Whether it is for a link of `rate`.
    pub fn is_at(&self, rate: BitRate) -> bool {
        self.rate == rate
    }

    pub fn report(&self) -> ThresholdsReport {
        self.report
    }

    /// Whether it may look again at `now`.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.at + self.settings.interval
    }

    /// Looks at the queue, which `inputs` ports feed, and returns the rule in force if it changes.
    pub fn look(&mut self, now: Nanos, seen: QueueSample, inputs: impl FnOnce() -> u32) -> Option<Red> {
        let (elapsed, before) = (now.since(self.at), core::mem::replace(&mut self.before, seen));
        self.at = now;
        // Time in which nothing left says nothing about the thresholds.
        if elapsed > Interval(2 * self.settings.interval.0) {
            return None;
        }
        let reason = self.reason(seen, before, elapsed, inputs)?;
        let (level, count) = match reason {
            ThresholdStep::Underused => (STEPS.min(self.level + 1), &mut self.report.raised),
            ThresholdStep::Incast => (self.level.saturating_sub(1), &mut self.report.lowered_by_incast),
            ThresholdStep::Growth => (self.level.saturating_sub(1), &mut self.report.lowered_by_growth),
        };
        let thresholds = [(self.settings.kmin, self.red.kmin), (self.settings.kmax, self.red.kmax)]
            .map(|(least, most)| Bytes(least.0 + (most.0 - least.0) * level / STEPS));
        if thresholds == [self.report.kmin, self.report.kmax] {
            return None;
        }
        *count += 1;
        self.level = level;
        [self.report.kmin, self.report.kmax] = thresholds;
        Some(self.rule())
    }

    /// The rule with the thresholds in force.
    fn rule(&self) -> Red {
        Red::new(&program::Red { kmin: self.report.kmin, kmax: self.report.kmax, ..self.red })
    }

    fn reason(
        &self,
        seen: QueueSample,
        before: QueueSample,
        elapsed: Interval,
        inputs: impl FnOnce() -> u32,
    ) -> Option<ThresholdStep> {
        if seen.queue > self.report.kmin.0 {
            if inputs() >= self.settings.incast {
                return Some(ThresholdStep::Incast);
            }
            if seen.queue > before.queue {
                return Some(ThresholdStep::Growth);
            }
        }
        let carried = u128::from(seen.carried.0 - before.carried.0);
        let is_busy = carried * 100 >= u128::from(self.rate.bytes_in(elapsed)) * BUSY_PERCENT;
        // A neighbour that pauses the queue leaves the link idle whatever the thresholds are.
        let is_free = seen.paused == before.paused;
        (seen.marked > before.marked && !is_busy && is_free).then_some(ThresholdStep::Underused)
    }
}

#[cfg(test)]
mod tests;
