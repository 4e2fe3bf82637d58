//! Values of arguments that several commands take.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use units::{Interval, ParseQuantityError};

/// Parses a time above zero.
pub fn interval(text: &str) -> Result<Interval, String> {
    match text.parse() {
        Ok(Interval::ZERO) => Err("expected a time above zero, such as 10us".into()),
        parsed => parsed.map_err(|error: ParseQuantityError| error.to_string()),
    }
}

/// Splits `NAME=VALUE`, neither of which may be empty.
pub fn named<'t>(text: &'t str, expected: &str) -> Result<(&'t str, &'t str), String> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    pair.ok_or_else(|| expected.to_owned())
}

/// Parses one of `values` by its name.
pub fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [T; N],
    name: fn(T) -> PossibleValue,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.map(name)).try_map(move |text| {
        values.into_iter().find(|value| name(*value).matches(&text, false)).ok_or("it is none of the names")
    })
}
