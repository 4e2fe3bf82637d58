//! The join of shards.

use super::known::KnownFigures;
use super::plan::RunPlan;
use super::run::SUMMARY;
use super::summary::{self, RunSummary};
use crate::console;
use crate::failure::Failure;
use std::path::Path;

/// The maximum number of missing runs that are named.
const NAMED_MAX: usize = 20;

/// The results of all runs of `plan` in `directory` or in the table `known`, without running anything. Reports failed
/// runs as `simulate` does.
///
/// # Errors
/// [`Failure::Missing`] if there are runs without results. They are named on standard error. [`Failure::Figures`] and
/// [`Failure::Write`] for the table.
pub fn join(
    plan: &RunPlan,
    directory: &Path,
    known: Option<&KnownFigures<'_>>,
) -> Result<Vec<Option<RunSummary>>, Failure> {
    let mut missing = Vec::new();
    let mut runs = Vec::new();
    for planned in &plan.runs {
        let read = summary::read(&directory.join(&planned.name).join(SUMMARY), planned);
        match read.or_else(|why| known.and_then(|known| known.results(planned)).ok_or(why)) {
            Ok(run) => runs.push(Some(run)),
            Err(why) => missing.push((planned, why)),
        }
    }
    if missing.is_empty() {
        for (planned, run) in plan.runs.iter().zip(runs.iter().flatten()) {
            known.map_or(Ok(()), |known| known.keep(planned, run))?;
        }
        let failures = runs.iter().flatten().filter_map(RunSummary::failure);
        failures.for_each(|failure| console::complain(&failure));
        return Ok(runs);
    }
    for (planned, why) in missing.iter().take(NAMED_MAX) {
        console::complain(&format_args!("{}: {why}", planned.name));
    }
    if missing.len() > NAMED_MAX {
        console::complain(&format_args!("and {} more", missing.len() - NAMED_MAX));
    }
    Err(Failure::Missing { missing: missing.len(), planned: plan.runs.len() })
}
