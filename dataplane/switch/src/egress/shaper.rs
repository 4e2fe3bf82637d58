//! A token bucket, kept as a clock: the virtual scheduling form of ITU-T I.371 (GCRA).

use crate::program::RateLimit;
use units::{Interval, LinkClock, Nanos, WireBytes};

/// A limit of the rate, with bursts up to a bound.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    clock: LinkClock,
    burst: Interval,
}

impl Shaper {
    pub fn new(limit: &RateLimit) -> Self {
        let burst = limit.rate.serialization().time_of(WireBytes(limit.burst.0));
        Self { clock: LinkClock::new(limit.rate), burst }
    }

    /// The time when the next frame may pass.
    #[inline]
    pub fn ready_at(&self) -> Nanos {
        self.clock.free_at() - self.burst
    }

    /// Charges a frame that passes at `now`.
    #[inline]
    pub fn charge(&mut self, now: Nanos, bytes: WireBytes) {
        self.clock.occupy(now, bytes);
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
}
