//! Reading TOML tables, with every problem noted and its place kept.
//!
//! A derived deserializer stops at the first error and forgets the key's path. Here reading goes
//! on, so that one run names all that is wrong, and the keys that a section is asked for are the
//! keys that it has: schema and complaint about an unknown key cannot drift apart.

use core::fmt::Display;
use core::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::{ProblemKind, nearest};
use crate::value::{Value, Written, described, in_words};

/// A table that is being read.
pub(crate) struct Section<'a, 'i> {
    table: &'a DeTable<'i>,
    /// Where it begins, and its path.
    pub place: Place,
    pub problems: &'a Problems<'a>,
    asked: Vec<&'static str>,
    /// Whether somebody else judges the keys that nobody asked for.
    open: bool,
    /// Whether it is a profile, which lacks some keys.
    pub is_profile: bool,
}

impl<'a, 'i> Section<'a, 'i> {
    /// The whole document.
    pub fn document(table: &'a DeTable<'i>, problems: &'a Problems<'a>) -> Self {
        Self::new(table, Place::default(), problems)
    }

    fn new(table: &'a DeTable<'i>, place: Place, problems: &'a Problems<'a>) -> Self {
        Self { table, place, problems, asked: Vec::new(), open: false, is_profile: false }
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
            Some((name.to_owned(), Section::new(table, place, self.problems)))
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

    /// Whether `at` is in `range`; complains where it is not.
    pub fn is_within<T: PartialOrd + Display + Default>(
        &self,
        at: &At<T>,
        range: &RangeInclusive<T>,
    ) -> bool {
        let valid = range.contains(&at.value);
        if !valid {
            self.problems.error(&at.place, ProblemKind::out_of_range(&at.value, in_words(range)));
        }
        valid
    }

    /// Complains where `key` stands beside the first of `others` that is there.
    pub fn refuse_beside(&self, key: &str, others: &[&'static str]) {
        let others = others.iter().map(|other| other.trim_start_matches("r#"));
        if let Some(other) = others.into_iter().find(|other| self.contains(other) && self.contains(key)) {
            self.problems.error(&self.place_of_key(key), ProblemKind::Conflict { other });
        }
    }

    /// Complains where `key` stands without `other`.
    pub fn refuse_without(&self, key: &str, other: &'static str) {
        if self.contains(key) && !self.contains(other) {
            self.problems.error(&self.place_of_key(key), ProblemKind::Alone { other });
        }
    }

    /// Complains where `key` is there and `refused` says that `word`, which holds at `selector`, does not allow it.
    pub fn refuse_with<T: Written>(&self, key: &str, selector: &str, word: T, refused: impl Fn(T) -> bool) {
        let with = format!("{selector} = {}", word.write());
        if self.contains(key) && refused(word) {
            self.problems.error(&self.place_of_key(key), ProblemKind::Meaningless { with });
        }
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
        Some(Section::new(table, place, self.problems))
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
