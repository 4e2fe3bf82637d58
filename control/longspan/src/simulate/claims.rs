//! Verdicts on the claims of papers.

use super::plan::Planned;
use super::summary::{ClaimSummary, EndingName, Figure, PaperFigure, RunSummary, Spread, Verdict};
use config::scenario::{Better, Claim, Paper};
use indexmap::IndexSet;

/// The maximum factor by which an absolute figure may be worse than the paper's to be weaker, and not contradicted.
const WEAKER: f64 = 2.0;

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

/// Judges a claim at one point. `runs` are all runs planned there.
fn judge_at(claim: &Claim, point: Option<&str>, runs: &[(&Planned, &Option<RunSummary>)]) -> ClaimSummary {
    let unfinished = ended_otherwise(claim, runs);
    let ours = if unfinished.is_none() { measured(claim, runs) } else { None };
    let better = direction(claim);
    let judged = |ours: Spread| verdict(claim, better, ours.median);
    ClaimSummary {
        id: claim.id.clone(),
        text: claim.text.clone(),
        metric: claim.metric.clone(),
        of: claim.of.clone(),
        against: claim.against.clone(),
        point: point.map(Into::into),
        paper: said(claim.paper),
        better,
        ours,
        verdict: match unfinished {
            Some(ending) => Verdict::Unfinished(ending),
            None => ours.map_or(Verdict::NotMeasured, judged),
        },
    }
}

/// The ending of the first of the claim's runs that did not finish. Its figures are incomplete, because they exclude
/// the remaining flows.
fn ended_otherwise(claim: &Claim, runs: &[(&Planned, &Option<RunSummary>)]) -> Option<EndingName> {
    let variants = [Some(&claim.of), claim.against.as_ref()];
    let concerned = runs.iter().filter(|(planned, _)| {
        variants.into_iter().flatten().any(|variant| planned.variant.as_ref() == Some(variant))
    });
    let mut endings =
        concerned.map(|(_, run)| run.as_ref().map_or(EndingName::Interrupted, |run| run.ending));
    // These metrics are known of a run that stands still.
    let of_standstill = ["run.deadlocked", "run.livelocked"].contains(&claim.metric.as_str());
    endings.find(|ending| match ending {
        EndingName::Finished => false,
        EndingName::Deadlock | EndingName::Livelock => !of_standstill,
        _ => true,
    })
}

fn measured(claim: &Claim, runs: &[(&Planned, &Option<RunSummary>)]) -> Option<Spread> {
    let figure = |variant: &str, seed: u64| {
        let of_it = |it: &Planned| it.variant.as_deref() == Some(variant) && it.seed == seed;
        let (_, run) = runs.iter().find(|(planned, _)| of_it(planned))?;
        run.as_ref()?.metrics.get(&claim.metric).map(|figure| figure.0)
    };
    let of_variant = runs.iter().filter(|(planned, _)| planned.variant.as_ref() == Some(&claim.of));
    let values = of_variant.filter_map(|(planned, _)| {
        let ours = figure(&claim.of, planned.seed)?;
        match &claim.against {
            None => Some(ours),
            Some(against) => change(ours, figure(against, planned.seed)?),
        }
    });
    Spread::of(values.collect())
}

/// The relative change from `before` to `after`; `None` if only `before` is zero.
fn change(after: f64, before: f64) -> Option<f64> {
    if after == before {
        return Some(0.0);
    }
    (before != 0.0).then(|| after / before - 1.0)
}

fn said(paper: Paper) -> PaperFigure {
    match paper {
        Paper::Figure { value, .. } => PaperFigure::One(Figure(value)),
        Paper::Range { low, high } => PaperFigure::Range([Figure(low), Figure(high)]),
    }
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

fn verdict(claim: &Claim, better: Option<Better>, ours: f64) -> Verdict {
    if is_the_papers(claim, ours) {
        return Verdict::Reproduced;
    }
    let (low, high) = ends(claim.paper);
    // Negate the figures if less is better, so that more is better in any case.
    let (ours, best, worst) = match better {
        None => return Verdict::Contradicted,
        Some(Better::Less) => (-ours, -low, -high),
        Some(Better::More) => (ours, high, low),
    };
    if ours > best {
        return Verdict::Better;
    }
    let is_there = if claim.against.is_some() {
        ours > 0.0 && worst > 0.0
    } else if worst >= 0.0 {
        ours * WEAKER >= worst
    } else {
        // The figures are negated, so this allows up to twice the paper's.
        ours >= worst * WEAKER
    };
    if is_there { Verdict::Weaker } else { Verdict::Contradicted }
}

/// Whether our figure is in the paper's range, or equals its figure within the tolerance.
fn is_the_papers(claim: &Claim, ours: f64) -> bool {
    let (paper, tolerance) = match claim.paper {
        Paper::Range { low, high } => return (low..=high).contains(&ours),
        Paper::Figure { value, tolerance } => (value, tolerance),
    };
    let allowed = tolerance * if paper == 0.0 { 1.0 } else { paper.abs() };
    // Allow for rounding.
    let allowed = allowed * (1.0 + 1e-9);
    // Whatever the tolerance, no change and the opposite change are not the paper's.
    let is_other_way = claim.against.is_some() && paper != 0.0 && ours * paper <= 0.0;
    (ours - paper).abs() <= allowed && !is_other_way
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::summary::FlowCounts;
    use Verdict::{Contradicted, Reproduced, Weaker};

    fn claim(against: bool, value: f64, better: Option<Better>) -> Claim {
        Claim {
            id: "c".into(),
            text: "t".into(),
            metric: "m".into(),
            of: "new".into(),
            against: against.then(|| "old".into()),
            paper: Paper::Figure { value, tolerance: 0.3 },
            better,
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

    fn told(claim: &Claim, ours: f64) -> Verdict {
        verdict(claim, direction(claim), ours)
    }

    #[test]
    fn a_relative_claim_is_better_in_the_direction_of_the_paper() {
        let less = claim(true, -0.2, None);
        assert_eq!(
            [-0.5, -0.26, -0.2, -0.14, -0.1, 0.0, 0.1].map(|ours| told(&less, ours)),
            [Verdict::Better, Reproduced, Reproduced, Reproduced, Weaker, Contradicted, Contradicted]
        );
        let more = claim(true, 0.4367, None);
        assert_eq!(
            [0.9, 0.5, 0.1, -0.1].map(|ours| told(&more, ours)),
            [Verdict::Better, Reproduced, Weaker, Contradicted]
        );
    }

    #[test]
    fn a_change_that_the_paper_owns_to_be_for_the_worse_is_better_below_it() {
        let worse = claim(true, 0.05, Some(Better::Less));
        assert_eq!(
            [-0.1, 0.05, 0.5].map(|ours| told(&worse, ours)),
            [Verdict::Better, Reproduced, Contradicted]
        );
    }

    #[test]
    fn no_tolerance_makes_a_change_of_nothing_or_of_the_other_way_the_papers() {
        let wide = |value| Paper::Figure { value, tolerance: 2.0 };
        let less = Claim { paper: wide(-0.1), ..claim(true, 0.0, None) };
        assert_eq!(
            [-0.3, -0.01, 0.0, 0.05].map(|ours| told(&less, ours)),
            [Reproduced, Reproduced, Contradicted, Contradicted]
        );
        let owned = Claim { paper: wide(0.05), ..claim(true, 0.0, Some(Better::Less)) };
        assert_eq!(
            [-0.01, 0.0, 0.01].map(|ours| told(&owned, ours)),
            [Verdict::Better, Verdict::Better, Reproduced]
        );
    }

    #[test]
    fn no_change_is_one_within_the_tolerance() {
        let equal = claim(true, 0.0, None);
        assert_eq!([-0.4, 0.1, 0.4].map(|ours| told(&equal, ours)), [Contradicted, Reproduced, Contradicted]);
    }

    #[test]
    fn an_absolute_claim_without_direction_is_met_or_not() {
        let queue = claim(false, 1.36e6, None);
        assert_eq!(
            [1.0e6, 1.3e6, 9.0e6].map(|ours| told(&queue, ours)),
            [Reproduced, Reproduced, Contradicted]
        );
    }

    #[test]
    fn an_absolute_claim_with_direction_is_weaker_up_to_twice_the_figure() {
        let least = claim(false, 10.0, Some(Better::Less));
        assert_eq!(
            [1.0, 9.0, 12.0, 20.0, 21.0].map(|ours| told(&least, ours)),
            [Verdict::Better, Reproduced, Reproduced, Weaker, Contradicted]
        );
        let most = claim(false, 10.0, Some(Better::More));
        assert_eq!(
            [20.0, 9.0, 5.0, 4.9].map(|ours| told(&most, ours)),
            [Verdict::Better, Reproduced, Weaker, Contradicted]
        );
    }

    #[test]
    fn a_range_is_met_by_what_lies_in_it_and_by_nothing_beside_it() {
        let less = range(true, -0.65, -0.3, None);
        assert_eq!(
            [-0.66, -0.65, -0.5, -0.3, -0.299, -0.01, 0.0, 0.4].map(|ours| told(&less, ours)),
            [Verdict::Better, Reproduced, Reproduced, Reproduced, Weaker, Weaker, Contradicted, Contradicted]
        );
        let more = range(true, 0.1, 0.2, None);
        assert_eq!(
            [0.21, 0.2, 0.1, 0.09, -0.1].map(|ours| told(&more, ours)),
            [Verdict::Better, Reproduced, Reproduced, Weaker, Contradicted]
        );
    }

    #[test]
    fn a_range_on_both_sides_of_nothing_has_no_better_way_of_its_own() {
        let around = range(true, -0.1, 0.1, None);
        assert_eq!(
            [-0.11, -0.1, 0.0, 0.1, 0.11].map(|ours| told(&around, ours)),
            [Contradicted, Reproduced, Reproduced, Reproduced, Contradicted]
        );
        let owned = range(true, -0.1, 0.1, Some(Better::Less));
        assert_eq!([-0.11, 0.11].map(|ours| told(&owned, ours)), [Verdict::Better, Contradicted]);
    }

    #[test]
    fn an_absolute_range_is_weaker_up_to_twice_its_worse_end() {
        let least = range(false, 0.0, 10.0, Some(Better::Less));
        assert_eq!(
            [0.0, 10.0, 10.1, 20.0, 20.1].map(|ours| told(&least, ours)),
            [Reproduced, Reproduced, Weaker, Weaker, Contradicted]
        );
        let most = range(false, 10.0, 20.0, Some(Better::More));
        assert_eq!(
            [21.0, 20.0, 10.0, 5.0, 4.9].map(|ours| told(&most, ours)),
            [Verdict::Better, Reproduced, Reproduced, Weaker, Contradicted]
        );
        let without = range(false, 10.0, 20.0, None);
        assert_eq!(
            [9.9, 10.0, 20.1].map(|ours| told(&without, ours)),
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
                assert_eq!((claim.verdict, claim.ours), (Verdict::Unfinished(ending), None));
            }
        }
        let one_of_many = vec![
            new(EndingName::Finished),
            old(EndingName::Finished),
            run("new", 2, EndingName::Finished, 8.0),
            run("old", 2, EndingName::Limit, 10.0),
        ];
        assert_eq!(judged(&less, one_of_many).verdict, Verdict::Unfinished(EndingName::Limit));
        let (never, _) = old(EndingName::Finished);
        let interrupted = judged(&less, vec![new(EndingName::Finished), (never, None)]);
        assert_eq!(interrupted.verdict, Verdict::Unfinished(EndingName::Interrupted));
    }

    #[test]
    fn how_runs_of_other_variants_ended_is_nothing_to_a_claim() {
        let alone = claim(false, 8.0, None);
        let runs = vec![run("new", 1, EndingName::Finished, 8.0), run("old", 1, EndingName::Limit, 1.0)];
        assert_eq!(judged(&alone, runs).verdict, Reproduced);
    }

    #[test]
    fn that_it_stands_still_is_judged_of_a_run_that_does() {
        let stands = Claim { metric: "run.deadlocked".into(), ..claim(false, 1.0, None) };
        let told = |ending| judged(&stands, vec![run("new", 1, ending, 0.0)]).verdict;
        assert_eq!(told(EndingName::Deadlock), Reproduced);
        assert_eq!(told(EndingName::Interrupted), Verdict::Unfinished(EndingName::Interrupted));
    }
}
