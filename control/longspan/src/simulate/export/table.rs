//! Tables in any of the formats.

use super::cell::{Cell, Column};
use super::csv::Csv;
use super::format::Format;
#[cfg(feature = "parquet")]
use super::parquet::Parquet;
use std::io;
use std::path::Path;

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
    /// Errors of the file system.
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
    /// Errors of the file system.
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
    /// Errors of the file system.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(table) => table.finish(),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.finish(),
        }
    }
}
