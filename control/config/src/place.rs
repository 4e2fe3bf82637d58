//! Places of values in a file.

use core::fmt;

/// A place in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or the name that the text was given.
    pub file: String,
    /// Line, from 1; zero if `file` is an argument of the command line.
    pub line: usize,
    /// Column in characters, from 1; zero if the line is zero.
    pub column: usize,
}

impl Location {
    /// The place of byte `offset` of `text`, or its end if the offset lies beyond.
    pub(crate) fn new(file: &str, text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Self { file: file.into(), line, column: before[line_start..].chars().count() + 1 }
    }

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
