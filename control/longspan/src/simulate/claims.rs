//! Verdicts on the claims of papers.

use super::plan::Planned;
use super::summary::{ClaimSummary, ClaimVerdict, EndingName, Figure, RunSummary, Spread};
use config::scenario::{Better, Claim, Paper};
use indexmap::IndexSet;

/// The maximum factor by which an absolute figure may be worse than the paper's to be weaker, and not contradicted.
const WEAKER: f64 = 2.0;
/// How much further from the paper's figure than the median a single seed may be.
const OF_ONE_SEED: f64 = 2.0;
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

/// Judges a claim at one point. `runs` are all runs planned there.
fn judge_at(claim: &Claim, point: Option<&str>, runs: &[(&Planned, &Option<RunSummary>)]) -> ClaimSummary {
    let flows = fewest_flows(claim, runs);
    let has_enough = flows.is_none_or(|flows| flows >= u64::from(least_flows(claim)));
    let (ours, verdict) = match ended_otherwise(claim, runs) {
        Some(ending) => (None, ClaimVerdict::Unfinished(ending)),
        None if has_enough => over_seeds(claim, &measured(claim, runs)),
        None => (None, ClaimVerdict::NotMeasured),
    };
    ClaimSummary {
        id: claim.id.clone(),
        text: claim.text.clone(),
        metric: claim.metric.clone(),
        of: claim.of.clone(),
        against: claim.against.clone(),
        point: point.map(Into::into),
        paper: claim.paper,
        better: direction(claim),
        flows,
        ours,
        verdict,
    }
}

/// The ending of the first of the claim's runs that did not finish. Its figures are incomplete, because they exclude
/// the remaining flows.
fn ended_otherwise(claim: &Claim, runs: &[(&Planned, &Option<RunSummary>)]) -> Option<EndingName> {
    let mut endings =
        concerned(claim, runs).map(|run| run.as_ref().map_or(EndingName::Interrupted, |run| run.ending));
    // These metrics are known of a run that stands still.
    let of_standstill = ["run.deadlocked", "run.livelocked"].contains(&claim.metric.as_str());
    endings.find(|ending| match ending {
        EndingName::Finished => false,
        EndingName::Deadlock | EndingName::Livelock => !of_standstill,
        _ => true,
    })
}

/// The runs of the claim's variants.
fn concerned<'a>(
    claim: &'a Claim,
    runs: &'a [(&Planned, &Option<RunSummary>)],
) -> impl Iterator<Item = &'a Option<RunSummary>> {
    let is_its = |variant: &String| *variant == claim.of || claim.against.as_ref() == Some(variant);
    runs.iter().filter(move |(planned, _)| planned.variant.as_ref().is_some_and(is_its)).map(|(_, run)| *run)
}

/// The number of flows on which the claim's figure rests, in the run with the fewest; `None` if it does not depend on
/// it.
fn fewest_flows(claim: &Claim, runs: &[(&Planned, &Option<RunSummary>)]) -> Option<u64> {
    let count = match group_of(&claim.metric) {
        Some(group) => format!("fct.{group}.count"),
        None => claim.least_flows.map(|_| "fct.all.count".to_owned())?,
    };
    let counts = concerned(claim, runs).flatten().filter_map(|run| run.metrics.get(&count));
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

/// The figure of each seed, `None` if it has none.
fn measured(claim: &Claim, runs: &[(&Planned, &Option<RunSummary>)]) -> Vec<Option<f64>> {
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
    values.map(|value| value.filter(|value| value.is_finite())).collect()
}

/// The relative change from `before` to `after`; `None` if only `before` is zero.
fn change(after: f64, before: f64) -> Option<f64> {
    if after == before {
        return Some(0.0);
    }
    (before != 0.0).then(|| after / before - 1.0)
}

/// The lowest and the highest figure of the paper.
fn ends(paper: Paper) -> (f64, f64) {
    match paper {
        Paper::Figure { value, .. } => (value, value),
        Paper::Range { low, high } => (low, high),
    }
}

/// The direction in which the figure improves: the stated one, or else the one in which all of the paper's figures
/// change.
fn direction(claim: &Claim) -> Option<Better> {
    let claimed = match ends(claim.paper) {
        (_, high) if high < 0.0 => Some(Better::Less),
        (low, _) if low > 0.0 => Some(Better::More),
        _ => None,
    };
    claim.better.or(claimed.filter(|_| claim.against.is_some()))
}

/// Our figure over the seeds, and the verdict on its median, if the seeds agree with that: more than half of them have
/// it too, and all say alike whether there is such an effect. A seed without a figure agrees with nothing.
fn over_seeds(claim: &Claim, seeds: &[Option<f64>]) -> (Option<Spread>, ClaimVerdict) {
    let figures: Vec<f64> = seeds.iter().flatten().copied().collect();
    let Some(ours) = Spread::of(figures.clone()) else { return (None, ClaimVerdict::NotMeasured) };
    let verdict = verdict(claim, ours.median);
    let alike = figures.iter().filter(|figure| self::verdict(claim, **figure) == verdict).count();
    let all = match verdict {
        ClaimVerdict::Contradicted => alike == figures.len(),
        _ => figures.iter().all(|figure| shows_effect(claim, *figure)),
    };
    let agree = figures.len() == seeds.len() && 2 * alike > figures.len() && all;
    (Some(ours), if agree { verdict } else { ClaimVerdict::Mixed })
}

/// Whether the figure of one seed shows the effect of the paper, if only roughly.
fn shows_effect(claim: &Claim, ours: f64) -> bool {
    verdict(claim, ours) != ClaimVerdict::Contradicted || is_the_papers(claim, ours, OF_ONE_SEED)
}

/// The verdict on one figure.
fn verdict(claim: &Claim, ours: f64) -> ClaimVerdict {
    if is_the_papers(claim, ours, 1.0) {
        return ClaimVerdict::Reproduced;
    }
    let (low, high) = ends(claim.paper);
    // Negate the figures if less is better, so that more is better in any case.
    let (ours, best, worst) = match direction(claim) {
        None => return ClaimVerdict::Contradicted,
        Some(Better::Less) => (-ours, -low, -high),
        Some(Better::More) => (ours, high, low),
    };
    if ours > best {
        return ClaimVerdict::Better;
    }
    let is_there = if claim.against.is_some() {
        ours > 0.0 && worst > 0.0
    } else if worst >= 0.0 {
        ours * WEAKER >= worst
    } else {
        // The figures are negated, so this allows up to twice the paper's.
        ours >= worst * WEAKER
    };
    if is_there { ClaimVerdict::Weaker } else { ClaimVerdict::Contradicted }
}

/// Whether our figure is in the paper's range, or equals its figure within the tolerance; with a range or tolerance
/// `times` as wide.
fn is_the_papers(claim: &Claim, ours: f64, times: f64) -> bool {
    let (low, high) = ends(claim.paper);
    let allowed = match claim.paper {
        Paper::Range { .. } => (high - low) / 2.0 * (times - 1.0),
        // Allow for rounding.
        Paper::Figure { value, tolerance } => {
            tolerance * times * if value == 0.0 { 1.0 } else { value.abs() } * (1.0 + 1e-9)
        }
    };
    // Whatever the tolerance, no change and the opposite change are not the paper's.
    let is_other_way = claim.against.is_some() && ((low > 0.0 && ours <= 0.0) || (high < 0.0 && ours >= 0.0));
    (low - allowed..=high + allowed).contains(&ours) && !is_other_way
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::summary::FlowCounts;
    use ClaimVerdict::{Contradicted, Mixed, NotMeasured, Reproduced, Weaker};
    use proptest::prelude::*;

    fn claim(against: bool, value: f64, better: Option<Better>) -> Claim {
        Claim {
            id: "c".into(),
            text: "t".into(),
            metric: "m".into(),
            of: "new".into(),
            against: against.then(|| "old".into()),
            paper: Paper::Figure { value, tolerance: 0.3 },
            better,
            least_flows: None,
        }
    }

    fn range(against: bool, low: f64, high: f64, better: Option<Better>) -> Claim {
        Claim { paper: Paper::Range { low, high }, ..claim(against, 0.0, better) }
    }

    fn run(variant: &str, seed: u64, ending: EndingName, figure: f64) -> (Planned, Option<RunSummary>) {
        let name = format!("{variant}/seed-{seed}");
        let planned = Planned {
            name: name.clone(),
            variant: Some(variant.into()),
            point: None,
            parameters: [].into(),
            overrides: Vec::new(),
            seed,
            inputs: String::new(),
        };
        let summary = RunSummary {
            name,
            variant: planned.variant.clone(),
            parameters: [].into(),
            seed,
            ending,
            message: None,
            end_ns: 1,
            transmissions: 1,
            flows: FlowCounts { started: 1, ended: 1 },
            metrics: [("m".to_owned(), Figure(figure)), ("run.deadlocked".to_owned(), Figure(1.0))].into(),
        };
        (planned, Some(summary))
    }

    fn judged(claim: &Claim, runs: Vec<(Planned, Option<RunSummary>)>) -> ClaimSummary {
        let (planned, runs): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        judge(core::slice::from_ref(claim), &planned, &runs).remove(0)
    }

    fn verdict_on(claim: &Claim, ours: f64) -> ClaimVerdict {
        verdict(claim, ours)
    }

    #[test]
    fn a_relative_claim_is_better_in_the_direction_of_the_paper() {
        let less = claim(true, -0.2, None);
        assert_eq!(
            [-0.5, -0.26, -0.2, -0.14, -0.1, 0.0, 0.1].map(|ours| verdict_on(&less, ours)),
            [ClaimVerdict::Better, Reproduced, Reproduced, Reproduced, Weaker, Contradicted, Contradicted]
        );
        let more = claim(true, 0.4367, None);
        assert_eq!(
            [0.9, 0.5, 0.1, -0.1].map(|ours| verdict_on(&more, ours)),
            [ClaimVerdict::Better, Reproduced, Weaker, Contradicted]
        );
    }

    #[test]
    fn a_change_that_the_paper_calls_worse_is_better_below_it() {
        let worse = claim(true, 0.05, Some(Better::Less));
        assert_eq!(
            [-0.1, 0.05, 0.5].map(|ours| verdict_on(&worse, ours)),
            [ClaimVerdict::Better, Reproduced, Contradicted]
        );
    }

    #[test]
    fn no_tolerance_makes_a_change_of_nothing_or_of_the_other_way_the_papers() {
        let wide = |value| Paper::Figure { value, tolerance: 2.0 };
        let less = Claim { paper: wide(-0.1), ..claim(true, 0.0, None) };
        assert_eq!(
            [-0.3, -0.01, 0.0, 0.05].map(|ours| verdict_on(&less, ours)),
            [Reproduced, Reproduced, Contradicted, Contradicted]
        );
        let owned = Claim { paper: wide(0.05), ..claim(true, 0.0, Some(Better::Less)) };
        assert_eq!(
            [-0.01, 0.0, 0.01].map(|ours| verdict_on(&owned, ours)),
            [ClaimVerdict::Better, ClaimVerdict::Better, Reproduced]
        );
    }

    #[test]
    fn no_change_is_one_within_the_tolerance() {
        let equal = claim(true, 0.0, None);
        assert_eq!(
            [-0.4, 0.1, 0.4].map(|ours| verdict_on(&equal, ours)),
            [Contradicted, Reproduced, Contradicted]
        );
    }

    #[test]
    fn an_absolute_claim_without_direction_is_met_or_not() {
        let queue = claim(false, 1.36e6, None);
        assert_eq!(
            [1.0e6, 1.3e6, 9.0e6].map(|ours| verdict_on(&queue, ours)),
            [Reproduced, Reproduced, Contradicted]
        );
    }

    #[test]
    fn an_absolute_claim_with_direction_is_weaker_up_to_twice_the_figure() {
        let least = claim(false, 10.0, Some(Better::Less));
        assert_eq!(
            [1.0, 9.0, 12.0, 20.0, 21.0].map(|ours| verdict_on(&least, ours)),
            [ClaimVerdict::Better, Reproduced, Reproduced, Weaker, Contradicted]
        );
        let most = claim(false, 10.0, Some(Better::More));
        assert_eq!(
            [20.0, 9.0, 5.0, 4.9].map(|ours| verdict_on(&most, ours)),
            [ClaimVerdict::Better, Reproduced, Weaker, Contradicted]
        );
    }

    #[test]
    fn a_range_is_met_by_what_lies_in_it_and_by_nothing_beside_it() {
        let less = range(true, -0.65, -0.3, None);
        assert_eq!(
            [-0.66, -0.65, -0.5, -0.3, -0.299, -0.01, 0.0, 0.4].map(|ours| verdict_on(&less, ours)),
            [
                ClaimVerdict::Better,
                Reproduced,
                Reproduced,
                Reproduced,
                Weaker,
                Weaker,
                Contradicted,
                Contradicted
            ]
        );
        let more = range(true, 0.1, 0.2, None);
        assert_eq!(
            [0.21, 0.2, 0.1, 0.09, -0.1].map(|ours| verdict_on(&more, ours)),
            [ClaimVerdict::Better, Reproduced, Reproduced, Weaker, Contradicted]
        );
    }

    #[test]
    fn a_range_on_both_sides_of_nothing_has_no_better_way_of_its_own() {
        let around = range(true, -0.1, 0.1, None);
        assert_eq!(
            [-0.11, -0.1, 0.0, 0.1, 0.11].map(|ours| verdict_on(&around, ours)),
            [Contradicted, Reproduced, Reproduced, Reproduced, Contradicted]
        );
        let owned = range(true, -0.1, 0.1, Some(Better::Less));
        assert_eq!([-0.11, 0.11].map(|ours| verdict_on(&owned, ours)), [ClaimVerdict::Better, Contradicted]);
    }

    #[test]
    fn an_absolute_range_is_weaker_up_to_twice_its_worse_end() {
        let least = range(false, 0.0, 10.0, Some(Better::Less));
        assert_eq!(
            [0.0, 10.0, 10.1, 20.0, 20.1].map(|ours| verdict_on(&least, ours)),
            [Reproduced, Reproduced, Weaker, Weaker, Contradicted]
        );
        let most = range(false, 10.0, 20.0, Some(Better::More));
        assert_eq!(
            [21.0, 20.0, 10.0, 5.0, 4.9].map(|ours| verdict_on(&most, ours)),
            [ClaimVerdict::Better, Reproduced, Reproduced, Weaker, Contradicted]
        );
        let without = range(false, 10.0, 20.0, None);
        assert_eq!(
            [9.9, 10.0, 20.1].map(|ours| verdict_on(&without, ours)),
            [Contradicted, Reproduced, Contradicted]
        );
    }

    #[test]
    fn a_run_that_did_not_finish_leaves_a_claim_without_verdict_and_says_what_ended_it() {
        let less = claim(true, -0.2, None);
        let (new, old) = (|ending| run("new", 1, ending, 8.0), |ending| run("old", 1, ending, 10.0));
        let finished = judged(&less, vec![new(EndingName::Finished), old(EndingName::Finished)]);
        assert_eq!(finished.verdict, Reproduced);
        for ending in [
            EndingName::Limit,
            EndingName::Interrupted,
            EndingName::Deadlock,
            EndingName::Livelock,
            EndingName::Exhausted,
            EndingName::Violation,
        ] {
            for runs in
                [vec![new(ending), old(EndingName::Finished)], vec![new(EndingName::Finished), old(ending)]]
            {
                let claim = judged(&less, runs);
                assert_eq!((claim.verdict, claim.ours), (ClaimVerdict::Unfinished(ending), None));
            }
        }
        let one_of_many = vec![
            new(EndingName::Finished),
            old(EndingName::Finished),
            run("new", 2, EndingName::Finished, 8.0),
            run("old", 2, EndingName::Limit, 10.0),
        ];
        assert_eq!(judged(&less, one_of_many).verdict, ClaimVerdict::Unfinished(EndingName::Limit));
        let (never, _) = old(EndingName::Finished);
        let interrupted = judged(&less, vec![new(EndingName::Finished), (never, None)]);
        assert_eq!(interrupted.verdict, ClaimVerdict::Unfinished(EndingName::Interrupted));
    }

    #[test]
    fn endings_of_other_variants_do_not_affect_a_claim() {
        let alone = claim(false, 8.0, None);
        let runs = vec![run("new", 1, EndingName::Finished, 8.0), run("old", 1, EndingName::Limit, 1.0)];
        assert_eq!(judged(&alone, runs).verdict, Reproduced);
    }

    #[test]
    fn that_it_stands_still_is_judged_of_a_run_that_does() {
        let stands = Claim { metric: "run.deadlocked".into(), ..claim(false, 1.0, None) };
        let judged_after = |ending| judged(&stands, vec![run("new", 1, ending, 0.0)]).verdict;
        assert_eq!(judged_after(EndingName::Deadlock), Reproduced);
        assert_eq!(judged_after(EndingName::Interrupted), ClaimVerdict::Unfinished(EndingName::Interrupted));
        let claims = core::slice::from_ref(&stands);
        let fails = |of, ending| failure(claims, &run(of, 1, ending, 0.0).1.unwrap()).is_some();
        assert!(!fails("new", EndingName::Deadlock), "this is what the claim says");
        assert!(fails("old", EndingName::Deadlock) && fails("new", EndingName::Livelock));
    }

    /// The verdict over seeds with these figures.
    fn over(claim: &Claim, figures: &[f64]) -> ClaimVerdict {
        over_seeds(claim, &figures.iter().copied().map(Some).collect::<Vec<_>>()).1
    }

    #[test]
    fn a_claim_is_reproduced_if_most_seeds_reproduce_it_and_all_show_the_effect() {
        let less = claim(true, -0.2, None);
        for (figures, expected) in [
            (&[-0.2][..], Reproduced),
            (&[-0.21, -0.2, -0.19], Reproduced),
            // One is weaker, and one is better.
            (&[-0.9, -0.21, -0.2, -0.19, -0.01], Reproduced),
            // The median is the only one.
            (&[-0.9, -0.8, -0.2, -0.02, -0.01], Mixed),
            (&[-0.3, -0.1], Mixed),
            // One shows no effect, or the opposite.
            (&[-0.21, -0.2, -0.2, -0.19, 0.0], Mixed),
            (&[-0.21, -0.2, -0.2, -0.19, 0.3], Mixed),
        ] {
            assert_eq!(over(&less, figures), expected, "{figures:?}");
        }
    }

    #[test]
    fn seeds_that_disagree_about_the_effect_neither_weaken_a_claim_nor_contradict_it() {
        let less = claim(true, -0.2, None);
        for (figures, expected) in [
            (&[-0.12, -0.1, -0.05][..], Weaker),
            (&[-0.12, -0.1, 0.01], Mixed),
            (&[-0.9, -0.8, -0.7], ClaimVerdict::Better),
            (&[-0.9, -0.8, 0.7], Mixed),
            (&[0.0, 0.1, 0.2], Contradicted),
            (&[-0.01, 0.1, 0.2], Mixed),
        ] {
            assert_eq!(over(&less, figures), expected, "{figures:?}");
        }
    }

    #[test]
    fn equality_is_reproduced_if_no_seed_is_further_from_it_than_twice_the_tolerance() {
        let equal = Claim { paper: Paper::Figure { value: 0.0, tolerance: 0.05 }, ..claim(true, 0.0, None) };
        for (figures, expected) in [
            (&[-0.05, 0.0, 0.05][..], Reproduced),
            (&[-0.1, -0.04, 0.0, 0.04, 0.1], Reproduced),
            (&[-0.04, 0.0, 0.04, 0.04, 0.11], Mixed),
            (&[-0.1, -0.09, 0.0, 0.06, 0.07], Mixed),
            (&[0.04, 0.06, 0.07], Mixed),
            (&[0.06, 0.07, 0.08], Contradicted),
        ] {
            assert_eq!(over(&equal, figures), expected, "{figures:?}");
        }
        let around = range(true, -0.05, 0.05, None);
        assert_eq!(over(&around, &[-0.1, -0.05, 0.05]), Reproduced, "a range becomes as much wider");
        assert_eq!(over(&around, &[-0.11, -0.05, 0.05]), Mixed);
    }

    #[test]
    fn an_absolute_figure_is_reproduced_if_no_seed_is_further_from_it_than_twice_the_tolerance() {
        let queue = claim(false, 10.0, None);
        assert_eq!(over(&queue, &[4.0, 9.0, 16.0, 8.0, 12.0]), Reproduced);
        assert_eq!(over(&queue, &[3.9, 9.0, 10.0]), Mixed);
    }

    #[test]
    fn a_seed_without_the_figure_agrees_with_nothing() {
        let most = claim(false, 10.0, None);
        assert_eq!(over_seeds(&most, &[Some(10.0), None, Some(10.0)]).1, Mixed);
        assert_eq!(over_seeds(&most, &[None, None]), (None, NotMeasured));
        let mut runs =
            vec![run("new", 1, EndingName::Finished, 10.0), run("new", 2, EndingName::Finished, 10.0)];
        assert_eq!(judged(&most, runs.clone()).verdict, Reproduced);
        runs[1].1.as_mut().unwrap().metrics.clear();
        assert_eq!(judged(&most, runs).verdict, Mixed);
    }

    #[test]
    fn a_figure_that_rests_on_too_few_flows_is_not_measured() {
        let of = |metric: &str, least_flows, (new, old): (f64, f64)| {
            let claim = Claim { metric: metric.into(), least_flows, ..claim(true, -0.2, None) };
            let run = |variant, figure, flows| {
                let (planned, mut run) = run(variant, 1, EndingName::Finished, 0.0);
                let counts = [("fct.a.b.count", flows), ("fct.all.count", 15.0), (metric, figure)];
                let counts = counts.map(|(name, figure)| (name.to_owned(), Figure(figure)));
                run.as_mut().unwrap().metrics.extend(counts);
                (planned, run)
            };
            let claim = judged(&claim, vec![run("new", 8.0, new), run("old", 10.0, old)]);
            (claim.verdict, claim.flows, claim.ours.is_some())
        };
        let (found, missing) =
            (|flows| (Reproduced, Some(flows), true), |flows| (NotMeasured, Some(flows), false));
        assert_eq!(of("fct.a.b.mean_ns", None, (20.0, 21.0)), found(20));
        assert_eq!(of("fct.a.b.mean_ns", None, (20.0, 19.0)), missing(19));
        assert_eq!(of("slowdown.a.b.p50", None, (19.0, 20.0)), missing(19));
        assert_eq!(of("fct_acked.a.b.mean_ns", None, (20.0, 19.0)), missing(19));
        for percentile in ["fct.a.b.p95_ns", "fct.a.b.p99_ns", "slowdown.a.b.p95", "slowdown.a.b.p99"] {
            assert_eq!(of(percentile, None, (100.0, 101.0)), found(100));
            assert_eq!(of(percentile, None, (100.0, 99.0)), missing(99));
        }
        assert_eq!(of("fct.a.b.p99_ns", Some(3), (3.0, 3.0)), found(3));
        assert_eq!(of("goodput.a.bps", None, (1.0, 1.0)), (Reproduced, None, true));
        assert_eq!(of("goodput.a.bps", Some(15), (1.0, 1.0)), found(15));
        assert_eq!(of("goodput.a.bps", Some(16), (1.0, 1.0)), missing(15));
    }

    fn any_claim() -> impl Strategy<Value = Claim> {
        let better = prop_oneof![Just(None), Just(Some(Better::Less)), Just(Some(Better::More))];
        let paper = prop_oneof![
            (-1.0..1.0_f64, 0.0..1.0_f64).prop_map(|(value, tolerance)| Paper::Figure { value, tolerance }),
            (0.0..1.0_f64).prop_map(|tolerance| Paper::Figure { value: 0.0, tolerance }),
            (-1.0..1.0_f64, 0.0..0.5_f64).prop_map(|(low, more)| Paper::Range { low, high: low + more }),
        ];
        (any::<bool>(), paper, better)
            .prop_map(|(against, paper, better)| Claim { paper, ..claim(against, 0.0, better) })
    }

    proptest! {
        #[test]
        fn a_seed_alone_has_its_verdict_and_so_have_seeds_that_are_equal(
            claim in any_claim(), ours in -2.0..2.0_f64, seeds in 1_usize..6,
        ) {
            prop_assert_eq!(over(&claim, &vec![ours; seeds]), verdict_on(&claim, ours));
        }

        #[test]
        fn a_verdict_over_seeds_is_that_of_most_of_them_or_they_are_mixed(
            claim in any_claim(), seeds in proptest::collection::vec(-2.0..2.0_f64, 1..8),
        ) {
            let seeds_with = |verdict| seeds.iter().filter(|ours| verdict_on(&claim, **ours) == verdict).count();
            match over(&claim, &seeds) {
                Mixed => prop_assert!(seeds.len() > 1),
                Contradicted => prop_assert_eq!(seeds_with(Contradicted), seeds.len()),
                verdict => {
                    prop_assert!(2 * seeds_with(verdict) > seeds.len());
                    if claim.against.is_some() && claim.better.is_none() {
                        let (low, high) = ends(claim.paper);
                        prop_assert!(low <= 0.0 || seeds.iter().all(|ours| *ours > 0.0));
                        prop_assert!(high >= 0.0 || seeds.iter().all(|ours| *ours < 0.0));
                    }
                }
            }
        }
    }
}
