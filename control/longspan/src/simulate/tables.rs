//! The page on standard output: results of the runs, and verdicts on the claims.

use super::figure::Estimate;
use super::sets::{self, Set};
use super::summary::{ClaimSummary, ClaimVerdict, Summary};
use crate::chart::axis::Quantity;
use crate::console::line;
use config::scenario::Paper;
use core::fmt::Write;
use core::iter::once;
use std::collections::BTreeSet;
use std::path::Path;
use telemetry::table::{Table, section};
use units::human::{count_of, thousands};

/// The heading of a column, and its cell for runs that differ only in their seeds.
type Column = (&'static str, fn(&Set<'_>) -> String);

const RUNS: [Column; 10] = [
    ("ending", endings),
    ("seeds", |set| set.runs.len().to_string()),
    ("flows", |set| median(set, "fct.all.count")),
    ("unfinished", |set| median(set, "flows.unfinished")),
    ("FCT mean", |set| median(set, "fct.all.mean_ns")),
    ("p50", |set| median(set, "fct.all.p50_ns")),
    ("p99", |set| median(set, "fct.all.p99_ns")),
    ("slowdown", |set| median(set, "slowdown.all.mean")),
    ("p99", |set| median(set, "slowdown.all.p99")),
    ("goodput", |set| median(set, "goodput.all.bps")),
];

const SWITCHES: [Column; 7] = [
    ("pauses sent", |set| median(set, "pfc.total.pauses_sent")),
    ("paused", |set| median(set, "pfc.total.paused_ns")),
    ("CNPs", |set| median(set, "cnps.total")),
    ("marked", |set| median(set, "ecn.marked")),
    ("retransmitted", |set| median(set, "retransmitted.packets")),
    ("dropped", |set| format!("{} + {}", median(set, "drops.lossless"), median(set, "drops.lossy"))),
    ("longest queue", |set| median(set, "queue.max_bytes")),
];

/// The page, in plain ASCII.
pub fn page(summary: &Summary, directory: &Path) -> String {
    let mut page = heading(summary);
    let sets = sets::of(summary);
    write_sets(&mut page, "RUNS: medians over seeds; completed and unfinished flows", 2, &sets, &RUNS);
    let title = "SWITCHES: medians over seeds; drops as lossless + lossy frames";
    write_sets(&mut page, title, 1, &sets, &SWITCHES);
    write_collectives(&mut page, &sets);
    let known = summary.runs.iter().filter(|run| run.is_known).count() as u64;
    if known > 0 {
        let runs = count_of(known, "run");
        line!(page, "\n  Only the figures of claims are known of {runs}; other medians leave them out.");
    }
    write_claims(&mut page, summary);
    line!(page, "\nResults are in {}", directory.display());
    page
}

fn heading(summary: &Summary) -> String {
    let mut page = String::new();
    let title = summary.title.as_ref().map_or_else(String::new, |title| format!(": {title}"));
    let quick = if summary.quick { " (quick)" } else { "" };
    line!(page, "Scenario \"{}\"{title}{quick}", summary.scenario);
    let transmissions: u64 = summary.runs.iter().map(|run| run.transmissions).sum();
    let seeds: BTreeSet<u64> = summary.runs.iter().map(|run| run.seed).collect();
    let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
    line!(
        page,
        "{}, {}, {} {}",
        count_of(summary.runs.len() as u64, "run"),
        count_of(transmissions, "transmission"),
        if seeds.len() == 1 { "seed" } else { "seeds" },
        seeds.join(", ")
    );
    page
}

fn write_sets(page: &mut String, title: &str, text_columns: usize, sets: &[Set<'_>], columns: &[Column]) {
    let mut table = Table::new(text_columns, once("runs").chain(columns.iter().map(|(heading, _)| *heading)));
    for set in sets {
        table.row(once(set.label.clone()).chain(columns.iter().map(|(_, cell)| cell(set))));
    }
    section(page, title, &table);
}

fn write_collectives(page: &mut String, sets: &[Set<'_>]) {
    let columns =
        ["iterations", "unfinished", "time mean", "p99", "exposed", "ideal", "slowdown", "of one site"];
    let mut table = Table::new(2, ["runs", "collective"].into_iter().chain(columns));
    for set in sets {
        let names = set.runs.iter().flat_map(|run| run.metrics.keys());
        let names = names.filter_map(|name| name.strip_prefix("collective.")?.strip_suffix(".count"));
        for name in names.collect::<BTreeSet<_>>() {
            let of = |figure: &str| median(set, &format!("collective.{name}.{figure}"));
            let figures = [
                "count",
                "unfinished",
                "mean_ns",
                "p99_ns",
                "exposed_ns",
                "ideal_ns",
                "slowdown",
                "one_site_share",
            ];
            table.row([set.label.clone(), name.to_owned()].into_iter().chain(figures.map(of)));
        }
    }
    section(page, "COLLECTIVES: medians over seeds; times of an iteration", &table);
}

fn endings(set: &Set<'_>) -> String {
    let mut endings: Vec<&str> = set.runs.iter().map(|run| run.ending.name()).collect();
    endings.dedup();
    endings.join(", ")
}

/// The median of a metric over the seeds; a dash if there is none.
fn median(set: &Set<'_>, metric: &str) -> String {
    let median = set.metric(metric).map(|spread| Quantity::of_metric(metric).shown(spread.median));
    median.unwrap_or_else(|| "-".into())
}

fn write_claims(page: &mut String, summary: &Summary) {
    let columns = ["paper", "ours", "error", "min", "max", "seeds", "agree", "flows"];
    let mut table = Table::new(3, ["claim", "kind", "verdict"].into_iter().chain(columns));
    for claim in &summary.claims {
        let figure = |value: f64| shown(claim, value);
        let ours =
            |of: fn(&Estimate) -> Option<f64>| claim.ours.as_ref().and_then(of).map_or_else(dash, figure);
        let point = claim.point.as_ref().map_or_else(String::new, |point| format!(" ({point})"));
        table.row([
            format!("{}{point}", claim.id),
            claim.kind.name().into(),
            verdict(claim),
            match claim.paper {
                Paper::Figure { value, .. } => figure(value),
                Paper::Range { low, high } => format!("{} to {}", figure(low), figure(high)),
            },
            ours(|it| Some(it.mean.0)),
            ours(|it| it.standard_error.map(|error| error.0)).trim_start_matches('+').into(),
            ours(|it| Some(it.spread.min)),
            ours(|it| Some(it.spread.max)),
            seeds(claim).unwrap_or_else(dash),
            agree(claim).unwrap_or_else(dash),
            claim.flows.map_or_else(dash, thousands),
        ]);
    }
    section(
        page,
        "CLAIMS: our mean over the seeds and its standard error; seeds (of those needed); fewest flows of a run",
        &table,
    );
    if summary.claims.iter().any(|claim| claim.verdict == ClaimVerdict::NotJudged) {
        line!(page, "  The runs were shortened by --quick, so no claim is judged.");
    }
    let mut shown = BTreeSet::new();
    for claim in summary.claims.iter().filter(|claim| shown.insert(&claim.id)) {
        let against = claim.against.as_ref().map_or_else(String::new, |it| format!(" compared with {it}"));
        line!(page, "  {}: {}", claim.id, claim.text);
        line!(page, "    {} of {}{against}", claim.metric, claim.of);
    }
}

fn dash() -> String {
    "-".into()
}

/// The verdict, and others that are near.
pub fn verdict(claim: &ClaimSummary) -> String {
    let near: Vec<_> = claim.near.iter().map(|near| near.name()).collect();
    let near = if near.is_empty() { String::new() } else { format!(" (near {})", near.join(", ")) };
    claim.verdict.name().to_owned() + &near
}

/// The number of seeds, and how many a verdict needs if there is none.
pub fn seeds(claim: &ClaimSummary) -> Option<String> {
    let seeds = claim.ours?.seeds;
    Some(claim.needed.map_or_else(|| seeds.to_string(), |needed| format!("{seeds} of {}", thousands(needed))))
}

/// The share of the seeds that agree on the direction of a change.
pub fn agree(claim: &ClaimSummary) -> Option<String> {
    let ours = claim.ours.filter(|_| claim.against.is_some())?;
    Some(format!("{:.0} %", ours.agree.0 * 100.0))
}

/// A figure of a claim: a change in percent, or the figure with its unit.
pub fn shown(claim: &ClaimSummary, value: f64) -> String {
    match claim.against {
        Some(_) => format!("{:+.1} %", value * 100.0),
        None => Quantity::of_metric(&claim.metric).shown(value),
    }
}
