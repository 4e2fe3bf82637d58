//! Instants as dates.

/// Unix time as RFC 3339 shows it, in UTC, to the nanosecond.
pub fn utc(unix_ns: u64) -> String {
    let (seconds, nanos) = (unix_ns / 1_000_000_000, unix_ns % 1_000_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// Year, month and day of a day since 1970, in the Gregorian calendar. Years are counted from March, so that the leap day
/// ends one (Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`).
fn date(days: u64) -> (u64, u64, u64) {
    /// Days from March 1, 0000 to 1970.
    const BEFORE: u64 = 719_468;
    const ERA: u64 = 146_097;
    let days = days + BEFORE;
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_those_that_date_prints() {
        // `date -u -d @SECONDS +%FT%T`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400, "2000-02-29T00:00:00"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000 + 42), format!("{expected}.000000042Z"));
        }
    }
}
