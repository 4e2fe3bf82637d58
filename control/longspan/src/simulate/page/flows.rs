//! `fct.csv`: the flows of a run.

use super::error::PageError;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

/// A flow, as far as the page shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its group.
    pub group: Box<str>,
    /// Its size, in bytes.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub fct_ns: u64,
    /// How many times as long as alone on the ideal network.
    pub slowdown: f64,
}

/// Where the columns stand.
struct Columns {
    group: usize,
    bytes: usize,
    fct_ns: usize,
    slowdown: usize,
}

/// Adds the flows in `path` to `flows`. Where there is no such file, there are none.
///
/// # Errors
/// [`PageError::Read`] and [`PageError::Line`].
pub fn read(path: &Path, flows: &mut Vec<Flow>) -> Result<(), PageError> {
    let failed = |source| PageError::Read { path: path.into(), source };
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file.map_err(failed)?,
    };
    let wrong = |line, what| PageError::Line { path: path.into(), line, what };
    let mut lines = BufReader::new(file).lines();
    let header = lines.next().transpose().map_err(failed)?.unwrap_or_default();
    let columns = Columns::new(&header).ok_or_else(|| wrong(1, "a flow column is missing"))?;
    for (place, line) in lines.enumerate() {
        let line = line.map_err(failed)?;
        // What goes on until it is stopped has no size, and so no slowdown.
        if !columns.is_endless(&line) {
            flows.push(columns.flow(&line).ok_or_else(|| wrong(place + 2, "not a flow record"))?);
        }
    }
    Ok(())
}

impl Columns {
    fn new(header: &str) -> Option<Self> {
        let place = |name| header.split(',').position(|column| column == name);
        Some(Self {
            group: place("group")?,
            bytes: place("bytes")?,
            fct_ns: place("fct_ns")?,
            slowdown: place("slowdown")?,
        })
    }

    fn is_endless(&self, line: &str) -> bool {
        line.split(',').nth(self.slowdown) == Some("")
    }

    fn flow(&self, line: &str) -> Option<Flow> {
        let cell = |place| line.split(',').nth(place);
        let slowdown: f64 = cell(self.slowdown)?.parse().ok()?;
        Some(Flow {
            group: cell(self.group)?.into(),
            bytes: cell(self.bytes)?.parse().ok()?,
            fct_ns: cell(self.fct_ns)?.parse().ok()?,
            slowdown: slowdown.is_finite().then_some(slowdown)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_names() {
        let columns = Columns::new("flow,bytes,group,slowdown,fct_ns").expect("all are there");
        let flow = Flow { group: "a".into(), bytes: 7, fct_ns: 90, slowdown: 1.5 };
        assert_eq!(columns.flow("3,7,a,1.5,90"), Some(flow));
        assert_eq!(columns.flow("3,7,a,NaN,90"), None);
        assert_eq!(columns.flow("3,-7,a,1.5,90"), None);
        assert_eq!(columns.flow("3,7"), None);
        assert_eq!(["3,,a,,90", "3,7,a,1.5,90"].map(|line| columns.is_endless(line)), [true, false]);
        assert!(Columns::new("flow,bytes").is_none());
    }
}
