//! Exact pause-time accounting: computed from the frames, never sampled.

use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The time for which one priority of one direction has been paused, and the end of its pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseMeter {
    /// Start of the pause that `until` ends.
    since: Nanos,
    until: Nanos,
    /// Total of the pauses that ended before `since`.
    past: Interval,
}

impl PauseMeter {
    /// Takes a pause frame that takes effect at `now` and asks for `time` from then on; zero ends the pause.
    pub(crate) fn pause(&mut self, now: Nanos, time: Interval) {
        if now >= self.until {
            self.past += self.until.since(self.since);
            self.since = now;
        }
        self.until = now + time;
    }

    /// The time at which the pause ends or ended.
    #[inline]
    pub fn until(&self) -> Nanos {
        self.until
    }

    /// Total pause time up to `now`.
    pub fn total(&self, now: Nanos) -> Interval {
        self.past + self.until.min(now).since(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_refresh_extends_and_time_zero_ends_at_once() {
        let mut meter = PauseMeter::default();
        meter.pause(Nanos(100), Interval(50));
        meter.pause(Nanos(140), Interval(50));
        assert_eq!(meter.total(Nanos(150)), Interval(50));
        meter.pause(Nanos(160), Interval::ZERO);
        assert_eq!(meter.total(Nanos(1_000)), Interval(60));
    }

    #[test]
    fn a_pause_that_ran_out_counts_for_its_whole_time_and_no_longer() {
        let mut meter = PauseMeter::default();
        meter.pause(Nanos(100), Interval(50));
        meter.pause(Nanos(500), Interval(20));
        assert_eq!(meter.total(Nanos(510)), Interval(60));
        assert_eq!(meter.total(Nanos(9_999)), Interval(70));
    }

    proptest! {
        #[test]
        fn the_total_is_the_number_of_paused_nanoseconds(
            frames in proptest::collection::vec((0_u64..20, 0_u64..30), 0..40)
        ) {
            let (mut meter, mut now, mut paused_until, mut naive) = (PauseMeter::default(), 0, 0, 0);
            for (gap, time) in frames {
                for _ in 0..gap {
                    naive += u64::from(now < paused_until);
                    now += 1;
                }
                meter.pause(Nanos(now), Interval(time));
                paused_until = now + time;
                prop_assert_eq!(meter.total(Nanos(now)), Interval(naive));
            }
        }
    }
}
