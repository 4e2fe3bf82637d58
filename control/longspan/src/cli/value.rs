//! Values of arguments that several commands take.

use units::{Interval, ParseQuantityError};

/// Parses a time above zero.
pub fn interval(text: &str) -> Result<Interval, String> {
    match text.parse() {
        Ok(Interval::ZERO) => Err("expected a time above zero, such as 10us".into()),
        parsed => parsed.map_err(|error: ParseQuantityError| error.to_string()),
    }
}
