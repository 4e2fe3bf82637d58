//! Bit rates, and the exact time that bytes take.

use crate::{Interval, Nanos, WireBytes, human};
use core::fmt;
use core::num::NonZeroU64;
use serde::{Deserialize, Serialize};

/// A rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BitRate(NonZeroU64);

impl BitRate {
    /// A rate of `bits_per_second`, or `None` for zero.
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match NonZeroU64::new(bits_per_second) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// A rate of `megabits` times 10^6 bits per second.
    ///
    /// # Panics
    /// At compile time if `megabits` is zero; use it for constants.
    pub const fn megabits(megabits: u64) -> Self {
        match Self::new(megabits * 1_000_000) {
            Some(rate) => rate,
            None => panic!("a rate of zero"),
        }
    }

    /// A rate of `gigabits` times 10^9 bits per second.
    ///
    /// # Panics
    /// At compile time if `gigabits` is zero; use it for constants.
    pub const fn gigabits(gigabits: u64) -> Self {
        Self::megabits(gigabits * 1_000)
    }

    /// Bits per second.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// The time that one byte takes, in lowest terms.
    pub const fn serialization(self) -> SerializationTime {
        const NANOS_PER_SECOND_TIMES_BITS: u64 = 8_000_000_000;
        let rate = self.bits_per_second();
        let divisor = greatest_common_divisor(NANOS_PER_SECOND_TIMES_BITS, rate);
        SerializationTime { numerator: NANOS_PER_SECOND_TIMES_BITS / divisor, denominator: rate / divisor }
    }

    /// Whole bytes that pass in `interval`, rounded down.
    pub const fn bytes_in(self, interval: Interval) -> u64 {
        let bits_times_nanos = self.bits_per_second() as u128 * interval.0 as u128;
        let bytes = bits_times_nanos / 8_000_000_000;
        if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `100G`, `2.5G`, `64k`: the form that configuration accepts. With `{:#}` for people: `100 Gb/s`.
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.bits_per_second();
        if f.alternate() {
            return f.write_str(&human::rate(rate));
        }
        let (unit, size) = human::unit_for(rate, &human::RATES);
        let unit = if size == 1 { "bps" } else { unit.trim_end_matches("b/s") };
        f.write_str(&crate::decimal::decimal(rate, size, unit))
    }
}

/// Nanoseconds per byte as a fraction in lowest terms: 2/25 at 100G, 1/50 at 400G.
///
/// A link clock adds these without rounding, so a long train of frames ends on the nanosecond at which its
/// last bit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SerializationTime {
    numerator: u64,
    denominator: u64,
}

impl SerializationTime {
    /// The time that `bytes` take, rounded up to a whole nanosecond; saturates.
    pub const fn time_of(self, bytes: WireBytes) -> Interval {
        let nanos = (bytes.0 as u128 * self.numerator as u128).div_ceil(self.denominator as u128);
        Interval(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    /// The whole nanoseconds that `bytes` fill, rounded down; saturates.
    pub const fn time_within(self, bytes: WireBytes) -> Interval {
        let nanos = bytes.0 as u128 * self.numerator as u128 / self.denominator as u128;
        Interval(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    /// The exact time of `bytes`; [`u64::MAX`] nanoseconds on overflow.
    #[inline]
    pub(crate) fn frame_time(self, bytes: WireBytes) -> FrameTime {
        match bytes.0.checked_mul(self.numerator) {
            Some(total) => {
                FrameTime { whole: Interval(total / self.denominator), rest: total % self.denominator }
            }
            None => FrameTime { whole: Interval(u64::MAX), rest: 0 },
        }
    }

    /// Advances the instant `at - early / denominator` by `time`, and returns it in the same form, with less
    /// than a nanosecond between `at` and the instant.
    #[inline]
    pub(crate) fn advance(self, at: Nanos, early: u64, time: FrameTime) -> (Nanos, u64) {
        match early.checked_sub(time.rest) {
            Some(early) => (at + time.whole, early),
            // An overflowed time has no rest, so this cannot overflow.
            None => (at + Interval(time.whole.0 + 1), early + self.denominator - time.rest),
        }
    }
}

/// A duration on a link: whole nanoseconds, and a fraction in units of the link's denominator.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct FrameTime {
    whole: Interval,
    rest: u64,
}

impl FrameTime {
    pub const ZERO: Self = Self { whole: Interval(0), rest: 0 };
}
