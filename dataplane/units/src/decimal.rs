//! Formatting of values with a unit.

/// `value / size` exactly, followed by the unit. Decimal sizes get no trailing zeros.
pub(crate) fn decimal(value: u64, size: u64, unit: &str) -> String {
    let (whole, rest) = (value / size, value % size);
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    let places = size.ilog10() as usize;
    let digits = format!("{rest:0places$}");
    format!("{whole}.{}{unit}", digits.trim_end_matches('0'))
}
