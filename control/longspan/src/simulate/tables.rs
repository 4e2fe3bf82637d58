//! One page for a person: what the runs came to, and what the claims did.

use super::plan::Plan;
use super::summary::{ClaimSummary, Figure, PaperFigure, RunSummary, Spread, Summary};
use core::fmt::Write;
use std::path::Path;
use telemetry::table::{Table, bytes, nanos, section, thousands};

/// A line of the page. A string takes all that is written to it.
macro_rules! line {
    ($page:expr, $($argument:tt)*) => { let _ = writeln!($page, $($argument)*); };
}

/// The page. Plain ASCII.
pub fn page(summary: &Summary, plan: &Plan, directory: &Path) -> String {
    let mut page = heading(summary);
    write_runs(&mut page, summary, plan);
    write_queues(&mut page, summary, plan);
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
    let mut seeds: Vec<u64> = summary.runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let several = if seeds.len() == 1 { "seed" } else { "seeds" };
    let seeds: Vec<_> = seeds.iter().map(u64::to_string).collect();
    line!(
        page,
        "{} {}, {} transmissions, {several} {}",
        summary.runs.len(),
        if summary.runs.len() == 1 { "run" } else { "runs" },
        thousands(transmissions),
        seeds.join(", ")
    );
    page
}

/// Runs that differ by their seed only.
struct Alike<'a> {
    name: String,
    runs: Vec<&'a RunSummary>,
}

impl Alike<'_> {
    /// The median of a figure over the seeds, as `show` has it; a dash where there is none.
    fn median(&self, metric: &str, show: impl Fn(f64) -> String) -> String {
        let values = self.runs.iter().filter_map(|run| run.metrics.get(metric)).map(|figure| figure.0);
        Spread::of(values.collect()).map_or_else(|| "-".into(), |spread| show(spread.median.0))
    }
}

fn alike<'a>(summary: &'a Summary, plan: &Plan) -> Vec<Alike<'a>> {
    let mut groups: Vec<Alike<'a>> = Vec::new();
    for run in &summary.runs {
        let planned = plan.runs.iter().find(|planned| planned.name == run.name);
        let parts = [run.variant.clone(), planned.and_then(|planned| planned.point.clone())];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.runs.push(run),
            None => groups.push(Alike { name, runs: vec![run] }),
        }
    }
    groups
}

fn time(value: f64) -> String {
    nanos(value.round() as u64)
}

fn count(value: f64) -> String {
    thousands(value.round() as u64)
}

/// Three digits that count: what was measured is no round number.
fn bit_rate(value: f64) -> String {
    let units = [(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    match units.iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", value / size),
        None => format!("{value:.0} b/s"),
    }
}

fn write_runs(page: &mut String, summary: &Summary, plan: &Plan) {
    let headings = [
        "runs",
        "ending",
        "seeds",
        "flows",
        "unfinished",
        "FCT mean",
        "p50",
        "p99",
        "slowdown",
        "p99",
        "goodput",
    ];
    let mut table = Table::new(2, headings);
    for group in alike(summary, plan) {
        let mut endings: Vec<&str> = group.runs.iter().map(|run| run.ending.name()).collect();
        endings.dedup();
        let two = |value: f64| format!("{value:.2}");
        table.row([
            if group.name.is_empty() { "all".into() } else { group.name.clone() },
            endings.join(", "),
            group.runs.len().to_string(),
            group.median("fct.all.count", count),
            group.median("flows.unfinished", count),
            group.median("fct.all.mean_ns", time),
            group.median("fct.all.p50_ns", time),
            group.median("fct.all.p99_ns", time),
            group.median("slowdown.all.mean", two),
            group.median("slowdown.all.p99", two),
            group.median("goodput.all.bps", bit_rate),
        ]);
    }
    section(page, "RUNS: medians over seeds; completed and unfinished flows", &table);
}

fn write_queues(page: &mut String, summary: &Summary, plan: &Plan) {
    let headings =
        ["runs", "pauses sent", "paused", "CNPs", "marked", "retransmitted", "dropped", "longest queue"];
    let mut table = Table::new(1, headings);
    for group in alike(summary, plan) {
        table.row([
            if group.name.is_empty() { "all".into() } else { group.name.clone() },
            group.median("pfc.total.pauses_sent", count),
            group.median("pfc.total.paused_ns", time),
            group.median("cnps.total", count),
            group.median("ecn.marked", count),
            group.median("retransmitted.packets", count),
            format!("{} + {}", group.median("drops.lossless", count), group.median("drops.lossy", count)),
            group.median("queue.max_bytes", |value| bytes(value.round() as u64)),
        ]);
    }
    section(page, "SWITCHES: medians over seeds; drops as lossless + lossy frames", &table);
}

fn write_claims(page: &mut String, summary: &Summary) {
    let mut table = Table::new(2, ["claim", "verdict", "paper", "ours", "min", "max"]);
    for claim in &summary.claims {
        let figure = |figure: Figure| claimed(claim, figure.0);
        let ours =
            |of: fn(&Spread) -> Figure| claim.ours.as_ref().map_or_else(|| "-".into(), |it| figure(of(it)));
        let name = match &claim.point {
            None => claim.id.clone(),
            Some(point) => format!("{} ({point})", claim.id),
        };
        table.row([
            name,
            claim.verdict.name().into(),
            match claim.paper {
                PaperFigure::One(paper) => figure(paper),
                PaperFigure::Range([low, high]) => format!("{} to {}", figure(low), figure(high)),
            },
            ours(|spread| spread.median),
            ours(|spread| spread.min),
            ours(|spread| spread.max),
        ]);
    }
    section(page, "CLAIMS: the paper's figure, and our median, minimum and maximum over all seeds", &table);
    let mut shown: Vec<&str> = Vec::new();
    for claim in &summary.claims {
        if !shown.contains(&claim.id.as_str()) {
            shown.push(&claim.id);
            let against =
                claim.against.as_ref().map_or_else(String::new, |it| format!(" compared with {it}"));
            line!(page, "  {}: {}", claim.id, claim.text);
            line!(page, "    {} of {}{against}", claim.metric, claim.of);
        }
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
