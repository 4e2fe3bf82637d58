//! Conversion of pcapng timestamps to nanoseconds (draft-ietf-opsawg-pcapng, section 4.2).

use super::LATEST;
use units::Nanos;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The conversion of an interface's timestamps to nanoseconds of Unix time: if_tsresol and if_tsoffset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resolution {
    unit: Unit,
    /// Seconds to add.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A number of nanoseconds.
    Nanos(u64),
    /// A number of units per nanosecond.
    PerNano(u64),
    /// 2 to the power of minus this number, in seconds.
    Binary(u8),
    /// So short that 64 bits of them do not reach a nanosecond.
    Vanishing,
}

impl Resolution {
    /// The default of interfaces: microseconds since 1970.
    pub(super) const DEFAULT: Self = Self { unit: Unit::Nanos(1_000), offset: 0 };

    /// Sets the unit: 10^-n s, or 2^-n s if the top bit of `if_tsresol` is set.
    pub(super) fn with_unit(self, if_tsresol: u8) -> Self {
        let exponent = if_tsresol & 0x7f;
        let unit = if if_tsresol & 0x80 != 0 {
            Unit::Binary(exponent)
        } else if exponent <= 9 {
            Unit::Nanos(10_u64.pow(9 - u32::from(exponent)))
        } else {
            10_u64.checked_pow(u32::from(exponent) - 9).map_or(Unit::Vanishing, Unit::PerNano)
        };
        Self { unit, ..self }
    }

    /// Sets the origin of timestamps: `if_tsoffset` seconds after 1970.
    pub(super) fn with_offset(self, if_tsoffset: i64) -> Self {
        Self { offset: if_tsoffset, ..self }
    }

    /// The instant of a timestamp, rounded down; `None` if it is before 1970 or after [`LATEST`].
    #[inline]
    pub(super) fn instant(self, timestamp: u64) -> Option<Nanos> {
        if self.offset == 0
            && let Unit::Nanos(unit) = self.unit
        {
            return timestamp.checked_mul(unit).map(Nanos).filter(|at| *at <= LATEST);
        }
        self.shifted_instant(timestamp).filter(|at| *at <= LATEST)
    }

    fn shifted_instant(self, timestamp: u64) -> Option<Nanos> {
        let timestamp = u128::from(timestamp);
        let nanos = match self.unit {
            Unit::Nanos(unit) => timestamp * u128::from(unit),
            Unit::PerNano(per_nano) => timestamp / u128::from(per_nano),
            // Below 2^94, and the shift is at most 127.
            Unit::Binary(exponent) => (timestamp * u128::from(NANOS_PER_SECOND)) >> exponent,
            Unit::Vanishing => 0,
        };
        // Both terms are below 2^94.
        let shifted = nanos as i128 + i128::from(self.offset) * i128::from(NANOS_PER_SECOND);
        u64::try_from(shifted).ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(if_tsresol: u8, if_tsoffset: i64, timestamp: u64) -> Option<u64> {
        let resolution = Resolution::DEFAULT.with_unit(if_tsresol).with_offset(if_tsoffset);
        resolution.instant(timestamp).map(|at| at.0)
    }

    #[test]
    fn decimal_units_are_powers_of_ten() {
        assert_eq!(instant(0, 0, 7), Some(7_000_000_000));
        assert_eq!(instant(6, 0, 7), Some(7_000));
        assert_eq!(instant(9, 0, 7), Some(7));
        assert_eq!(instant(12, 0, 7_999), Some(7), "picoseconds, rounded down");
        assert_eq!(instant(28, 0, u64::MAX), Some(1), "10^-28 s");
        assert_eq!(instant(29, 0, u64::MAX), Some(0));
    }

    #[test]
    fn binary_units_are_powers_of_two() {
        assert_eq!(instant(0x80 | 10, 0, 1_024), Some(1_000_000_000));
        assert_eq!(instant(0x80 | 32, 0, (5 << 32) | 0x8000_0000), Some(5_500_000_000));
        assert_eq!(instant(0xff, 0, u64::MAX), Some(0));
    }

    #[test]
    fn the_offset_is_in_seconds_and_may_be_negative() {
        assert_eq!(instant(9, 2, 5), Some(2_000_000_005));
        assert_eq!(instant(9, -2, 2_000_000_005), Some(5));
        assert_eq!(instant(9, -2, 1_999_999_999), None, "before 1970");
    }

    #[test]
    fn what_does_not_fit_is_refused_and_never_wraps() {
        for if_tsresol in 0..=u8::MAX {
            for offset in [i64::MIN, -1, 0, 1, i64::MAX] {
                for timestamp in [0, 1, u64::MAX] {
                    let _ = instant(if_tsresol, offset, timestamp);
                }
            }
        }
        assert_eq!(instant(0, 0, u64::MAX), None);
    }

    #[test]
    fn no_instant_reaches_never() {
        assert_eq!(instant(9, 0, LATEST.0), Some(LATEST.0));
        for timestamp in [LATEST.0 + 1, u64::MAX] {
            assert_eq!(instant(9, 0, timestamp), None);
        }
        assert_eq!(instant(9, 18_429_292_800, 0), None, "by its offset");
    }
}
