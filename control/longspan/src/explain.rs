//! `longspan explain`, and `longspan show roce`: two snapshots, and what follows from them.

use crate::ask::{around, look, path};
use crate::cli::ask::ShowArgs;
use crate::cli::explain::ExplainArgs;
use crate::console;
use crate::failure::Failure;
use gateway::socket::Request;
use std::path::Path;
use telemetry::health::{self, Health};
use telemetry::{Period, Snapshot, explain};
use units::Interval;

/// Explains what a port does.
///
/// # Errors
/// [`Failure::Ask`] if no gateway answers, [`Failure::Port`] if it has no such port, [`Failure::Restarted`] if it starts
/// within the interval.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let interval = (!args.since_start).then_some(args.interval);
    let (before, now) = looks(&path(&args.whom)?, interval, Request::Show)?;
    let explanation = explain::explain(&period(before.as_ref(), &now)?, &args.port)?;
    console::print(&if args.json { console::json(&explanation) } else { explain::render(&explanation) })
}

/// Shows the health of the lossless classes.
///
/// # Errors
/// As [`run`], and [`Failure::Health`] if a class is not healthy.
pub fn roce(args: &ShowArgs) -> Result<(), Failure> {
    let request = if args.clear { Request::ShowAndClear } else { Request::Show };
    let (before, now) = looks(&path(&args.whom)?, args.interval, request)?;
    telemetry::has_port(&now, args.port.as_deref())?;
    let health = Health::of(&period(before.as_ref(), &now)?, args.port.as_deref());
    console::print(&if args.json { console::json(&health) } else { health::render(&health) })?;
    match health.verdict {
        health::HealthVerdict::Healthy => Ok(()),
        verdict => Err(Failure::Health(verdict)),
    }
}

/// The snapshot that `request` asks for, and one that was taken `interval` earlier, if there is an interval.
fn looks(
    socket: &Path,
    interval: Option<Interval>,
    request: Request,
) -> Result<(Option<Snapshot>, Snapshot), Failure> {
    match interval {
        Some(interval) => around(socket, interval, request).map(|(before, now)| (Some(before), now)),
        None => look(socket, request).map(|now| (None, now)),
    }
}

fn period<'a>(before: Option<&'a Snapshot>, now: &'a Snapshot) -> Result<Period<'a>, Failure> {
    match before {
        Some(before) => Ok(Period::between(before, now)?),
        None => Ok(Period::since_start(now)),
    }
}
