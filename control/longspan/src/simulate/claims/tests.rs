use super::*;
use crate::simulate::summary::FlowCounts;
use ClaimVerdict::{Contradicted, NoEffect, NotMeasured, Reproduced, Undecided, Weaker};
use config::scenario::Better;
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
        source: Source::Paper,
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
        settings: String::new(),
        may_drop: false,
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
        is_known: false,
    };
    (planned, Some(summary))
}

fn judged(claim: &Claim, runs: Vec<(Planned, Option<RunSummary>)>) -> ClaimSummary {
    let (planned, runs): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    judge(core::slice::from_ref(claim), &planned, &runs).remove(0)
}

/// The judgement on the figures of several seeds, which draw something at random.
fn over(claim: &Claim, figures: &[f64]) -> Judgement {
    Judgement::of(claim, &Estimate::of(figures).unwrap(), false)
}

/// The verdict if enough seeds have this figure.
fn verdict_on(claim: &Claim, ours: f64) -> ClaimVerdict {
    over(claim, &[ours; 20]).verdict
}

/// As many figures with this mean and standard error.
fn figures(mean: f64, error: f64, seeds: usize) -> Vec<f64> {
    let pairs = seeds / 2;
    let deviation = error * ((seeds * (seeds - 1)) as f64 / (2 * pairs) as f64).sqrt();
    let pair = [mean - deviation, mean + deviation];
    pair.repeat(pairs).into_iter().chain((seeds % 2 == 1).then_some(mean)).collect()
}

#[test]
fn a_relative_claim_is_better_in_the_direction_of_the_paper() {
    let less = claim(true, -0.2, None);
    assert_eq!(
        [-0.5, -0.26, -0.2, -0.14, -0.1, 0.0, 0.1].map(|ours| verdict_on(&less, ours)),
        [ClaimVerdict::Better, Reproduced, Reproduced, Reproduced, Weaker, NoEffect, Contradicted]
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
        [Reproduced, Reproduced, NoEffect, Contradicted]
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
        [ClaimVerdict::Better, Reproduced, Reproduced, Reproduced, Weaker, NoEffect, NoEffect, Contradicted]
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
    let second = [("new", 8.0), ("old", 10.0)].map(|(of, figure)| run(of, 2, EndingName::Finished, figure));
    let both = [new(EndingName::Finished), old(EndingName::Finished)].into_iter().chain(second.clone());
    assert_eq!(judged(&less, both.collect()).verdict, Reproduced);
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
    let [second, _] = second;
    let limit = run("old", 2, EndingName::Limit, 10.0);
    let one_of_many = vec![new(EndingName::Finished), old(EndingName::Finished), second, limit];
    assert_eq!(judged(&less, one_of_many).verdict, ClaimVerdict::Unfinished(EndingName::Limit));
    let (never, _) = old(EndingName::Finished);
    let interrupted = judged(&less, vec![new(EndingName::Finished), (never, None)]);
    assert_eq!(interrupted.verdict, ClaimVerdict::Unfinished(EndingName::Interrupted));
}

#[test]
fn endings_of_other_variants_do_not_affect_a_claim() {
    let alone = claim(false, 8.0, None);
    let ours = [1, 2].map(|seed| run("new", seed, EndingName::Finished, 8.0));
    let runs = ours.into_iter().chain([run("old", 1, EndingName::Limit, 1.0)]);
    assert_eq!(judged(&alone, runs.collect()).verdict, Reproduced);
}

#[test]
fn that_it_stands_still_is_judged_of_a_run_that_does() {
    let stands = Claim { metric: "run.deadlocked".into(), ..claim(false, 1.0, None) };
    let judged_after =
        |ending| judged(&stands, [1, 2].map(|seed| run("new", seed, ending, 0.0)).into()).verdict;
    assert_eq!(judged_after(EndingName::Deadlock), Reproduced);
    assert_eq!(judged_after(EndingName::Interrupted), ClaimVerdict::Unfinished(EndingName::Interrupted));
    let claims = core::slice::from_ref(&stands);
    let fails = |of, ending| failure(claims, &run(of, 1, ending, 0.0).1.unwrap()).is_some();
    assert!(!fails("new", EndingName::Deadlock), "this is what the claim says");
    assert!(fails("old", EndingName::Deadlock) && fails("new", EndingName::Livelock));
}

#[test]
fn nineteen_seeds_decide_nothing_and_twenty_do() {
    for claim in [claim(true, -0.2, None), claim(true, 0.0, None), claim(false, -0.2, None)] {
        for error in [0.0, 0.001] {
            let judgement = over(&claim, &figures(-0.2, error, 19));
            assert_eq!((judgement.verdict, judgement.needed), (Undecided, Some(20)), "{claim:?}");
            assert_eq!(over(&claim, &figures(-0.2, error, 20)), Judgement::only(Reproduced), "{claim:?}");
        }
    }
}

#[test]
fn an_effect_is_decided_by_a_standard_error_below_a_fifth_of_it() {
    let less = claim(true, -0.2, None);
    for (mean, expected) in
        [(-0.4, ClaimVerdict::Better), (-0.2, Reproduced), (-0.1, Weaker), (0.1, Contradicted)]
    {
        let fifth = f64::abs(mean) / 5.0;
        assert_eq!(over(&less, &figures(mean, fifth * 0.999, 20)).verdict, expected, "{mean}");
        assert_eq!(over(&less, &figures(mean, fifth * 1.001, 20)).verdict, Undecided, "{mean}");
    }
    let queue = claim(false, 10.0, None);
    assert_eq!(over(&queue, &figures(9.0, 1.79, 20)).verdict, Reproduced);
    assert_eq!(over(&queue, &figures(9.0, 1.81, 20)).verdict, Undecided);
}

#[test]
fn an_undecided_claim_says_how_many_seeds_would_decide_it() {
    let less = claim(true, -0.2, None);
    let needed = |error, seeds| over(&less, &figures(-0.2, error, seeds)).needed;
    // Twice the error takes four times as many.
    assert_eq!([needed(0.0799, 20), needed(0.0399, 40), needed(0.51, 20)], [Some(80), None, Some(3_252)]);
    assert_eq!([needed(0.05, 5), needed(0.01, 5)], [Some(20), Some(20)], "no fewer than 20 ever do");
    let some = range(true, -1.0, 0.0, None);
    assert_eq!(over(&some, &figures(0.0, 0.1, 20)), Judgement::only(Undecided), "no number does");
}

#[test]
fn one_seed_decides_nothing() {
    let less = claim(true, -0.2, None);
    let judgement = over(&less, &[-0.2]);
    assert_eq!((judgement.verdict, judgement.needed), (Undecided, Some(20)));
}

#[test]
fn less_than_a_tenth_of_the_effect_is_none_on_either_side() {
    let more = claim(true, 0.3, None);
    assert_eq!(
        [0.0004, 0.029, 0.031, -0.029, -0.031].map(|ours| verdict_on(&more, ours)),
        [NoEffect, NoEffect, Weaker, NoEffect, Contradicted]
    );
    let between = range(true, -0.65, -0.3, None);
    assert_eq!([-0.029, -0.031].map(|ours| verdict_on(&between, ours)), [NoEffect, Weaker]);
    let cost = claim(true, 0.3, Some(Better::Less));
    assert_eq!(verdict_on(&cost, 0.01), ClaimVerdict::Better, "a cost that is not there is better");
}

#[test]
fn what_is_not_told_from_zero_is_no_effect_if_its_error_is_below_a_tenth_of_the_papers() {
    let less = claim(true, -0.3, None);
    let of = |mean, error| over(&less, &figures(mean, error, 20)).verdict;
    assert_eq!([of(-0.013, 0.026), of(-0.013, 0.029), of(-0.013, 0.031)], [NoEffect, NoEffect, Undecided]);
    assert_eq!([of(-0.057, 0.029), of(0.057, 0.029), of(-0.059, 0.029)], [NoEffect, NoEffect, Undecided]);
    // The half of the effect takes a fifth of itself.
    assert_eq!([of(-0.15, 0.029), of(-0.15, 0.031)], [Weaker, Undecided]);
}

#[test]
fn equality_is_decided_by_a_standard_error_below_a_fifth_of_the_tolerance() {
    let equal = Claim { paper: Paper::Figure { value: 0.0, tolerance: 0.05 }, ..claim(true, 0.0, None) };
    let around = range(true, -0.05, 0.05, None);
    for claim in [&equal, &around] {
        let of = |mean, error| over(claim, &figures(mean, error, 20)).verdict;
        assert_eq!(
            [of(0.0, 0.0099), of(0.02, 0.0099), of(0.02, 0.0101)],
            [Reproduced, Reproduced, Undecided]
        );
        // A difference beyond the tolerance takes a fifth of itself.
        assert_eq!([of(0.1, 0.019), of(0.1, 0.021)], [Contradicted, Undecided]);
    }
}

#[test]
fn a_verdict_names_others_within_two_standard_errors() {
    let less = claim(true, -0.2, None);
    let near = |mean, error| over(&less, &figures(mean, error, 20)).near;
    assert_eq!(near(-0.2, 0.02), []);
    assert_eq!(near(-0.15, 0.01), [Weaker]);
    assert_eq!(near(-0.25, 0.01), [ClaimVerdict::Better]);
    assert_eq!(near(-0.2, 0.039), [ClaimVerdict::Better, Weaker]);
    assert_eq!((near(-0.0, 0.019), near(-0.019, 0.001)), (vec![], vec![Weaker]), "no effect");
    let narrow = Claim { paper: Paper::Figure { value: 10.0, tolerance: 0.05 }, ..claim(false, 10.0, None) };
    let around = over(&narrow, &figures(9.0, 1.7, 20));
    assert_eq!((around.verdict, around.near), (Contradicted, vec![Reproduced]), "the paper's lies between");
}

#[test]
fn seeds_with_the_same_figure_and_the_same_course_draw_nothing_at_random() {
    let less = claim(true, -0.2, None);
    let judged_with = |seeds: &[u64], transmissions: fn(u64) -> u64, old: fn(u64) -> f64| {
        let both = |seed: &u64| {
            [("new", 8.0), ("old", old(*seed))].map(|(of, figure)| {
                let (planned, mut run) = run(of, *seed, EndingName::Finished, figure);
                run.as_mut().unwrap().transmissions = transmissions(*seed);
                (planned, run)
            })
        };
        let claim = judged(&less, seeds.iter().flat_map(both).collect());
        (claim.verdict, claim.needed)
    };
    assert_eq!(judged_with(&[1, 2], |_| 5, |_| 10.0), (Reproduced, None));
    assert_eq!(judged_with(&[1], |_| 5, |_| 10.0), (Undecided, Some(20)), "with one, nothing is known");
    assert_eq!(judged_with(&[1, 2], |seed| seed, |_| 10.0), (Undecided, Some(20)), "the runs differ");
    let next = |seed: u64| if seed == 2 { 10.0_f64.next_up() } else { 10.0 };
    assert_eq!(judged_with(&[1, 2], |_| 5, next), (Undecided, Some(20)), "the last bit differs");
}

#[test]
fn what_follows_from_the_configuration_or_a_guarantee_needs_one_seed_and_is_told_apart() {
    let of = |metric: &str, paper: f64, source, may_drop| {
        let claim = Claim { metric: metric.into(), source, ..claim(false, paper, None) };
        let (mut planned, mut run) = run("new", 1, EndingName::Finished, paper);
        planned.may_drop = may_drop;
        run.as_mut().unwrap().metrics.insert(metric.into(), Figure(paper));
        let claim = judged(&claim, vec![(planned, run)]);
        (claim.kind, claim.verdict)
    };
    let may_hold = "may_hold.gw-west.gw-east.bytes";
    assert_eq!(of(may_hold, 7.0, Source::Paper, false), (ClaimKind::Configured, Reproduced));
    assert_eq!(of(may_hold, 7.0, Source::Ours, true), (ClaimKind::Configured, Reproduced));
    assert_eq!(of("drops.lossless", 0.0, Source::Ours, false), (ClaimKind::Guarantee, Reproduced));
    assert_eq!(of("drops.lossless", 0.0, Source::Paper, true), (ClaimKind::Paper, Undecided));
    assert_eq!(of("drops.lossless", 7.0, Source::Paper, false), (ClaimKind::Paper, Undecided));
    assert_eq!(of("m", 7.0, Source::Ours, false), (ClaimKind::Ours, Undecided));
}

#[test]
fn a_claim_is_not_measured_if_a_seed_lacks_the_figure_or_has_nothing_to_compare_with() {
    let less = claim(true, -0.2, None);
    let with = |old: Option<f64>| {
        let mut runs: Vec<_> = (1..=20)
            .flat_map(|seed| {
                [("new", 8.0), ("old", 10.0)].map(|(of, it)| run(of, seed, EndingName::Finished, it))
            })
            .collect();
        let metrics = &mut runs[1].1.as_mut().unwrap().metrics;
        match old {
            Some(old) => metrics.insert("m".into(), Figure(old)),
            None => metrics.remove("m"),
        };
        let claim = judged(&less, runs);
        (claim.verdict, claim.ours.is_some())
    };
    assert_eq!(with(Some(10.0)), (Reproduced, true));
    assert_eq!([with(None), with(Some(0.0))], [(NotMeasured, false); 2]);
}

#[test]
fn figures_are_compared_with_those_of_the_same_seed() {
    let less = claim(true, -0.2, None);
    // The load of a seed changes both figures alike, and more than the scheme does.
    let both = |seed| {
        [("old", 1.0), ("new", 0.8)]
            .map(|(of, share)| run(of, seed, EndingName::Finished, share * seed as f64))
    };
    let claim = judged(&less, (1..=20).flat_map(both).collect());
    let ours = claim.ours.unwrap();
    assert!(claim.verdict == Reproduced && ours.standard_error.unwrap().0 < 1e-9, "{ours:?}");
    assert_eq!((ours.seeds, ours.agree), (20, Figure(1.0)));
}

#[test]
fn a_figure_that_rests_on_too_few_flows_is_not_measured() {
    let of = |metric: &str, least_flows, (new, old): (f64, f64)| {
        let claim = Claim { metric: metric.into(), least_flows, ..claim(true, -0.2, None) };
        let run = |variant, seed, figure, flows| {
            let (planned, mut run) = run(variant, seed, EndingName::Finished, 0.0);
            let counts = [("fct.a.b.count", flows), ("fct.all.count", 15.0), (metric, figure)];
            let counts = counts.map(|(name, figure)| (name.to_owned(), Figure(figure)));
            run.as_mut().unwrap().metrics.extend(counts);
            (planned, run)
        };
        let both = |seed| [run("new", seed, 8.0, new), run("old", seed, 10.0, old)];
        let claim = judged(&claim, [1, 2].into_iter().flat_map(both).collect());
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
    fn a_verdict_rests_on_twenty_seeds_and_an_error_below_a_fifth_of_what_it_tells_apart(
        claim in any_claim(), mean in -2.0..2.0_f64, error in 0.0..0.5_f64, seeds in 2_usize..40,
    ) {
        let Judgement { verdict, near, needed } = over(&claim, &figures(mean, error, seeds));
        if verdict == Undecided {
            prop_assert!(near.is_empty() && needed.is_none_or(|needed| needed as usize > seeds));
            return Ok(());
        }
        prop_assert!(seeds >= 20 && needed.is_none() && !near.contains(&verdict));
        let (low, high) = ends(claim.paper);
        if claim.against.is_some() && (low > 0.0 || high < 0.0) {
            let half = low.abs().min(high.abs()) / 2.0;
            let is_told = [Weaker, Contradicted].contains(&verdict);
            let effect = if is_told { mean.abs() } else { mean.abs().max(half) };
            prop_assert!(error < effect / 5.0 * 1.001, "{verdict:?}: {error} of {effect}");
            let is_opposite = mean * low < 0.0;
            prop_assert!(!is_opposite || [NoEffect, Contradicted, ClaimVerdict::Better].contains(&verdict));
        }
    }

    #[test]
    fn more_seeds_like_those_that_are_there_decide_what_was_undecided(
        claim in any_claim(), mean in -2.0..2.0_f64, deviation in 0.0..0.5_f64,
    ) {
        let with = |seeds: u64| over(&claim, &figures(mean, deviation / (seeds as f64).sqrt(), seeds as usize));
        let first = with(20);
        if let Some(needed) = first.needed.filter(|needed| *needed < 10_000) {
            // One more for rounding. An effect that comes out of the noise has to be told from none once more.
            let later = with(needed + 1);
            prop_assert!(later.verdict != Undecided || later.needed > first.needed, "{first:?} {later:?}");
        }
    }
}
