//! One run: its simulation, recordings and results.

mod captures;
mod checkpoint;
mod collectives;
mod details;
mod events;
mod figures;
mod flow_rates;
mod flows;
mod links;
mod ports;
mod recorder;
mod rows;
mod series;

use super::figure::Metrics;
use super::plan::{Planned, RunPlan};
use super::progress::Board;
use super::summary::{EndingName, FlowCounts, RunFile, RunSummary, write};
use crate::cli::simulate::SimulateArgs;
use crate::failure::Failure;
use captures::Captures;
use checkpoint::{CHECKPOINT, INCOMPLETE, Keeper, Kept, NotUsed};
use config::scenario::Scenario;
use core::num::NonZeroUsize;
use details::Details;
use events::{EVENTS, EventLog};
use flow_rates::{FlowRates, Watchlist};
use flows::FlowLog;
pub use flows::flow_columns;
use links::LinkLog;
use recorder::{Recorder, RecorderState};
use series::SeriesLog;
use simulation::{Ending, Options, Outcome, PausedQueue, Simulation, Violation};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// The file with the results of a run. It exists only if the run is complete.
pub const SUMMARY: &str = "summary.json";
/// The file with its flows.
pub const FLOWS: &str = "fct.csv";

/// Runs the run number `index` of `plan`, from its checkpoint on if there is one, and writes its results to `directory`.
///
/// # Errors
/// [`Failure::Running`], [`Failure::InTheWay`], [`Failure::Resume`], [`Failure::Write`], [`Failure::Run`]. A violated invariant is not an error here; it is in the summary.
pub fn run(
    plan: &RunPlan,
    index: usize,
    args: &SimulateArgs,
    directory: &Path,
    board: &Board<'_>,
) -> Result<RunSummary, Failure> {
    let planned = &plan.runs[index];
    let scenario = plan.file.build(&planned.overrides)?;
    // Until the results are complete.
    let _lock = lock(directory)?;
    expect_nothing_in_the_way(directory)?;
    let list = Watchlist::new(&scenario.sampling.groups);
    let site = Site { scenario: &scenario, list: &list, index, threads: args.threads, directory, board };
    let resumed = if args.again { Ok(None) } else { site.resumed(&planned.inputs) };
    let resumed = match resumed {
        Err(why) if why.is_final() => {
            board.complain(&format!("{}: begins anew, without its checkpoint: {why}", planned.name));
            None
        }
        Err(why) => return Err(Failure::Resume { run: planned.name.clone(), why: why.to_string() }),
        Ok(resumed) => resumed,
    };
    prepare(directory, &scenario, resumed.is_none()).map_err(Failure::unwritten(directory))?;
    let (mut simulation, mut recorder) = match resumed {
        Some(resumed) => resumed,
        None => site.anew()?,
    };
    simulation.record_events(&scenario.events.ports.keys().copied().collect::<Vec<_>>());
    recorder.keeper = args.checkpoint.map(|every| Keeper::new(directory, &planned.inputs, every));
    let flows = scenario.flows().skip(simulation.fetched()).inspect(|flow| list.note(flow));
    let outcome = simulation.run(flows, &mut recorder);
    let mut metrics = Metrics::new();
    finish(recorder, &scenario, outcome.as_ref().ok(), directory, &mut metrics)?;
    let run = results(planned, &scenario, &outcome, board.transmissions(index), metrics);
    let details = outcome.ok().map(|outcome| Details::new(&outcome, &scenario.network, &scenario.topology));
    let file = RunFile { run: &run, scenario: &scenario.name, inputs: &planned.inputs, details };
    write(&directory.join(SUMMARY), &file)?;
    if run.ending != EndingName::Interrupted {
        forget_checkpoint(directory)?;
    }
    Ok(run)
}

/// Removes the checkpoint of a run that is complete. The program may have ended before it did.
///
/// # Errors
/// [`Failure::InTheWay`], [`Failure::Write`].
pub fn forget_checkpoint(directory: &Path) -> Result<(), Failure> {
    expect_nothing_in_the_way(directory)?;
    remove_checkpoint(directory).map_err(Failure::unwritten(directory))
}

fn expect_nothing_in_the_way(directory: &Path) -> Result<(), Failure> {
    checkpoint::in_the_way(directory).map_or(Ok(()), |path| Err(Failure::InTheWay(path)))
}

/// Locks a file of the directory, so that no two processes write there at the same time. They would write the same
/// bytes, but an interrupted one would leave less than a summary of the other says. Goes on without a lock if the file
/// system has none.
fn lock(directory: &Path) -> Result<File, Failure> {
    fs::create_dir_all(directory).map_err(Failure::unwritten(directory))?;
    let path = directory.join(FLOWS);
    let open = File::options().write(true).create(true).truncate(false).open(&path);
    let file = open.map_err(Failure::unwritten(&path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Failure::Running { directory: directory.into() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Prepares the directory, and writes the configuration of each switch. Removes an old summary first, because the
/// directory is incomplete from now on. A run that begins `anew` needs no captures and no checkpoint of an earlier one.
fn prepare(directory: &Path, scenario: &Scenario, anew: bool) -> io::Result<()> {
    remove(fs::remove_dir_all(directory.join("switches")))?;
    if anew {
        remove(fs::remove_dir_all(directory.join("captures")))?;
        remove(fs::remove_dir_all(directory.join(EVENTS)))?;
        remove_checkpoint(directory)?;
    }
    remove(fs::remove_file(directory.join(SUMMARY)))?;
    fs::create_dir(directory.join("switches"))?;
    for (name, text) in &scenario.switches {
        fs::write(directory.join("switches").join(format!("{name}.toml")), text)?;
    }
    if anew && !scenario.taps.is_empty() {
        fs::create_dir(directory.join("captures"))?;
    }
    if anew && !scenario.events.ports.is_empty() {
        fs::create_dir(directory.join(EVENTS))?;
    }
    Ok(())
}

fn remove_checkpoint(directory: &Path) -> io::Result<()> {
    [CHECKPOINT, INCOMPLETE].iter().try_for_each(|name| remove(fs::remove_file(directory.join(name))))
}

/// Ignores the error that there is nothing to remove.
fn remove(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// A run that is about to begin.
struct Site<'a> {
    scenario: &'a Scenario,
    list: &'a Watchlist,
    index: usize,
    threads: NonZeroUsize,
    directory: &'a Path,
    board: &'a Board<'a>,
}

impl<'a> Site<'a> {
    fn options(&self) -> Options {
        Options { threads: self.threads, ..self.scenario.options() }
    }

    /// A run from its start on.
    fn anew(&self) -> Result<(Simulation, Recorder<'a>), Failure> {
        let Self { scenario, directory, .. } = self;
        let path = directory.join(FLOWS);
        let flows = FlowLog::create(&path, scenario);
        let flows = flows.map_err(Failure::unwritten(&path))?;
        let captures = Captures::create(&directory.join("captures"), &scenario.taps, &scenario.topology);
        let to = directory.join(EVENTS);
        let events = EventLog::create(&to, scenario).map_err(Failure::unwritten(&to))?;
        let recorder = self.recorder(flows, captures.map_err(Failure::Run)?, events);
        Ok((Simulation::new(scenario.network.clone(), self.options()), recorder))
    }

    /// A run from its checkpoint on; `None` if there is none.
    fn resumed(&self, inputs: &str) -> Result<Option<(Simulation, Recorder<'a>)>, NotUsed> {
        let Self { scenario, directory, .. } = self;
        let Some(kept) = Kept::read(directory, inputs)? else { return Ok(None) };
        let (recordings, state) = kept.parts()?;
        let RecorderState { flows, series, links, captures, events, transmissions } =
            postcard::from_bytes(recordings).map_err(|_| NotUsed::Damaged)?;
        let simulation = Simulation::resume(scenario.network.clone(), self.options(), state)?;
        let flows = FlowLog::go_on(&directory.join(FLOWS), scenario, flows)?;
        let (to, topology) = (directory.join("captures"), &scenario.topology);
        let captures = Captures::go_on(&to, &scenario.taps, topology, &captures)?;
        let events = EventLog::go_on(&directory.join(EVENTS), scenario, &events)?;
        let mut recorder = self.recorder(flows, captures, events);
        recorder.series.restore(series);
        recorder.links.restore(links);
        self.board.goes_on_from(self.index, transmissions);
        Ok(Some((simulation, recorder)))
    }

    fn recorder(&self, flows: FlowLog, captures: Captures, events: EventLog) -> Recorder<'a> {
        let Self { scenario, list, index, board, .. } = *self;
        let rates = FlowRates::new(list.clone(), &scenario.groups);
        let program = |node| ports::program(&scenario.network, node);
        Recorder {
            flows,
            series: SeriesLog::new(&scenario.sampling, &scenario.topology, program, rates),
            links: LinkLog::new(ports::of_interest(scenario), scenario.until),
            captures,
            events,
            index,
            until: scenario.until,
            board,
            keeper: None,
        }
    }
}

/// The names of the nodes.
fn names(scenario: &Scenario) -> Vec<String> {
    scenario.topology.nodes.iter().map(|node| node.name.clone()).collect()
}

/// Writes the recordings, and adds their metrics.
fn finish(
    recorder: Recorder<'_>,
    scenario: &Scenario,
    outcome: Option<&Outcome>,
    directory: &Path,
    metrics: &mut Metrics,
) -> Result<(), Failure> {
    recorder.captures.finish().map_err(Failure::Run)?;
    recorder.events.finish().map_err(Failure::unwritten(&directory.join(EVENTS)))?;
    recorder.flows.finish(metrics).map_err(Failure::unwritten(&directory.join(FLOWS)))?;
    let path = directory.join("series.csv");
    let file = File::create(&path).map_err(Failure::unwritten(&path))?;
    recorder.series.write_csv(file).map_err(|error| Failure::unwritten(&path)(error.into()))?;
    if let Some(outcome) = outcome {
        recorder.series.figures(scenario.until, metrics);
        recorder.links.figures(outcome, metrics);
        let ports = ports::of_interest(scenario);
        figures::figures(outcome, &scenario.network, &ports, &names(scenario), metrics);
        if !scenario.collectives.is_empty() {
            let path = directory.join("collectives.csv");
            let file = File::create(&path).map_err(Failure::unwritten(&path))?;
            collectives::write(scenario, outcome, file, metrics).map_err(Failure::unwritten(&path))?;
        }
    }
    Ok(())
}

/// The name of an ending, and its details.
fn ending(ending: &Ending, scenario: &Scenario) -> (EndingName, Option<String>) {
    match ending {
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
    }
}

/// The results of a run. After a violation, flows and metrics mean nothing, and `transmissions` is the last count.
fn results(
    planned: &Planned,
    scenario: &Scenario,
    outcome: &Result<Outcome, Violation>,
    transmissions: u64,
    metrics: Metrics,
) -> RunSummary {
    let (ending, message) = match outcome {
        Ok(outcome) => {
            let (name, message) = ending(&outcome.ending, scenario);
            let both = [message, collectives::unfinished(scenario, outcome)];
            let both: Vec<String> = both.into_iter().flatten().collect();
            (name, (!both.is_empty()).then(|| both.join("; ")))
        }
        Err(violation) => (EndingName::Violation, Some(violation.to_string())),
    };
    let (end_ns, transmissions, flows, metrics) = match outcome {
        Ok(Outcome { end, transmissions, flows_started, flows_ended, .. }) => {
            (end.0, *transmissions, FlowCounts { started: *flows_started, ended: *flows_ended }, metrics)
        }
        Err(violation) => (violation.at.0, transmissions, FlowCounts::default(), Metrics::new()),
    };
    RunSummary { message, end_ns, transmissions, flows, ..RunSummary::of(planned, ending, metrics) }
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
