//! Collecting everything that is wrong with one text.

use core::cell::RefCell;
use core::ops::Range;
use std::collections::BTreeMap;

use crate::place::{Location, Place};
use crate::problem::{Problem, ProblemKind, Severity};

/// Collects what is wrong with one text.
pub(crate) struct Problems<'a> {
    file: &'a str,
    text: &'a str,
    /// Additions behind the text: the offset at which each begins, and the place that it comes from.
    additions: Vec<(usize, Location)>,
    found: RefCell<Vec<(usize, Problem)>>,
}

impl<'a> Problems<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self::with_additions(file, text, Vec::new())
    }

    /// Of a text to which values were added that are not in it: offsets from each addition on, in rising order
    /// and beyond the text, are at its location.
    pub fn with_additions(file: &'a str, text: &'a str, additions: Vec<(usize, Location)>) -> Self {
        Self { file, text, additions, found: RefCell::default() }
    }

    /// Where `place` is.
    pub fn locate(&self, place: &Place) -> Location {
        let addition = self.additions.iter().rev().find(|(start, _)| *start <= place.offset);
        match addition {
            Some((_, location)) => location.clone(),
            None => Location::new(self.file, self.text, place.offset),
        }
    }

    pub fn error(&self, place: &Place, kind: impl Into<ProblemKind>) {
        self.note(place, Severity::Error, kind.into());
    }

    pub fn warning(&self, place: &Place, kind: impl Into<ProblemKind>) {
        self.note(place, Severity::Warning, kind.into());
    }

    /// Notes an error or a warning about a generated switch. A place gets only the first note of each kind, because
    /// further switches would repeat it.
    pub fn of_switch(&self, place: &Place, is_error: bool, kind: ProblemKind) {
        let severity = if is_error { Severity::Error } else { Severity::Warning };
        let location = self.locate(place);
        let alike = |known: &Problem| {
            known.location == location && known.severity == severity && known.kind.same_in_switch(&kind)
        };
        if !self.found.borrow().iter().any(|(_, known)| alike(known)) {
            self.note(place, severity, kind);
        }
    }

    /// The same complaint about the same place is made once.
    fn note(&self, place: &Place, severity: Severity, kind: ProblemKind) {
        let location = self.locate(place);
        let problem = Problem { location, key: place.key.clone(), severity, kind };
        let mut found = self.found.borrow_mut();
        if !found.iter().any(|(_, known)| *known == problem) {
            found.push((place.offset, problem));
        }
    }

    /// Complains about everything that stands a second time: names in words, each with its place.
    pub fn refuse_second<'p>(&self, stated: impl IntoIterator<Item = (&'p Place, String)>) {
        let mut known: BTreeMap<String, &Place> = BTreeMap::new();
        for (place, what) in stated {
            match known.get(&what) {
                Some(first) => {
                    let line = self.line(first);
                    self.error(place, ProblemKind::Twice { what, line });
                }
                None => drop(known.insert(what, place)),
            }
        }
    }

    /// The line of `place`, from 1.
    pub fn line(&self, place: &Place) -> usize {
        self.locate(place).line
    }

    pub fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|(_, problem)| problem.severity == Severity::Error)
    }

    /// Whether something was noted at `key` in `span` of the text.
    pub fn has_any_at(&self, key: &str, span: &Range<usize>) -> bool {
        self.found.borrow().iter().any(|(offset, it)| it.key == key && span.contains(offset))
    }

    /// Everything, in the order of the text.
    pub fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(offset, _)| *offset);
        found.into_iter().map(|(_, problem)| problem).collect()
    }
}
