//! What is said on standard output and standard error.

use crate::failure::Failure;
use core::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Prints a result. Whoever closes the pipe has read enough: that is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        _ => Ok(()),
    }
}

/// Says what is wrong on standard error, where it can be said.
pub fn complain(problem: &impl Display) {
    let mut out = io::stderr().lock();
    for line in problem.to_string().lines() {
        let _ = writeln!(out, "longspan: {line}");
    }
}
