//! `series.csv`: the time series of a run.

use super::csv;
use super::error::PageError;
use std::path::Path;

/// Rows of figures. Each row applies until the next one.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The time of each row, in nanoseconds.
    pub times: Vec<u64>,
    /// The columns after the time.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its subject: a port (`node.port`), a node, or a flow (`flow.7`).
    pub place: String,
    /// Its quantity: the part of its name after the last dot.
    pub name: String,
    /// One value per row; `None` while the quantity is undefined.
    pub values: Vec<Option<u64>>,
}

impl Timeline {
    /// Reads the series in the file at `path`; `None` if there is no such file.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn load(path: &Path) -> Result<Option<Self>, PageError> {
        let columns = |header: &str| header.split(',').skip(1).map(Column::called).collect();
        let empty = |header: &str| Ok(Self { times: Vec::new(), columns: columns(header) });
        csv::read(path, empty, |timeline, line| timeline.add(line).ok_or("not a row of the series"))
    }

    /// Adds a row; `None` if the line is not one.
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

    /// The time of the last row, in nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.times.last().copied().unwrap_or(0)
    }
}

impl Column {
    fn called(name: &str) -> Self {
        let (place, name) = name.rsplit_once('.').unwrap_or(("", name));
        Self { place: place.into(), name: name.into(), values: Vec::new() }
    }

    /// Whether its subject is a flow.
    pub fn is_of_flow(&self) -> bool {
        self.place.starts_with("flow.")
    }

    /// Its maximum.
    pub fn most(&self) -> u64 {
        self.values.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// The value in a cell, which may be empty; `None` if it is not a number.
fn value(cell: &str) -> Option<Option<u64>> {
    if cell.is_empty() {
        return Some(None);
    }
    let exact = cell.parse().ok();
    // Fractions are rounded, because a line cannot show them.
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
