//! `series.csv`: what happened over time in a run.

use super::error::PageError;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

/// Rows of figures. Each holds until the next one.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The instant of each row, in nanoseconds.
    pub times: Vec<u64>,
    /// The columns behind the time.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// What it is of: a port (`node.port`), a node, or a flow (`flow.7`).
    pub place: String,
    /// What it counts: the name behind the last dot.
    pub name: String,
    /// One value per row; nothing where it means nothing yet.
    pub values: Vec<Option<u64>>,
}

impl Timeline {
    /// Reads the series in `path`; nothing where there is none.
    ///
    /// # Errors
    /// [`PageError::Read`] and [`PageError::Line`].
    pub fn load(path: &Path) -> Result<Option<Self>, PageError> {
        let failed = |source| PageError::Read { path: path.into(), source };
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?,
        };
        let mut lines = BufReader::new(file).lines();
        let header = lines.next().transpose().map_err(failed)?.unwrap_or_default();
        let columns = header.split(',').skip(1).map(Column::called).collect();
        let mut timeline = Self { times: Vec::new(), columns };
        for (place, line) in lines.enumerate() {
            let added = timeline.add(&line.map_err(failed)?);
            added.ok_or_else(|| PageError::Line {
                path: path.into(),
                line: place + 2,
                what: "not a row of the series",
            })?;
        }
        Ok(Some(timeline))
    }

    /// Adds a row; nothing where it is none.
    fn add(&mut self, line: &str) -> Option<()> {
        let mut cells = line.split(',');
        let time: u64 = cells.next()?.parse().ok()?;
        if self.times.last().is_some_and(|last| *last > time) {
            return None;
        }
        self.times.push(time);
        for column in &mut self.columns {
            column.values.push(value(cells.next()?)?);
        }
        cells.next().is_none().then_some(())
    }

    /// The column `name` of `place`.
    pub fn column(&self, place: &str, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.place == place && column.name == name)
    }

    /// When it ends, in nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.times.last().copied().unwrap_or(0)
    }
}

impl Column {
    fn called(name: &str) -> Self {
        let (place, name) = name.rsplit_once('.').unwrap_or(("", name));
        Self { place: place.into(), name: name.into(), values: Vec::new() }
    }

    /// Whether it is of a flow, and not of a node or a port.
    pub fn is_of_flow(&self) -> bool {
        self.place.starts_with("flow.")
    }

    /// The most that it comes to.
    pub fn most(&self) -> u64 {
        self.values.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// The value in a cell, which may be empty; nothing where it is no figure.
fn value(cell: &str) -> Option<Option<u64>> {
    if cell.is_empty() {
        return Some(None);
    }
    let exact = cell.parse().ok();
    // A fraction is rounded: no line shows it.
    let rounded = || cell.parse().ok().filter(|value: &f64| *value >= 0.0).map(|value| value.round() as u64);
    exact.or_else(rounded).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_figure_or_empty() {
        assert_eq!(
            ["", "7", "7.5", "-1", "x", "NaN"].map(value),
            [Some(None), Some(Some(7)), Some(Some(8)), None, None, None]
        );
    }

    #[test]
    fn a_row_has_as_many_cells_as_the_header_and_comes_after_the_last() {
        let columns = ["east.0.sent_bps", "east.buffer_bytes"].map(Column::called).into();
        let mut timeline = Timeline { times: Vec::new(), columns };
        assert!(timeline.add("5,1,2").is_some());
        assert!(timeline.add("4,1,2").is_none());
        assert!(timeline.add("6,1").is_none());
        let mut timeline = Timeline::default();
        assert!(timeline.add("6,1").is_none());
        assert_eq!(Column::called("east.0.sent_bps").place, "east.0");
        assert_eq!(Column::called("east.0.sent_bps").name, "sent_bps");
    }
}
