//! Quantities for people to read and compare, in plain ASCII. The rule for pages, sentences and logs:
//!
//! 1. Times, bytes, rates and distances have three digits, a space and a unit: `7.96 ms`, `34.4 MB`, `100 Gb/s`.
//! 2. Counts are exact and grouped by thousands: `4,348,922`.
//! 3. A value that a file or an option takes, or that breaks a limit, is exact, and written as files have it: `7.95651ms`;
//!    a least or longest length of a frame as a count, `4,175 B`.
//!    Quantities show themselves so, and by rule 1 with `{:#}`.

/// A unit, and its size in the base unit.
pub type Unit = (&'static str, u64);

/// Units of time. The base unit is the nanosecond.
pub const TIMES: [Unit; 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// Units of data. The base unit is the byte.
pub const SIZES: [Unit; 4] = [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
/// Units of distances. The base unit is the metre.
pub(crate) const DISTANCES: [Unit; 2] = [("m", 1), ("km", 1_000)];
/// Units of rates. The base unit is one bit per second.
pub const RATES: [Unit; 5] =
    [("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)];

/// The largest of `units` that is not larger than `value`, or the first.
pub fn unit_for(value: u64, units: &[Unit]) -> Unit {
    *units.iter().rev().find(|(_, size)| value >= *size).unwrap_or(&units[0])
}

/// Formats with separators: `1,234,567`.
pub fn thousands(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", thousands(number / 1_000), number % 1_000)
}

/// Formats a count of things: `1 frame`, `1,234 frames`.
pub fn count_of(count: u64, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {thing}{s}", thousands(count))
}

/// Formats a share, 0 to 1: `97.6 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats with three significant digits: `830 B`, `24.0 kB`, `9.70 MB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes, &SIZES)
}

/// Formats with three significant digits: `830 ns`, `24.0 us`, `9.70 ms`, `27.3 s`.
pub fn nanos(nanos: u64) -> String {
    scaled(nanos, &TIMES)
}

/// Formats a long time: `51.0 ms`, `9.00 s`, and from a minute on the two largest units, `12 min 5 s`, `27 d 4 h`.
pub fn duration(time_ns: u64) -> String {
    let seconds = time_ns / 1_000_000_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if days > 0 {
        format!("{days} d {} h", hours % 24)
    } else if hours > 0 {
        format!("{hours} h {} min", minutes % 60)
    } else if minutes > 0 {
        format!("{minutes} min {} s", seconds % 60)
    } else {
        nanos(time_ns)
    }
}

/// Formats the length of a frame where it is a bound, which no rounding may move: `4,175 B`.
pub fn length(bytes: u64) -> String {
    format!("{} B", thousands(bytes))
}

/// Formats a stated rate, without zeros behind the point: `2.5 Gb/s`, `100 Gb/s`.
pub fn rate(bits_per_second: u64) -> String {
    stated(bits_per_second, &RATES)
}

/// Formats a measured rate with three significant digits: `1.01 Mb/s`, `9.87 Gb/s`.
pub fn speed(bits_per_second: u64) -> String {
    scaled(bits_per_second, &RATES)
}

/// Formats with three significant digits, and at most three decimals: `0.953`, `9.70`, `24.0`, `12,345`.
pub fn digits(value: f64) -> String {
    // Three decimals of 0.9995 and more would be four digits, and so on.
    let decimals = [0.9995, 9.995, 99.95].into_iter().filter(|limit| value.abs() < *limit).count();
    if value >= 999.5 { thousands(value.round() as u64) } else { format!("{value:.decimals$}") }
}

fn scaled(number: u64, units: &[Unit]) -> String {
    match unit_for(number, units) {
        (unit, 1) => format!("{number} {unit}"),
        (unit, size) => format!("{} {unit}", digits(number as f64 / size as f64)),
    }
}

/// Formats with up to three significant digits: `300 m`, `2.5 Gb/s`.
pub(crate) fn stated(number: u64, units: &[Unit]) -> String {
    let shown = scaled(number, units);
    match shown.split_once(' ') {
        Some((digits, unit)) if digits.contains('.') => {
            format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_separators_and_units() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        let frames = [0, 1, 1_234].map(|count| count_of(count, "frame"));
        assert_eq!(frames, ["0 frames", "1 frame", "1,234 frames"]);
        assert_eq!([0.0, 0.976, 1.0].map(percent), ["0.0 %", "97.6 %", "100.0 %"]);
        assert_eq!(
            [0, 999, 1_000, 24_000, 182_313, 9_700_000, 9_995_000].map(bytes),
            ["0 B", "999 B", "1.00 kB", "24.0 kB", "182 kB", "9.70 MB", "10.0 MB"]
        );
        assert_eq!([7, 7_000_000_000, 27_343_000_000_000].map(nanos), ["7 ns", "7.00 s", "27,343 s"]);
        assert_eq!(
            [10_000_000, 100_000_000_000, 2_500_000_000, 4_004_997].map(rate),
            ["10 Mb/s", "100 Gb/s", "2.5 Gb/s", "4 Mb/s"]
        );
        assert_eq!(
            [300, 79_234, 80_000, 40_000_000].map(|metres| stated(metres, &DISTANCES)),
            ["300 m", "79.2 km", "80 km", "40,000 km"]
        );
        assert_eq!([0, 1_014_634, 9_870_000_000].map(speed), ["0 b/s", "1.01 Mb/s", "9.87 Gb/s"]);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 0.9534, 1.0, 9.994, 9.995, 99.96, 999.6, 12_345.6, -0.123_45].map(digits),
            ["0.000", "0.953", "1.00", "9.99", "10.0", "100", "1,000", "12,346", "-0.123"]
        );
    }

    #[test]
    fn long_times_are_in_their_two_largest_units() {
        assert_eq!(
            [51_000_000, 59_900_000_000, 725_000_000_000, 13_200_000_000_000, 2_347_200_000_000_000]
                .map(duration),
            ["51.0 ms", "59.9 s", "12 min 5 s", "3 h 40 min", "27 d 4 h"]
        );
    }
}
