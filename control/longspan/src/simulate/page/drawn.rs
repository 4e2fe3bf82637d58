//! What is drawn of an experiment: its sets of runs, with their files.

use super::error::PageError;
use super::flows::{self, Flow};
use super::sets::Set;
use super::timeline::Timeline;
use std::path::Path;

/// Curves in one plot at most: more than these nobody tells apart.
pub const CURVES_MAX: usize = 8;

/// A set of runs with what is drawn of it.
pub struct Drawn<'a> {
    /// Its runs and parameters.
    pub set: Set<'a>,
    /// Flows of all its runs.
    pub flows: Vec<Flow>,
    /// What happened over time in the run of its first seed.
    pub timeline: Option<Timeline>,
}

impl<'a> Drawn<'a> {
    /// Reads what is drawn of `set`, an experiment in `directory`. A run that failed may have left no flows and no series.
    ///
    /// # Errors
    /// [`PageError::Read`] and [`PageError::Line`].
    pub fn read(directory: &Path, set: &Set<'a>) -> Result<Self, PageError> {
        let mut flows = Vec::new();
        for run in &set.runs {
            flows::read(&directory.join(&run.name).join("fct.csv"), &mut flows)?;
        }
        let timeline = match set.runs.first() {
            Some(run) => Timeline::load(&directory.join(&run.name).join("series.csv"))?,
            None => None,
        };
        Ok(Self { set: set.clone(), flows, timeline })
    }
}
