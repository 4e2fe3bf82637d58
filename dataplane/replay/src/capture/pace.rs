//! The pace of captures.

use core::num::NonZeroU64;
use core::str::FromStr;
use units::{BitRate, Bytes, Interval, LinkClock, Nanos, WireBytes};

/// How instants of a capture map to the replay clock.
///
/// The clock starts at the origin, the first instant of all captures played together, so the replay's
/// instants are still Unix time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Frames arrive at their capture instants.
    #[default]
    AsCaptured,
    /// The distance of each frame from the origin is divided by the speed, rounded down to the nanosecond.
    Scaled(Speed),
    /// Frames arrive back to back at this rate; the capture's instants are ignored. The first frame starts at
    /// the origin, and each further one when the previous one, at its original length and with FCS, preamble
    /// and gap, has left the link.
    LineRate(BitRate),
}

/// A speed factor as an exact fraction: 1000 plays a second in a millisecond, 1/2 in two seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    numerator: NonZeroU64,
    denominator: NonZeroU64,
}

impl Speed {
    /// A speed of `numerator / denominator`; `None` if either is zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        let (numerator, denominator) = (NonZeroU64::new(numerator)?, NonZeroU64::new(denominator)?);
        Some(Self { numerator, denominator })
    }

    /// Whether frames arrive at their capture instants.
    pub fn is_one(self) -> bool {
        self.numerator == self.denominator
    }

    /// The duration of `interval` at this speed, rounded down; saturates.
    #[inline]
    pub fn divide(self, interval: Interval) -> Interval {
        let scaled = u128::from(interval.0) * u128::from(self.denominator.get());
        let nanos = scaled / u128::from(self.numerator.get());
        Interval(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The text is not a speed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a speed; expected a factor above zero, such as \"1000\", \"0.5\" or \"2/3\"")]
pub struct ParseSpeedError {
    /// The input.
    pub text: String,
}

/// Parses a whole number, a decimal fraction or a fraction, all exactly.
impl FromStr for Speed {
    type Err = ParseSpeedError;

    fn from_str(text: &str) -> Result<Self, ParseSpeedError> {
        let number = |digits: &str| -> Option<u64> {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten()
        };
        let trimmed = text.trim();
        let speed = if let Some((numerator, denominator)) = trimmed.split_once('/') {
            number(numerator).zip(number(denominator))
        } else if let Some((whole, fraction)) = trimmed.split_once('.') {
            let places = u32::try_from(fraction.len()).ok();
            let denominator = places.and_then(|places| 10_u64.checked_pow(places));
            let complete = !whole.is_empty() && !fraction.is_empty();
            let numerator = if complete { number(&format!("{whole}{fraction}")) } else { None };
            numerator.zip(denominator)
        } else {
            number(trimmed).zip(Some(1))
        };
        speed
            .and_then(|(numerator, denominator)| Self::new(numerator, denominator))
            .ok_or_else(|| ParseSpeedError { text: text.into() })
    }
}

/// The state of one source's pace.
pub(super) struct Pacer {
    pace: Pace,
    origin: Nanos,
    link: LinkClock,
}

impl Pacer {
    pub(super) fn new(pace: Pace, origin: Nanos) -> Self {
        // Other paces do not use the link.
        let rate = if let Pace::LineRate(rate) = pace { rate } else { BitRate::gigabits(1) };
        Self { pace, origin, link: LinkClock::new(rate) }
    }

    /// The arrival of the source's next frame, captured at `at`.
    #[inline]
    pub(super) fn instant(&mut self, at: Nanos, original_length: u32) -> Nanos {
        match self.pace {
            Pace::AsCaptured => at,
            Pace::Scaled(speed) => self.origin + speed.divide(at.since(self.origin)),
            Pace::LineRate(_) => {
                self.link.occupy(self.origin, WireBytes::of_frame(Bytes(u64::from(original_length))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(pace: Pace, frames: &[(u64, u32)]) -> Vec<u64> {
        let mut pacer = Pacer::new(pace, Nanos(1_000));
        frames.iter().map(|&(at, length)| pacer.instant(Nanos(at), length).0).collect()
    }

    #[test]
    fn a_thousand_times_faster_is_a_thousandth_of_the_distance_from_the_origin() {
        let pace = Pace::Scaled("1000".parse().unwrap());
        assert_eq!(
            played(pace, &[(1_000, 60), (1_999, 60), (2_000, 60), (6_001_000, 60)]),
            [1_000, 1_000, 1_001, 7_000]
        );
    }

    #[test]
    fn a_scaled_instant_is_exact_decades_from_the_origin() {
        let speed: Speed = "1/3".parse().unwrap();
        assert_eq!(speed.divide(Interval(1_700_000_000_000_000_001)), Interval(5_100_000_000_000_000_003));
        assert_eq!(speed.divide(Interval(u64::MAX)), Interval(u64::MAX), "saturates");
    }

    #[test]
    fn at_line_rate_frames_follow_each_other_whenever_they_were_captured() {
        let pace = Pace::LineRate(BitRate::gigabits(100));
        assert_eq!(
            played(pace, &[(9_000, 60), (5_000, 60), (1, 1_000), (2, 60)]),
            [1_000, 1_007, 1_014, 1_096]
        );
    }

    #[test]
    fn a_speed_is_read_exactly_or_refused_with_an_example() {
        assert_eq!("0.25".parse(), Ok(Speed::new(25, 100).unwrap()));
        assert!(["1", "1.0", "7/7"].into_iter().all(|text| text.parse::<Speed>().unwrap().is_one()));
        assert_eq!(" 2/3 ".parse(), Ok(Speed::new(2, 3).unwrap()));
        for text in
            ["", "0", "1/0", "0.0", "-1", "+1", "1.", ".5", "1e3", "x", "1/2/3", "99999999999999999999"]
        {
            let error = text.parse::<Speed>().unwrap_err();
            assert!(error.to_string().contains("expected a factor"), "{text}");
        }
    }
}
