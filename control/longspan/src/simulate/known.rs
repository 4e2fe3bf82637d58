//! A table of figures that outlives builds: of each run, what verdicts rest on. It depends on the inputs of the run, and
//! not on the executable.

use super::claims::metrics_of;
use super::figure::{Figure, Metrics};
use super::plan::{Planned, RunPlan};
use super::summary::{EndingName, FlowCounts, RunSummary};
use crate::console;
use crate::failure::Failure;
use config::scenario::Claim;
use csv::{Reader, Writer};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use units::human::count_of;

/// The metrics of every run, which a summary is made of.
const OF_EVERY_RUN: [&str; 4] = ["flows.started", "flows.unfinished", "run.end_ns", "run.transmissions"];

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    /// The digest of the inputs.
    inputs: String,
    /// Empty if the scenario has no variants.
    variant: String,
    /// Empty without sweeps.
    point: String,
    seed: u64,
    ending: EndingName,
    metric: String,
    /// `None` if the run has no such figure.
    value: Option<Figure>,
}

/// The rows of each run by their metrics. A run is its variant, its point and its seed.
type Rows = BTreeMap<(String, String, u64), BTreeMap<String, Row>>;

/// The table in a file.
pub struct KnownFigures<'a> {
    path: &'a Path,
    claims: &'a [Claim],
    rows: Mutex<Rows>,
}

impl<'a> KnownFigures<'a> {
    /// Reads the table at `path`, if there is one. Says of how many runs of `plan` it has figures that do not apply.
    ///
    /// # Errors
    /// [`Failure::Figures`]; [`Failure::Write`] if its directory cannot be created.
    pub fn open(path: &'a Path, plan: &'a RunPlan) -> Result<Self, Failure> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(Failure::uncreated(directory))?;
        }
        let rows = read(path, false)?;
        let is_stale = |planned: &&Planned| {
            rows.get(&key(planned))
                .is_some_and(|rows| rows.values().any(|row| row.inputs != planned.settings))
        };
        let stale = plan.runs.iter().filter(is_stale).count() as u64;
        if stale > 0 {
            let (path, runs) = (path.display(), count_of(stale, "run"));
            console::complain(&format_args!(
                "{path}: the figures of {runs} are of other inputs, and not used"
            ));
        }
        Ok(Self { path, claims: &plan.file.claims, rows: Mutex::new(rows) })
    }

    /// The results of `planned`, reduced to what claims need; `None` if they are not all there, or of other inputs.
    pub fn results(&self, planned: &Planned) -> Option<RunSummary> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = rows.get(&key(planned))?;
        let row = |metric: &String| rows.get(metric).filter(|row| row.inputs == planned.settings);
        let rows: Vec<&Row> = self.metrics(planned).iter().map(row).collect::<Option<_>>()?;
        let ending = rows.first()?.ending;
        if rows.iter().any(|row| row.ending != ending) {
            return None;
        }
        let metrics: Metrics = rows.iter().filter_map(|row| Some((row.metric.clone(), row.value?))).collect();
        let [started, unfinished, end_ns, transmissions] =
            OF_EVERY_RUN.map(|name| metrics.get(name).map_or(0, |figure| figure.0 as u64));
        let flows = FlowCounts { started, ended: started.saturating_sub(unfinished) };
        let run = RunSummary::of(planned, ending, metrics);
        let message = ending.is_failure().then(|| format!("known from {}", self.path.display()));
        Some(RunSummary { message, end_ns, transmissions, flows, is_known: true, ..run })
    }

    /// Writes the figures of `run`, if it need not be repeated, into the table. Rows that another process has written
    /// meanwhile stay.
    ///
    /// # Errors
    /// [`Failure::Figures`], [`Failure::Write`].
    pub fn keep(&self, planned: &Planned, run: &RunSummary) -> Result<(), Failure> {
        if run.is_known || !run.ending.is_complete() {
            return Ok(());
        }
        let (variant, point, seed) = key(planned);
        let row = |metric: String| {
            let value = run.metrics.get(&metric).copied().filter(|figure| figure.0.is_finite());
            let (inputs, variant, point) = (planned.settings.clone(), variant.clone(), point.clone());
            (metric.clone(), Row { inputs, variant, point, seed, ending: run.ending, metric, value })
        };
        let of_run: BTreeMap<_, _> = self.metrics(planned).into_iter().map(row).collect();
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let _locked = self.lock_for_others()?;
        *rows = read(self.path, true)?;
        if rows.get(&key(planned)) == Some(&of_run) {
            return Ok(());
        }
        rows.insert(key(planned), of_run);
        write(self.path, &rows).map_err(|error| Failure::unwritten(self.path)(error.into()))
    }

    /// Keeps other processes from writing the table until the result is dropped. That is its directory, because a write
    /// replaces the file.
    fn lock_for_others(&self) -> Result<File, Failure> {
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = File::open(directory).map_err(Failure::unwritten(self.path))?;
        file.lock().map_err(Failure::unwritten(self.path))?;
        Ok(file)
    }

    fn metrics(&self, planned: &Planned) -> BTreeSet<String> {
        let of_claims = metrics_of(self.claims, planned.variant.as_deref());
        of_claims.chain(OF_EVERY_RUN.map(str::to_owned)).collect()
    }
}

fn key(planned: &Planned) -> (String, String, u64) {
    (planned.variant.clone().unwrap_or_default(), planned.point.clone().unwrap_or_default(), planned.seed)
}

/// Reads the rows. A figure is finite, and no run was interrupted or has a figure twice. `running` says whether the
/// simulation has started.
fn read(path: &Path, running: bool) -> Result<Rows, Failure> {
    let failed = |source| Failure::Figures { path: path.into(), source, running };
    let mut rows = Rows::new();
    let mut file = match Reader::from_path(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), csv::ErrorKind::Io(it) if it.kind() == ErrorKind::NotFound) => {
            return Ok(rows);
        }
        Err(error) => return Err(failed(error)),
    };
    for (line, row) in (2_u64..).zip(file.deserialize()) {
        let row: Row = row.map_err(failed)?;
        let is_whole = row.ending.is_complete() && row.value.is_none_or(|figure| figure.0.is_finite());
        let run = (row.variant.clone(), row.point.clone(), row.seed);
        let is_first = rows.entry(run).or_default().insert(row.metric.clone(), row).is_none();
        if !is_whole || !is_first {
            let why =
                if is_whole { "a second row of this run and metric" } else { "no figure of a complete run" };
            return Err(failed(io::Error::new(ErrorKind::InvalidData, format!("line {line}: {why}")).into()));
        }
    }
    Ok(rows)
}

/// Writes the file completely or not at all.
fn write(path: &Path, rows: &Rows) -> csv::Result<()> {
    let unfinished = path.with_extension("csv.new");
    let mut file = Writer::from_path(&unfinished)?;
    for row in rows.values().flat_map(BTreeMap::values) {
        file.serialize(row)?;
    }
    file.flush()?;
    Ok(fs::rename(&unfinished, path)?)
}
