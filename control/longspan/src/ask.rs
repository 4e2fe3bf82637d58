//! `longspan show` and `longspan reload`, which ask a running gateway.

use std::path::{Path, PathBuf};

use gateway::socket::{self, Request, Response};

use crate::cli::{ReloadArgs, ShowArgs, Whom};
use crate::console;
use crate::failure::Failure;

/// The default directory of control sockets.
const SOCKETS: &str = "/run/longspan";

/// Shows one view of a gateway.
///
/// # Errors
/// [`Failure::Ask`] if no gateway answers, [`Failure::Port`] if it has no such port.
pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    let request = if args.clear { Request::ShowAndClear } else { Request::Show };
    let port = args.port.as_deref();
    match socket::ask(&path(&args.whom)?, request)? {
        Response::Shown(snapshot) if args.json => {
            console::print(&console::json(&telemetry::of_port(*snapshot, port)?))
        }
        Response::Shown(snapshot) => console::print(&telemetry::render(&snapshot, args.view, port)?),
        other => Err(Failure::unexpected(&other)),
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
fn path(whom: &Whom) -> Result<PathBuf, Failure> {
    match whom {
        Whom { socket: Some(socket), .. } => Ok(socket.clone()),
        Whom { config: Some(config), .. } => Ok(config::load(config)?.runtime.control.socket),
        Whom { socket: None, config: None } => Ok(socket::find(Path::new(SOCKETS))?),
    }
}
