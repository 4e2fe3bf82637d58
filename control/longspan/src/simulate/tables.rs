//! The page on standard output: results of the runs, and verdicts on the claims.

use super::plan::Plan;
use super::summary::{ClaimSummary, Figure, PaperFigure, RunSummary, Spread, Summary};
use core::fmt::Write;
use core::iter::once;
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::path::Path;
use telemetry::table::{Table, bytes, nanos, section, thousands};

/// A line of the page. Writing to a string cannot fail.
macro_rules! line {
    ($page:expr, $($argument:tt)*) => { let _ = writeln!($page, $($argument)*); };
}

/// The heading of a column, and its cell for runs that differ only in their seeds.
type Column = (&'static str, fn(&[&RunSummary]) -> String);

const RUNS: [Column; 10] = [
    ("ending", endings),
    ("seeds", |runs| runs.len().to_string()),
    ("flows", |runs| median(runs, "fct.all.count", count)),
    ("unfinished", |runs| median(runs, "flows.unfinished", count)),
    ("FCT mean", |runs| median(runs, "fct.all.mean_ns", time)),
    ("p50", |runs| median(runs, "fct.all.p50_ns", time)),
    ("p99", |runs| median(runs, "fct.all.p99_ns", time)),
    ("slowdown", |runs| median(runs, "slowdown.all.mean", |value| format!("{value:.2}"))),
    ("p99", |runs| median(runs, "slowdown.all.p99", |value| format!("{value:.2}"))),
    ("goodput", |runs| median(runs, "goodput.all.bps", bit_rate)),
];

const SWITCHES: [Column; 7] = [
    ("pauses sent", |runs| median(runs, "pfc.total.pauses_sent", count)),
    ("paused", |runs| median(runs, "pfc.total.paused_ns", time)),
    ("CNPs", |runs| median(runs, "cnps.total", count)),
    ("marked", |runs| median(runs, "ecn.marked", count)),
    ("retransmitted", |runs| median(runs, "retransmitted.packets", count)),
    ("dropped", |runs| {
        format!("{} + {}", median(runs, "drops.lossless", count), median(runs, "drops.lossy", count))
    }),
    ("longest queue", |runs| median(runs, "queue.max_bytes", |value| bytes(value.round() as u64))),
];

/// The page, in plain ASCII.
pub fn page(summary: &Summary, plan: &Plan, directory: &Path) -> String {
    let mut page = heading(summary);
    let runs = alike(summary, plan);
    write_runs(&mut page, "RUNS: medians over seeds; completed and unfinished flows", 2, &runs, &RUNS);
    let title = "SWITCHES: medians over seeds; drops as lossless + lossy frames";
    write_runs(&mut page, title, 1, &runs, &SWITCHES);
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
        "{} {}, {} transmissions, {} {}",
        summary.runs.len(),
        if summary.runs.len() == 1 { "run" } else { "runs" },
        thousands(transmissions),
        if seeds.len() == 1 { "seed" } else { "seeds" },
        seeds.join(", ")
    );
    page
}

/// Runs that differ only in their seeds, by the name of their row.
fn alike<'a>(summary: &'a Summary, plan: &Plan) -> IndexMap<String, Vec<&'a RunSummary>> {
    let mut groups: IndexMap<_, Vec<_>> = IndexMap::new();
    for run in &summary.runs {
        let planned = plan.runs.iter().find(|planned| planned.name == run.name);
        let parts = [run.variant.clone(), planned.and_then(|planned| planned.point.clone())];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        groups.entry(if name.is_empty() { "all".into() } else { name }).or_default().push(run);
    }
    groups
}

fn write_runs(
    page: &mut String,
    title: &str,
    text_columns: usize,
    runs: &IndexMap<String, Vec<&RunSummary>>,
    columns: &[Column],
) {
    let mut table = Table::new(text_columns, once("runs").chain(columns.iter().map(|(heading, _)| *heading)));
    for (name, runs) in runs {
        table.row(once(name.clone()).chain(columns.iter().map(|(_, cell)| cell(runs))));
    }
    section(page, title, &table);
}

fn endings(runs: &[&RunSummary]) -> String {
    let mut endings: Vec<&str> = runs.iter().map(|run| run.ending.name()).collect();
    endings.dedup();
    endings.join(", ")
}

/// The median of a metric over the seeds, formatted by `show`; a dash if there is none.
fn median(runs: &[&RunSummary], metric: &str, show: fn(f64) -> String) -> String {
    let values = runs.iter().filter_map(|run| run.metrics.get(metric)).map(|figure| figure.0);
    Spread::of(values.collect()).map_or_else(|| "-".into(), |spread| show(spread.median))
}

fn time(value: f64) -> String {
    nanos(value.round() as u64)
}

fn count(value: f64) -> String {
    thousands(value.round() as u64)
}

/// With one decimal, because measured rates are not round.
fn bit_rate(value: f64) -> String {
    let units = [(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    match units.iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", value / size),
        None => format!("{value:.0} b/s"),
    }
}

fn write_claims(page: &mut String, summary: &Summary) {
    let mut table = Table::new(2, ["claim", "verdict", "paper", "ours", "min", "max", "flows"]);
    for claim in &summary.claims {
        let figure = |value: f64| claimed(claim, value);
        let ours =
            |of: fn(&Spread) -> f64| claim.ours.as_ref().map_or_else(|| "-".into(), |it| figure(of(it)));
        let point = claim.point.as_ref().map_or_else(String::new, |point| format!(" ({point})"));
        table.row([
            format!("{}{point}", claim.id),
            claim.verdict.name().into(),
            match claim.paper {
                PaperFigure::One(Figure(paper)) => figure(paper),
                PaperFigure::Range([Figure(low), Figure(high)]) => {
                    format!("{} to {}", figure(low), figure(high))
                }
            },
            ours(|spread| spread.median),
            ours(|spread| spread.min),
            ours(|spread| spread.max),
            claim.flows.map_or_else(|| "-".into(), thousands),
        ]);
    }
    section(
        page,
        "CLAIMS: the paper's figure; our median, minimum and maximum over all seeds; fewest flows of a run",
        &table,
    );
    let mut shown = BTreeSet::new();
    for claim in summary.claims.iter().filter(|claim| shown.insert(&claim.id)) {
        let against = claim.against.as_ref().map_or_else(String::new, |it| format!(" compared with {it}"));
        line!(page, "  {}: {}", claim.id, claim.text);
        line!(page, "    {} of {}{against}", claim.metric, claim.of);
    }
}

/// A figure of a claim: a change in percent, or the figure with its unit.
fn claimed(claim: &ClaimSummary, value: f64) -> String {
    let whole = value.max(0.0).round() as u64;
    if claim.against.is_some() {
        format!("{:+.1} %", value * 100.0)
    } else if value < 0.0 {
        format!("{value:.3}")
    } else if claim.metric.ends_with("_ns") || claim.metric.ends_with(".ns") {
        nanos(whole)
    } else if claim.metric.ends_with("bps") {
        bit_rate(value)
    } else if claim.metric.ends_with("_bytes") {
        bytes(whole)
    } else if value.fract() == 0.0 {
        thousands(whole)
    } else {
        format!("{value:.3}")
    }
}
