//! Runs a scenario and says how fast: link transmissions per second, and what memory it took.
//!
//! `cargo run --release -p benches --example simulate_transmissions --
//! config/scenarios/leaf-spine-websearch.toml until=20ms`. Further arguments are `--set` of a scenario. Hosts
//! that the scenario gives no congestion control have DCQCN. It uses one thread, or N with `LONGSPAN_THREADS=N`. For
//! instructions per transmission, which are repeatable where times are not, run it under `valgrind --tool=callgrind`.

use config::scenario::{Override, ScenarioFile};
use core::ops::ControlFlow;
use endpoint::{CongestionControl, Dcqcn};
use simulation::{NetworkSpec, NodeKind, Observer, Options, Progress, Rounds, Simulation};
use std::env::VarError;
use std::num::NonZeroUsize;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "config/scenarios/leaf-spine-websearch.toml".to_owned());
    let overrides: Vec<Override> = arguments
        .map(|argument| match argument.split_once('=') {
            Some(("until", value)) => Override::new("scenario.until", value),
            Some((key, value)) => Override::new(key, value),
            None => Override::new(argument, "true"),
        })
        .collect();
    let mut scenario = ScenarioFile::load(path)?.build(&overrides)?;
    control_congestion(&mut scenario.network);
    let options = Options {
        seed: scenario.seed,
        until: scenario.until,
        limit: scenario.limit,
        stall: scenario.stall,
        threads: threads()?,
        ..Options::default()
    };
    let flows = scenario.flows();
    let start = std::time::Instant::now();
    let mut watched = Watched::default();
    let outcome = Simulation::new(scenario.network, options).run(flows, &mut watched)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{:?} at {} s: {} transmissions, {} events, {} of {} flows ended",
        outcome.ending,
        outcome.end,
        outcome.transmissions,
        outcome.events,
        outcome.flows_ended,
        outcome.flows_started,
    );
    println!(
        "{seconds:.2} s: {:.2} million transmissions per second, {:.1} ns each; {}",
        outcome.transmissions as f64 / seconds / 1e6,
        seconds * 1e9 / outcome.transmissions as f64,
        peak_memory(),
    );
    println!("{:?}, {} s of processors", outcome.checks, processor_seconds());
    println!("{}", watched.rounds(outcome.events));
    Ok(())
}

/// The latest progress of the run, which may be some ten thousand events old at its end.
#[derive(Default)]
struct Watched {
    rounds: Rounds,
}

impl Observer for Watched {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.rounds = progress.rounds;
        ControlFlow::Continue(())
    }
}

impl Watched {
    /// The rounds of the parts of a run with `events`, and what they could gain: all events against those of the longest
    /// parts and of single turns.
    fn rounds(&self, events: u64) -> String {
        let Rounds { rounds, longest, single_turns, waits } = self.rounds;
        if rounds + single_turns == 0 {
            return "no rounds: the network is one part".to_owned();
        }
        let gain = events as f64 / (longest + single_turns) as f64;
        format!(
            "{rounds} rounds, {waits} ended early, {single_turns} single turns; {gain:.2} times as fast at best"
        )
    }
}

/// The number of threads that `LONGSPAN_THREADS` asks for.
fn threads() -> Result<NonZeroUsize, String> {
    match std::env::var("LONGSPAN_THREADS") {
        Ok(text) => text.parse().map_err(|error| format!("LONGSPAN_THREADS={text}: {error}")),
        Err(VarError::NotPresent) => Ok(NonZeroUsize::MIN),
        Err(error) => Err(format!("LONGSPAN_THREADS: {error}")),
    }
}

/// Gives DCQCN to hosts that send as fast as they can.
fn control_congestion(network: &mut NetworkSpec) {
    for node in &mut network.nodes {
        if let NodeKind::Host(settings) = &mut node.kind {
            let settings = Arc::make_mut(settings);
            if settings.congestion_control == CongestionControl::None {
                settings.congestion_control = CongestionControl::Dcqcn(Dcqcn::default());
            }
        }
    }
}

/// The time that processors have spent on this process, where the system says it.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|it| it.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The most memory that this process has had, where the system says it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "memory unknown".to_owned(), |peak| format!("{} at most", peak.trim()))
}
