//! Standard output and standard error.

use crate::failure::Failure;
use core::fmt::Display;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// Prints a result. A reader that closes the pipe has read enough, so that is not a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        _ => Ok(()),
    }
}

/// Prints a line at once. Returns whether the reader wants more: one that closes the pipe does not.
pub fn print_line(line: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Print(error)),
    }
}

/// A value as JSON for other programs.
pub fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("the keys of all maps are strings, and no value fails to serialize") + "\n"
}

/// Prints a problem on standard error, if possible.
pub fn complain(problem: &impl Display) {
    let mut out = io::stderr().lock();
    for line in problem.to_string().lines() {
        let _ = writeln!(out, "longspan: {line}");
    }
}
