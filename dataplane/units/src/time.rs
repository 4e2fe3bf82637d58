//! Instants and durations in whole nanoseconds.

use crate::human;
use crate::saturating::saturating;
use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};
use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since an epoch that the caller chose (TSC start, Unix time of a capture, the start
/// of a simulation). The switch core only compares instants and adds intervals to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// No deadline.
    pub const NEVER: Self = Self(u64::MAX);

    /// The time since `earlier`, or zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Interval {
        Interval(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at [`Nanos::NEVER`].
impl Add<Interval> for Nanos {
    type Output = Self;

    #[inline]
    fn add(self, interval: Interval) -> Self {
        Self(self.0.saturating_add(interval.0))
    }
}

/// Saturates at [`Nanos::NEVER`].
impl AddAssign<Interval> for Nanos {
    #[inline]
    fn add_assign(&mut self, interval: Interval) {
        *self = *self + interval;
    }
}

/// Saturates at [`Nanos::ZERO`].
impl Sub<Interval> for Nanos {
    type Output = Self;

    #[inline]
    fn sub(self, interval: Interval) -> Self {
        Self(self.0.saturating_sub(interval.0))
    }
}

/// Seconds with nine decimals.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Interval(pub u64);

impl Interval {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `count` microseconds; saturates.
    pub const fn from_micros(count: u64) -> Self {
        Self(count.saturating_mul(1_000))
    }

    /// `count` milliseconds; saturates.
    pub const fn from_millis(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000))
    }

    /// `count` seconds; saturates.
    pub const fn from_secs(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000_000))
    }
}

saturating!(Interval);

/// Saturates.
impl Mul<u64> for Interval {
    type Output = Self;

    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// In the largest unit that gives a short decimal: `400us`, `1.5ms`, `0ns`. With `{:#}` for people: `400 us`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.write_str(&human::nanos(self.0));
        }
        let (unit, size) = human::unit_for(self.0, &human::TIMES);
        f.write_str(&crate::decimal::decimal(self.0, size, unit))
    }
}
