//! What is said on standard output and standard error.

use crate::failure::Failure;
use core::fmt::Display;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};
use telemetry::{Snapshot, View};

/// Prints a result. Whoever closes the pipe has read enough: that is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        _ => Ok(()),
    }
}

/// A value as it is printed for programs.
pub fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("what is printed has no map with keys other than strings, and nothing that fails") + "\n"
}

/// One view of a gateway, as it is printed for people.
///
/// # Errors
/// [`Failure::Usage`] where it has no such port.
pub fn view(snapshot: &Snapshot, view: View, port: Option<&str>) -> Result<String, Failure> {
    telemetry::render(snapshot, view, port).map_err(|error| Failure::usage(error.to_string()))
}

/// A snapshot with one port alone, where one is named.
///
/// # Errors
/// [`Failure::Usage`] where it has no such port.
pub fn of_port(snapshot: Snapshot, port: Option<&str>) -> Result<Snapshot, Failure> {
    telemetry::of_port(snapshot, port).map_err(|error| Failure::usage(error.to_string()))
}

/// Says what is wrong on standard error, where it can be said.
pub fn complain(problem: &impl Display) {
    let mut out = io::stderr().lock();
    for line in problem.to_string().lines() {
        let _ = writeln!(out, "longspan: {line}");
    }
}
