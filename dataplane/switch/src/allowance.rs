//! A limit on actions taken for the frames of one port.

use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// A token bucket, full at first. It is the generic cell rate algorithm (ITU-T I.371, annex A), so one instant is its whole
/// state.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bucket {
    /// The time when the bucket is full again.
    full_at: Nanos,
}

impl Bucket {
    /// Takes a token if there is one at `now`, of `burst` with one more `each` time. Returns whether there was.
    #[inline]
    pub fn take(&mut self, now: Nanos, each: Interval, burst: u64) -> bool {
        let full_at = self.full_at.max(now) + each;
        let allowed = full_at.since(now) <= each * burst;
        if allowed {
            self.full_at = full_at;
        }
        allowed
    }
}

/// A token bucket of [`Allowance::BURST`], filled with [`Allowance::PER_SECOND`]; full at first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Allowance(Bucket);

impl Allowance {
    /// Tokens per second in the long run.
    pub const PER_SECOND: u64 = 1_000;
    /// Tokens at once.
    pub const BURST: u64 = 1_000;

    const EACH: Interval = Interval(1_000_000_000 / Self::PER_SECOND);

    /// Takes a token if there is one at `now`. Returns whether there was.
    #[inline]
    pub fn take(&mut self, now: Nanos) -> bool {
        self.0.take(now, Self::EACH, Self::BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_is_allowed_at_once_and_then_one_each_interval() {
        let mut allowance = Allowance::default();
        let now = Nanos(7_000_000);
        let taken = |allowance: &mut Allowance, now| (0..5_000).filter(|_| allowance.take(now)).count();
        assert_eq!(taken(&mut allowance, now), 1_000);
        assert_eq!(taken(&mut allowance, now + Interval(999_999)), 0);
        assert_eq!(taken(&mut allowance, now + Interval(1_000_000)), 1);
        assert_eq!(taken(&mut allowance, now + Interval::from_secs(100)), 1_000);
    }

    proptest! {
        #[test]
        fn no_span_has_more_than_its_share_and_a_burst(
            steps in proptest::collection::vec(0..400_000_u64, 1..4_000),
        ) {
            let (mut allowance, mut now, mut granted) = (Allowance::default(), Nanos(1), 0);
            for step in steps {
                now += Interval(step);
                granted += u64::from(allowance.take(now));
                prop_assert!(granted <= Allowance::BURST + now.0 / Allowance::EACH.0);
            }
        }
    }
}
