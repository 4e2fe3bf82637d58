//! Tables with aligned columns, and figures for people.

use core::fmt::Write;

/// Columns of a table: their headings, and functions that write the cells of a row.
pub type Columns<'c, R> = &'c [(&'c str, fn(&R) -> String)];

/// A table in plain ASCII. Its first columns are text, aligned to the left; the others are figures, aligned to the
/// right.
pub struct Table {
    text_columns: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings, the first `text_columns` of them above text.
    pub fn new<'a>(text_columns: usize, headings: impl IntoIterator<Item = &'a str>) -> Self {
        Self { text_columns, rows: vec![headings.into_iter().map(str::to_owned).collect()] }
    }

    /// A table of `columns`, the first `text_columns` of them text, with a row for each of `rows`.
    pub fn of<R>(text_columns: usize, columns: Columns<'_, R>, rows: impl IntoIterator<Item = R>) -> Self {
        let mut table = Self::new(text_columns, columns.iter().map(|(heading, _)| *heading));
        for row in rows {
            table.row(columns.iter().map(|(_, cell)| cell(&row)));
        }
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has headings only.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Writes it, indented by two spaces.
    pub fn write_to(&self, page: &mut String) {
        self.write_rows(page, 0);
    }

    /// Writes it without its headings.
    pub fn write_body_to(&self, page: &mut String) {
        self.write_rows(page, 1);
    }

    fn write_rows(&self, page: &mut String, first: usize) {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<_> = (0..columns).map(width).collect();
        for row in &self.rows[first..] {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // Writing to a string cannot fail.
                let _ = if column < self.text_columns {
                    write!(line, "  {cell:<width$}")
                } else {
                    write!(line, "  {cell:>width$}")
                };
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
    }
}

/// Writes `table` below its `title` and a blank line, unless it is empty.
pub fn section(page: &mut String, title: &str, table: &Table) {
    if !table.is_empty() {
        page.push('\n');
        page.push_str(title);
        page.push('\n');
        table.write_to(page);
    }
}

/// Formats with separators: `1,234,567`.
pub fn thousands(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", thousands(number / 1_000), number % 1_000)
}

/// Formats a count of things: `1 frame`, `1,234 frames`.
pub fn count_of(count: u64, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {thing}{s}", thousands(count))
}

/// Formats a share, 0 to 1: `97.6 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats with three significant digits: `830 B`, `24.0 kB`, `9.70 MB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes, &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)])
}

/// Formats with three significant digits: `830 ns`, `24.0 us`, `9.70 ms`, `27.3 s`.
pub fn nanos(nanos: u64) -> String {
    scaled(nanos, &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)])
}

/// Formats a long time: `51.0 ms`, `9.00 s`, and from a minute on the two largest units, `12 min 5 s`, `27 d 4 h`.
pub fn duration(time_ns: u64) -> String {
    let seconds = time_ns / 1_000_000_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if days > 0 {
        format!("{days} d {} h", hours % 24)
    } else if hours > 0 {
        format!("{hours} h {} min", minutes % 60)
    } else if minutes > 0 {
        format!("{minutes} min {} s", seconds % 60)
    } else {
        nanos(time_ns)
    }
}

/// The units of rates.
const RATES: [(&str, u64); 5] =
    [("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)];

/// Formats in the largest unit that divides the rate: `10 Mb/s`, `100 Gb/s`.
pub fn rate(bits_per_second: u64) -> String {
    let divides =
        |(_, size): &&(&str, u64)| bits_per_second >= *size && bits_per_second.is_multiple_of(*size);
    match RATES.iter().rev().find(divides) {
        Some((unit, size)) => format!("{} {unit}", bits_per_second / size),
        None => speed(bits_per_second),
    }
}

/// Formats a measured rate with three significant digits: `1.01 Mb/s`, `9.87 Gb/s`.
pub fn speed(bits_per_second: u64) -> String {
    scaled(bits_per_second, &RATES)
}

fn scaled(number: u64, units: &[(&str, u64)]) -> String {
    let (unit, size) = units.iter().rev().find(|(_, size)| number >= *size).unwrap_or(&units[0]);
    if *size == 1 {
        return format!("{number} {unit}");
    }
    let value = number as f64 / *size as f64;
    // Two decimals of 9.995 and more would be four digits.
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    if value >= 9_999.5 {
        format!("{} {unit}", thousands(value.round() as u64))
    } else {
        format!("{value:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_separators_and_units() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        let frames = [0, 1, 1_234].map(|count| count_of(count, "frame"));
        assert_eq!(frames, ["0 frames", "1 frame", "1,234 frames"]);
        assert_eq!([0.0, 0.976, 1.0].map(percent), ["0.0 %", "97.6 %", "100.0 %"]);
        assert_eq!(
            [0, 999, 1_000, 24_000, 182_313, 9_700_000, 9_995_000].map(bytes),
            ["0 B", "999 B", "1.00 kB", "24.0 kB", "182 kB", "9.70 MB", "10.0 MB"]
        );
        assert_eq!([7, 7_000_000_000, 27_343_000_000_000].map(nanos), ["7 ns", "7.00 s", "27,343 s"]);
        assert_eq!(
            [10_000_000, 100_000_000_000, 2_500_000_000].map(rate),
            ["10 Mb/s", "100 Gb/s", "2500 Mb/s"]
        );
        assert_eq!([0, 1_014_634, 9_870_000_000].map(speed), ["0 b/s", "1.01 Mb/s", "9.87 Gb/s"]);
    }

    #[test]
    fn long_times_are_in_their_two_largest_units() {
        assert_eq!(
            [51_000_000, 59_900_000_000, 725_000_000_000, 13_200_000_000_000, 2_347_200_000_000_000]
                .map(duration),
            ["51.0 ms", "59.9 s", "12 min 5 s", "3 h 40 min", "27 d 4 h"]
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(1, ["port", "n"]);
        table.row(["a".into(), "100".into()]);
        let mut page = String::new();
        table.write_to(&mut page);
        assert_eq!(page, "  port    n\n  a     100\n");
    }
}
