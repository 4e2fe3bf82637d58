//! `fct.csv`: the flows of a run.

use super::csv;
use super::error::PageError;
use std::path::Path;

/// The properties of a flow that the page shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its group.
    pub group: Box<str>,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Its completion time, in nanoseconds.
    pub fct_ns: u64,
    /// Its completion time, divided by that on an idle network.
    pub slowdown: f64,
}

/// The indices of the columns.
struct Columns {
    group: usize,
    bytes: usize,
    fct_ns: usize,
    slowdown: usize,
}

/// Adds the flows in the file at `path` to `flows`. A missing file adds none.
///
/// # Errors
/// [`PageError`].
pub fn read(path: &Path, flows: &mut Vec<Flow>) -> Result<(), PageError> {
    let columns = |header: &str| Columns::new(header).ok_or("a flow column is missing");
    let add = |columns: &mut Columns, line: &str| {
        // A flow without an end has no size, and so no slowdown.
        if !columns.is_endless(line) {
            flows.push(columns.flow(line).ok_or("not a flow record")?);
        }
        Ok(())
    };
    csv::read(path, columns, add).map(drop)
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
