//! The settings of the measurement.

use core::ops::RangeInclusive;
use serde::{Deserialize, Serialize};
use units::Interval;

/// Peer delay on a port (IEEE 802.1AS-2020 clause 11). The port answers requests, and may send some of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkDelay {
    /// The time between two requests of the port; `None` if it only answers.
    pub interval: Option<Interval>,
    /// The longest delay with which the link, as a member of a bundle, carries data again after it has failed; `None` if any
    /// will do.
    pub returns_up_to: Option<Interval>,
}

impl LinkDelay {
    /// The valid range of the interval.
    pub const INTERVALS: RangeInclusive<Interval> = Interval::from_millis(1)..=Interval::from_secs(32);

    /// `logMessageInterval` of requests: the greatest power of two, in seconds, that is not above the interval. It is
    /// zero for a port that sends none.
    pub(crate) fn log_interval(&self) -> i8 {
        let interval = self.interval.unwrap_or(Interval::from_secs(1)).0;
        let powers = (-10_i8..=5).rev();
        let nanos = |power: &i8| match power.unsigned_abs() {
            up if *power >= 0 => 1_000_000_000_u64 << up,
            down => 1_000_000_000_u64 >> down,
        };
        powers.into_iter().find(|power| nanos(power) <= interval).unwrap_or(-10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_between_two_powers_is_told_as_the_lower_one() {
        let told = |millis| {
            LinkDelay { interval: Some(Interval::from_millis(millis)), returns_up_to: None }.log_interval()
        };
        assert_eq!([1, 125, 999, 1_000, 1_999, 32_000].map(told), [-10, -3, -1, 0, 0, 5]);
        assert_eq!(LinkDelay { interval: None, returns_up_to: None }.log_interval(), 0);
    }
}
