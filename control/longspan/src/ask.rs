//! `longspan show` and `longspan reload`, which ask a running gateway.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use gateway::socket::{self, Lines, Request, Response};
use telemetry::{Snapshot, View};
use units::Interval;

use crate::cli::ask::{ReloadArgs, ShowArgs, Whom};
use crate::console;
use crate::failure::Failure;

/// The default directory of control sockets.
const SOCKETS: &str = "/run/longspan";

/// Shows one view of a gateway, other than `roce`.
///
/// # Errors
/// [`Failure::Usage`] for an interval with another view than `runtime`, [`Failure::Ask`] if no gateway answers,
/// [`Failure::Port`] if it has no such port, [`Failure::Restarted`] if it starts within the interval.
pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    if args.interval.is_some() && args.view != View::Runtime {
        return Err(Failure::usage("--interval is for the views runtime and roce"));
    }
    let socket = path(&args.whom)?;
    let request = if args.clear { Request::ShowAndClear } else { Request::Show };
    let snapshot = match args.interval {
        Some(interval) => {
            let (before, now) = around(&socket, interval, request)?;
            now.since(&before)?
        }
        None => look(&socket, request)?,
    };
    let port = args.port.as_deref();
    console::print(&if args.json {
        console::json(&telemetry::of_port(snapshot, port)?)
    } else {
        telemetry::render(&snapshot, args.view, port)?
    })
}

/// Two snapshots `interval` apart. `request` asks for the later one, after which the interval is over.
///
/// # Errors
/// As [`look`].
pub fn around(socket: &Path, interval: Interval, request: Request) -> Result<(Snapshot, Snapshot), Failure> {
    let before = look(socket, Request::Show)?;
    thread::sleep(Duration::from_nanos(interval.0));
    Ok((before, look(socket, request)?))
}

/// The snapshot that `request` asks for.
///
/// # Errors
/// [`Failure::Ask`] if no gateway answers, [`Failure::Busy`] and [`Failure::Unexpected`] if it answers otherwise.
pub fn look(socket: &Path, request: Request) -> Result<Snapshot, Failure> {
    match socket::ask(socket, request)? {
        Response::Shown(snapshot) => Ok(*snapshot),
        other => Err(Failure::unexpected(&other)),
    }
}

/// The lines that the selected gateway streams in answer to `request`.
///
/// # Errors
/// As [`path`], and [`Failure::Busy`] or [`Failure::Rejected`] if it refuses.
pub fn listen(whom: &Whom, request: &Request) -> Result<Lines, Failure> {
    match socket::listen(&path(whom)?, request)? {
        (Response::Streaming, lines) => Ok(lines),
        (other, _) => Err(Failure::unexpected(&other)),
    }
}

/// Makes a gateway reload its configuration.
///
/// # Errors
/// [`Failure::Ask`] if no gateway answers, [`Failure::Refused`] if it refuses the configuration.
pub fn reload(args: &ReloadArgs) -> Result<(), Failure> {
    let response = socket::ask(&path(&args.whom)?, Request::Reload)?;
    if args.json {
        console::print(&console::json(&response))?;
    }
    match response {
        Response::Reloaded(_) if args.json => Ok(()),
        Response::Reloaded(changes) if changes.is_empty() => console::print("no changes\n"),
        Response::Reloaded(changes) => console::print(&(changes.join("\n") + "\n")),
        Response::Refused(reasons) => Err(Failure::Refused(reasons)),
        other => Err(Failure::unexpected(&other)),
    }
}

/// The control socket of the selected gateway.
///
/// # Errors
/// [`Failure::Config`] if the configuration that names it is invalid, [`Failure::Ask`] if there is not exactly one socket.
pub fn path(whom: &Whom) -> Result<PathBuf, Failure> {
    match whom {
        Whom { socket: Some(socket), .. } => Ok(socket.clone()),
        Whom { config: Some(config), .. } => Ok(config::load(config)?.runtime.control.socket),
        Whom { socket: None, config: None } => Ok(socket::find(Path::new(SOCKETS))?),
    }
}
