//! Reads values one after the other from the files, which are lists of words.

use core::fmt::Display;
use core::ops::RangeInclusive;
use core::str::FromStr;

use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::ProblemKind;
use crate::value::in_words;

/// Maximum number of flows or hosts that are reported for one kind of error.
pub(super) const REPORTED: usize = 100;

/// The words of `text`, each with its offset.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let places = text.split_inclusive(char::is_whitespace).map(move |piece| {
        let start = next;
        next += piece.len();
        (start, piece.trim_end())
    });
    places.filter(|(_, word)| !word.is_empty())
}

/// Reads values from words, and notes the first problem.
pub(super) struct Reader<'a, I: Iterator> {
    words: I,
    problems: &'a Problems<'a>,
    /// The offset at which the words end.
    end: usize,
}

impl<'a, 't, I: Iterator<Item = (usize, &'t str)>> Reader<'a, I> {
    /// Reads `words`, which end at the offset `end`.
    pub fn new(words: I, end: usize, problems: &'a Problems<'a>) -> Self {
        Self { words, problems, end }
    }

    /// The next value, by `parse`. Without a word, or if `parse` refuses it, notes an error at `key`.
    pub fn value<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, ProblemKind>,
    ) -> Option<At<T>> {
        let next = self.words.next();
        let place = Place { key: key.into(), offset: next.map_or(self.end, |(offset, _)| offset) };
        let parsed = next.map_or_else(|| Err(ProblemKind::Ended), |(_, word)| parse(word));
        match parsed {
            Ok(value) => Some(At { value, place }),
            Err(kind) => {
                self.problems.error(&place, kind);
                None
            }
        }
    }

    /// Notes an error at `key` if a number stands behind the last value: there are more values than were asked for. Other
    /// text is a legend.
    pub fn expect_no_number(&mut self, key: &str) -> Option<()> {
        match self.words.next() {
            Some((offset, word)) if word.parse::<f64>().is_ok() => {
                let want = "a legend behind the last row; there are more columns or rows than stated";
                let kind = ProblemKind::Malformed { got: word.chars().take(40).collect(), want };
                self.problems.error(&Place { key: key.into(), offset }, kind);
                None
            }
            _ => Some(()),
        }
    }

    /// The next value, a number in `range`.
    pub fn number<T: Copy + FromStr + PartialOrd + Display + Default>(
        &mut self,
        key: &str,
        range: RangeInclusive<T>,
    ) -> Option<At<T>> {
        self.value(key, |word| number(word, &range))
    }
}

/// `word` as a number in `range`.
pub(super) fn number<T: Copy + FromStr + PartialOrd + Display + Default>(
    word: &str,
    range: &RangeInclusive<T>,
) -> Result<T, ProblemKind> {
    let number = word.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| ProblemKind::out_of_range(short(word), in_words(range)))
}

/// The longest time, in nanoseconds: an hour.
pub(super) const HOUR: f64 = 3.6e12;

/// `word` as a time in `unit` nanoseconds, up to an hour.
pub(super) fn time(word: &str, unit: f64) -> Result<u64, ProblemKind> {
    let most = HOUR / unit;
    // At most 3.6e12 nanoseconds, so the cast is exact.
    number(word, &(0.0..=most)).map(|time: f64| (time * unit).round() as u64)
}

/// A word as a message shows it.
pub(super) fn short(word: &str) -> String {
    let shown: String = word.chars().take(40).collect();
    if shown.len() < word.len() { format!("\"{shown}...\"") } else { format!("\"{word}\"") }
}
