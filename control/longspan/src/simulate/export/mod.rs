//! Tables for data frames: a row for each run, and a row for each flow of all runs.

mod cell;
mod csv;

use super::run::{FLOW_COLUMNS, FLOWS as FLOWS_OF_RUN};
use super::summary::{RunSummary, Summary};
use crate::failure::Failure;
use cell::Cell;
use csv::Csv;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The names of the tables, without the end of a file name.
const RUNS: &str = "runs";
const FLOWS: &str = "flows";

/// Writes the tables `runs` and `flows` into the directory of an experiment with this summary.
///
/// # Errors
/// [`Failure::Write`], also if the flows of a run cannot be read.
pub fn write(directory: &Path, summary: &Summary) -> Result<(), Failure> {
    let parameters = summary.runs.iter().flat_map(|run| run.parameters.keys().map(String::as_str)).collect();
    let export = &Export { directory, summary, parameters };
    let failed = |name| move |source| Failure::Write { path: export.path(name), source, running: true };
    export.runs().map_err(failed(RUNS))?;
    export.flows().map_err(failed(FLOWS))
}

/// The tables of an experiment.
struct Export<'a> {
    directory: &'a Path,
    summary: &'a Summary,
    /// The keys of the parameters of all runs.
    parameters: BTreeSet<&'a str>,
}

impl<'a> Export<'a> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name).with_extension("csv")
    }

    /// Writes a row for each run, with a column for each metric of any of them.
    fn runs(&self) -> io::Result<()> {
        let metrics: BTreeSet<_> = self.summary.runs.iter().flat_map(|run| run.metrics.keys()).collect();
        let mut columns = self.columns();
        let counts = ["ending", "end_ns", "transmissions", "flows_started", "flows_ended"];
        columns.extend(counts.map(str::to_owned));
        columns.extend(metrics.iter().map(|name| (*name).clone()));
        let mut table = Csv::create(&self.path(RUNS), &columns)?;
        for run in &self.summary.runs {
            let mut row = self.cells(run);
            row.push(Cell::Text(run.ending.name()));
            row.extend([run.end_ns, run.transmissions, run.flows.started, run.flows.ended].map(Cell::Whole));
            row.extend(metrics.iter().map(|name| match run.metrics.get(*name) {
                Some(figure) if figure.0.is_finite() => Cell::Number(figure.0),
                _ => Cell::Missing,
            }));
            table.add(&row)?;
        }
        table.finish()
    }

    /// Writes a row for each line in the `fct.csv` of each run.
    fn flows(&self) -> io::Result<()> {
        let mut columns = self.columns();
        columns.extend(FLOW_COLUMNS.split(',').map(str::to_owned));
        let mut table = Csv::create(&self.path(FLOWS), &columns)?;
        for run in &self.summary.runs {
            let of_run = self.cells(run);
            let file = BufReader::new(File::open(self.directory.join(&run.name).join(FLOWS_OF_RUN))?);
            for line in file.lines().skip(1) {
                let line = line?;
                let mut row = of_run.clone();
                row.extend(line.split(',').map(Cell::Text));
                if row.len() != columns.len() {
                    return Err(not_a_flow(run, &line));
                }
                table.add(&row)?;
            }
        }
        table.finish()
    }

    /// The columns that both tables begin with, which tell runs apart.
    fn columns(&self) -> Vec<String> {
        let mut columns: Vec<_> = ["scenario", "run", "variant", "seed"].map(str::to_owned).into();
        columns.extend(self.parameters.iter().map(|key| format!("parameter.{key}")));
        columns
    }

    /// Their cells for one run.
    fn cells(&self, run: &'a RunSummary) -> Vec<Cell<'a>> {
        let text = |text: Option<&'a String>| text.map_or(Cell::Missing, |text| Cell::Text(text));
        let scenario = Cell::Text(&self.summary.scenario);
        let mut cells =
            vec![scenario, Cell::Text(&run.name), text(run.variant.as_ref()), Cell::Whole(run.seed)];
        cells.extend(self.parameters.iter().map(|key| text(run.parameters.get(*key))));
        cells
    }
}

fn not_a_flow(run: &RunSummary, line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a flow of {}: {line}", run.name))
}
