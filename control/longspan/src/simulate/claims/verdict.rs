//! The verdict on our figures. `docs/method.md` gives the reasons for the rules.

use crate::simulate::figure::Estimate;
use crate::simulate::summary::ClaimVerdict;
use config::scenario::{Better, Claim, Paper};

/// The least number of seeds for a verdict.
const SEEDS_MIN: u64 = 20;
/// The least ratio of an effect to its standard error for a verdict.
const ERRORS_MIN: f64 = 5.0;
/// The number of standard errors within which zero is not told from an effect, and one verdict not from another.
const ERRORS_NEAR: f64 = 2.0;
/// The share of the paper's effect below which ours is none.
const NONE: f64 = 0.1;
/// The maximum factor by which an absolute figure may be worse than the paper's to be weaker, and not contradicted.
const WEAKER: f64 = 2.0;

/// A verdict on figures of several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Other verdicts on figures within two standard errors.
    pub near: Vec<ClaimVerdict>,
    /// The seeds that a verdict needs, if it is undecided and some number suffices.
    pub needed: Option<u64>,
}

impl Judgement {
    /// A verdict that is not one on a figure.
    pub fn only(verdict: ClaimVerdict) -> Self {
        Self { verdict, near: Vec::new(), needed: None }
    }

    /// The verdict on `ours`. A figure that is `fixed` is the same with other seeds.
    pub fn of(claim: &Claim, ours: &Estimate, fixed: bool) -> Self {
        let mean = ours.mean.0;
        if fixed {
            return Self::only(verdict(claim, mean, 0.0));
        }
        let Some(error) = ours.standard_error.map(|error| error.0) else {
            return Self { needed: Some(SEEDS_MIN), ..Self::only(ClaimVerdict::Undecided) };
        };
        let most = effect_to_resolve(claim, mean, error) / ERRORS_MIN;
        if error > 0.0 && error >= most {
            let needed = ours.seeds_for(most).map(|seeds| seeds.max(SEEDS_MIN));
            return Self { needed, ..Self::only(ClaimVerdict::Undecided) };
        }
        if (ours.seeds as u64) < SEEDS_MIN {
            return Self { needed: Some(SEEDS_MIN), ..Self::only(ClaimVerdict::Undecided) };
        }
        let verdict = verdict(claim, mean, error);
        // A figure that is not told from zero is not near one that is.
        let width = if verdict == ClaimVerdict::NoEffect { 2.0 } else { 1.0 };
        let span = ERRORS_NEAR * error;
        // The paper's figures may lie between the ends.
        let (low, high) = ends(claim.paper);
        let edges = [low - allowed(claim), high + allowed(claim)];
        let within = edges.into_iter().filter(|edge| (edge - mean).abs() <= span);
        let mut near = Vec::new();
        for figure in [mean - span, mean + span].into_iter().chain(within) {
            let other = self::verdict(claim, figure, width * error);
            if other != verdict && !near.contains(&other) {
                near.push(other);
            }
        }
        Self { verdict, near, needed: None }
    }
}

/// The lowest and the highest figure of the paper.
pub fn ends(paper: Paper) -> (f64, f64) {
    match paper {
        Paper::Figure { value, .. } => (value, value),
        Paper::Range { low, high } => (low, high),
    }
}

/// The direction in which the figure improves: the stated one, or else the one in which all of the paper's figures
/// change.
pub fn direction(claim: &Claim) -> Option<Better> {
    let claimed = match ends(claim.paper) {
        (_, high) if high < 0.0 => Some(Better::Less),
        (low, _) if low > 0.0 => Some(Better::More),
        _ => None,
    };
    claim.better.or(claimed.filter(|_| claim.against.is_some()))
}

/// The effect that five standard errors must stay below: ours, or what the claim does not tell from none.
fn effect_to_resolve(claim: &Claim, mean: f64, error: f64) -> f64 {
    let (low, high) = ends(claim.paper);
    let allowed = allowed(claim);
    let least = match least_effect(claim) {
        Some(effect) if is_none(effect, mean, error) => effect * NONE * ERRORS_MIN,
        Some(_) => 0.0,
        // Equality: zero lies between the ends.
        None if claim.against.is_some() => (allowed - low).min(high + allowed),
        None => (high - low) / 2.0 + allowed,
    };
    least.max(mean.abs())
}

/// The least change that the paper claims, without its sign; `None` if it claims equality, or an absolute figure.
fn least_effect(claim: &Claim) -> Option<f64> {
    let (low, high) = ends(claim.paper);
    (claim.against.is_some() && (low > 0.0 || high < 0.0)).then(|| low.abs().min(high.abs()))
}

/// Whether our change is none if the paper's is `effect`: below a tenth of it, or not told from zero.
fn is_none(effect: f64, mean: f64, error: f64) -> bool {
    mean.abs() < (effect * NONE).max(error * ERRORS_NEAR)
}

/// The verdict on a figure with this standard error.
fn verdict(claim: &Claim, mean: f64, error: f64) -> ClaimVerdict {
    let is_none = least_effect(claim).is_some_and(|effect| is_none(effect, mean, error));
    match of_figure(claim, mean) {
        ClaimVerdict::Weaker | ClaimVerdict::Contradicted if is_none => ClaimVerdict::NoEffect,
        verdict => verdict,
    }
}

/// The verdict on a figure, without a look at how small it is.
fn of_figure(claim: &Claim, ours: f64) -> ClaimVerdict {
    if is_the_papers(claim, ours) {
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

/// Whether our figure is in the paper's range, or equals its figure within the tolerance.
fn is_the_papers(claim: &Claim, ours: f64) -> bool {
    let (low, high) = ends(claim.paper);
    let allowed = allowed(claim);
    // Whatever the tolerance, no change and the opposite change are not the paper's.
    let is_other_way = claim.against.is_some() && ((low > 0.0 && ours <= 0.0) || (high < 0.0 && ours >= 0.0));
    (low - allowed..=high + allowed).contains(&ours) && !is_other_way
}

/// How far from the paper's figure ours may be to equal it; zero for a range.
fn allowed(claim: &Claim) -> f64 {
    match claim.paper {
        Paper::Range { .. } => 0.0,
        // Allow for rounding.
        Paper::Figure { value, tolerance } => {
            tolerance * if value == 0.0 { 1.0 } else { value.abs() } * (1.0 + 1e-9)
        }
    }
}
