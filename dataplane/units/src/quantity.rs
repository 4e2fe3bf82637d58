//! Quantities as people write them: `100G`, `400us`, `80km`, `9.7MiB`.
//!
//! Decimal fractions are converted exactly. A value that is not a whole number of the base unit (`1.5ns`) is
//! an error; only sizes are rounded, to the nearest byte (`9.7MiB`). A bare number other than zero is an
//! error, because its unit is unknown.

use crate::decimal::decimal;
use crate::{BitRate, Bytes, Interval, human};
use core::fmt;
use core::str::FromStr;

/// A length of fibre in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distance(pub u64);

impl Distance {
    /// Speed of light in fibre, in metres per second: c over a group index of 1.514.
    pub const FIBRE_SPEED: u64 = 198_000_000;

    /// The one-way propagation delay over this length of fibre, rounded up.
    pub const fn propagation(self) -> Interval {
        let nanos = (self.0 as u128 * 1_000_000_000).div_ceil(Self::FIBRE_SPEED as u128);
        Interval(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }
}

/// Exactly, as configuration accepts it: `79.234km`. With `{:#}` for people: `79.2 km`.
impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.write_str(&human::stated(self.0, &human::DISTANCES));
        }
        let (unit, size) = human::unit_for(self.0, &human::DISTANCES);
        f.write_str(&decimal(self.0, size, unit))
    }
}

/// Why a text is not a quantity. Most messages end with a valid example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// The text does not start with a decimal number.
    #[error("\"{text}\" is not a number with a unit; write for example {example}")]
    NotANumber {
        /// The input.
        text: String,
        /// A valid example.
        example: &'static str,
    },
    /// The number has no unit.
    #[error("\"{text}\" has no unit; write for example {example}")]
    NoUnit {
        /// The input.
        text: String,
        /// A valid example.
        example: &'static str,
    },
    /// The unit does not belong to this quantity.
    #[error("\"{text}\" has the unknown unit \"{unit}\"; valid are {valid}")]
    UnknownUnit {
        /// The input.
        text: String,
        /// Its unit.
        unit: String,
        /// The units of the quantity.
        valid: &'static str,
    },
    /// The value is not a whole number of base units.
    #[error("\"{text}\" is not a whole number of {base}")]
    TooFine {
        /// The input.
        text: String,
        /// The base unit.
        base: &'static str,
    },
    /// The value does not fit in 64 bits, or is zero where zero is not allowed.
    #[error("\"{text}\" is out of range")]
    OutOfRange {
        /// The input.
        text: String,
    },
}

/// The units of one kind of quantity.
struct Kind {
    example: &'static str,
    valid: &'static str,
    base: &'static str,
    rounding: Rounding,
    units: &'static [(&'static str, u64)],
}

/// How to treat a value that is not a whole number of the base unit.
#[derive(PartialEq)]
enum Rounding {
    Refused,
    ToNearest,
}

fn parse(text: &str, kind: &Kind) -> Result<u64, ParseQuantityError> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let not_a_number = || ParseQuantityError::NotANumber { text: text.into(), example: kind.example };
    let out_of_range = || ParseQuantityError::OutOfRange { text: text.into() };

    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.contains('.') || (fraction.is_empty() && number.contains('.')) {
        return Err(not_a_number());
    }
    let fraction = fraction.trim_end_matches('0');
    let mantissa: u128 = format!("{whole}{fraction}").parse().map_err(|_| out_of_range())?;
    let unit = unit.trim();
    if unit.is_empty() {
        let no_unit = ParseQuantityError::NoUnit { text: text.into(), example: kind.example };
        return if mantissa == 0 { Ok(0) } else { Err(no_unit) };
    }
    let (_, size) = kind.units.iter().find(|(name, _)| *name == unit).ok_or_else(|| {
        ParseQuantityError::UnknownUnit { text: text.into(), unit: unit.into(), valid: kind.valid }
    })?;
    let scale = u32::try_from(fraction.len()).ok().and_then(|places| 10_u128.checked_pow(places));
    let scaled = mantissa.checked_mul(u128::from(*size)).ok_or_else(out_of_range)?;
    let scale = scale.ok_or_else(out_of_range)?;
    if scaled % scale != 0 && kind.rounding == Rounding::Refused {
        return Err(ParseQuantityError::TooFine { text: text.into(), base: kind.base });
    }
    u64::try_from(scaled.saturating_add(scale / 2) / scale).map_err(|_| out_of_range())
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        const KIND: Kind = Kind {
            example: "\"9.5MiB\"",
            valid: "B, kB, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)",
            base: "bytes",
            rounding: Rounding::ToNearest,
            units: &[
                ("B", 1),
                ("kB", 1_000),
                ("KB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
            ],
        };
        parse(text, &KIND).map(Self)
    }
}

impl FromStr for BitRate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        const KIND: Kind = Kind {
            example: "\"100G\"",
            valid: "bps, k, M, G, T, and the same with bps or b/s behind them",
            base: "bits per second",
            rounding: Rounding::Refused,
            units: &[
                ("bps", 1),
                ("b/s", 1),
                ("k", 1_000),
                ("kbps", 1_000),
                ("kb/s", 1_000),
                ("M", 1_000_000),
                ("Mbps", 1_000_000),
                ("Mb/s", 1_000_000),
                ("G", 1_000_000_000),
                ("Gbps", 1_000_000_000),
                ("Gb/s", 1_000_000_000),
                ("T", 1_000_000_000_000),
                ("Tbps", 1_000_000_000_000),
                ("Tb/s", 1_000_000_000_000),
            ],
        };
        let rate = parse(text, &KIND)?;
        Self::new(rate).ok_or_else(|| ParseQuantityError::OutOfRange { text: text.into() })
    }
}

impl FromStr for Interval {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        const KIND: Kind = Kind {
            example: "\"400us\"",
            valid: "ns, us, ms, s",
            base: "nanoseconds",
            rounding: Rounding::Refused,
            units: &[("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
        };
        parse(text, &KIND).map(Self)
    }
}

impl FromStr for Distance {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        const KIND: Kind = Kind {
            example: "\"80km\"",
            valid: "m, km",
            base: "metres",
            rounding: Rounding::Refused,
            units: &[("m", 1), ("km", 1_000)],
        };
        parse(text, &KIND).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!("9.5MiB".parse(), Ok(Bytes(9_961_472)));
        assert_eq!("9.72 MB".parse(), Ok(Bytes(9_720_000)));
        assert_eq!("100G".parse(), Ok(BitRate::gigabits(100)));
        assert_eq!("1.6Tb/s".parse(), Ok(BitRate::gigabits(1_600)));
        assert_eq!("400us".parse(), Ok(Interval(400_000)));
        assert_eq!("0.5 µs".parse(), Ok(Interval(500)));
        assert_eq!("80km".parse(), Ok(Distance(80_000)));
        assert_eq!("0".parse(), Ok(Bytes(0)));
    }

    #[test]
    fn a_bare_number_is_refused_with_an_example() {
        let error = "400".parse::<Interval>().unwrap_err();
        assert_eq!(error.to_string(), "\"400\" has no unit; write for example \"400us\"");
    }

    #[test]
    fn what_is_finer_than_the_base_unit_is_refused_and_not_rounded() {
        assert!(matches!("1.5ns".parse::<Interval>(), Err(ParseQuantityError::TooFine { .. })));
        assert_eq!("9.7MiB".parse(), Ok(Bytes(10_171_187)), "sizes are the exception");
    }

    #[test]
    fn nonsense_names_what_would_be_valid() {
        for text in ["", "G", "-1G", ".5G", "1.G", "1.2.3G", "ten"] {
            assert!(matches!(text.parse::<BitRate>(), Err(ParseQuantityError::NotANumber { .. })), "{text}");
        }
        assert!(matches!("1GiB".parse::<BitRate>(), Err(ParseQuantityError::UnknownUnit { .. })));
        assert!(matches!("0G".parse::<BitRate>(), Err(ParseQuantityError::OutOfRange { .. })));
        assert!(matches!("99999999999T".parse::<BitRate>(), Err(ParseQuantityError::OutOfRange { .. })));
    }

    #[test]
    fn sizes_are_shown_in_the_shortest_exact_form() {
        let shown =
            [0, 60, 1_248, 16_384, 96_928, 16_000_000, 16 << 20].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(shown, ["0B", "60B", "1248B", "16KiB", "96.928kB", "16MB", "16MiB"]);
    }

    #[test]
    fn eighty_kilometres_are_about_400_us_one_way() {
        assert_eq!(Distance(80_000).propagation(), Interval(404_041));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back_as_the_same(value in 1_u64..) {
            prop_assert_eq!(Interval(value).to_string().parse(), Ok(Interval(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(Distance(value).to_string().parse(), Ok(Distance(value)));
            let rate = BitRate::new(value).unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn any_text_is_read_or_refused_without_panic(text in ".{0,40}") {
            let _: Result<Bytes, _> = text.parse();
            let _: Result<BitRate, _> = text.parse();
            let _: Result<Interval, _> = text.parse();
        }
    }
}
