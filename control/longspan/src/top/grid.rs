//! A table before it is drawn: cells that can be sorted, with what they mean for the reader.

use std::cmp::Ordering;
use units::human::{bytes, speed, thousands};

/// The meaning of a cell. The text says it, too: a terminal without colours loses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// A figure.
    #[default]
    Plain,
    /// Nothing is there.
    Dim,
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Wrong.
    Bad,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// Its meaning.
    pub tone: Tone,
    /// The value to sort by; text is sorted as text.
    number: Option<f64>,
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The port that it is about, if it is about one.
    pub port: Option<String>,
    /// Its cells, as many as there are headings.
    pub cells: Vec<Cell>,
    /// Lines that are shown below the table while the row is selected.
    pub note: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The headings.
    pub headings: Vec<&'static str>,
    /// The rows, in the order of the configuration.
    pub rows: Vec<Row>,
    /// The text that is shown instead of no rows.
    pub otherwise: &'static str,
}

/// The order of rows: a column, largest first unless it is reversed; without one, that of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The column.
    pub column: Option<usize>,
    /// Whether the order is reversed.
    pub is_reversed: bool,
}

/// Headings, and functions that make the cells of a row.
pub type Columns<'c, R> = &'c [(&'static str, fn(&R) -> Cell)];

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain, number: None }
    }

    /// A text of a tone.
    pub fn word(text: &str, tone: Tone) -> Self {
        Self { tone, ..Self::text(text) }
    }

    fn number(number: f64, text: String) -> Self {
        let tone = if number == 0.0 { Tone::Dim } else { Tone::Plain };
        Self { text, tone, number: Some(number) }
    }

    /// A count.
    pub fn count(count: u64) -> Self {
        Self::number(count as f64, thousands(count))
    }

    /// Bytes.
    pub fn bytes(count: u64) -> Self {
        Self::number(count as f64, bytes(count))
    }

    /// A rate of a link, of bytes by second.
    pub fn speed(bytes_per_second: f64) -> Self {
        Self::number(bytes_per_second, speed((bytes_per_second * 8.0).round() as u64))
    }

    /// Events by second.
    pub fn per_second(count: f64) -> Self {
        let text =
            if count > 0.0 && count < 9.95 { format!("{count:.1}") } else { thousands(count.round() as u64) };
        Self::number(count, text)
    }

    /// A share, 0 to 1.
    pub fn share(share: f64) -> Self {
        Self::number(share, format!("{:.1}%", share * 100.0))
    }

    /// A time.
    pub fn nanos(time_ns: u64) -> Self {
        Self::number(time_ns as f64, units::human::nanos(time_ns))
    }

    /// `show` of a value, or nothing.
    pub fn of<T>(value: Option<T>, show: fn(T) -> Self) -> Self {
        value.map_or_else(|| Self::word("-", Tone::Dim), show)
    }

    /// The same with `tone`, if it is a number above zero.
    pub fn toned(self, tone: Tone) -> Self {
        let is_zero = self.number == Some(0.0);
        if is_zero { self } else { Self { tone, ..self } }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

impl Grid {
    /// A table of `columns` with a row for each of `rows`, which are of the ports that `port` names.
    pub fn of<R>(
        otherwise: &'static str,
        columns: Columns<'_, R>,
        rows: impl IntoIterator<Item = R>,
        port: fn(&R) -> Option<&str>,
    ) -> Self {
        let row = |of: R| Row {
            port: port(&of).map(str::to_owned),
            cells: columns.iter().map(|(_, cell)| cell(&of)).collect(),
            note: Vec::new(),
        };
        let headings = columns.iter().map(|(heading, _)| *heading).collect();
        Self { headings, rows: rows.into_iter().map(row).collect(), otherwise }
    }

    /// The same in another order. Rows that are equal stay in that of the configuration.
    pub fn sorted(mut self, order: Order) -> Self {
        if let Some(column) = order.column.filter(|column| *column < self.headings.len()) {
            self.rows.sort_by(|one, other| one.cells[column].compare(&other.cells[column]));
        }
        if order.is_reversed {
            self.rows.reverse();
        }
        self
    }
}
