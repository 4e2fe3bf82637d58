//! `longspan events`.

mod history;
mod line;
mod utc;

use crate::ask;
use crate::cli::events::EventsArgs;
use crate::console;
use crate::failure::Failure;
use gateway::socket::{self, EventsRequest, Lines, Request, Response};
use history::History;
use serde_json::{Map, Value};

/// The number of past events that are shown before the first new one.
const SHOWN: usize = 10;
/// The kinds of events from which a history of pauses is made.
const PAUSES: [&str; 2] = ["pause", "resume"];

/// Shows events of a running gateway, or its history of pauses.
///
/// # Errors
/// [`Failure::Ask`] if no gateway answers, [`Failure::Busy`] or [`Failure::Unexpected`] if it refuses.
pub fn run(args: &EventsArgs) -> Result<(), Failure> {
    let (last, follow) = match (args.history, args.last) {
        (true, _) => (usize::MAX, false),
        (false, Some(last)) => (last, args.follow),
        (false, None) => (SHOWN, true),
    };
    let kinds = if args.history { PAUSES.map(str::to_owned).into() } else { args.kinds.clone() };
    let (ports, priorities) = (args.ports.clone(), args.priorities.clone());
    let request = Request::Events(EventsRequest { last, follow, ports, priorities, kinds });
    let mut lines = match socket::listen(&ask::path(&args.whom)?, &request)? {
        (Response::Streaming, lines) => lines,
        (other, _) => return Err(Failure::unexpected(&other)),
    };
    if args.history {
        return show_history(&mut lines, args);
    }
    while let Some(line) = lines.next_line()? {
        if line.is_empty() {
            continue;
        }
        let text = if args.json { line } else { line::shown(&object(&line)?) };
        if !console::print_line(&text)? {
            break;
        }
    }
    Ok(())
}

fn show_history(lines: &mut Lines, args: &EventsArgs) -> Result<(), Failure> {
    let mut history = History::default();
    while let Some(line) = lines.next_line()? {
        if !line.is_empty() {
            history.take(&object(&line)?);
        }
    }
    let pauses = history.finish();
    let shown = pauses.len().saturating_sub(args.last.unwrap_or(usize::MAX));
    for pause in &pauses[shown..] {
        let text = if args.json { pause.json() } else { pause.shown() };
        if !console::print_line(&text)? {
            break;
        }
    }
    Ok(())
}

/// The event in a line.
fn object(line: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::Unexpected(format!("{error} in an event")))
}
