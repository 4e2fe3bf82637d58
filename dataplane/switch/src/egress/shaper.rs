//! A token bucket, kept as a clock: the virtual scheduling form of ITU-T I.371 (GCRA).

use crate::program::RateLimit;
use serde::{Deserialize, Serialize};
use units::{Interval, LinkClock, Nanos, WireBytes};

/// A limit of the rate, with bursts up to a bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shaper {
    clock: LinkClock,
    burst: Interval,
    /// The time until which it limits anything.
    until: Nanos,
    /// Whether it is suspended.
    suspended: bool,
}

impl Shaper {
    pub fn new(limit: &RateLimit) -> Self {
        let burst = limit.rate.serialization().time_of(WireBytes(limit.burst.0));
        Self { clock: LinkClock::new(limit.rate), burst, until: Nanos::NEVER, suspended: false }
    }

    /// A shaper that limits nothing but in the times that it is [told](Self::limit_until).
    pub fn in_need(limit: &RateLimit) -> Self {
        Self { until: Nanos::ZERO, ..Self::new(limit) }
    }

    /// Limits the rate until `until`, or longer if it already does.
    pub fn limit_until(&mut self, until: Nanos) {
        self.until = self.until.max(until);
    }

    /// Suspends the limit, or ends that.
    pub fn suspend(&mut self, suspended: bool) {
        self.suspended = suspended;
    }

    /// The time when the next frame may pass.
    #[inline]
    pub fn ready_at(&self) -> Nanos {
        if self.suspended { Nanos::ZERO } else { (self.clock.free_at() - self.burst).min(self.until) }
    }

    /// Charges a frame that passes at `now`.
    #[inline]
    pub fn charge(&mut self, now: Nanos, bytes: WireBytes) {
        if !self.suspended && now < self.until {
            self.clock.occupy(now, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{BitRate, Bytes};

    #[test]
    fn after_a_burst_frames_pass_at_the_rate() {
        let limit = RateLimit { rate: BitRate::gigabits(8), burst: Bytes(3_000) };
        let (mut shaper, mut now, mut passed) = (Shaper::new(&limit), Nanos(0), Vec::new());
        for _ in 0..6 {
            now = now.max(shaper.ready_at());
            shaper.charge(now, WireBytes(1_000));
            passed.push(now.0);
        }
        assert_eq!(passed, [0, 0, 0, 0, 1_000, 2_000], "a byte a nanosecond");
    }

    #[test]
    fn a_shaper_in_need_limits_in_the_times_that_it_is_told_and_not_while_it_is_suspended() {
        let limit = RateLimit { rate: BitRate::gigabits(8), burst: Bytes(0) };
        let mut shaper = Shaper::in_need(&limit);
        let pass = |shaper: &mut Shaper, now| {
            shaper.charge(Nanos(now), WireBytes(1_000));
            shaper.ready_at()
        };
        assert_eq!(pass(&mut shaper, 0), Nanos(0));
        shaper.limit_until(Nanos(1_500));
        shaper.limit_until(Nanos(1_200));
        assert_eq!(pass(&mut shaper, 100), Nanos(1_100));
        shaper.suspend(true);
        assert_eq!(pass(&mut shaper, 200), Nanos(0));
        shaper.suspend(false);
        assert_eq!(shaper.ready_at(), Nanos(1_100), "what passed meanwhile is not charged");
        assert_eq!(pass(&mut shaper, 1_100), Nanos(1_500), "the limit ends before that frame has");
    }
}
