//! The data to draw: sets of runs, with their files.

use super::error::PageError;
use super::timeline::{Timeline, wrong};
use crate::simulate::sets::Set;
use crate::simulate::summary::RunSummary;
use csv::Reader;
use serde::Deserialize;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The maximum number of curves in a plot; no one can tell more apart.
pub const CURVES_MAX: usize = 8;

/// The columns that a [`Flow`] is read from.
const FLOW_COLUMNS: [&str; 5] = ["group", "bytes", "fct_ns", "slowdown", "counted"];

/// A set of runs and what is drawn of it.
pub struct Drawn<'a> {
    /// Its runs and parameters.
    pub set: Set<'a>,
    /// The flows of all its runs that metrics count. A flow without an end has no size, and is left out.
    pub flows: Vec<Flow>,
    /// The time series of the first run that has files.
    pub timeline: Option<Timeline>,
}

/// The properties of a flow that the page shows, by their columns in `fct.csv`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Flow {
    /// Its group.
    pub group: Box<str>,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Its completion time, in nanoseconds.
    pub fct_ns: u64,
    /// Its completion time, divided by that on an idle network.
    pub slowdown: Option<f64>,
    /// Whether metrics count it.
    pub counted: u8,
}

impl<'a> Drawn<'a> {
    /// Reads the data of `set`, from an experiment in `directory`. A failed run may have left neither flows nor a
    /// series.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn read(directory: &Path, set: &Set<'a>) -> Result<Self, PageError> {
        let mut flows: Vec<Flow> = Vec::new();
        let has_files = |run: &&&RunSummary| !run.is_known;
        for run in set.runs.iter().filter(has_files) {
            let of_run = read(directory.join(&run.name).join("fct.csv"), ended)?;
            flows.extend(of_run.into_iter().flatten());
        }
        let timeline = match set.runs.iter().find(has_files) {
            Some(run) => read(directory.join(&run.name).join("series.csv"), Timeline::read)?,
            None => None,
        };
        Ok(Self { set: set.clone(), flows, timeline })
    }
}

/// The flows of `file` that have an end and are counted.
fn ended(mut file: Reader<File>) -> csv::Result<Vec<Flow>> {
    let headers = file.headers()?.clone();
    if let Some(missing) = FLOW_COLUMNS.into_iter().find(|name| !headers.iter().any(|it| it == *name)) {
        return Err(wrong(&headers, &format!("there is no column {missing}")));
    }
    let mut flows = Vec::new();
    for record in file.into_records() {
        let record = record?;
        let flow: Flow = record.deserialize(Some(&headers))?;
        if flow.slowdown.is_some_and(|slowdown| !slowdown.is_finite()) {
            return Err(wrong(&record, "the slowdown is not finite"));
        }
        flows.extend(Some(flow).filter(|flow| flow.slowdown.is_some() && flow.counted == 1));
    }
    Ok(flows)
}

/// Gives the file at `path` to `table`; `None` if there is no such file.
fn read<T>(
    path: PathBuf,
    table: impl FnOnce(Reader<File>) -> csv::Result<T>,
) -> Result<Option<T>, PageError> {
    match Reader::from_path(&path).and_then(table) {
        Ok(table) => Ok(Some(table)),
        Err(error) if matches!(error.kind(), csv::ErrorKind::Io(error) if error.kind() == ErrorKind::NotFound) => {
            Ok(None)
        }
        Err(source) => Err(PageError { path, source }),
    }
}
