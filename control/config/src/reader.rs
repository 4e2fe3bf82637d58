//! Reading TOML tables, with every problem noted and its place kept.
//!
//! A derived deserializer stops at the first error and forgets the key's path. Here reading goes
//! on, so that one run names all that is wrong, and the keys that a section is asked for are the
//! keys that it has: schema and complaint about an unknown key cannot drift apart.

use core::cell::RefCell;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Location, Problem, ProblemKind, Severity, nearest};
use crate::value::{Value, described};

/// Where something stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The key with its tables.
    pub key: String,
    /// Byte offset in the text.
    pub offset: usize,
}

/// A value and where it stands.
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

/// Collects what is wrong with one text.
pub(crate) struct Problems<'a> {
    file: &'a str,
    text: &'a str,
    /// What was put in after the text, from which offset on, and where it comes from.
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

    /// What is wrong with a generated switch, or may be. Only the first complaint of its kind about the same
    /// place is made: the next switches would be told the same.
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

    /// The line of `place`, from 1.
    pub fn line(&self, place: &Place) -> usize {
        self.locate(place).line
    }

    pub fn has_errors(&self) -> bool {
        self.found.borrow().iter().any(|(_, problem)| problem.severity == Severity::Error)
    }

    /// Everything, in the order of the text.
    pub fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(offset, _)| *offset);
        found.into_iter().map(|(_, problem)| problem).collect()
    }
}

/// A table that is being read.
pub(crate) struct Section<'a, 'i> {
    table: &'a DeTable<'i>,
    /// Where it begins, and its path.
    pub place: Place,
    pub problems: &'a Problems<'a>,
    asked: Vec<&'static str>,
    /// Whether somebody else judges the keys that nobody asked for.
    open: bool,
}

impl<'a, 'i> Section<'a, 'i> {
    /// The whole document.
    pub fn document(table: &'a DeTable<'i>, problems: &'a Problems<'a>) -> Self {
        let place = Place { key: String::new(), offset: 0 };
        Self { table, place, problems, asked: Vec::new(), open: false }
    }

    /// What nobody asked for before, with names; no such key is an error.
    pub fn rest(&mut self) -> Vec<(&'a str, Place, &'a Spanned<DeValue<'i>>)> {
        self.open = true;
        let entries = self.table.iter().map(|(name, value)| (name.get_ref().as_ref(), name, value));
        let unasked = entries.filter(|(name, ..)| !self.asked.contains(name));
        unasked.map(|(name, key, value)| (name, self.place_of(name, key.span().start), value)).collect()
    }

    /// Reads the table at `key` of which every key must be known to `read`.
    pub fn table<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section<'a, 'i>) -> T) -> Option<T> {
        let value = self.find(key)?;
        self.section(key, value).map(|section| section.read(read))
    }

    /// Reads each table of the array at `key`.
    pub fn tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'a, 'i>) -> T,
    ) -> Option<Vec<T>> {
        let value = self.find(key)?;
        let DeValue::Array(elements) = value.get_ref() else {
            self.wrong_type(key, value, "an array of tables");
            return None;
        };
        let sections = elements.iter().filter_map(|element| self.section(key, element));
        Some(sections.map(|section| section.read(&mut read)).collect())
    }

    /// Reads the table at `key`, whose keys are names that the writer chose.
    pub fn named<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'a, 'i>) -> T,
    ) -> Vec<(String, T)> {
        let entries = self.entries(key);
        let sections = entries.into_iter().filter_map(|(name, place, value)| {
            let DeValue::Table(table) = value else {
                let kind = ProblemKind::WrongType { got: described(value), want: "a table" };
                self.problems.error(&place, kind);
                return None;
            };
            let section = Section { table, place, problems: self.problems, asked: Vec::new(), open: false };
            Some((name.to_owned(), section))
        });
        sections.map(|(name, section)| (name, section.read(&mut read))).collect()
    }

    /// The entries of the table at `key`, whose keys are free; nothing where it is absent.
    pub fn entries(&mut self, key: &'static str) -> Vec<(&'a str, Place, &'a DeValue<'i>)> {
        let Some(value) = self.find(key) else { return Vec::new() };
        let Some(section) = self.section(key, value) else { return Vec::new() };
        let entries = section.table.iter().map(|(name, value)| {
            let place = section.place_of(name.get_ref(), value.span().start);
            (name.get_ref().as_ref(), place, value.get_ref())
        });
        entries.collect()
    }

    /// The value at `key`, if it is there and valid.
    pub fn optional<T: Value>(&mut self, key: &'static str) -> Option<At<T>> {
        let value = self.find(key)?;
        self.value(key, value)
    }

    /// The value at `key`, if it is valid; that it is absent is an error.
    pub fn required<T: Value>(&mut self, key: &'static str, example: &'static str) -> Option<At<T>> {
        self.expect(key, example);
        self.optional(key)
    }

    /// Complains where `key` is absent.
    pub fn expect(&self, key: &str, example: &'static str) {
        if !self.contains(key) {
            let place = self.place_of(key, self.place.offset);
            self.problems.error(&place, ProblemKind::Missing { example });
        }
    }

    /// The valid values of the array at `key`.
    pub fn list<T: Value>(&mut self, key: &'static str) -> Option<At<Vec<At<T>>>> {
        let value = self.find(key)?;
        let DeValue::Array(elements) = value.get_ref() else {
            self.wrong_type(key, value, T::LIST);
            return None;
        };
        let values = elements.iter().filter_map(|element| self.value(key, element)).collect();
        Some(At { value: values, place: self.place_of(key, value.span().start) })
    }

    /// The array at `key`; that it is absent is an error.
    pub fn required_list<T: Value>(
        &mut self,
        key: &'static str,
        example: &'static str,
    ) -> Option<At<Vec<At<T>>>> {
        self.expect(key, example);
        self.list(key)
    }

    /// Whether there is anything at `key`.
    pub fn contains(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether there is a value at `key` that is no table.
    pub fn is_single(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| !value.get_ref().is_table())
    }

    fn read<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let value = read(&mut self);
        self.finish();
        value
    }

    /// Complains about every key that nobody asked for.
    pub fn finish(&self) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !self.open && !self.asked.contains(&name) {
                let nearest = nearest(name, self.asked.iter().copied());
                let kind = ProblemKind::UnknownKey { nearest, valid: self.asked.join(", ") };
                self.problems.error(&self.place_of(name, key.span().start), kind);
            }
        }
    }

    fn find(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'i>>> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.table.get(key)
    }

    fn value<T: Value>(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<At<T>> {
        let place = self.place_of(key, value.span().start);
        match T::read(value.get_ref()) {
            Ok(value) => Some(At { value, place }),
            Err(kind) => {
                self.problems.error(&place, kind);
                None
            }
        }
    }

    fn section(&self, key: &str, value: &'a Spanned<DeValue<'i>>) -> Option<Section<'a, 'i>> {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_type(key, value, "a table");
            return None;
        };
        let place = self.place_of(key, value.span().start);
        Some(Section { table, place, problems: self.problems, asked: Vec::new(), open: false })
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, want: &'static str) {
        let place = self.place_of(key, value.span().start);
        self.problems.error(&place, ProblemKind::WrongType { got: described(value.get_ref()), want });
    }

    /// The place of the value at `key`, which is there.
    pub fn place_of_key(&self, key: &str) -> Place {
        let offset = self.table.get(key).map_or(self.place.offset, |value| value.span().start);
        self.place_of(key, offset)
    }

    /// The place of `key` in this section.
    pub fn place_of(&self, key: &str, offset: usize) -> Place {
        let path = &self.place.key;
        let key = if path.is_empty() { key.into() } else { format!("{path}.{key}") };
        Place { key, offset }
    }
}
