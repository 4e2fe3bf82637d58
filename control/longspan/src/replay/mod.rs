//! `longspan replay`.

mod events;
mod faults;
mod files;
mod inputs;
mod outputs;
mod plot;
mod ports;
mod summary;

use crate::cli::replay::ReplayArgs;
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress;
use events::Recorded;
use files::Claims;
use outputs::Destinations;
use replay::report::Report;
use replay::series::Sampling;
use replay::{Outcome, Replay};
use std::time::Instant;
use units::human::thousands;

/// The progress of captures whose total length is known.
const MEASURED: &str = "{bar:40} {percent:>3}%  {msg} frames  {bytes_per_sec}  {eta} left";
/// The progress of captures from a pipe.
const UNMEASURED: &str = "{spinner} {msg} frames  {bytes}  {bytes_per_sec}";

/// Replays captures through a gateway.
///
/// # Errors
/// All [`Failure`]s except those of `check` and `simulate`. If a capture breaks while it is read, the output for the
/// frames before that point is written first.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::heard()?;
    let gateway = config::load(&args.config)?;
    let mut claims = Claims::default();
    claims.read(&args.config, "the configuration");
    let faults = faults::of_links(&args.faults, &gateway)?;
    let sources = inputs::open(args, &gateway, &mut claims)?;
    let destinations = Destinations::new(args, &gateway, &mut claims)?;
    if let Some(path) = &args.events {
        claims.write(path, "the events")?;
    }
    let replay = Replay::new(gateway.program.clone(), sources).map_err(Failure::Start)?;
    let mut replay =
        replay.with_lanes(gateway.runtime.dpdk.lanes).expect("a configuration with lanes is checked");
    replay = replay.fault(faults);
    if destinations.want_series() {
        replay = replay.sample(Sampling { interval: args.sample, rows: args.rows });
    }
    let outputs = destinations.create(&claims)?;
    let recorded = args.events.as_ref().map(|path| Recorded::create(path, &gateway)).transpose()?;
    if let Some(recorded) = &recorded {
        replay = replay.record_events(recorded.sink());
    }
    gateway.warnings.iter().for_each(console::complain);

    let total_bytes = inputs::total_bytes(args);
    let bar = progress::bar(total_bytes, if total_bytes.is_some() { MEASURED } else { UNMEASURED });
    let begun = Instant::now();
    let outcome = replay.run(&gateway.name, outputs, |progress| {
        bar.set_message(thousands(progress.frames));
        bar.set_position(progress.bytes);
        interrupt.flow()
    });
    bar.finish_and_clear();
    let Outcome { report, input_error, interrupted, missed_faults, series } =
        outcome.map_err(Failure::Run)?;

    if missed_faults {
        console::complain(
            &"warning: a --fault begins after all frames have left; its times count from the first frame",
        );
    }
    recorded.map(Recorded::finish).transpose()?;
    destinations.write_report(&report)?;
    if let Some(series) = &series {
        destinations.write_series(series, &gateway)?;
    }
    if args.json {
        console::print(&report.to_json())?;
    } else {
        console::print(&summary::page(&report, begun.elapsed(), &destinations))?;
    }
    if let Some(error) = input_error {
        return Err(Failure::Run(error));
    }
    if interrupted {
        return Err(Failure::Interrupted { frames: report.input.read.frames });
    }
    if report.conservation.holds { Ok(()) } else { Err(not_conserved(&report)) }
}

fn not_conserved(report: &Report) -> Failure {
    let broken = report.conservation.ports.iter().filter(|port| !port.holds);
    let names: Vec<_> = broken.map(|port| port.port.as_str()).collect();
    Failure::NotConserved { ports: names.join(", ") }
}
