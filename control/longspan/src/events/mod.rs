//! `longspan events`.

pub mod file;
mod history;
mod line;

use crate::ask;
use crate::cli::events::EventsArgs;
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use gateway::socket::{EventsRequest, Lines, Request};
use history::History;
use serde_json::{Map, Value};

/// The number of past events that are shown before the first new one.
const SHOWN: usize = 10;
/// The kinds of events from which a history of pauses is made.
const PAUSES: [&str; 2] = ["pause", "resume"];

/// Shows events of a running gateway, or its history of pauses.
///
/// # Errors
/// [`Failure::Ask`] if no gateway answers, [`Failure::Busy`] or [`Failure::Rejected`] if it refuses, [`Failure::CutOff`] if
/// it ends while its events are followed.
pub fn run(args: &EventsArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::heard()?;
    let (last, follow) = match (args.history, args.last) {
        (true, _) => (usize::MAX, false),
        (false, Some(last)) => (last, args.follow),
        (false, None) => (SHOWN, true),
    };
    let kinds = if args.history { PAUSES.map(str::to_owned).into() } else { args.kinds.clone() };
    let (ports, priorities) = (args.ports.clone(), args.priorities.clone());
    let request = Request::Events(EventsRequest { last, follow, ports, priorities, kinds });
    let mut lines = ask::listen(&args.whom, &request)?;
    if args.history {
        return show_history(&mut lines, args);
    }
    let mut shown = 0;
    while interrupt.flow().is_continue() {
        let Some(line) = lines.next_line()? else {
            return if follow { Err(Failure::CutOff("events")) } else { tell_if_none(shown) };
        };
        if line.is_empty() {
            continue;
        }
        let text = if args.json { line } else { line::shown(&object(&line)?) };
        if !console::print_line(&text)? {
            break;
        }
        shown += 1;
    }
    Ok(())
}

/// Says beside the results that there are none.
fn tell_if_none(shown: usize) -> Result<(), Failure> {
    if shown == 0 {
        console::complain(&"no event matches");
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
            return Ok(());
        }
    }
    tell_if_none(pauses.len() - shown)
}

/// The event in a line.
fn object(line: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::Unexpected(format!("{error} in an event")))
}
