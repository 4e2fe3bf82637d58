//! What the gateway held and said over time, in rows that are bounded in number.
//!
//! The state of a switch changes at events only, so a row is held where a sample differs from the
//! one before it, and stands until the next row; the last row is the end. Where there would be more
//! rows than allowed, the interval doubles: what is left is, to the byte, what sampling at the longer
//! interval from the start would have given.

mod columns;
mod sampler;

#[cfg(test)]
mod tests;

pub use columns::{Column, Kind, columns, look};
pub(crate) use sampler::Sampler;

use std::io::{self, Write};
use units::Interval;

/// How densely a replay is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The interval to begin with; zero counts as a nanosecond.
    pub interval: Interval,
    /// Rows that are held at most; fewer than [`Sampling::ROWS_MIN`] count as that many.
    pub rows: u32,
}

impl Sampling {
    /// The first row, the last one, and something between them.
    pub const ROWS_MIN: u32 = 4;
    /// What a person can look at, and a plot can show.
    pub const ROWS: u32 = 10_000;
}

/// A microsecond to begin with, and [`Sampling::ROWS`].
impl Default for Sampling {
    fn default() -> Self {
        Self { interval: Interval::from_micros(1), rows: Self::ROWS }
    }
}

/// Columns over time.
#[derive(Clone, Debug)]
pub struct Series {
    columns: Vec<Column>,
    interval: Interval,
    rows_max: usize,
    times: Vec<Interval>,
    /// Row by row, a cell for each column.
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

    /// The time between two samples, as it was in the end.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// The instants of the rows, since the first frame: zero, then whole intervals in rising order.
    pub fn times(&self) -> &[Interval] {
        &self.times
    }

    /// The cells of row `row`, in the order of the columns; `None` before a column means anything.
    pub fn row(&self, row: usize) -> &[Option<u64>] {
        let width = self.columns.len();
        &self.cells[row * width..(row + 1) * width]
    }

    fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// The end of the interval in which `time` lies.
    fn interval_end(&self, time: Interval) -> Interval {
        Interval(time.0.div_ceil(self.interval.0).saturating_mul(self.interval.0))
    }

    /// Appends a sample, where it differs from the last row. `time` is no less than before.
    fn push(&mut self, time: Interval, row: &[Option<u64>]) {
        if self.times.last() == Some(&time) {
            // That row was moved here when the interval doubled; now it is known what holds here.
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

    /// Appends the last row, for which there is room, whether it differs or not: it says when the
    /// replay ended.
    fn end(&mut self, time: Interval, row: &[Option<u64>]) {
        self.push(time, row);
        if self.times.last() != Some(&time) {
            self.times.push(time);
            self.cells.extend_from_slice(row);
        }
    }

    /// Keeps what samples at twice the interval would have shown.
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

    /// Moves row `from` up to place `to`, and to `time`.
    fn keep(&mut self, from: usize, to: usize, time: Interval) {
        let width = self.columns.len();
        self.times[to] = time;
        self.cells.copy_within(from * width..(from + 1) * width, to * width);
    }

    /// Writes it as CSV: a header, then the rows. `ports` are the names of the ports, which hold no
    /// comma.
    ///
    /// # Errors
    /// Those of `out`.
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
