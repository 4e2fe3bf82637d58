//! One run: what is simulated, recorded and written.

mod captures;
mod details;
mod figures;
mod flow_rates;
mod flows;
mod links;
mod ports;
mod recorder;
mod rows;
mod series;

use super::plan::{Plan, Planned};
use super::progress::Board;
use super::summary::{self, EndingName, FlowCounts, Metrics, RunFile, RunSummary};
use crate::failure::Failure;
use captures::Captures;
use config::scenario::Scenario;
use details::Details;
use flow_rates::{FlowRates, Watchlist};
use flows::FlowLog;
use links::LinkLog;
use recorder::Recorder;
use series::SeriesLog;
use simulation::{Ending, NodeId, NodeKind, Outcome, PausedQueue, Simulation, Violation};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use switch::Program;

/// The file that says what came of a run, and that it is complete.
pub const SUMMARY: &str = "summary.json";

/// Runs `planned`, the run number `index` of `plan`, and writes what comes of it below `directory`.
///
/// # Errors
/// [`Failure::Write`], [`Failure::Run`]. A broken invariant is no such failure: the summary tells of it.
pub fn run(plan: &Plan, index: usize, directory: &Path, board: &Board<'_>) -> Result<RunSummary, Failure> {
    let planned = &plan.runs[index];
    let scenario = plan.file.build(&planned.overrides)?;
    prepare(directory, &scenario).map_err(|source| unwritten(directory, source))?;
    let list = Watchlist::new(&scenario.sampling.groups);
    let mut recorder = recorder(&scenario, &list, index, directory, board)?;
    let simulation = Simulation::new(scenario.network.clone(), scenario.options());
    let flows = scenario.flows().inspect(|flow| list.note(flow));
    let outcome = simulation.run(flows, &mut recorder);
    let mut metrics = Metrics::new();
    finish(recorder, &scenario, outcome.as_ref().ok(), directory, &mut metrics)?;
    let run = match &outcome {
        Ok(outcome) => of_outcome(planned, &scenario, outcome, metrics),
        Err(violation) => of_violation(planned, violation, board.transmissions(index)),
    };
    let details = outcome.ok().map(|outcome| Details::new(&outcome, &scenario.network, &scenario.topology));
    let file = RunFile { run: &run, scenario: &scenario.name, inputs: &planned.inputs, details };
    summary::write(&directory.join(SUMMARY), &file)?;
    Ok(run)
}

fn unwritten(path: &Path, source: io::Error) -> Failure {
    Failure::Write { path: path.into(), source, running: true }
}

/// Makes room for results, and writes the configuration of each switch. An old summary goes first: what there is
/// from now on is not complete.
fn prepare(directory: &Path, scenario: &Scenario) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for old in ["switches", "captures"] {
        remove(fs::remove_dir_all(directory.join(old)))?;
    }
    remove(fs::remove_file(directory.join(SUMMARY)))?;
    fs::create_dir(directory.join("switches"))?;
    for (name, text) in &scenario.switches {
        fs::write(directory.join("switches").join(format!("{name}.toml")), text)?;
    }
    if !scenario.taps.is_empty() {
        fs::create_dir(directory.join("captures"))?;
    }
    Ok(())
}

/// What is not there need not be removed.
fn remove(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn recorder<'a>(
    scenario: &Scenario,
    list: &Watchlist,
    index: usize,
    directory: &Path,
    board: &'a Board<'a>,
) -> Result<Recorder<'a>, Failure> {
    let topology = &scenario.topology;
    let path = directory.join("fct.csv");
    let flows = FlowLog::create(&path, names(scenario), &scenario.groups);
    let program = |node: NodeId| -> Option<Arc<Program>> {
        match &scenario.network.nodes[node.0 as usize].kind {
            NodeKind::Switch(program) => Some(program.clone()),
            NodeKind::Host(_) => None,
        }
    };
    let rates = FlowRates::new(list.clone(), &scenario.groups);
    Ok(Recorder {
        flows: flows.map_err(|source| unwritten(&path, source))?,
        series: SeriesLog::new(&scenario.sampling, topology, program, rates),
        links: LinkLog::new(ports::of_interest(scenario), scenario.until),
        captures: Captures::create(&directory.join("captures"), &scenario.taps, topology)
            .map_err(Failure::Run)?,
        index,
        until: scenario.until,
        board,
    })
}

/// The names of the nodes.
fn names(scenario: &Scenario) -> Vec<String> {
    scenario.topology.nodes.iter().map(|node| node.name.clone()).collect()
}

/// Writes what was recorded, and says what it came to.
fn finish(
    recorder: Recorder<'_>,
    scenario: &Scenario,
    outcome: Option<&Outcome>,
    directory: &Path,
    metrics: &mut Metrics,
) -> Result<(), Failure> {
    recorder.captures.finish().map_err(Failure::Run)?;
    recorder.flows.finish(metrics).map_err(|source| unwritten(&directory.join("fct.csv"), source))?;
    let path = directory.join("series.csv");
    write_series(&recorder.series, &path).map_err(|source| unwritten(&path, source))?;
    if let Some(outcome) = outcome {
        recorder.series.figures(scenario.until, metrics);
        recorder.links.figures(outcome, metrics);
        let ports = ports::of_interest(scenario);
        figures::figures(outcome, &scenario.network, &ports, &names(scenario), metrics);
    }
    Ok(())
}

fn write_series(series: &SeriesLog, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    series.write_csv(&mut out)?;
    out.flush()
}

fn of_outcome(planned: &Planned, scenario: &Scenario, outcome: &Outcome, metrics: Metrics) -> RunSummary {
    let (ending, message) = match &outcome.ending {
        Ending::Finished => (EndingName::Finished, None),
        Ending::Interrupted => (EndingName::Interrupted, None),
        Ending::Limit => (EndingName::Limit, None),
        Ending::Deadlock { since, cycle } => {
            let message = format!("no frame has moved since {since} s: {}", cycle_of(cycle, scenario));
            (EndingName::Deadlock, Some(message))
        }
        Ending::Livelock { since } => (
            EndingName::Livelock,
            Some(format!("frames move, but no flow has made progress since {since} s")),
        ),
        Ending::Exhausted { node, flow } => {
            let name = &scenario.topology.node(*node).name;
            let message = format!("host {name} has no free queue pair for flow {}", flow.0);
            (EndingName::Exhausted, Some(message))
        }
    };
    RunSummary {
        ending,
        message,
        end_ns: outcome.end.0,
        transmissions: outcome.transmissions,
        flows: FlowCounts { started: outcome.flows_started, ended: outcome.flows_ended },
        metrics,
        ..begun(planned)
    }
}

/// The figures of what broke mean nothing.
fn of_violation(planned: &Planned, violation: &Violation, transmissions: u64) -> RunSummary {
    RunSummary {
        ending: EndingName::Violation,
        message: Some(violation.to_string()),
        end_ns: violation.at.0,
        transmissions,
        ..begun(planned)
    }
}

fn begun(planned: &Planned) -> RunSummary {
    RunSummary {
        name: planned.name.clone(),
        variant: planned.variant.clone(),
        parameters: planned.parameters.clone(),
        seed: planned.seed,
        ending: EndingName::Interrupted,
        message: None,
        end_ns: 0,
        transmissions: 0,
        flows: FlowCounts { started: 0, ended: 0 },
        metrics: Metrics::new(),
    }
}

fn cycle_of(cycle: &[PausedQueue], scenario: &Scenario) -> String {
    let queue = |queue: &PausedQueue| {
        let node = scenario.topology.node(queue.node);
        let port = &node.ports[queue.port.index()].name;
        format!("{}.{port} priority {}", node.name, queue.priority)
    };
    let queues: Vec<_> = cycle.iter().map(queue).collect();
    if queues.is_empty() { "no cycle of paused queues".into() } else { queues.join(" waits for ") }
}
