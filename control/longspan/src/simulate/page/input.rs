//! The summary of an experiment, as far as the page shows it.

use super::error::PageError;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// `summary.json` of an experiment.
#[derive(Debug, Deserialize)]
pub struct Experiment {
    /// The version of Longspan that ran it.
    pub longspan: String,
    /// The scenario's name.
    pub scenario: String,
    /// What it is about.
    pub title: Option<String>,
    /// Whether its quick overrides held.
    #[serde(default)]
    pub quick: bool,
    /// Its runs, in their order.
    pub runs: Vec<Run>,
    /// Its claims.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// One run.
#[derive(Debug, Deserialize)]
pub struct Run {
    /// Its name, which is its directory too.
    pub name: String,
    /// The variant of the scenario, where it has variants.
    pub variant: Option<String>,
    /// What the command line set, by key.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Its seed.
    pub seed: u64,
    /// How it ended.
    pub ending: String,
    /// What is to be said about the end.
    pub message: Option<String>,
    /// When it ended, in virtual nanoseconds.
    #[serde(default)]
    pub end_ns: u64,
    /// Frames that links carried.
    #[serde(default)]
    pub transmissions: u64,
    /// Its flows.
    #[serde(default)]
    pub flows: Flows,
    /// What was measured, by dotted name. What could not be measured is null.
    #[serde(default)]
    pub metrics: BTreeMap<String, Option<f64>>,
}

/// How many flows a run had.
#[derive(Debug, Default, Deserialize)]
pub struct Flows {
    /// That started.
    pub started: u64,
    /// That ended.
    pub ended: u64,
}

/// A claim beside what was measured.
#[derive(Debug, Deserialize)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// What it says.
    #[serde(default)]
    pub text: String,
    /// The metric that it is about.
    pub metric: String,
    /// The variant that it is about.
    pub of: Option<String>,
    /// The variant that it is compared with: then figures are relative changes.
    pub against: Option<String>,
    /// The point of the sweep at which it is judged.
    pub point: Option<String>,
    /// What the paper says.
    pub paper: Paper,
    /// The figure that was measured.
    pub ours: Option<Ours>,
    /// What comes of it.
    pub verdict: String,
}

/// What a paper says of a figure.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Paper {
    /// One figure.
    Figure(f64),
    /// From the least to the most.
    Range([f64; 2]),
}

/// What was measured over the seeds.
#[derive(Debug, Deserialize)]
pub struct Ours {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Experiment {
    /// Reads the summary in `directory`.
    ///
    /// # Errors
    /// [`PageError::Read`] and [`PageError::Summary`].
    pub fn load(directory: &Path) -> Result<Self, PageError> {
        let path = directory.join("summary.json");
        let text =
            fs::read_to_string(&path).map_err(|source| PageError::Read { path: path.clone(), source })?;
        serde_json::from_str(&text).map_err(|source| PageError::Summary { path, source })
    }
}
