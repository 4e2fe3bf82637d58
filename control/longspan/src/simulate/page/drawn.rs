//! The data to draw: sets of runs, with their files.

use super::error::PageError;
use super::flows::{self, Flow};
use super::sets::Set;
use super::timeline::Timeline;
use std::path::Path;

/// The maximum number of curves in a plot; nobody can tell more apart.
pub const CURVES_MAX: usize = 8;

/// A set of runs and what is drawn of it.
pub struct Drawn<'a> {
    /// Its runs and parameters.
    pub set: Set<'a>,
    /// The flows of all its runs.
    pub flows: Vec<Flow>,
    /// The time series of the run with its first seed.
    pub timeline: Option<Timeline>,
}

impl<'a> Drawn<'a> {
    /// Reads the data of `set`, from an experiment in `directory`. A failed run may have left neither flows nor a
    /// series.
    ///
    /// # Errors
    /// [`PageError`].
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
