//! The captures to replay.

use super::files::Claims;
use super::ports::port_called;
use crate::cli::replay::{PortFile, ReplayArgs, SpeedArg};
use crate::failure::Failure;
use config::Gateway;
use indexmap::IndexSet;
use replay::capture::{CaptureFile, Looped, Pace, Splitter};
use replay::{Input, Side};
use std::path::Path;
use units::{BitRate, PortId};

type Source = Looped<CaptureFile>;

/// Opens the captures.
///
/// # Errors
/// [`Failure::Usage`] if a port does not exist, or a port or standard input is named twice; [`Failure::Start`] if a
/// capture cannot be opened.
pub fn open(
    args: &ReplayArgs,
    gateway: &Gateway,
    claims: &mut Claims,
) -> Result<Vec<Input<Source>>, Failure> {
    match &args.split {
        Some(file) => Ok(vec![open_split(args, file, gateway, claims)?]),
        None => open_each(args, gateway, claims),
    }
}

fn open_each(
    args: &ReplayArgs,
    gateway: &Gateway,
    claims: &mut Claims,
) -> Result<Vec<Input<Source>>, Failure> {
    let mut ports = IndexSet::new();
    for PortFile { port: name, .. } in &args.inputs {
        if !ports.insert(port_called(gateway, name)?) {
            return Err(Failure::usage(format!(
                "--in names port {name} twice; merge the captures first, for example with mergecap"
            )));
        }
    }
    if args.inputs.iter().filter(|input| is_stdin(&input.file)).count() > 1 {
        return Err(Failure::usage("only one port can read standard input (-)"));
    }
    let inputs = args.inputs.iter().zip(ports);
    let inputs = inputs.map(|(input, port)| {
        claims.read(&input.file, format!("the input of port {}", input.port));
        let pace = pace(args.speed, gateway.program.port(port).rate);
        Ok(Input { source: open_file(args, &input.file)?, pace, side: Side::Port(port) })
    });
    inputs.collect()
}

fn open_split(
    args: &ReplayArgs,
    file: &Path,
    gateway: &Gateway,
    claims: &mut Claims,
) -> Result<Input<Source>, Failure> {
    let mut rules = Vec::new();
    for from in &args.from {
        let port = port_called(gateway, &from.port)?;
        rules.extend(from.sources.iter().map(|source| (source.clone(), port)));
    }
    // One stream feeds several links. The rate of the slowest overruns none of them.
    let rate_of = |port: PortId| gateway.program.port(port).rate;
    let rates = rules.iter().map(|(_, port)| rate_of(*port));
    let Some(slowest) = rates.min() else {
        return Err(Failure::usage("--split needs --from, for example --from dc0=10.0.0.0/8"));
    };
    claims.read(file, "the capture that is split");
    let source = open_file(args, file)?;
    Ok(Input { source, pace: pace(args.speed, slowest), side: Side::Split(Splitter::new(rules)) })
}

fn open_file(args: &ReplayArgs, file: &Path) -> Result<Source, Failure> {
    Looped::open(file, args.loops).map_err(Failure::Start)
}

fn pace(speed: SpeedArg, rate: BitRate) -> Pace {
    match speed {
        SpeedArg::Times(speed) if speed.is_one() => Pace::AsCaptured,
        SpeedArg::Times(speed) => Pace::Scaled(speed),
        SpeedArg::LineRate => Pace::LineRate(rate),
    }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// The total length of all captures and loops; `None` if one of them is a pipe.
pub fn total_bytes(args: &ReplayArgs) -> Option<u64> {
    let files = args.inputs.iter().map(|input| &input.file).chain(&args.split);
    let lengths = files.map(|file| {
        let metadata = std::fs::metadata(file).ok()?;
        (metadata.is_file() && !is_stdin(file)).then_some(metadata.len())
    });
    let once: u64 = lengths.sum::<Option<u64>>()?;
    Some(once.saturating_mul(u64::from(args.loops.get())))
}
