//! A time series of the gateway's state, with a limited number of rows.
//!
//! The state of a switch changes only at events, so a row is kept if a sample differs from the previous one,
//! and applies until the next row; the last row is the end. When rows exceed the limit, the interval doubles.
//! The remaining rows are, to the byte, those of sampling at the longer interval from the start.

mod columns;
mod sampler;

#[cfg(test)]
mod tests;

pub use columns::{Column, columns, look};
pub(crate) use sampler::Sampler;

use std::io::{self, Write};
use units::Interval;

/// The sampling of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The initial interval; zero counts as a nanosecond.
    pub interval: Interval,
    /// The maximum number of rows; values below [`Sampling::ROWS_MIN`] count as that.
    pub rows: u32,
}

impl Sampling {
    /// Enough for the first row, the last one, and some between them.
    pub const ROWS_MIN: u32 = 4;
    /// Enough for people and plots.
    pub const ROWS: u32 = 10_000;
}

/// Columns over time.
#[derive(Clone, Debug)]
pub struct Series {
    columns: Vec<Column>,
    interval: Interval,
    rows_max: usize,
    times: Vec<Interval>,
    /// The cells row by row, one for each column.
    cells: Vec<Option<u64>>,
}

impl Series {
    fn new(sampling: Sampling, columns: Vec<Column>) -> Self {
        Self {
            columns,
            interval: sampling.interval.max(Interval(1)),
            rows_max: sampling.rows.max(Sampling::ROWS_MIN) as usize,
            times: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Its columns, port by port in the order of the configuration.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The final interval between two samples.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// The times of the rows since the first frame: zero, then multiples of the interval in rising order.
    pub fn times(&self) -> &[Interval] {
        &self.times
    }

    /// The cells of row `row`, in column order; `None` while a column is undefined.
    pub fn row(&self, row: usize) -> &[Option<u64>] {
        let width = self.columns.len();
        &self.cells[row * width..(row + 1) * width]
    }

    fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// The end of the interval that contains `time`.
    fn interval_end(&self, time: Interval) -> Interval {
        Interval(time.0.div_ceil(self.interval.0).saturating_mul(self.interval.0))
    }

    /// Appends a sample if it differs from the last row. `time` never goes back.
    fn push(&mut self, time: Interval, row: &[Option<u64>]) {
        if self.times.last() == Some(&time) {
            // That row was moved here when the interval doubled; the new sample replaces it.
            self.truncate(self.times.len() - 1);
        }
        if self.times.is_empty() || self.row(self.times.len() - 1) != row {
            self.times.push(time);
            self.cells.extend_from_slice(row);
        }
        while self.times.len() > self.rows_max {
            self.double_interval();
        }
    }

    /// Makes room for one more row.
    fn make_room(&mut self) {
        while self.times.len() >= self.rows_max {
            self.double_interval();
        }
    }

    /// Appends the last row, for which there must be room, even if it does not differ: it marks the end of
    /// the replay.
    fn end(&mut self, time: Interval, row: &[Option<u64>]) {
        self.push(time, row);
        if self.times.last() != Some(&time) {
            self.times.push(time);
            self.cells.extend_from_slice(row);
        }
    }

    /// Keeps the rows that samples at twice the interval would have given.
    fn double_interval(&mut self) {
        self.interval = self.interval * 2;
        let rows = self.times.len();
        let mut kept = 0;
        for row in 0..rows {
            let time = self.interval_end(self.times[row]);
            let stands = self.times.get(row + 1).is_none_or(|next| self.interval_end(*next) > time);
            if stands && (kept == 0 || self.row(kept - 1) != self.row(row)) {
                self.keep(row, kept, time);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    fn truncate(&mut self, rows: usize) {
        self.times.truncate(rows);
        self.cells.truncate(rows * self.columns.len());
    }

    /// Moves row `from` to index `to` and sets its time to `time`.
    fn keep(&mut self, from: usize, to: usize, time: Interval) {
        let width = self.columns.len();
        self.times[to] = time;
        self.cells.copy_within(from * width..(from + 1) * width, to * width);
    }

    /// Writes the series as CSV: a header, then the rows. `ports` are the names of the ports, without commas.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_csv(&self, ports: &[&str], out: &mut impl Write) -> io::Result<()> {
        write!(out, "time_ns")?;
        for column in &self.columns {
            write!(out, ",{}.{}", ports[column.port.index()], column.name())?;
        }
        writeln!(out)?;
        for (row, time) in self.times.iter().enumerate() {
            write!(out, "{}", time.0)?;
            for cell in self.row(row) {
                match cell {
                    Some(value) => write!(out, ",{value}")?,
                    None => write!(out, ",")?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
