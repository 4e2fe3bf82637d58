//! `longspan explain`, and `longspan show roce`: two snapshots, and what follows from them.

use crate::ask::{look, path};
use crate::cli::ask::ShowArgs;
use crate::cli::explain::ExplainArgs;
use crate::console;
use crate::failure::Failure;
use gateway::socket::Request;
use std::path::Path;
use std::thread;
use std::time::Duration;
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
    let (before, now) = around(&path(&args.whom)?, interval, Request::Show)?;
    let explanation = explain::explain(&period(before.as_ref(), &now)?, &args.port)?;
    console::print(&if args.json { console::json(&explanation) } else { explain::render(&explanation) })
}

/// Shows the health of the lossless classes.
///
/// # Errors
/// As [`run`], and [`Failure::Health`] if a class is not healthy.
pub fn roce(args: &ShowArgs) -> Result<(), Failure> {
    let request = if args.clear { Request::ShowAndClear } else { Request::Show };
    let (before, now) = around(&path(&args.whom)?, args.interval, request)?;
    telemetry::has_port(&now, args.port.as_deref())?;
    let health = Health::of(&period(before.as_ref(), &now)?, args.port.as_deref());
    console::print(&if args.json { console::json(&health) } else { health::render(&health) })?;
    match health.verdict {
        health::Verdict::Healthy => Ok(()),
        verdict => Err(Failure::Health(verdict)),
    }
}

/// The snapshot that `request` asks for, and one that was taken `interval` earlier.
fn around(
    socket: &Path,
    interval: Option<Interval>,
    request: Request,
) -> Result<(Option<Snapshot>, Snapshot), Failure> {
    let Some(interval) = interval else { return Ok((None, look(socket, request)?)) };
    let before = look(socket, Request::Show)?;
    thread::sleep(Duration::from_nanos(interval.0));
    Ok((Some(before), look(socket, request)?))
}

fn period<'a>(before: Option<&'a Snapshot>, now: &'a Snapshot) -> Result<Period<'a>, Failure> {
    match before {
        Some(before) => Ok(Period::between(before, now)?),
        None => Ok(Period::since_start(now)),
    }
}
