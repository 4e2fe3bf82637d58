//! `report.html` of an experiment: the plots that a paper prints, the claims, and every figure, in one page
//! without scripts, fonts or pictures from elsewhere. It is made from the files of the experiment alone, so
//! the same files give the same page.

mod bars;
mod completion;
mod flows;
mod html;
mod input;
mod over_time;
mod pauses;
mod sets;
mod svg;
mod sweeps;
mod tables;
mod timeline;

#[cfg(test)]
mod tests;

use crate::chart::drawing::escaped;
use flows::Flow;
use input::Experiment;
use sets::Set;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use timeline::Timeline;

/// The page's file below the directory of the experiment.
const FILE: &str = "report.html";
/// Curves in one plot at most: more than these nobody tells apart.
const CURVES_MAX: usize = 8;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A file of the experiment cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The summary is not one of this version.
    #[error("{}: not a summary of a simulation: {source}", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        source: serde_json::Error,
    },
    /// A line of a CSV file is not what its header promises.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The page cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The page.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes `report.html` into `directory`, from the files of the experiment in it.
///
/// # Errors
/// [`PageError`].
pub fn write(directory: &Path) -> Result<(), PageError> {
    let page = page(directory)?;
    let path = directory.join(FILE);
    fs::write(&path, page).map_err(|source| PageError::Write { path, source })
}

/// A set of runs with what is drawn of it.
struct Drawn<'a> {
    set: Set<'a>,
    /// Flows of all its runs.
    flows: Vec<Flow>,
    /// What happened over time in the run of its first seed.
    timeline: Option<Timeline>,
}

/// The page of the experiment in `directory`.
fn page(directory: &Path) -> Result<String, PageError> {
    let experiment = Experiment::load(directory)?;
    let sets = sets::of(&experiment);
    let left_out = sets.len().saturating_sub(CURVES_MAX);
    let drawn =
        sets.iter().take(CURVES_MAX).map(|set| draw(directory, set)).collect::<Result<Vec<_>, _>>()?;
    let mut body = heading(&experiment);
    body += &tables::claims(&experiment.claims);
    if left_out > 0 {
        body += &html::note(&format!(
            "The plots below show the first {CURVES_MAX} of {} settings; the tables have all of them.",
            sets.len()
        ));
    }
    body += &completion::section(&drawn);
    body += &bars::section(&sets);
    body += &sweeps::section(&sets);
    body += &over_time::section(&drawn);
    body += &pauses::section(&drawn);
    body += &over_time::flows(&drawn);
    body += &tables::runs(&experiment.runs);
    body += &tables::metrics(&sets);
    let title = experiment.title.as_deref().unwrap_or(&experiment.scenario);
    Ok(html::page(title, &body))
}

/// Reads what is drawn of `set`. A run that failed may have left no flows and no series.
fn draw<'a>(directory: &Path, set: &Set<'a>) -> Result<Drawn<'a>, PageError> {
    let mut flows = Vec::new();
    for run in &set.runs {
        flows::read(&directory.join(&run.name).join("fct.csv"), &mut flows)?;
    }
    let timeline = match set.runs.first() {
        Some(run) => Timeline::load(&directory.join(&run.name).join("series.csv"))?,
        None => None,
    };
    Ok(Drawn { set: set.clone(), flows, timeline })
}

fn heading(experiment: &Experiment) -> String {
    let title = experiment.title.as_deref().unwrap_or(&experiment.scenario);
    let runs = experiment.runs.len();
    let finished = experiment.runs.iter().filter(|run| run.ending == "finished").count();
    let quick = if experiment.quick { ", with the quick overrides" } else { "" };
    format!(
        "<h1>{}</h1>\n<p class=\"lead\">Scenario <code>{}</code>{quick}, {runs} {}, of which {finished} finished. \
         Longspan {}.</p>\n",
        escaped(title),
        escaped(&experiment.scenario),
        if runs == 1 { "run" } else { "runs" },
        escaped(&experiment.longspan),
    )
}
