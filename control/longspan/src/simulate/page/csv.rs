//! Reading the CSV files of a run.

use super::error::PageError;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

/// Reads the file at `path`: makes a table from its header, and adds each further line to it. Returns `None` if there
/// is no such file, as after a run that failed.
///
/// # Errors
/// [`PageError::Read`], and [`PageError::Line`] with what `table` or `add` says is wrong.
pub fn read<T>(
    path: &Path,
    table: impl FnOnce(&str) -> Result<T, &'static str>,
    mut add: impl FnMut(&mut T, &str) -> Result<(), &'static str>,
) -> Result<Option<T>, PageError> {
    let failed = |source| PageError::Read { path: path.into(), source };
    let wrong = |line, what| PageError::Line { path: path.into(), line, what };
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let mut lines = BufReader::new(file).lines();
    let header = lines.next().transpose().map_err(failed)?.unwrap_or_default();
    let mut table = table(&header).map_err(|what| wrong(1, what))?;
    for (number, line) in (2..).zip(lines) {
        add(&mut table, &line.map_err(failed)?).map_err(|what| wrong(number, what))?;
    }
    Ok(Some(table))
}
