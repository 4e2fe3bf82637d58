//! Places of values in a file.

use core::cell::OnceCell;
use core::fmt;
use core::iter;

/// A place in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or the name that the text was given.
    pub file: String,
    /// Line, from 1; zero if `file` is an argument of the command line, or is meant as a whole.
    pub line: usize,
    /// Column in characters, from 1; zero if the line is zero.
    pub column: usize,
}

impl Location {
    /// The byte of `text` that is there; its end where there is none.
    pub(crate) fn offset_in(&self, text: &str) -> usize {
        let before: usize = text.split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let line = text.get(before..).unwrap_or_default();
        let within =
            line.char_indices().nth(self.column.saturating_sub(1)).map_or(line.len(), |(index, _)| index);
        before + within
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// A text whose lines are counted once, however many places in it are located.
pub(crate) struct Lines<'a> {
    file: &'a str,
    text: &'a str,
    /// The byte at which each line starts, once it is known.
    starts: OnceCell<Vec<usize>>,
}

impl<'a> Lines<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, starts: OnceCell::new() }
    }

    /// The place of byte `offset`, or the end of the text if the offset lies beyond.
    pub fn locate(&self, offset: usize) -> Location {
        let end = self.text.floor_char_boundary(offset);
        let (line, start) = self.line_at(end);
        Location { file: self.file.into(), line, column: self.text[start..end].chars().count() + 1 }
    }

    /// The place of the text as a whole.
    pub fn whole(&self) -> Location {
        Location { file: self.file.into(), line: 0, column: 0 }
    }

    /// The line of byte `offset`, from 1, and the byte at which it starts.
    pub fn line_at(&self, offset: usize) -> (usize, usize) {
        let starts = self.starts.get_or_init(|| {
            let ends = self.text.match_indices('\n').map(|(newline, _)| newline + 1);
            iter::once(0).chain(ends).collect()
        });
        let line = starts.partition_point(|start| *start <= offset);
        (line, starts[line - 1])
    }
}

/// The place of a key or value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    /// The key with its tables, separated by dots.
    pub key: String,
    /// Byte offset in the text.
    pub offset: usize,
}

impl Place {
    /// The place of `key` in this table, at the offset of the table.
    pub fn of_key(&self, key: &str) -> Self {
        Self { key: format!("{}.{key}", self.key), offset: self.offset }
    }
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct At<T> {
    pub value: T,
    pub place: Place,
}

impl<T> At<T> {
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> At<U> {
        At { value: convert(self.value), place: self.place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_wherever_the_text_is_asked_for_it() {
        let lines = Lines::new("a.toml", "one\n\u{e9}\u{e9}x\n\nlast");
        let at = |offset| {
            let Location { line, column, .. } = lines.locate(offset);
            (line, column)
        };
        // Within the second character, too.
        let found = [0, 3, 4, 5, 6, 8, 9, 10, 13, 99].map(at);
        assert_eq!(found, [(1, 1), (1, 4), (2, 1), (2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (4, 3), (4, 5)]);
        assert_eq!([0, 4, 10, 14].map(|offset| lines.line_at(offset).0), [1, 2, 3, 4]);
        let nothing = Lines::new("a.toml", "");
        assert_eq!((nothing.locate(7).line, nothing.locate(7).column), (1, 1));
    }
}
