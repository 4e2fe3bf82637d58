//! Figures with a unit.

/// `value / size` exactly, without trailing zeros for decimal sizes, then the unit.
pub(crate) fn decimal(value: u64, size: u64, unit: &str) -> String {
    let (whole, rest) = (value / size, value % size);
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    let places = size.ilog10() as usize;
    let digits = format!("{rest:0places$}");
    format!("{whole}.{}{unit}", digits.trim_end_matches('0'))
}
