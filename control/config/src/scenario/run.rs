//! `[scenario]`, `[sampling]`, `[[claim]]`.

use toml::de::DeValue;
use units::Interval;

use super::names::Names;
use super::words::Better;
use crate::place::At;
use crate::problem::ProblemKind;
use crate::render::in_markdown;
use crate::section::Section;
use crate::table::{List, Table, or, table};
use crate::value::Value;

/// The longest simulation.
const MOST: Interval = Interval::from_secs(3_600);
/// More than nothing.
pub(super) const SOME: Interval = Interval(1);

table! {
    /// How long a simulation goes on.
    RunDecl, check {
        /// What the scenario is about
        title: At<String>, auto("none");
        /// Seed of every random choice: flows, ECN, paths, faults. The same seed gives the same run
        seed: At<u64>, default(1_u64);
        /// Flows start up to this time, and flows without end stop at it
        until: At<Interval>, within(SOME..=MOST), default(Interval::from_millis(10));
        /// The run ends at this time, whatever is under way; at least `until`
        limit: At<Interval>, within(SOME..=MOST), auto("ten times `until`, and a second");
        /// A network in which nothing arrives for this long is stuck
        stall: At<Interval>, within(SOME..=MOST), default(Interval::from_millis(500));
        /// Whether switches may drop lossless frames. Otherwise such a drop fails the run, unless [faults of a link explain it](simulation.md#invariants)
        tolerate_loss: At<bool>, default(false);
    }
}

impl RunDecl {
    fn check(&self, section: &Section<'_, '_>) {
        if let Some(limit) = self.limit.as_ref().filter(|limit| limit.value < self.until()) {
            let kind = ProblemKind::out_of_range(limit.value, "scenario.until or more");
            section.problems.error(&limit.place, kind);
        }
    }

    /// When it ends.
    pub fn limit_or_default(&self) -> Interval {
        or(&self.limit, (self.until() * 10 + Interval::from_secs(1)).min(MOST))
    }
}

/// The time at `key`, up to an hour.
pub(super) fn time(
    section: &mut Section<'_, '_>,
    key: &'static str,
    least: Interval,
) -> Option<At<Interval>> {
    section.optional(key).filter(|time| section.is_within(time, &(least..=MOST)))
}

table! {
    /// What is recorded while it goes on.
    SamplingDecl {
        /// How often ports and flows are recorded
        interval: At<Interval>, within(SOME..=MOST), auto("`until` / `rows`, at least 1us");
        /// Rows of a series. When it has more, the interval doubles
        rows: At<u32>, within(2..=10_000_000), default(1_000_u32);
        /// Ports of switches, `["gw-west.*"]`
        ports: List<Names>, auto("all if there are up to 16, otherwise those of long-haul links");
        /// Groups whose flows are recorded one by one
        flows: List<Names>, auto("none");
        /// Switches whose frames are captured
        taps: List<Names>, auto("none");
    }
}

/// The keys of `[scenario]` and `[sampling]`, as those of [`crate::reference`].
pub fn reference() -> Vec<(String, String)> {
    let mut tables = Vec::new();
    RunDecl::describe("scenario", &mut tables);
    SamplingDecl::describe("sampling", &mut tables);
    in_markdown(tables)
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
            let known = variants.iter().map(String::as_str);
            section.problems.error(&variant.place, ProblemKind::undefined("variant", &variant.value, known));
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
    let tolerance = section.optional::<f64>("tolerance").filter(|it| section.is_within(it, &(0.0..=10.0)));
    match figures?.value {
        Figures::One(value) => {
            Some(Paper::Figure { value, tolerance: tolerance.map_or(TOLERANCE, |it| it.value) })
        }
        Figures::Range(low, high) => {
            if let Some(tolerance) = tolerance {
                section.problems.error(&tolerance.place, ProblemKind::Meaningless { with: "a range".into() });
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
        let out_of_range = |got: String| ProblemKind::out_of_range(got, "[least, most]");
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
    Err(ProblemKind::out_of_range(number, "a finite number"))
}
