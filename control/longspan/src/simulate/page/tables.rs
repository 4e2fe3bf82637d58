//! The tables: claims beside what was measured, the runs, and every metric.

use super::html;
use super::input::{Claim, Paper, Run};
use super::sets::{self, Set, Spread};
use crate::chart::axis::Quantity;
use crate::chart::drawing::escaped;

/// Rows of metrics at most: a page is to be opened, and summary.json has them all.
const METRICS_MAX: usize = 1_000;
/// Columns of metrics at most.
const SETS_MAX: usize = 24;

/// The claims; nothing where the scenario makes none.
pub fn claims(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let head = ["claim", "text", "metric", "paper", "ours", "verdict"].map(str::to_owned);
    let rows: Vec<_> = claims.iter().map(claim).collect();
    html::section("Claims", &html::table(&head, &rows))
}

fn claim(claim: &Claim) -> Vec<String> {
    let say = |value: f64| match claim.against {
        Some(_) => percent(value),
        None => Quantity::of(&claim.metric).say(value),
    };
    let of = claim.of.as_deref().unwrap_or_default();
    let compared =
        claim.against.as_deref().map(|against| format!(" compared with {against}")).unwrap_or_default();
    let point = claim.point.as_deref().map(|point| format!(" at {point}")).unwrap_or_default();
    let ours = match &claim.ours {
        None => String::new(),
        Some(ours) => format!(
            "<span class=\"n\">{}</span> <span class=\"spread\">{} .. {}</span>",
            say(ours.median),
            say(ours.min),
            say(ours.max)
        ),
    };
    let paper = match claim.paper {
        Paper::Figure(figure) => format!("<span class=\"n\">{}</span>", say(figure)),
        Paper::Range([low, high]) => format!("<span class=\"n\">{} .. {}</span>", say(low), say(high)),
    };
    // The class is one word, whatever the file says.
    let class =
        claim.verdict.split(|character: char| !character.is_ascii_lowercase()).next().unwrap_or_default();
    vec![
        format!("<code>{}</code>", escaped(&claim.id)),
        escaped(&claim.text),
        format!("<code>{}</code><br>{}", escaped(&claim.metric), escaped(&format!("{of}{compared}{point}"))),
        paper,
        ours,
        format!("<span class=\"n {class}\">{}</span>", escaped(&claim.verdict)),
    ]
}

/// A relative change.
fn percent(value: f64) -> String {
    format!("{:+.1} %", value * 100.0)
}

/// The runs, closed at first; those that did not finish are said in the open.
pub fn runs(runs: &[Run]) -> String {
    let unfinished = runs.iter().filter(|run| run.ending != "finished");
    let unfinished: String = unfinished
        .map(|run| {
            let message = run.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
            let said = format!("{} (seed {}) ended by {}{message}", run.name, run.seed, run.ending);
            // A scenario may set its limit on purpose.
            let class = if run.ending == "limit" { "note" } else { "failed" };
            format!("<p class=\"{class}\">{}</p>\n", escaped(&said))
        })
        .collect();
    let head = ["run", "variant", "parameters", "seed", "ending", "virtual time", "flows", "transmissions"];
    let rows: Vec<_> = runs.iter().map(run).collect();
    let table = html::table(&head.map(str::to_owned), &rows);
    unfinished + &html::details("Runs, parameters and seeds", &table)
}

fn run(run: &Run) -> Vec<String> {
    let parameters = run.parameters.iter().map(|(key, value)| format!("{key}={}", sets::said(value)));
    vec![
        format!("<code>{}</code>", escaped(&run.name)),
        escaped(run.variant.as_deref().unwrap_or_default()),
        escaped(&parameters.collect::<Vec<_>>().join(" ")),
        run.seed.to_string(),
        escaped(&run.ending),
        format!("<span class=\"n\">{}</span>", Quantity::Time.say(run.end_ns as f64)),
        format!("{} of {}", run.flows.ended, run.flows.started),
        run.transmissions.to_string(),
    ]
}

/// Every metric of every set, closed at first.
pub fn metrics(sets: &[Set<'_>]) -> String {
    let mut names: Vec<&str> = sets
        .iter()
        .flat_map(|set| &set.runs)
        .flat_map(|run| run.metrics.keys())
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let shown = &sets[..sets.len().min(SETS_MAX)];
    let head: Vec<_> =
        core::iter::once("metric".to_owned()).chain(shown.iter().map(|set| escaped(&set.label))).collect();
    let row = |name: &&str| {
        let figures =
            shown.iter().map(|set| set.metric(name).map_or_else(String::new, |spread| figure(name, spread)));
        core::iter::once(format!("<code>{}</code>", escaped(name))).chain(figures).collect()
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
    let quantity = Quantity::of(name);
    let median = format!("<span class=\"n\">{}</span>", quantity.say(spread.median));
    if spread.min == spread.max {
        return median;
    }
    format!(
        "{median} <span class=\"spread\">{} .. {}</span>",
        quantity.say(spread.min),
        quantity.say(spread.max)
    )
}
