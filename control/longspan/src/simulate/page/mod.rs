//! `report.html` of an experiment: the plots that papers print, the claims and all metrics, on one page without
//! scripts, fonts or pictures from elsewhere. It depends only on the results of the experiment.

mod bars;
mod completion;
mod drawn;
mod error;
pub mod html;
mod over_time;
mod pauses;
mod sweeps;
mod tables;
mod timeline;

#[cfg(test)]
mod tests;

pub use error::PageError;

use super::sets;
use super::summary::{EndingName, Summary};
use crate::chart::text::escaped;
use crate::failure::Failure;
use drawn::{CURVES_MAX, Drawn};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use units::human::count_of;

/// The page's file in the directory of the experiment.
const FILE: &str = "report.html";
/// The file of the picture that compares its settings.
const PICTURE: &str = "compared.svg";

/// Writes `report.html` into `directory`, for the experiment there with this summary, and `compared.svg` if there are
/// several settings.
///
/// # Errors
/// [`Failure::Page`], [`Failure::Write`].
pub fn write(directory: &Path, summary: &Summary) -> Result<(), Failure> {
    let (path, page) = (directory.join(FILE), page(directory, summary)?);
    fs::write(&path, page).map_err(Failure::unwritten(path))?;
    let path = directory.join(PICTURE);
    match bars::picture(&sets::of(summary)) {
        Some(picture) => fs::write(&path, picture).map_err(Failure::unwritten(path)),
        // One of an earlier run compares what is no longer there.
        None => fs::remove_file(&path).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(Failure::unwritten(path)(error)),
        }),
    }
}

/// The page of the experiment in `directory`.
fn page(directory: &Path, summary: &Summary) -> Result<String, PageError> {
    let sets = sets::of(summary);
    let drawn =
        sets.iter().take(CURVES_MAX).map(|set| Drawn::read(directory, set)).collect::<Result<Vec<_>, _>>()?;
    let title = summary.title.as_deref().unwrap_or(&summary.scenario);
    let mut body = heading(title, summary);
    let known = summary.runs.iter().filter(|run| run.is_known).count();
    if known > 0 {
        let runs = count_of(known as u64, "run");
        body += &html::note(&format!(
            "Only the figures of claims are known of {runs}; other medians and the plots over time leave them out."
        ));
    }
    body += &tables::claims(&summary.claims);
    if sets.len() > CURVES_MAX {
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
    body += &tables::runs(&summary.runs, &summary.claims);
    body += &tables::metrics(&sets);
    Ok(html::page(title, &body))
}

fn heading(title: &str, summary: &Summary) -> String {
    let finished = summary.runs.iter().filter(|run| run.ending == EndingName::Finished).count();
    let quick = if summary.quick { ", with the quick overrides" } else { "" };
    format!(
        "<h1>{}</h1>\n<p class=\"lead\">Scenario <code>{}</code>{quick}, {}, of which {finished} finished. \
         Longspan {}.</p>\n",
        escaped(title),
        escaped(&summary.scenario),
        count_of(summary.runs.len() as u64, "run"),
        escaped(summary.longspan),
    )
}
