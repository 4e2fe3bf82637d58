//! Occupancy of a link, and pause quanta.

use crate::rate::FrameTime;
use crate::{BitRate, Interval, Nanos, SerializationTime, WireBytes};
use serde::{Deserialize, Serialize};

/// A count of pause quanta, as PFC and PAUSE frames carry it. One quantum is 512 bit times at
/// the rate of the port (IEEE 802.3 clause 31B.2): 5.12 ns at 100G, 1.28 ns at 400G.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PauseQuanta(pub u16);

impl PauseQuanta {
    /// Resume at once.
    pub const ZERO: Self = Self(0);
    /// The longest pause that a frame can request.
    pub const MAX: Self = Self(u16::MAX);
    /// Bit times in a quantum (IEEE 802.3 clause 31B.2).
    pub const BIT_TIMES: u64 = 512;

    /// The time that these quanta last at `rate`, rounded up, because a paused sender stays silent for all of
    /// it.
    #[inline]
    pub const fn interval_at(self, rate: BitRate) -> Interval {
        let bit_nanos = self.0 as u64 * Self::BIT_TIMES * 1_000_000_000;
        Interval(bit_nanos.div_ceil(rate.bits_per_second()))
    }

    /// The fewest quanta that last at least `interval` at `rate`, or [`PauseQuanta::MAX`] if the interval is
    /// longer than that.
    pub const fn covering(interval: Interval, rate: BitRate) -> Self {
        let bits = interval.0 as u128 * rate.bits_per_second() as u128;
        let quanta = bits.div_ceil(Self::BIT_TIMES as u128 * 1_000_000_000);
        Self(if quanta > u16::MAX as u128 { u16::MAX } else { quanta as u16 })
    }
}

/// The exact instant at which a transmitter becomes free.
///
/// A minimum frame lasts 1.7 ns at 400G, so the clock keeps the fraction of a nanosecond. Only the results
/// are rounded, always up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LinkClock {
    per_byte: SerializationTime,
    /// Rounded up.
    free_at: Nanos,
    /// How far the exact instant is before `free_at`, in units of `1 / per_byte.denominator` of a nanosecond.
    early: u64,
    /// The last length and its time: a train's frames often have one length, and the division costs more than
    /// the rest of the call.
    last: (WireBytes, FrameTime),
}

impl LinkClock {
    /// A link of `rate`, free from the epoch.
    pub const fn new(rate: BitRate) -> Self {
        Self {
            per_byte: rate.serialization(),
            free_at: Nanos::ZERO,
            early: 0,
            last: (WireBytes(0), FrameTime::ZERO),
        }
    }

    /// The first whole nanosecond at which the link is free.
    #[inline]
    pub fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Occupies the link with `bytes`, from `now` or from the exact instant at which the link becomes free,
    /// whichever is later. Returns the start, rounded up.
    #[inline(always)]
    pub fn occupy(&mut self, now: Nanos, bytes: WireBytes) -> Nanos {
        self.start_at(now, bytes)
    }

    /// [`LinkClock::occupy`], unless the link is still busy at `horizon`.
    #[inline]
    pub fn occupy_by(&mut self, now: Nanos, horizon: Nanos, bytes: WireBytes) -> Option<Nanos> {
        (self.free_at <= horizon).then(|| self.start_at(now, bytes))
    }

    #[inline(always)]
    fn start_at(&mut self, now: Nanos, bytes: WireBytes) -> Nanos {
        let (start, early) = if now > self.free_at { (now, 0) } else { (self.free_at, self.early) };
        if bytes != self.last.0 {
            self.last = (bytes, self.per_byte.frame_time(bytes));
        }
        (self.free_at, self.early) = self.per_byte.advance(start, early, self.last.1);
        start
    }

    /// Makes the link free from `at` on, whatever it carried before.
    pub fn set_free_at(&mut self, at: Nanos) {
        (self.free_at, self.early) = (at, 0);
    }

    /// Changes the rate, starting with the next frame. The frame on the wire keeps its end, rounded up.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.early = 0;
        self.per_byte = rate.serialization();
        self.last = (WireBytes(0), FrameTime::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_lasts_512_bit_times() {
        assert_eq!(PauseQuanta(100).interval_at(BitRate::gigabits(100)), Interval(512));
        assert_eq!(PauseQuanta(1).interval_at(BitRate::gigabits(400)), Interval(2), "1.28 ns, rounded up");
        assert_eq!(PauseQuanta::MAX.interval_at(BitRate::gigabits(100)), Interval(335_540));
    }

    #[test]
    fn covering_quanta_are_never_shorter_than_asked_and_never_one_too_many() {
        let rate = BitRate::gigabits(100);
        for nanos in 0..10_000 {
            let quanta = PauseQuanta::covering(Interval(nanos), rate);
            assert!(quanta.0 as u64 * 512 >= nanos * 100);
            assert!(nanos == 0 || (quanta.0 as u64 - 1) * 512 < nanos * 100);
        }
        assert_eq!(PauseQuanta::covering(Interval::from_secs(1), rate), PauseQuanta::MAX);
    }

    #[test]
    fn a_long_train_of_minimum_frames_ends_on_the_exact_nanosecond() {
        let mut link = LinkClock::new(BitRate::gigabits(400));
        for _ in 0..1_000_000 {
            link.occupy(Nanos(5), WireBytes(84));
        }
        assert_eq!(link.free_at(), Nanos(5 + 1_680_000), "1.68 ns each, a million times");
    }

    #[test]
    fn an_idle_link_starts_now_and_a_busy_one_when_it_is_free() {
        let mut link = LinkClock::new(BitRate::gigabits(100));
        assert_eq!(link.occupy(Nanos(1_000), WireBytes(84)), Nanos(1_000));
        assert_eq!(link.occupy(Nanos(1_000), WireBytes(84)), Nanos(1_007), "6.72 ns later, rounded up");
        assert_eq!(link.free_at(), Nanos(1_014), "13.44 ns");
        assert_eq!(link.occupy(Nanos(1_014), WireBytes(84)), Nanos(1_014), "the wire saw no gap");
        assert_eq!(link.free_at(), Nanos(1_021), "20.16 ns: the fraction was kept");
    }
}
