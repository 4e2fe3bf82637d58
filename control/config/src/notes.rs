//! Collects all problems of a text.

use core::cell::RefCell;
use core::ops::Range;
use std::collections::BTreeMap;

use crate::place::{Location, Place};
use crate::problem::{ConfigError, Problem, ProblemKind, Severity};

/// The problems of a text.
pub(crate) struct Problems<'a> {
    file: &'a str,
    text: &'a str,
    /// Additions behind the text: the offset at which each begins, and its origin.
    additions: Vec<(usize, Location)>,
    found: RefCell<Vec<(usize, Problem)>>,
}

impl<'a> Problems<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self::with_additions(file, text, Vec::new())
    }

    /// For a text with added values. Each addition begins at an offset beyond the text, in rising order, and is
    /// reported at its own location.
    pub fn with_additions(file: &'a str, text: &'a str, additions: Vec<(usize, Location)>) -> Self {
        Self { file, text, additions, found: RefCell::default() }
    }

    /// The location of `place`.
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

    /// Notes a problem of a generated switch. A place gets only the first problem of each kind, because further
    /// switches would repeat it.
    pub fn of_switch(&self, place: &Place, severity: Severity, kind: ProblemKind) {
        let location = self.locate(place);
        let alike = |known: &Problem| {
            known.location == location && known.severity == severity && known.kind.same_in_switch(&kind)
        };
        if !self.found.borrow().iter().any(|(_, known)| alike(known)) {
            self.note(place, severity, kind);
        }
    }

    /// Notes a problem, unless the same one was noted at the same place.
    fn note(&self, place: &Place, severity: Severity, kind: ProblemKind) {
        let location = self.locate(place);
        let problem = Problem { location, key: place.key.clone(), severity, kind };
        let mut found = self.found.borrow_mut();
        if !found.iter().any(|(_, known)| *known == problem) {
            found.push((place.offset, problem));
        }
    }

    /// Reports an error for each name that appears a second time.
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

    /// Whether a problem was noted at `key` within `span` of the text.
    pub fn has_any_at(&self, key: &str, span: &Range<usize>) -> bool {
        self.found.borrow().iter().any(|(offset, it)| it.key == key && span.contains(offset))
    }

    /// Returns `made` with the warnings, or everything that was noted if there is an error; in the order of the text.
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
            let mut found = text.found.into_inner();
            found.sort_by_key(|(offset, _)| *offset);
            found.into_iter().map(|(_, problem)| problem)
        };
        let problems: Vec<_> = texts.into_iter().flat_map(in_order).collect();
        match made {
            Some(made) if valid => Ok((made, problems)),
            _ => Err(ConfigError::Invalid { problems }),
        }
    }
}
