//! `report.html` of an experiment: the plots that a paper prints, the claims, and every figure, in one page
//! without scripts, fonts or pictures from elsewhere. It is made from the files of the experiment alone, so
//! the same files give the same page.

mod bars;
mod completion;
mod drawn;
mod error;
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

pub use error::PageError;

use crate::chart::drawing::escaped;
use drawn::{CURVES_MAX, Drawn};
use input::Experiment;
use std::fs;
use std::path::Path;

/// The page's file below the directory of the experiment.
const FILE: &str = "report.html";
/// Writes `report.html` into `directory`, from the files of the experiment in it.
///
/// # Errors
/// [`PageError`].
pub fn write(directory: &Path) -> Result<(), PageError> {
    let page = page(directory)?;
    let path = directory.join(FILE);
    fs::write(&path, page).map_err(|source| PageError::Write { path, source })
}

/// The page of the experiment in `directory`.
fn page(directory: &Path) -> Result<String, PageError> {
    let experiment = Experiment::load(directory)?;
    let sets = sets::of(&experiment);
    let left_out = sets.len().saturating_sub(CURVES_MAX);
    let drawn =
        sets.iter().take(CURVES_MAX).map(|set| Drawn::read(directory, set)).collect::<Result<Vec<_>, _>>()?;
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
