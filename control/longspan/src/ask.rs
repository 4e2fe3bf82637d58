//! `longspan show` and `longspan reload`: a gateway that runs is asked.

use std::path::{Path, PathBuf};

use gateway::socket::{self, Request, Response};

use crate::cli::{ReloadArgs, ShowArgs, Whom};
use crate::console;
use crate::failure::Failure;

/// Where gateways have their sockets by default.
const SOCKETS: &str = "/run/longspan";

/// Shows one view of a gateway.
///
/// # Errors
/// [`Failure::Ask`] where no gateway answers, [`Failure::Usage`] where it has no such port.
pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    let request = if args.clear { Request::ShowAndClear } else { Request::Show };
    match socket::ask(&path(&args.whom)?, request)? {
        Response::Shown(snapshot) if args.json => {
            console::print(&console::json(&console::of_port(*snapshot, args.port.as_deref())?))
        }
        Response::Shown(snapshot) => {
            console::print(&console::view(&snapshot, args.view.into(), args.port.as_deref())?)
        }
        other => Err(Failure::unexpected(&other)),
    }
}

/// Has a gateway read its configuration again.
///
/// # Errors
/// [`Failure::Ask`] where no gateway answers, [`Failure::Refused`] where the configuration cannot be put in
/// force.
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

/// The socket of the gateway that is meant.
fn path(whom: &Whom) -> Result<PathBuf, Failure> {
    match whom {
        Whom { socket: Some(socket), .. } => Ok(socket.clone()),
        Whom { config: Some(config), .. } => Ok(config::load(config)?.runtime.control.socket),
        Whom { socket: None, config: None } => Ok(socket::find(Path::new(SOCKETS))?),
    }
}
