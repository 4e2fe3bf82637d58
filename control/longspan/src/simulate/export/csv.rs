//! Tables as CSV, as in RFC 4180, but with line feeds. An empty cell is a missing value.

use super::cell::Cell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A CSV file.
pub struct Csv(BufWriter<File>);

impl Csv {
    /// Creates the file at `path`, and writes its header.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(path: &Path, columns: &[String]) -> io::Result<Self> {
        let mut table = Self(BufWriter::new(File::create(path)?));
        let names: Vec<_> = columns.iter().map(|column| Cell::Text(column)).collect();
        table.add(&names)?;
        Ok(table)
    }

    /// Adds a row with a cell for each column.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn add(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        write(&mut self.0, row)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write(out: &mut impl Write, row: &[Cell<'_>]) -> io::Result<()> {
    for (place, cell) in row.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        match cell {
            Cell::Missing => {}
            Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                write!(out, "\"{}\"", text.replace('"', "\"\""))?;
            }
            Cell::Text(text) => out.write_all(text.as_bytes())?,
            Cell::Whole(value) => write!(out, "{value}")?,
            Cell::Number(value) => write!(out, "{value}")?,
        }
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_commas_quotes_or_line_ends_is_quoted() {
        let texts = ["plain", "a=[1,2]", "x=\"y\"", "two\nlines"].map(Cell::Text);
        let mut out = Vec::new();
        write(&mut out, &texts).unwrap();
        write(&mut out, &[Cell::Missing, Cell::Whole(7), Cell::Number(3.0), Cell::Number(0.1)]).unwrap();
        let expected = "plain,\"a=[1,2]\",\"x=\"\"y\"\"\",\"two\nlines\"\n,7,3,0.1\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
