//! `summary.json`: of one run, and of all.

use super::figure::{Estimate, Figure, Metrics};
use super::plan::Planned;
use crate::failure::Failure;
use config::scenario::{Better, Paper};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The version of the files. Files of other versions are not read.
const FORMAT: u32 = 1;

units::named! {
    /// Why a run ended.
    EndingName [serde] {
        /// All flows have ended.
        Finished = "finished",
        /// The time limit of the scenario was reached.
        Limit = "limit",
        /// The user interrupted it.
        Interrupted = "interrupted",
        /// Frames wait for each other.
        Deadlock = "deadlock",
        /// Frames move, but no flow makes progress.
        Livelock = "livelock",
        /// A host had no free queue pair for a flow.
        Exhausted = "exhausted",
        /// An invariant was violated.
        Violation = "violation",
    }
}

impl EndingName {
    /// Whether a run that ends like this failed.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Deadlock | Self::Livelock | Self::Exhausted | Self::Violation)
    }

    /// Whether the run need not be repeated.
    pub fn is_complete(self) -> bool {
        !matches!(self, Self::Interrupted | Self::Violation)
    }
}

/// The number of flows of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Flows that started.
    pub started: u64,
    /// Flows that ended.
    pub ended: u64,
}

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its name, which is also its directory.
    pub name: String,
    /// Its variant.
    pub variant: Option<String>,
    /// Its parameters from the command line, by key.
    pub parameters: BTreeMap<String, String>,
    /// Its seed.
    pub seed: u64,
    /// Why it ended.
    pub ending: EndingName,
    /// Details of the ending, if any.
    pub message: Option<String>,
    /// When it ended, in virtual time.
    pub end_ns: u64,
    /// Frames put on links.
    pub transmissions: u64,
    /// Its flows.
    pub flows: FlowCounts,
    /// Its metrics.
    pub metrics: Metrics,
    /// Whether they are from a table of known figures, so that there are no files of it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_known: bool,
}

impl RunSummary {
    /// That of `planned`, with zero for what is counted.
    pub fn of(planned: &Planned, ending: EndingName, metrics: Metrics) -> Self {
        let Planned { name, variant, parameters, seed, .. } = planned.clone();
        let (end_ns, transmissions, flows) = Default::default();
        let (message, is_known) = Default::default();
        Self {
            name,
            variant,
            parameters,
            seed,
            ending,
            message,
            end_ns,
            transmissions,
            flows,
            metrics,
            is_known,
        }
    }

    /// The report of its failure, if it ended like one.
    pub fn failure(&self) -> Option<String> {
        let Self { name, seed, ending, message, .. } = self;
        let message = message.as_deref().unwrap_or_default();
        ending.is_failure().then(|| format!("{name}: seed {seed}: {}: {message}", ending.name()))
    }
}

/// `summary.json` of one run.
#[derive(Serialize)]
pub struct RunFile<'a, Details> {
    /// Its results.
    #[serde(flatten)]
    pub run: &'a RunSummary,
    /// The name of the scenario.
    pub scenario: &'a str,
    /// A digest of its inputs.
    pub inputs: &'a str,
    /// Switches, hosts, links and checks.
    #[serde(flatten)]
    pub details: Details,
}

/// The part of it that is needed to resume.
#[derive(Deserialize)]
struct Known {
    #[serde(flatten)]
    run: RunSummary,
    inputs: String,
}

/// Why the results of a run cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// There are none.
    #[error("has not run, or is not complete")]
    Missing,
    /// They are of other inputs, or of another build of Longspan.
    #[error("was run by another executable, or with other values")]
    Other,
    /// They end at an interrupt.
    #[error("was interrupted")]
    Interrupted,
}

/// The results in the file at `path`, if they are those of `planned`, except for an interrupted run.
///
/// # Errors
/// [`Unusable`].
pub fn read(path: &Path, planned: &Planned) -> Result<RunSummary, Unusable> {
    let text = fs::read(path).map_err(|_| Unusable::Missing)?;
    let Known { run, inputs } = serde_json::from_slice(&text).map_err(|_| Unusable::Missing)?;
    if inputs != planned.inputs {
        return Err(Unusable::Other);
    }
    if run.ending == EndingName::Interrupted {
        return Err(Unusable::Interrupted);
    }
    // The parameters on the command line may differ.
    Ok(RunSummary { parameters: planned.parameters.clone(), ..run })
}

/// A claim and the measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimSummary {
    /// Its name.
    pub id: String,
    /// The claim, in words.
    pub text: String,
    /// The metric.
    pub metric: String,
    /// The variant that it is about.
    pub of: String,
    /// The variant to compare with; `None` if the claim is about the figure itself.
    pub against: Option<String>,
    /// The point of the sweeps; `None` without sweeps.
    pub point: Option<String>,
    /// The paper's figure.
    #[serde(serialize_with = "paper")]
    pub paper: Paper,
    /// The direction in which the figure improves.
    #[serde(serialize_with = "better")]
    pub better: Option<Better>,
    /// The kind of evidence that it is.
    pub kind: ClaimKind,
    /// The flows on which our figure rests, in the run with the fewest; `None` if it does not depend on their number.
    pub flows: Option<u64>,
    /// Our figure over all seeds; `None` if it was not measured.
    pub ours: Option<Estimate>,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Other verdicts on figures within two standard errors.
    pub near: Vec<ClaimVerdict>,
    /// The seeds that a verdict needs, if it is undecided and some number suffices.
    pub needed: Option<u64>,
}

impl ClaimSummary {
    /// Withdraws the verdict, because the runs were shortened.
    pub fn withdraw(&mut self) {
        self.verdict = ClaimVerdict::NotJudged;
        self.near.clear();
        self.needed = None;
    }
}

units::named! {
    /// The kind of evidence that a claim is.
    ClaimKind [serde] {
        /// A claim of a paper.
        Paper = "paper",
        /// A claim of ours.
        Ours = "ours",
        /// No run violated what the simulator checks in each.
        Guarantee = "guarantee",
        /// The figure follows from the configuration.
        Configured = "configured",
    }
}

fn better<S: Serializer>(better: &Option<Better>, serializer: S) -> Result<S::Ok, S::Error> {
    let word = better.map(|better| if better == Better::Less { "less" } else { "more" });
    word.serialize(serializer)
}

/// The figure, or the lowest and the highest of a range.
fn paper<S: Serializer>(paper: &Paper, serializer: S) -> Result<S::Ok, S::Error> {
    match *paper {
        Paper::Figure { value, .. } => Figure(value).serialize(serializer),
        Paper::Range { low, high } => [Figure(low), Figure(high)].serialize(serializer),
    }
}

/// The verdict on a claim; `docs/simulate.md` has the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// Our figure is the paper's: within the tolerance, or in its range.
    Reproduced,
    /// Our figure is better.
    Better,
    /// The effect exists, but is smaller.
    Weaker,
    /// There is no effect, or less than a tenth of the paper's.
    NoEffect,
    /// The effect is the opposite, or the figure another one.
    Contradicted,
    /// There are too few seeds, or they deviate too much.
    Undecided,
    /// No run has such a figure, or one has too few flows for it.
    NotMeasured,
    /// The runs were shortened.
    NotJudged,
    /// There is no verdict, because one of its runs ended like this.
    Unfinished(EndingName),
}

impl Serialize for ClaimVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl ClaimVerdict {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Better => "better",
            Self::Weaker => "weaker",
            Self::NoEffect => "no effect",
            Self::Contradicted => "contradicted",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
            Self::NotJudged => "not judged",
            Self::Unfinished(ending) => ending.name(),
        }
    }
}

/// `summary.json` of all runs.
#[derive(Serialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of Longspan that ran it.
    pub longspan: &'static str,
    /// The name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: Option<String>,
    /// Whether its `quick` values were applied.
    pub quick: bool,
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// The claims.
    pub claims: Vec<ClaimSummary>,
}

impl Summary {
    /// The summary of `runs`.
    pub fn new(
        scenario: String,
        title: Option<String>,
        quick: bool,
        runs: Vec<RunSummary>,
        claims: Vec<ClaimSummary>,
    ) -> Self {
        let longspan = env!("CARGO_PKG_VERSION");
        Self { format: FORMAT, longspan, scenario, title, quick, runs, claims }
    }
}

/// Writes `value` to the file at `path`, completely or not at all.
///
/// # Errors
/// [`Failure::Write`].
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let unfinished = path.with_extension("json.new");
    let written = fs::write(&unfinished, crate::console::json(value));
    written.and_then(|()| fs::rename(&unfinished, path)).map_err(Failure::unwritten(path))
}
