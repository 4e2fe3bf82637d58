//! Columns and cells of tables.

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// A whole number.
    Whole,
    /// A binary floating-point number of 64 bits.
    Number,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Kind,
}

impl Column {
    /// A column of this name and type.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Missing, in a column of any type.
    Missing,
    /// Of [`Kind::Text`].
    Text(&'a str),
    /// Of [`Kind::Whole`]. No counter, time or seed of a simulation reaches 2^63.
    Whole(i64),
    /// Of [`Kind::Number`].
    Number(f64),
}
