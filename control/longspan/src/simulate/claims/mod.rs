//! Verdicts on the claims of papers.

mod verdict;

#[cfg(test)]
mod tests;

use super::figure::{Estimate, Figure};
use super::plan::Planned;
use super::summary::{ClaimKind, ClaimSummary, ClaimVerdict, EndingName, RunSummary};
use config::scenario::{Claim, Paper, Source};
use indexmap::IndexSet;
use std::collections::BTreeSet;
use verdict::{Judgement, direction, ends};

/// The least number of flows for the 95th and the 99th percentile. With fewer than 100, the 99th is the maximum.
const FOR_PERCENTILE: u32 = 100;
/// The least number of flows for other figures. The standard error of the mean of 20 values that deviate by as much
/// as their mean is 22 % of it; with fewer flows it soon exceeds the default tolerance.
const FOR_MEAN: u32 = 20;

/// Judges each claim at each point of the sweeps. `runs` has an entry for each of `planned`: its results, or `None`
/// if it was interrupted before it started.
pub fn judge(claims: &[Claim], planned: &[Planned], runs: &[Option<RunSummary>]) -> Vec<ClaimSummary> {
    let points: IndexSet<Option<&str>> = planned.iter().map(|run| run.point.as_deref()).collect();
    let at = |claim, point| {
        let runs = planned.iter().zip(runs).filter(|(planned, _)| planned.point.as_deref() == point);
        judge_at(claim, point, &runs.collect::<Vec<_>>())
    };
    claims.iter().flat_map(|claim| points.iter().map(move |point| at(claim, *point))).collect()
}

/// The report of a run that failed. One that stands still, as a claim says of its variant, did not.
pub fn failure(claims: &[Claim], run: &RunSummary) -> Option<String> {
    let is_meant = claims.iter().any(|claim| is_of_standstill(&claim.metric, &claim.of, claim.paper, run));
    run.failure().filter(|_| !is_meant)
}

/// Whether a claim with this figure about `metric` of variant `of` says that `run` stands still as it does.
pub fn is_of_standstill(metric: &str, of: &str, paper: Paper, run: &RunSummary) -> bool {
    let ending = match run.ending {
        EndingName::Deadlock => "run.deadlocked",
        EndingName::Livelock => "run.livelocked",
        _ => return false,
    };
    metric == ending && run.variant.as_deref() == Some(of) && ends(paper).0 > 0.0
}

/// A run of the plan, and its results.
type Run<'a> = (&'a Planned, &'a Option<RunSummary>);

/// Judges a claim at one point. `runs` are all runs planned there.
fn judge_at(claim: &Claim, point: Option<&str>, runs: &[Run<'_>]) -> ClaimSummary {
    let (kind, flows) = (kind(claim, runs), fewest_flows(claim, runs));
    let has_enough = flows.is_none_or(|flows| flows >= u64::from(least_flows(claim)));
    let ours = || has_enough.then(|| Estimate::of(&measured(claim, runs)?)).flatten();
    let (ours, judgement) = match ended_otherwise(claim, runs) {
        Some(ending) => (None, Judgement::only(ClaimVerdict::Unfinished(ending))),
        None => match ours() {
            Some(ours) => (Some(ours), Judgement::of(claim, &ours, is_fixed(claim, kind, &ours, runs))),
            None => (None, Judgement::only(ClaimVerdict::NotMeasured)),
        },
    };
    ClaimSummary {
        id: claim.id.clone(),
        text: claim.text.clone(),
        kind,
        metric: claim.metric.clone(),
        of: claim.of.clone(),
        against: claim.against.clone(),
        point: point.map(Into::into),
        paper: claim.paper,
        better: direction(claim),
        flows,
        ours,
        verdict: judgement.verdict,
        near: judgement.near,
        needed: judgement.needed,
    }
}

/// The kind of evidence that the claim is.
fn kind(claim: &Claim, runs: &[Run<'_>]) -> ClaimKind {
    let is_sure = claim.metric == "drops.lossless" && ends(claim.paper) == (0.0, 0.0);
    // Such a drop fails the run, but not each that the metric counts: those of flooded copies, and at egress queues.
    let is_kept = |(planned, run): Run<'_>| {
        let figure = run.as_ref().and_then(|run| run.metrics.get(&claim.metric));
        !planned.may_drop && figure.is_none_or(|figure| figure.0 == 0.0)
    };
    match claim.source {
        _ if claim.metric.starts_with("may_hold.") => ClaimKind::Configured,
        _ if is_sure && concerned(claim, runs).all(is_kept) => ClaimKind::Guarantee,
        Source::Paper => ClaimKind::Paper,
        Source::Ours => ClaimKind::Ours,
    }
}

/// Whether other seeds would show the same figure: it follows from the configuration or a guarantee, or several seeds
/// have the same one and the same course, so their runs draw nothing at random.
fn is_fixed(claim: &Claim, kind: ClaimKind, ours: &Estimate, runs: &[Run<'_>]) -> bool {
    let courses: BTreeSet<_> = concerned(claim, runs)
        .filter_map(|(planned, run)| Some((&planned.variant, run.as_ref()?)))
        .map(|(variant, run)| (variant, run.end_ns, run.transmissions))
        .collect();
    let variants = if claim.against.as_ref().is_some_and(|against| *against != claim.of) { 2 } else { 1 };
    let is_same = ours.seeds > 1 && ours.spread.min == ours.spread.max && courses.len() == variants;
    is_same || matches!(kind, ClaimKind::Configured | ClaimKind::Guarantee)
}

/// The ending of the first of the claim's runs that did not finish. Its figures are incomplete, because they exclude
/// the remaining flows.
fn ended_otherwise(claim: &Claim, runs: &[Run<'_>]) -> Option<EndingName> {
    let mut endings =
        concerned(claim, runs).map(|(_, run)| run.as_ref().map_or(EndingName::Interrupted, |run| run.ending));
    // These metrics are known of a run that stands still.
    let of_standstill = ["run.deadlocked", "run.livelocked"].contains(&claim.metric.as_str());
    endings.find(|ending| match ending {
        EndingName::Finished => false,
        EndingName::Deadlock | EndingName::Livelock => !of_standstill,
        _ => true,
    })
}

/// The runs of the claim's variants.
fn concerned<'a>(claim: &'a Claim, runs: &'a [Run<'_>]) -> impl Iterator<Item = Run<'a>> {
    runs.iter().copied().filter(|(planned, _)| planned.variant.as_ref().is_some_and(|it| is_about(claim, it)))
}

fn is_about(claim: &Claim, variant: &str) -> bool {
    claim.of == variant || claim.against.as_deref() == Some(variant)
}

/// The metrics of a run of `variant` on which verdicts rest.
pub fn metrics_of<'a>(claims: &'a [Claim], variant: Option<&'a str>) -> impl Iterator<Item = String> {
    let of_it = claims.iter().filter(move |claim| variant.is_some_and(|variant| is_about(claim, variant)));
    of_it.flat_map(|claim| [Some(claim.metric.clone()), count_metric(claim)]).flatten()
}

/// The metric with the number of flows on which the claim's figure rests; `None` if it does not depend on it.
fn count_metric(claim: &Claim) -> Option<String> {
    match group_of(&claim.metric) {
        Some(group) => Some(format!("fct.{group}.count")),
        None => claim.least_flows.map(|_| "fct.all.count".to_owned()),
    }
}

/// That number, in the run with the fewest.
fn fewest_flows(claim: &Claim, runs: &[Run<'_>]) -> Option<u64> {
    let count = count_metric(claim)?;
    let counts = concerned(claim, runs).filter_map(|(_, run)| run.as_ref()?.metrics.get(&count));
    counts.map(|Figure(count)| *count as u64).min()
}

/// The group whose completion times or slowdowns the metric is about.
fn group_of(metric: &str) -> Option<&str> {
    let of_group = ["fct.", "fct_acked.", "slowdown."].iter().find_map(|kind| metric.strip_prefix(kind))?;
    of_group.rsplit_once('.').map(|(group, _)| group)
}

fn least_flows(claim: &Claim) -> u32 {
    let is_percentile = ["p95", "p95_ns", "p99", "p99_ns"].iter().any(|end| claim.metric.ends_with(end));
    claim.least_flows.unwrap_or(if is_percentile { FOR_PERCENTILE } else { FOR_MEAN })
}

/// The figure of each seed; `None` if one has none.
fn measured(claim: &Claim, runs: &[Run<'_>]) -> Option<Vec<f64>> {
    let figure = |variant: &str, seed: u64| {
        let of_it = |it: &Planned| it.variant.as_deref() == Some(variant) && it.seed == seed;
        let (_, run) = runs.iter().find(|(planned, _)| of_it(planned))?;
        run.as_ref()?.metrics.get(&claim.metric).map(|figure| figure.0)
    };
    let of_variant = runs.iter().filter(|(planned, _)| planned.variant.as_ref() == Some(&claim.of));
    let values = of_variant.map(|(planned, _)| {
        let ours = figure(&claim.of, planned.seed)?;
        match &claim.against {
            None => Some(ours),
            Some(against) => change(ours, figure(against, planned.seed)?),
        }
    });
    values.collect()
}

/// The relative change from `before` to `after`; `None` if only `before` is zero.
fn change(after: f64, before: f64) -> Option<f64> {
    if after == before {
        return Some(0.0);
    }
    (before != 0.0).then(|| after / before - 1.0)
}
