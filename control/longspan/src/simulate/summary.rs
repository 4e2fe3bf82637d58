//! What is written as `summary.json`: of one run, and of all.

use crate::failure::Failure;
use config::scenario::Better;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The version of the files; another one is not read.
const FORMAT: u32 = 1;

/// A figure. A whole number is written as one.
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

/// The figures of a run by their names, with units at the end: `docs/simulate.md` explains each.
pub type Metrics = BTreeMap<String, Figure>;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndingName {
    /// All flows have ended.
    Finished,
    /// The time of the scenario was over.
    Limit,
    /// Somebody asked for it.
    Interrupted,
    /// Frames wait for each other.
    Deadlock,
    /// Frames move, and no flow gets on.
    Livelock,
    /// A host had no queue pair left for a flow.
    Exhausted,
    /// An invariant did not hold.
    Violation,
}

impl EndingName {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Limit => "limit",
            Self::Interrupted => "interrupted",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
            Self::Exhausted => "exhausted",
            Self::Violation => "violation",
        }
    }

    /// Whether something went wrong in the run.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Deadlock | Self::Livelock | Self::Exhausted | Self::Violation)
    }

    /// Whether a run that ended so need not be run again.
    pub fn is_complete(self) -> bool {
        !matches!(self, Self::Interrupted | Self::Violation)
    }
}

/// Flows of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// Those that began.
    pub started: u64,
    /// Those that came to their end.
    pub ended: u64,
}

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its name, and its directory.
    pub name: String,
    /// Its variant.
    pub variant: Option<String>,
    /// What the command line says of it, by key.
    pub parameters: BTreeMap<String, String>,
    /// Its seed.
    pub seed: u64,
    /// Why it ended.
    pub ending: EndingName,
    /// More about that, where there is more to say.
    pub message: Option<String>,
    /// When it ended, in virtual time.
    pub end_ns: u64,
    /// Frames put on a link.
    pub transmissions: u64,
    /// Its flows.
    pub flows: FlowCounts,
    /// Its figures.
    pub metrics: Metrics,
}

/// `summary.json` of one run.
#[derive(Serialize)]
pub struct RunFile<'a, Details> {
    /// What came of it.
    #[serde(flatten)]
    pub run: &'a RunSummary,
    /// The name of the scenario.
    pub scenario: &'a str,
    /// A digest of what its results depend on.
    pub inputs: &'a str,
    /// Switches, hosts, links and checks.
    #[serde(flatten)]
    pub details: Details,
}

/// As much of it as is needed to go on where somebody stopped.
#[derive(Deserialize)]
struct Known {
    #[serde(flatten)]
    run: RunSummary,
    inputs: String,
}

/// The run that `path` tells of, if it is complete and its results depended on `inputs`.
pub fn known(path: &Path, inputs: &str) -> Option<RunSummary> {
    let known: Known = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (known.inputs == inputs && known.run.ending.is_complete()).then_some(known.run)
}

/// A claim beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimSummary {
    /// Its name.
    pub id: String,
    /// What is claimed.
    pub text: String,
    /// The figure that it is about.
    pub metric: String,
    /// Whose figure it is.
    pub of: String,
    /// What it is compared with; `None`: with nothing, the figure itself is claimed.
    pub against: Option<String>,
    /// The point of the sweeps; `None` without sweeps.
    pub point: Option<String>,
    /// What the paper says.
    pub paper: PaperFigure,
    /// Which way the figure gets better.
    #[serde(serialize_with = "better")]
    pub better: Option<Better>,
    /// Ours, over all seeds; `None` where it was not measured.
    pub ours: Option<Spread>,
    /// What that means.
    pub verdict: Verdict,
}

fn better<S: Serializer>(better: &Option<Better>, serializer: S) -> Result<S::Ok, S::Error> {
    match better {
        None => serializer.serialize_none(),
        Some(Better::Less) => serializer.serialize_str("less"),
        Some(Better::More) => serializer.serialize_str("more"),
    }
}

/// What a paper says of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PaperFigure {
    /// One figure.
    One(Figure),
    /// From the least to the most.
    Range([Figure; 2]),
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The one in the middle; of two the mean.
    pub median: Figure,
    /// The least.
    pub min: Figure,
    /// The most.
    pub max: Figure,
}

impl Spread {
    /// Of `values`; `None` where there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        let median = if low == high { low } else { (low + high) / 2.0 };
        Some(Self { median: Figure(median), min: Figure(min), max: Figure(max) })
    }
}

/// What a claim came to; `docs/simulate.md` has the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ours is the paper's: within the tolerance, or in its range.
    Reproduced,
    /// Ours is better.
    Better,
    /// The effect is there, and smaller.
    Weaker,
    /// There is no such effect, or the opposite.
    Contradicted,
    /// No run has such a figure.
    NotMeasured,
    /// None: one of its runs ended so.
    Unfinished(EndingName),
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Verdict {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Better => "better",
            Self::Weaker => "weaker",
            Self::Contradicted => "contradicted",
            Self::NotMeasured => "not measured",
            Self::Unfinished(ending) => ending.name(),
        }
    }
}

/// `summary.json` of all runs.
#[derive(Serialize)]
pub struct Summary {
    format: u32,
    longspan: &'static str,
    /// The name of the scenario.
    pub scenario: String,
    /// What it is about.
    pub title: Option<String>,
    /// Whether it was made quick.
    pub quick: bool,
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// The claims.
    pub claims: Vec<ClaimSummary>,
}

impl Summary {
    /// Of `runs`.
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

/// Writes `value` to `path`, at once or not at all.
///
/// # Errors
/// [`Failure::Write`].
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let failed = |source| Failure::Write { path: path.into(), source, running: true };
    let unfinished = path.with_extension("json.new");
    fs::write(&unfinished, crate::console::json(value)).map_err(failed)?;
    fs::rename(&unfinished, path).map_err(failed)
}
