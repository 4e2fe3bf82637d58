//! Cells of tables.

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// None.
    Missing,
    /// UTF-8.
    Text(&'a str),
    /// A whole number.
    Whole(u64),
    /// A binary floating-point number of 64 bits.
    Number(f64),
}
