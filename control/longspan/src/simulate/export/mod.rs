//! Tables for data frames: a row for each run, and a row for each flow of all runs.

mod cell;
mod csv;
pub mod format;
#[cfg(feature = "parquet")]
mod parquet;
mod table;

use super::run::{FLOW_COLUMNS, FLOWS as FLOWS_OF_RUN};
use super::summary::{RunSummary, Summary};
use crate::failure::Failure;
use cell::{Cell, Column, Kind};
use format::Format;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use table::Table;

/// The names of the tables, without the end of a file name.
const RUNS: &str = "runs";
const FLOWS: &str = "flows";

/// Writes the tables `runs` and `flows` into the directory of an experiment with this summary.
///
/// # Errors
/// [`Failure::Write`], also if the flows of a run cannot be read.
pub fn write(directory: &Path, summary: &Summary, format: Format) -> Result<(), Failure> {
    let parameters = summary.runs.iter().flat_map(|run| run.parameters.keys().map(String::as_str)).collect();
    let export = &Export { directory, summary, parameters, format };
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
    format: Format,
}

impl<'a> Export<'a> {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name).with_extension(self.format.extension())
    }

    /// Writes a row for each run, with a column for each metric of any of them.
    fn runs(&self) -> io::Result<()> {
        let metrics: BTreeSet<_> = self.summary.runs.iter().flat_map(|run| run.metrics.keys()).collect();
        let mut columns = self.columns();
        columns.push(Column::new("ending", Kind::Text));
        let counts = ["end_ns", "transmissions", "flows_started", "flows_ended"];
        columns.extend(counts.map(|name| Column::new(name, Kind::Whole)));
        columns.extend(metrics.iter().map(|name| Column::new(name.as_str(), Kind::Number)));
        let mut table = Table::create(&self.path(RUNS), self.format, &columns)?;
        for run in &self.summary.runs {
            let mut row = self.cells(run);
            row.push(Cell::Text(run.ending.name()));
            row.extend([run.end_ns, run.transmissions, run.flows.started, run.flows.ended].map(whole));
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
        let kinds: Vec<_> = FLOW_COLUMNS.split(',').map(kind_of_flow_column).collect();
        let mut columns = self.columns();
        columns.extend(FLOW_COLUMNS.split(',').zip(&kinds).map(|(name, kind)| Column::new(name, *kind)));
        let mut table = Table::create(&self.path(FLOWS), self.format, &columns)?;
        for run in &self.summary.runs {
            let of_run = self.cells(run);
            let file = BufReader::new(File::open(self.directory.join(&run.name).join(FLOWS_OF_RUN))?);
            for line in file.lines().skip(1) {
                let line = line?;
                let mut row = of_run.clone();
                row.extend(cells_of_flow(&line, &kinds).ok_or_else(|| not_a_flow(run, &line))?);
                table.add(&row)?;
            }
        }
        table.finish()
    }

    /// The columns that both tables begin with, which tell runs apart.
    fn columns(&self) -> Vec<Column> {
        let text = |name| Column::new(name, Kind::Text);
        let mut columns =
            vec![text("scenario"), text("run"), text("variant"), Column::new("seed", Kind::Whole)];
        let parameters = self.parameters.iter();
        columns.extend(parameters.map(|key| Column::new(format!("parameter.{key}"), Kind::Text)));
        columns
    }

    /// Their cells for one run.
    fn cells(&self, run: &'a RunSummary) -> Vec<Cell<'a>> {
        let text = |text: Option<&'a String>| text.map_or(Cell::Missing, |text| Cell::Text(text));
        let scenario = Cell::Text(&self.summary.scenario);
        let mut cells = vec![scenario, Cell::Text(&run.name), text(run.variant.as_ref()), whole(run.seed)];
        cells.extend(self.parameters.iter().map(|key| text(run.parameters.get(*key))));
        cells
    }
}

fn whole(value: u64) -> Cell<'static> {
    i64::try_from(value).map_or(Cell::Missing, Cell::Whole)
}

fn kind_of_flow_column(name: &str) -> Kind {
    match name {
        "group" | "source" | "destination" => Kind::Text,
        "slowdown" => Kind::Number,
        _ => Kind::Whole,
    }
}

/// The cells of a line of `fct.csv`; `None` if it is not one.
fn cells_of_flow<'a>(line: &'a str, kinds: &[Kind]) -> Option<Vec<Cell<'a>>> {
    let texts: Vec<_> = line.split(',').collect();
    let cell = |(text, kind): (&&'a str, &Kind)| match kind {
        _ if text.is_empty() => Some(Cell::Missing),
        Kind::Text => Some(Cell::Text(text)),
        Kind::Whole => text.parse().ok().map(Cell::Whole),
        Kind::Number => text.parse().ok().map(Cell::Number),
    };
    if texts.len() == kinds.len() { texts.iter().zip(kinds).map(cell).collect() } else { None }
}

fn not_a_flow(run: &RunSummary, line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a flow of {}: {line}", run.name))
}
