//! `[scenario]`, `[sampling]`, `[[claim]]`.

use toml::de::DeValue;
use units::{Interval, Nanos};

use super::names::Names;
use super::words::{Better, Source};
use crate::place::At;
use crate::problem::ProblemKind;
use crate::section::Section;
use crate::table::{List, Table, or, table};
use crate::value::{Value, value_types};

/// Longest duration of a simulation.
pub(super) const MOST: Interval = Interval::from_secs(3_600);
/// Shortest duration that is not zero.
pub(super) const SOME: Interval = Interval(1);
/// Valid counts of packets or steps.
pub(super) const COUNT: core::ops::RangeInclusive<u32> = 1..=16_777_216;

table! {
    /// Duration and seed of a run.
    RunDecl, check {
        /// The subject of the scenario
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

    /// The instant at which the run ends.
    pub fn limit_or_default(&self) -> Interval {
        or(&self.limit, (self.until() * 10 + Interval::from_secs(1)).min(MOST))
    }
}

table! {
    /// Samples taken during a run.
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
        /// Switches and ports of switches whose [events](simulate.md#events) are recorded, `["leaf0", "gw-*.gw-*"]`
        events: List<Names>, auto("none");
        /// The [kinds](events.md) of these events, `["xoff", "drop"]`
        event_kinds: List<Names>, needs(events), auto("all");
        /// `["2ms", "8ms"]`: metrics and plots of flows count those that start from the first time on and before the second, without warming up and running down
        counted: At<(Nanos, Nanos)>, auto("all");
    }
}

/// The value of a figure in a paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paper {
    /// A single value.
    Figure {
        /// The value.
        value: f64,
        /// The share of it by which another value may differ and still reproduce it.
        tolerance: f64,
    },
    /// A range. Only a value within it reproduces the paper.
    Range {
        /// The least.
        low: f64,
        /// The most, at least `low`.
        high: f64,
    },
}

/// A claim that a scenario checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The statement.
    pub text: String,
    /// The name of the metric that it is about.
    pub metric: String,
    /// The variant whose figure is judged.
    pub of: String,
    /// The variant to compare with. Without one, the claim is about the figure itself.
    pub against: Option<String>,
    /// The value in the paper: with `against`, a relative change (-0.18 is 18 % less), otherwise the figure itself.
    pub paper: Paper,
    /// The direction in which the figure improves, if stated.
    pub better: Option<Better>,
    /// The least number of flows on which a figure may rest, if stated.
    pub least_flows: Option<u32>,
    /// The source of the claim.
    pub source: Source,
}

/// The default tolerance.
const TOLERANCE: f64 = 0.3;
/// The default tolerance for a claim that two variants are equal. Between equal things, 30 % is a difference.
const TOLERANCE_OF_EQUALITY: f64 = 0.05;

table! {
    /// A claim as the file states it.
    ClaimDecl, check {
        /// Its name
        id: At<String>, required("id = \"fct\"");
        /// The statement that is claimed
        text: At<String>, required("text = \"18 % less\"");
        /// Name of the metric in the results
        metric: At<String>, required("metric = \"fct.all.mean_ns\"");
        /// The variant whose figure is judged
        of: At<String>, required("of = \"bifrost\"");
        /// The variant to compare with
        against: At<String>, auto("none: the figure itself is claimed");
        /// The paper's figure: with `against`, the relative change (-0.18 is 18 % less); without, the figure. A range is `[least, most]`: `[-0.65, -0.3]` is 30 to 65 % less
        paper: At<Paper>, required("paper = -0.18, or paper = [-0.65, -0.3]");
        /// Share of the paper's figure by which ours may differ and still count as reproduced; not for a range
        tolerance: At<f64>, within(0.0..=10.0), auto("`0.3`; `0.05` for equality: `paper = 0` with `against`");
        /// Direction in which the figure improves
        better: At<Better>, auto("with `against`, the direction in which the paper's figure changes; without, none");
        /// Flows that must have ended in each run: those of the metric's group for completion times and slowdowns, otherwise all. With fewer, the claim is not measured
        least_flows: At<u32>, within(1..=u32::MAX), auto("for completion times and slowdowns: 100 for `p95` and `p99`, otherwise 20; none for other metrics");
        /// The source of the claim: `"ours"` for an aim or a variant of ours, which tables count apart
        source: At<Source>, default(Source::Paper);
    }
}

impl ClaimDecl {
    fn check(&self, section: &Section<'_, '_>) {
        let range = self.paper.as_ref().filter(|paper| matches!(paper.value, Paper::Range { .. }));
        if let (Some(_), Some(tolerance)) = (range, &self.tolerance) {
            section.problems.error(&tolerance.place, ProblemKind::Meaningless { with: "a range".into() });
        }
    }
}

/// Reads a claim of a scenario whose variants have the `known` names.
pub(super) fn claim<'n>(
    section: &mut Section<'_, '_>,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Option<Claim> {
    let decl: ClaimDecl = Table::read(section);
    for At { value: name, place } in [&decl.of, &decl.against].into_iter().flatten() {
        if known.clone().all(|known| known != name) {
            let known = known.clone();
            section.problems.error_with(place, || ProblemKind::undefined("variant", name, known));
        }
    }
    let (stated, source) = (decl.tolerance.as_ref().map(|it| it.value), decl.source());
    let is_relative = decl.against.is_some();
    let tolerance =
        |value| stated.unwrap_or(if is_relative && value == 0.0 { TOLERANCE_OF_EQUALITY } else { TOLERANCE });
    Some(Claim {
        id: decl.id?.value,
        text: decl.text?.value,
        metric: decl.metric?.value,
        of: decl.of?.value,
        against: decl.against.map(|it| it.value),
        paper: match decl.paper?.value {
            Paper::Figure { value, .. } => Paper::Figure { value, tolerance: tolerance(value) },
            range @ Paper::Range { .. } => range,
        },
        better: decl.better.map(|it| it.value),
        least_flows: decl.least_flows.map(|it| it.value),
        source,
    })
}

value_types! {
    // The tolerance of a single value has its own key.
    Paper: "number, or range of two",
        |it| {
            let DeValue::Array(ends) = it else {
                return finite(it).map(|value| Self::Figure { value, tolerance: TOLERANCE });
            };
            let ends: Vec<_> = ends.iter().map(|end| finite(end.get_ref())).collect::<Result<_, _>>()?;
            let got = match ends[..] {
                [low, high] if low <= high => return Ok(Self::Range { low, high }),
                [low, high] => format!("[{low}, {high}]"),
                _ => format!("an array of {}", ends.len()),
            };
            Err(ProblemKind::out_of_range(got, "[least, most]"))
        },
        |it| match it {
            Self::Figure { value, .. } => value.write(),
            Self::Range { low, high } => format!("[{}, {}]", low.write(), high.write()),
        };
}

fn finite(value: &DeValue<'_>) -> Result<f64, ProblemKind> {
    let number = f64::read(value)?;
    if number.is_finite() {
        return Ok(number);
    }
    Err(ProblemKind::out_of_range(number, "a finite number"))
}
