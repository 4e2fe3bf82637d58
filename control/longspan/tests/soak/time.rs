//! The duration of the soak.

use std::time::Duration;

/// Parses `90s`, `10m` or `1h`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refused = || format!("{text:?} is no time: say it as 90s, 10m or 1h");
    let unit = text.chars().last().ok_or_else(refused)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return Err(refused()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| refused())?;
    count.checked_mul(seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(refused)
}
