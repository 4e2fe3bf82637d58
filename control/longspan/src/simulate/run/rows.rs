//! Samples in a limited number of rows.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// Samples at multiples of an interval. When there would be too many rows, every other one is removed and the interval
/// doubles; the rest is the same as with the longer interval from the start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rows {
    interval_ns: u64,
    rows_max: usize,
    width: usize,
    count: usize,
    cells: Vec<Option<u64>>,
}

impl Rows {
    /// Rows of `width` cells, one every `interval_ns` (above zero), and at most `rows_max` of them (two or more).
    pub fn new(interval_ns: u64, rows_max: usize, width: usize) -> Self {
        Self {
            interval_ns: interval_ns.max(1),
            rows_max: rows_max.max(2),
            width,
            count: 0,
            cells: Vec::new(),
        }
    }

    /// Whether there is a row at `now`, which must then be pushed. Call this for every sample.
    pub fn is_due(&mut self, now: Nanos) -> bool {
        let due = |rows: &Self| now.0 == rows.interval_ns.saturating_mul(rows.count as u64);
        if due(self) && self.count == self.rows_max {
            self.double();
        }
        due(self)
    }

    /// Appends the row that is due.
    pub fn push(&mut self, row: &[Option<u64>]) {
        debug_assert_eq!(row.len(), self.width, "every row has a cell for each column");
        self.cells.extend_from_slice(row);
        self.count += 1;
    }

    /// The current interval between two rows.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The time of row `row`.
    pub fn time_ns(&self, row: usize) -> u64 {
        self.interval_ns * row as u64
    }

    /// The cell of `column` in row `row`.
    pub fn cell(&self, row: usize, column: usize) -> Option<u64> {
        self.cells[row * self.width + column]
    }

    /// The cells of `column`, row by row.
    pub fn column(&self, column: usize) -> impl Iterator<Item = Option<u64>> {
        (0..self.count).map(move |row| self.cell(row, column))
    }

    fn double(&mut self) {
        let kept = self.count.div_ceil(2);
        for row in 1..kept {
            let from = 2 * row * self.width;
            self.cells.copy_within(from..from + self.width, row * self.width);
        }
        self.cells.truncate(kept * self.width);
        self.count = kept;
        self.interval_ns = self.interval_ns.saturating_mul(2);
    }
}

/// The rate in bits per second of `bytes` within `time_ns`, which is above zero.
pub fn rate_bps(bytes: u64, time_ns: u64) -> u64 {
    let bits = u128::from(bytes) * 8_000_000_000;
    u64::try_from(bits / u128::from(time_ns.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampled(interval: u64, rows_max: usize, end: u64) -> Rows {
        let mut rows = Rows::new(interval, rows_max, 1);
        for now in (0..=end).step_by(interval as usize) {
            if rows.is_due(Nanos(now)) {
                rows.push(&[Some(now * 3)]);
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn what_is_left_is_what_the_longer_interval_would_have_shown(
            interval in 1_u64..20, rows_max in 2_usize..30, samples in 0_u64..300,
        ) {
            let fine = sampled(interval, rows_max, interval * samples);
            prop_assert!(fine.count() <= rows_max);
            prop_assert!(fine.interval_ns() == interval || fine.count() > rows_max / 2);
            for row in 0..fine.count() {
                prop_assert_eq!(fine.cell(row, 0), Some(fine.time_ns(row) * 3));
            }
            prop_assert!(fine.time_ns(fine.count()) > interval * samples);
        }
    }
}
