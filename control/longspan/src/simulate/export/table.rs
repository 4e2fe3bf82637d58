//! Tables of typed columns.

use super::csv::Csv;
use super::format::Format;
#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use std::io;
use std::path::Path;

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

/// A file with a table.
pub enum Table {
    /// As CSV.
    Csv(Csv),
    /// As Parquet.
    #[cfg(feature = "parquet")]
    Parquet(Parquet),
}

impl Table {
    /// Creates the file at `path`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, format: Format, columns: &[Column]) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => Self::Csv(Csv::create(path, columns)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Self::Parquet(Parquet::create(path, columns)?),
        })
    }

    /// Adds a row with a cell for each column.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn add(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        match self {
            Self::Csv(table) => table.add(row),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.add(row),
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(table) => table.finish(),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.finish(),
        }
    }
}
