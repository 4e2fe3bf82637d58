//! `summary.json`: of one run, and of all.

use super::plan::Planned;
use crate::failure::Failure;
use config::scenario::{Better, Paper};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The version of the files. Files of other versions are not read.
const FORMAT: u32 = 1;

/// A figure. Whole numbers are written without a fraction.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(transparent)]
pub struct Figure(pub f64);

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// The metrics of a run by name, with units at the end. `docs/simulate.md` explains each.
pub type Metrics = BTreeMap<String, Figure>;

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
    fn is_failure(self) -> bool {
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
}

impl RunSummary {
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
    /// The flows on which our figure rests, in the run with the fewest; `None` if it does not depend on their number.
    pub flows: Option<u64>,
    /// Our figure over all seeds; `None` if it was not measured.
    pub ours: Option<Spread>,
    /// The verdict.
    pub verdict: ClaimVerdict,
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

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median; of an even number, the mean of the two in the middle.
    #[serde(serialize_with = "figure")]
    pub median: f64,
    /// The minimum.
    #[serde(serialize_with = "figure")]
    pub min: f64,
    /// The maximum.
    #[serde(serialize_with = "figure")]
    pub max: f64,
}

fn figure<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Figure(*figure).serialize(serializer)
}

impl Spread {
    /// The spread of the finite ones of `values`; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        Some(Self { median, min, max })
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
    /// There is no such effect, or the opposite.
    Contradicted,
    /// The seeds disagree.
    Mixed,
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
            Self::Contradicted => "contradicted",
            Self::Mixed => "mixed",
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

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_figure_that_was_read_is_written_as_before(value in proptest::num::f64::NORMAL) {
            let written = serde_json::to_string(&Figure(value)).unwrap();
            let read: Figure = serde_json::from_str(&written).unwrap();
            proptest::prop_assert_eq!(read.0.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_in_the_middle() {
        let spread = |median, min, max| Some(Spread { median, min, max });
        assert_eq!(Spread::of(vec![]), None);
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0]), spread(2.0, 1.0, 4.0));
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 9.0]), spread(3.0, 1.0, 9.0));
        assert_eq!(Spread::of(vec![f64::NAN]), None);
    }
}
