//! Collects the problems of a text.
//!
//! The first [`MOST`] errors are kept, and as many warnings: no one reads more, and a file could have as many as it has bytes.
//! The cost of a problem does not grow with the number of problems or of lines.

use core::cell::{Cell, RefCell};
use core::ops::Range;
use std::collections::BTreeMap;

use crate::place::{Lines, Location, Place};
use crate::problem::{ConfigError, Problem, ProblemKind, Severity};

/// The most errors of a text that are kept, and the most warnings.
pub const MOST: usize = 100;

/// The problems of a text.
pub(crate) struct Problems<'a> {
    lines: Lines<'a>,
    /// Additions behind the text: the offset at which each begins, and its origin.
    additions: Vec<(usize, Location)>,
    found: RefCell<Vec<(usize, Problem)>>,
    /// Whether errors, and warnings, were left out.
    left_out: [Cell<bool>; 2],
}

impl<'a> Problems<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self::with_additions(file, text, Vec::new())
    }

    /// For a text with added values. Each addition begins at an offset beyond the text, in rising order, and is
    /// reported at its own location.
    pub fn with_additions(file: &'a str, text: &'a str, additions: Vec<(usize, Location)>) -> Self {
        Self {
            lines: Lines::new(file, text),
            additions,
            found: RefCell::default(),
            left_out: Default::default(),
        }
    }

    /// The location of `place`.
    pub fn locate(&self, place: &Place) -> Location {
        match self.addition(place.offset) {
            Some((_, location)) => location.clone(),
            None => self.lines.locate(place.offset),
        }
    }

    /// The addition at `offset`, if there is one.
    fn addition(&self, offset: usize) -> Option<&(usize, Location)> {
        self.additions.iter().rev().find(|(start, _)| *start <= offset)
    }

    /// Where the addition at `offset` begins, or `offset` in the text itself.
    fn start(&self, offset: usize) -> usize {
        self.addition(offset).map_or(offset, |(start, _)| *start)
    }

    pub fn error(&self, place: &Place, kind: impl Into<ProblemKind>) {
        self.note(place, Severity::Error, || kind.into());
    }

    /// The same, for an error that is dear to make: it is not made if it would be left out.
    pub fn error_with(&self, place: &Place, make: impl FnOnce() -> ProblemKind) {
        self.note(place, Severity::Error, make);
    }

    pub fn warning(&self, place: &Place, kind: impl Into<ProblemKind>) {
        self.note(place, Severity::Warning, || kind.into());
    }

    /// Notes a problem of a generated switch. A place gets only the first problem of each kind, because further
    /// switches would repeat it.
    pub fn of_switch(&self, place: &Place, severity: Severity, kind: ProblemKind) {
        let location = self.locate(place);
        let alike = |known: &Problem| {
            known.location == location && known.severity == severity && known.kind.same_in_switch(&kind)
        };
        if !self.found.borrow().iter().any(|(_, known)| alike(known)) {
            self.note(place, severity, || kind);
        }
    }

    /// Notes a problem, unless the same one was noted at the same place, or there are too many.
    fn note(&self, place: &Place, severity: Severity, make: impl FnOnce() -> ProblemKind) {
        if self.found.borrow().iter().filter(|(_, known)| known.severity == severity).count() >= MOST {
            return self.left_out[severity as usize].set(true);
        }
        let (start, kind) = (self.start(place.offset), make());
        let is_known = |(offset, known): &(usize, Problem)| {
            let is_here = self.start(*offset) == start && known.key == place.key;
            is_here && known.severity == severity && known.kind == kind
        };
        if !self.found.borrow().iter().any(is_known) {
            let problem = Problem { location: self.locate(place), key: place.key.clone(), severity, kind };
            self.found.borrow_mut().push((place.offset, problem));
        }
    }

    /// Reports an error for each name that appears a second time.
    pub fn refuse_second<'p>(&self, stated: impl IntoIterator<Item = (&'p Place, String)>) {
        let mut known: BTreeMap<String, &Place> = BTreeMap::new();
        for (place, what) in stated {
            match known.get(&what) {
                Some(first) => {
                    self.error_with(place, || ProblemKind::Twice { what, line: self.line(first) });
                }
                None => drop(known.insert(what, place)),
            }
        }
    }

    /// The line of `place`, from 1.
    pub fn line(&self, place: &Place) -> usize {
        self.addition(place.offset).map_or_else(|| self.lines.line_at(place.offset).0, |(_, it)| it.line)
    }

    pub fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|(_, problem)| problem.severity == Severity::Error)
    }

    /// Whether a problem was noted at `key` within `span` of the text.
    pub fn has_any_at(&self, key: &str, span: &Range<usize>) -> bool {
        self.found.borrow().iter().any(|(offset, it)| it.key == key && span.contains(offset))
    }

    /// Returns `made` with the warnings, or everything that was noted if there is an error; in the order of the text, and then
    /// what was left out.
    pub fn finish<T>(self, made: Option<T>) -> Result<(T, Vec<Problem>), ConfigError> {
        Self::finish_all([self], made)
    }

    /// The same for something that is made from several texts.
    pub fn finish_all<T, const N: usize>(
        texts: [Self; N],
        made: Option<T>,
    ) -> Result<(T, Vec<Problem>), ConfigError> {
        let valid = !texts.iter().any(Self::has_errors);
        let in_order = |text: Self| {
            let stopped = [Severity::Warning, Severity::Error].map(|severity| {
                let kind = ProblemKind::Stopped { severity, most: MOST };
                let problem = Problem { location: text.lines.whole(), key: String::new(), severity, kind };
                text.left_out[severity as usize].get().then_some(problem)
            });
            let mut found = text.found.into_inner();
            found.sort_by_key(|(offset, _)| *offset);
            found.into_iter().map(|(_, problem)| problem).chain(stopped.into_iter().flatten())
        };
        let problems: Vec<_> = texts.into_iter().flat_map(in_order).collect();
        match made {
            Some(made) if valid => Ok((made, problems)),
            _ => Err(ConfigError::Invalid { problems }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\nb = 2\n";

    fn place(offset: usize) -> Place {
        Place { key: "a".into(), offset }
    }

    fn kind(number: usize) -> ProblemKind {
        ProblemKind::Syntax(format!("problem {number}"))
    }

    #[test]
    fn the_first_100_errors_and_warnings_are_kept_and_the_rest_is_one_line() {
        let problems = Problems::new("gw.toml", TEXT);
        for number in 0..MOST {
            problems.error(&place(0), kind(number));
            problems.warning(&place(6), kind(number));
        }
        assert_eq!(problems.found.borrow().len(), 2 * MOST);
        problems.warning(&place(0), kind(MOST));
        problems.error_with(&place(0), || panic!("it is not made"));
        let Err(ConfigError::Invalid { problems }) = problems.finish(Some(())) else {
            panic!("it has errors")
        };
        let said: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said[0], "gw.toml:1:1: a: problem 0");
        assert_eq!(said[2 * MOST - 1], "gw.toml:2:1: warning: a: problem 99");
        let rest = ["gw.toml: warning: stopped after 100 warnings", "gw.toml: stopped after 100 errors"];
        assert_eq!(said[2 * MOST..], rest);
    }

    #[test]
    fn an_error_behind_a_hundred_warnings_still_is_one() {
        let problems = Problems::new("gw.toml", TEXT);
        for number in 0..=MOST {
            problems.warning(&place(0), kind(number));
        }
        assert!(!problems.has_errors());
        problems.error(&place(0), kind(0));
        assert!(problems.has_errors() && problems.finish(Some(())).is_err());
    }

    #[test]
    fn a_problem_that_is_noted_again_at_its_place_is_one() {
        let addition = |line| Location { file: "--set".into(), line, column: 0 };
        let problems =
            Problems::with_additions("gw.toml", TEXT, vec![(100, addition(0)), (200, addition(1))]);
        for offset in [0, 0, 6, 100, 150, 200] {
            problems.error(&place(offset), kind(0));
        }
        let Err(ConfigError::Invalid { problems }) = problems.finish(Some(())) else {
            panic!("it has errors")
        };
        assert_eq!(problems.len(), 4, "{problems:?}");
    }
}
