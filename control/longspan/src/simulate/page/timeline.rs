//! `series.csv`: the time series of a run.

use csv::{Position, Reader, StringRecord};
use std::fs::File;
use std::io;

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
    /// Reads a series.
    ///
    /// # Errors
    /// The file cannot be read, or is not a series.
    pub fn read(mut file: Reader<File>) -> csv::Result<Self> {
        let columns = file.headers()?.iter().skip(1).map(Column::called).collect();
        let mut timeline = Self { times: Vec::new(), columns };
        for record in file.into_records() {
            let record = record?;
            let row: Vec<Option<u64>> = record.deserialize(None)?;
            let [Some(time), values @ ..] = &*row else { return Err(wrong(&record, "it has no time")) };
            if *time < timeline.end_ns() {
                return Err(wrong(&record, "its time is before that of the line above"));
            }
            timeline.times.push(*time);
            timeline.columns.iter_mut().zip(values).for_each(|(column, value)| column.values.push(*value));
        }
        Ok(timeline)
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

/// The error of `record`, by its line.
pub fn wrong(record: &StringRecord, what: &str) -> csv::Error {
    let line = record.position().map_or(0, Position::line);
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}")).into()
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
