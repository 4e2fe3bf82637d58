//! `collectives.csv`, and the metrics of collectives.

use crate::simulate::distribution::distribution;
use crate::simulate::figure::{Figure, Metrics};
use config::scenario::{Collected, Scenario};
use csv::Writer;
use serde::Serialize;
use simulation::job::{Alone, ideal};
use simulation::{JobOutcome, Outcome};
use std::io::{self, Write};
use units::Nanos;

/// A row of the file: an iteration that all ranks have ended. Its columns are called like the fields.
#[derive(Serialize)]
struct Row<'a> {
    collective: &'a str,
    iteration: usize,
    begin_ns: u64,
    end_ns: u64,
    time_ns: u64,
    /// None for a trace and a pipeline.
    exposed_ns: Option<u64>,
    ideal_ns: u64,
    slowdown: String,
    /// None if all hosts are at one site.
    one_site_share: Option<String>,
}

/// Sums over the iterations of a collective.
#[derive(Default)]
struct Sums {
    times: Vec<f64>,
    exposed: Option<u64>,
    ideal: u64,
    one_site: Option<u64>,
}

/// Writes the file of a run to `out`, and adds its metrics.
///
/// # Errors
/// Errors of `out`.
pub fn write(
    scenario: &Scenario,
    outcome: &Outcome,
    out: impl Write,
    metrics: &mut Metrics,
) -> io::Result<()> {
    let mut out = Writer::from_writer(out);
    for (job, (it, of)) in scenario.collectives.iter().zip(&outcome.jobs).enumerate() {
        let sums = rows(scenario, job, (it, of), &mut out)?;
        let iterations = scenario.network.jobs.iterations(job);
        sums.figures(&it.name, iterations, metrics);
    }
    out.flush()
}

fn rows(
    scenario: &Scenario,
    job: usize,
    (collected, outcome): (&Collected, &JobOutcome),
    out: &mut Writer<impl Write>,
) -> io::Result<Sums> {
    // As many as have ended, at most 1,000,000.
    let ended = outcome.iterations.len() as u32;
    let alone = |alone| ideal(&scenario.network, job, ended, alone).unwrap_or_default();
    let (ideals, one_site) = (alone(Alone::InNetwork), alone(Alone::AtOneSite));
    let time_of = |[begin, end]: &[Nanos; 2]| end.since(*begin).0;
    let mut sums = Sums::default();
    for (iteration, (it, ideal)) in outcome.iterations.iter().zip(&ideals).enumerate() {
        let (time, ideal) = (it.end.since(it.begin).0, time_of(ideal));
        let exposed = collected.compute.map(|compute| time.saturating_sub(compute.0));
        let one_site = one_site.get(iteration).map(time_of);
        out.serialize(Row {
            collective: &collected.name,
            iteration,
            begin_ns: it.begin.0,
            end_ns: it.end.0,
            time_ns: time,
            exposed_ns: exposed,
            ideal_ns: ideal,
            slowdown: format!("{:.4}", ratio(time, ideal)),
            one_site_share: one_site.map(|one_site| format!("{:.4}", ratio(one_site, time))),
        })?;
        let add = |sum: &mut Option<u64>, it: Option<u64>| *sum = it.map(|it| sum.unwrap_or(0) + it);
        sums.times.push(time as f64);
        sums.ideal += ideal;
        add(&mut sums.exposed, exposed);
        add(&mut sums.one_site, one_site);
    }
    Ok(sums)
}

/// A quotient; of nothing and nothing, one.
fn ratio(time: u64, other: u64) -> f64 {
    if time == other { 1.0 } else { time as f64 / other as f64 }
}

impl Sums {
    fn figures(self, name: &str, iterations: u32, metrics: &mut Metrics) {
        let count = self.times.len();
        let mut say = |of: &str, value: f64| {
            metrics.insert(format!("collective.{name}.{of}"), Figure(value));
        };
        say("count", count as f64);
        say("unfinished", f64::from(iterations) - count as f64);
        if count == 0 {
            return;
        }
        let total = self.times.iter().sum::<f64>() as u64;
        say("ideal_ns", self.ideal as f64 / count as f64);
        say("slowdown", ratio(total, self.ideal));
        if let Some(exposed) = self.exposed {
            say("exposed_ns", exposed as f64 / count as f64);
        }
        if let Some(one_site) = self.one_site {
            say("one_site_share", ratio(one_site, total));
        }
        for (of, time) in distribution(self.times) {
            say(&format!("{of}_ns"), time);
        }
    }
}

/// The collectives that are not done, each with the operation at which its first rank waits.
pub fn unfinished(scenario: &Scenario, outcome: &Outcome) -> Option<String> {
    let of_one = |(collected, job): (&Collected, &JobOutcome)| {
        let it = job.unfinished?;
        let at = it.operation.map_or_else(String::new, |number| format!(" at its operation {number}"));
        let (name, rank, iteration) = (&collected.name, it.rank, it.iteration);
        Some(format!("collective {name} is not done: rank {rank} waits{at}, in iteration {iteration}"))
    };
    let found: Vec<String> = scenario.collectives.iter().zip(&outcome.jobs).filter_map(of_one).collect();
    (!found.is_empty()).then(|| found.join("; "))
}
