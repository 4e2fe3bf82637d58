//! Tables for data frames: a row for each run, and a row for each flow of all runs. An empty cell is a missing value.

use super::run::{FLOWS as FLOWS_OF_RUN, flow_columns};
use super::summary::{RunSummary, Summary};
use crate::failure::Failure;
use core::iter::once;
use csv::{Reader, Writer};
use std::collections::BTreeSet;
use std::io;
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
    let failed = |name| move |error: csv::Error| Failure::unwritten(export.path(name))(error.into());
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

impl Export<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name).with_extension("csv")
    }

    /// Writes a row for each run, with a column for each metric of any of them.
    fn runs(&self) -> csv::Result<()> {
        let metrics: BTreeSet<_> = self.summary.runs.iter().flat_map(|run| run.metrics.keys()).collect();
        let mut table = Writer::from_path(self.path(RUNS))?;
        let counts = ["ending", "end_ns", "transmissions", "flows_started", "flows_ended"].map(str::to_owned);
        table.write_record(self.columns().chain(counts).chain(metrics.iter().map(|name| (*name).clone())))?;
        for run in &self.summary.runs {
            let counts = [run.end_ns, run.transmissions, run.flows.started, run.flows.ended];
            let ending = once(run.ending.name().to_owned()).chain(counts.map(|count| count.to_string()));
            let metric = |name: &&String| run.metrics.get(*name).filter(|figure| figure.0.is_finite());
            let metrics =
                metrics.iter().map(metric).map(|it| it.map_or_else(String::new, |it| it.0.to_string()));
            table.write_record(self.cells(run).chain(ending).chain(metrics))?;
        }
        Ok(table.flush()?)
    }

    /// Writes a row for each line in the `fct.csv` of each run.
    fn flows(&self) -> csv::Result<()> {
        let mut table = Writer::from_path(self.path(FLOWS))?;
        table.write_record(self.columns().chain(flow_columns()))?;
        for run in self.summary.runs.iter().filter(|run| !run.is_known) {
            let of_run: Vec<_> = self.cells(run).collect();
            let path = self.directory.join(&run.name).join(FLOWS_OF_RUN);
            let unread = |error| io::Error::other(format!("{}: {error}", path.display()));
            for flow in Reader::from_path(&path).map_err(unread)?.records() {
                table.write_record(of_run.iter().map(String::as_str).chain(&flow.map_err(unread)?))?;
            }
        }
        Ok(table.flush()?)
    }

    /// The columns that both tables begin with, which tell runs apart.
    fn columns(&self) -> impl Iterator<Item = String> {
        let columns = ["scenario", "run", "variant", "seed"].map(str::to_owned);
        columns.into_iter().chain(self.parameters.iter().map(|key| format!("parameter.{key}")))
    }

    /// Their cells for one run.
    fn cells(&self, run: &RunSummary) -> impl Iterator<Item = String> {
        let variant = run.variant.clone().unwrap_or_default();
        let cells = [self.summary.scenario.clone(), run.name.clone(), variant, run.seed.to_string()];
        let parameter = |key: &&str| run.parameters.get(*key).cloned().unwrap_or_default();
        cells.into_iter().chain(self.parameters.iter().map(parameter))
    }
}
