//! Flows that a file lists: `start_ns,source,destination,bytes,priority`.

use crate::network::NodeId;
use units::{Nanos, Priority};

/// A flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The instant at which it starts.
    pub start: Nanos,
    /// The host that sends it.
    pub source: NodeId,
    /// The host that receives it.
    pub destination: NodeId,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// Its priority.
    pub priority: Priority,
}

/// The reason why a line is not a valid flow. Lines are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListedError {
    /// It does not have five columns.
    #[error("line {line}: expected 5 columns, not {got}: start_ns,source,destination,bytes,priority")]
    Columns {
        /// The number of the line.
        line: usize,
        /// The number of columns that it has.
        got: usize,
    },
    /// A column is not a number in its range.
    #[error("line {line}: {column} \"{got}\" is not {valid}")]
    Number {
        /// The number of the line.
        line: usize,
        /// The column.
        column: &'static str,
        /// The text of the column.
        got: String,
        /// The valid values.
        valid: &'static str,
    },
    /// A host that is not in the network.
    #[error("line {line}: \"{got}\" is not a host")]
    Host {
        /// The number of the line.
        line: usize,
        /// The text of the column.
        got: String,
    },
    /// A flow from a host to itself.
    #[error("line {line}: {host} sends to itself")]
    ToItself {
        /// The number of the line.
        line: usize,
        /// The host.
        host: String,
    },
}

const HEADER: &str = "start_ns,source,destination,bytes,priority";

/// Parses a list of flows, and sorts them by start; flows that start together keep their order. The first
/// line may have the names of the columns. `host` looks up a host by name.
///
/// # Errors
/// [`ListedError`] names the first line at fault.
pub fn read_csv(text: &str, host: impl Fn(&str) -> Option<NodeId>) -> Result<Vec<Listed>, ListedError> {
    let mut rows = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let (line, text) = (index + 1, text.trim());
        if text.is_empty() || text.starts_with('#') || (line == 1 && text == HEADER) {
            continue;
        }
        let columns: Vec<&str> = text.split(',').map(str::trim).collect();
        let &[start, source, destination, bytes, priority] = columns.as_slice() else {
            return Err(ListedError::Columns { line, got: columns.len() });
        };
        let wrong = |column, got: &str, valid| ListedError::Number { line, column, got: short(got), valid };
        let found = |name: &str| host(name).ok_or_else(|| ListedError::Host { line, got: short(name) });
        let row = Listed {
            start: Nanos(
                start.parse().map_err(|_| wrong("start_ns", start, "a whole number of nanoseconds"))?,
            ),
            source: found(source)?,
            destination: found(destination)?,
            bytes: bytes
                .parse()
                .ok()
                .filter(|bytes| *bytes > 0)
                .ok_or_else(|| wrong("bytes", bytes, "a whole number above 0"))?,
            priority: priority
                .parse()
                .ok()
                .and_then(|number| Priority::new(number).ok())
                .ok_or_else(|| wrong("priority", priority, "0 to 7"))?,
        };
        if row.source == row.destination {
            return Err(ListedError::ToItself { line, host: short(source) });
        }
        rows.push(row);
    }
    rows.sort_by_key(|row| row.start);
    Ok(rows)
}

/// The part of a column that a message shows.
fn short(text: &str) -> String {
    text.chars().take(64).collect()
}
