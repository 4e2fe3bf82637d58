//! Standard output and standard error.

use crate::failure::Failure;
use core::fmt::Display;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// Whether a character does nothing to a terminal but show itself. Control characters start escape sequences, and
/// those that turn the direction of writing make a line look like another one.
pub fn is_harmless(character: char) -> bool {
    let turns =
        matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !character.is_control() && !turns
}

/// `text` with a question mark instead of each character that is not harmless and ends no line. Names of gateways and
/// ports, and reasons that a gateway gives, are in what is printed.
fn harmless(text: &str) -> String {
    let shown = |it: char| if is_harmless(it) || it == '\n' || it == '\t' { it } else { '?' };
    text.chars().map(shown).collect()
}

/// Prints a result. A reader that closes the pipe has read enough, so that is not a failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let (mut out, text) = (io::stdout().lock(), harmless(text));
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        _ => Ok(()),
    }
}

/// Prints a line at once. Returns whether the reader wants more: one that closes the pipe does not.
pub fn print_line(line: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", harmless(line)).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Print(error)),
    }
}

/// Adds a line to a page. Writing to a string cannot fail.
macro_rules! line {
    ($page:expr $(, $($argument:tt)*)?) => { let _ = writeln!($page $(, $($argument)*)?); };
}
pub(crate) use line;

/// A value as JSON for other programs.
pub fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("the keys of all maps are strings, and no value fails to serialize") + "\n"
}

/// Prints a problem on standard error, if possible. A line that names a place in a file begins with that, so that an
/// editor jumps to it.
pub fn complain(problem: &impl Display) {
    let mut out = io::stderr().lock();
    for line in harmless(&problem.to_string()).lines() {
        let _ = writeln!(out, "{}{line}", if begins_with_place(line) { "" } else { "longspan: " });
    }
}

/// Whether `line` begins with `file:line: ` or `file:line:column: `.
fn begins_with_place(line: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let place = line.split(": ").next().filter(|it| it.len() < line.len()).unwrap_or_default();
    place.split(':').nth(1).is_some() && place.split(':').skip(1).all(is_number) && !place.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_names_a_place_in_a_file_begins_with_it() {
        let places = ["gw.toml:3:7: port.rate: expected a rate", "a b/trace.csv:12: too few columns"];
        assert_eq!(places.map(begins_with_place), [true; 2]);
        let others = ["gw.toml: cannot be read", "1:2: 3", "dc0=a:b: no such port", ":3: x", "gw.toml:3:7"];
        assert_eq!(others.map(begins_with_place), [false, true, false, false, false]);
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_printed() {
        let text = "\u{1b}]0;title\u{7}\u{9b}2J\rdc0\u{202e}\u{7f}\n\tpörte 你好";
        assert_eq!(harmless(text), "?]0;title??2J?dc0??\n\tpörte 你好");
    }
}
