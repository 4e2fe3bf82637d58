//! `[scenario]`, `[sampling]`, `[[claim]]`.

use toml::de::DeValue;
use units::{Interval, Nanos};

use super::names::Names;
use super::words::Better;
use crate::problem::ProblemKind;
use crate::reader::{At, Section};
use crate::value::Value;

/// How long a simulation goes on.
#[derive(Clone, Debug)]
pub(super) struct RunDecl {
    pub title: Option<String>,
    pub seed: u64,
    pub until: Nanos,
    pub limit: Nanos,
    pub stall: Interval,
    pub tolerate_loss: bool,
}

/// Flows start up to here where nothing is said.
const UNTIL: Interval = Interval::from_millis(10);
/// And have so many times as long to end, and a second.
const LIMIT_FACTOR: u64 = 10;
/// Longer than any round trip; a network that moves nothing for so long is stuck.
const STALL: Interval = Interval::from_millis(500);
/// No simulation is longer.
const MOST: Interval = Interval::from_secs(3_600);

impl Default for RunDecl {
    fn default() -> Self {
        Self {
            title: None,
            seed: 1,
            until: Nanos(UNTIL.0),
            limit: limit(UNTIL),
            stall: STALL,
            tolerate_loss: false,
        }
    }
}

fn limit(until: Interval) -> Nanos {
    Nanos((until * LIMIT_FACTOR + Interval::from_secs(1)).min(MOST).0)
}

/// The time at `key`, up to an hour.
pub(super) fn time(
    section: &mut Section<'_, '_>,
    key: &'static str,
    least: Interval,
) -> Option<At<Interval>> {
    let time: At<Interval> = section.optional(key)?;
    if (least..=MOST).contains(&time.value) {
        return Some(time);
    }
    let valid = if least == Interval::ZERO { "up to 3600s" } else { "above 0 and up to 3600s" };
    section.problems.error(&time.place, ProblemKind::OutOfRange { got: time.value.to_string(), valid });
    None
}

/// More than nothing.
pub(super) const SOME: Interval = Interval(1);

impl RunDecl {
    pub fn read(section: &mut Section<'_, '_>) -> Self {
        let default = Self::default();
        let title = section.optional("title").map(|title| title.value);
        let seed = section.optional("seed").map_or(default.seed, |seed| seed.value);
        let until = time(section, "until", SOME).map_or(UNTIL, |until| until.value);
        let given = time(section, "limit", SOME);
        if let Some(given) = given.as_ref().filter(|given| given.value < until) {
            let got = given.value.to_string();
            section
                .problems
                .error(&given.place, ProblemKind::OutOfRange { got, valid: "scenario.until and more" });
        }
        Self {
            title,
            seed,
            until: Nanos(until.0),
            limit: given.map_or(limit(until), |given| Nanos(given.value.0)),
            stall: time(section, "stall", SOME).map_or(default.stall, |stall| stall.value),
            tolerate_loss: section.optional("tolerate_loss").is_some_and(|it| it.value),
        }
    }
}

/// What is recorded while it goes on.
#[derive(Default)]
pub(super) struct SamplingDecl {
    pub interval: Option<Interval>,
    pub rows: Option<u32>,
    pub ports: Option<Vec<At<Names>>>,
    pub flows: Vec<At<Names>>,
    pub taps: Vec<At<Names>>,
}

impl SamplingDecl {
    pub fn read(section: &mut Section<'_, '_>) -> Self {
        let rows = section.optional::<u32>("rows").filter(|rows| {
            let valid = (2..=10_000_000).contains(&rows.value);
            if !valid {
                let kind = ProblemKind::OutOfRange { got: rows.value.to_string(), valid: "2 to 10000000" };
                section.problems.error(&rows.place, kind);
            }
            valid
        });
        Self {
            interval: time(section, "interval", SOME).map(|interval| interval.value),
            rows: rows.map(|rows| rows.value),
            ports: section.list("ports").map(|list| list.value),
            flows: section.list("flows").map_or_else(Vec::new, |list| list.value),
            taps: section.list("taps").map_or_else(Vec::new, |list| list.value),
        }
    }
}

/// What a paper says of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paper {
    /// One figure.
    Figure {
        /// It.
        value: f64,
        /// By which share of it another may differ and still be the same.
        tolerance: f64,
    },
    /// A range. What lies in it is the paper's, and nothing else.
    Range {
        /// The least.
        low: f64,
        /// The most, no less than that.
        high: f64,
    },
}

/// A claim that a scenario checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// What is claimed.
    pub text: String,
    /// The figure that it is about, by its name among the metrics of a run.
    pub metric: String,
    /// The variant whose figure it is.
    pub of: String,
    /// The variant that it is compared with; without one the figure itself is claimed.
    pub against: Option<String>,
    /// What the paper says: a relative change (-0.18 is 18 % less) where there is something to compare with,
    /// otherwise the figure itself.
    pub paper: Paper,
    /// Which way the figure gets better, where that is said.
    pub better: Option<Better>,
}

/// How much another figure may differ where nothing is said.
const TOLERANCE: f64 = 0.3;

/// Reads a claim; `variants` are the names that there are.
pub(super) fn claim(section: &mut Section<'_, '_>, variants: &[String]) -> Option<Claim> {
    let id = section.required::<String>("id", "id = \"fct\"");
    let text = section.required::<String>("text", "text = \"18 % less\"");
    let metric = section.required::<String>("metric", "metric = \"fct.all.mean_ns\"");
    let of = section.required::<String>("of", "of = \"bifrost\"");
    let against = section.optional::<String>("against");
    let paper = paper(section);
    let better = section.optional::<Better>("better");
    for variant in [of.as_ref(), against.as_ref()].into_iter().flatten() {
        if !variants.contains(&variant.value) {
            let kind = ProblemKind::Undefined {
                what: "variant",
                got: variant.value.clone(),
                nearest: crate::problem::nearest(&variant.value, variants.iter().map(String::as_str)),
                valid: variants.to_vec(),
            };
            section.problems.error(&variant.place, kind);
        }
    }
    Some(Claim {
        id: id?.value,
        text: text?.value,
        metric: metric?.value,
        of: of?.value,
        against: against.map(|it| it.value),
        paper: paper?,
        better: better.map(|it| it.value),
    })
}

/// `paper`, with the `tolerance` of a single figure.
fn paper(section: &mut Section<'_, '_>) -> Option<Paper> {
    let figures = section.required::<Figures>("paper", "paper = -0.18, or paper = [-0.65, -0.3]");
    let tolerance = section.optional::<f64>("tolerance");
    if let Some(tolerance) = tolerance.as_ref().filter(|it| !(0.0..=10.0).contains(&it.value)) {
        let kind = ProblemKind::OutOfRange { got: tolerance.value.to_string(), valid: "0 to 10" };
        section.problems.error(&tolerance.place, kind);
    }
    match figures?.value {
        Figures::One(value) => {
            Some(Paper::Figure { value, tolerance: tolerance.map_or(TOLERANCE, |it| it.value) })
        }
        Figures::Range(low, high) => {
            if let Some(tolerance) = tolerance {
                section.problems.error(&tolerance.place, ProblemKind::Meaningless { with: "a range" });
            }
            Some(Paper::Range { low, high })
        }
    }
}

/// What is written as a paper's figure.
#[derive(Clone, Copy)]
enum Figures {
    One(f64),
    Range(f64, f64),
}

impl Value for Figures {
    fn read(value: &DeValue<'_>) -> Result<Self, ProblemKind> {
        let DeValue::Array(ends) = value else { return finite(value).map(Self::One) };
        let out_of_range = |got: String| ProblemKind::OutOfRange { got, valid: "[least, most]" };
        let ends: Vec<_> = ends.iter().collect();
        let [low, high] = ends.as_slice() else {
            return Err(out_of_range(format!("an array of {}", ends.len())));
        };
        let (low, high) = (finite(low.get_ref())?, finite(high.get_ref())?);
        if low <= high { Ok(Self::Range(low, high)) } else { Err(out_of_range(format!("[{low}, {high}]"))) }
    }
}

fn finite(value: &DeValue<'_>) -> Result<f64, ProblemKind> {
    let number = f64::read(value)?;
    if number.is_finite() {
        return Ok(number);
    }
    Err(ProblemKind::OutOfRange { got: number.to_string(), valid: "a finite number" })
}
