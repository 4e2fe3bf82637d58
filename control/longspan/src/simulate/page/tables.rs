//! The tables: claims and the measured figures, runs, and all metrics.

use super::html;
use crate::chart::axis::Quantity;
use crate::chart::text::escaped;
use crate::simulate::claims::is_of_standstill;
use crate::simulate::figure::Spread;
use crate::simulate::sets::Set;
use crate::simulate::summary::{ClaimSummary, EndingName, RunSummary};
use crate::simulate::tables::{agree, seeds, shown, verdict};
use config::scenario::Paper;
use std::collections::BTreeSet;

/// The maximum number of rows of metrics, so that the page opens quickly.
const METRICS_MAX: usize = 1_000;
/// The maximum number of columns of metrics.
const SETS_MAX: usize = 24;

/// The claims; empty if the scenario makes none.
pub fn claims(claims: &[ClaimSummary]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let head = ["claim", "kind", "text", "metric", "paper", "ours", "seeds", "agree", "flows", "verdict"];
    let head = head.map(str::to_owned);
    let rows: Vec<_> = claims.iter().map(claim).collect();
    html::section("Claims", &html::table(&head, &rows))
}

fn claim(claim: &ClaimSummary) -> Vec<String> {
    let shown = |value| shown(claim, value);
    let compared = claim.against.as_ref().map_or_else(String::new, |it| format!(" compared with {it}"));
    let point = claim.point.as_ref().map_or_else(String::new, |point| format!(" at {point}"));
    let ours = claim.ours.map_or_else(String::new, |ours| {
        let error = ours.standard_error.map(|error| shown(error.0));
        let error =
            error.map_or_else(String::new, |error| format!(" &plusmn; {}", error.trim_start_matches('+')));
        let (min, max) = (shown(ours.spread.min), shown(ours.spread.max));
        number(&(shown(ours.mean.0) + &error)) + &format!(" <span class=\"spread\">{min} .. {max}</span>")
    });
    let paper = match claim.paper {
        Paper::Figure { value, .. } => number(&shown(value)),
        Paper::Range { low, high } => number(&format!("{} .. {}", shown(low), shown(high))),
    };
    // The style has a class for the first word.
    let class = claim.verdict.name().split(' ').next().unwrap_or_default();
    vec![
        code(&claim.id),
        claim.kind.name().into(),
        escaped(&claim.text),
        format!("{}<br>{}", code(&claim.metric), escaped(&format!("{}{compared}{point}", claim.of))),
        paper,
        ours,
        seeds(claim).map_or_else(String::new, |seeds| number(&seeds)),
        agree(claim).map_or_else(String::new, |agree| number(&agree)),
        claim.flows.map_or_else(String::new, |flows| number(&flows.to_string())),
        format!("<span class=\"n {class}\">{}</span>", verdict(claim)),
    ]
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

fn number(text: &str) -> String {
    format!("<span class=\"n\">{text}</span>")
}

/// The runs, collapsed at first. Those that did not finish are listed above.
pub fn runs(runs: &[RunSummary], claims: &[ClaimSummary]) -> String {
    let unfinished = runs.iter().filter(|run| run.ending != EndingName::Finished).map(|run| {
        let message = run.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        let ended = format!("{} (seed {}) ended by {}{message}", run.name, run.seed, run.ending.name());
        // A scenario may set its limit on purpose, and claim that a run stands still.
        let stands = |it: &ClaimSummary| is_of_standstill(&it.metric, &it.of, it.paper, run);
        let is_meant = run.ending == EndingName::Limit || claims.iter().any(stands);
        let class = if is_meant { "note" } else { "failed" };
        format!("<p class=\"{class}\">{}</p>\n", escaped(&ended))
    });
    let unfinished: String = unfinished.collect();
    let head = ["run", "variant", "parameters", "seed", "ending", "virtual time", "flows", "transmissions"];
    let rows: Vec<_> = runs.iter().map(run).collect();
    let table = html::table(&head.map(str::to_owned), &rows);
    unfinished + &html::details("Runs, parameters and seeds", &table)
}

fn run(run: &RunSummary) -> Vec<String> {
    let parameters = run.parameters.iter().map(|(key, value)| format!("{key}={value}"));
    vec![
        code(&run.name),
        escaped(run.variant.as_deref().unwrap_or_default()),
        escaped(&parameters.collect::<Vec<_>>().join(" ")),
        run.seed.to_string(),
        run.ending.name().to_owned(),
        number(&Quantity::Time.shown(run.end_ns as f64)),
        format!("{} of {}", run.flows.ended, run.flows.started),
        run.transmissions.to_string(),
    ]
}

/// All metrics of all sets, collapsed at first.
pub fn metrics(sets: &[Set<'_>]) -> String {
    let runs = sets.iter().flat_map(|set| &set.runs);
    let names: BTreeSet<&String> = runs.flat_map(|run| run.metrics.keys()).collect();
    if names.is_empty() {
        return String::new();
    }
    let shown = &sets[..sets.len().min(SETS_MAX)];
    let head: Vec<_> =
        core::iter::once("metric".to_owned()).chain(shown.iter().map(|set| escaped(&set.label))).collect();
    let row = |name: &&String| {
        let figure = |set: &Set<'_>| set.metric(name).map_or_else(String::new, |spread| figure(name, spread));
        core::iter::once(code(name)).chain(shown.iter().map(figure)).collect()
    };
    let rows: Vec<_> = names.iter().take(METRICS_MAX).map(row).collect();
    let mut content = html::note("Medians over the seeds, with minimum and maximum where they differ.");
    if names.len() > METRICS_MAX || sets.len() > SETS_MAX {
        content += &html::note(&format!(
            "{} of {} metrics and {} of {} settings are shown; summary.json has all of them.",
            rows.len(),
            names.len(),
            shown.len(),
            sets.len()
        ));
    }
    html::details("Metrics", &(content + &html::table(&head, &rows)))
}

fn figure(name: &str, spread: Spread) -> String {
    let shown = |value| Quantity::of_metric(name).shown(value);
    let median = number(&shown(spread.median));
    if spread.min == spread.max {
        return median;
    }
    format!("{median} <span class=\"spread\">{} .. {}</span>", shown(spread.min), shown(spread.max))
}
