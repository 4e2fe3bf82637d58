//! Reads TOML tables, and notes every problem with its place.
//!
//! A derived deserializer stops at the first error and forgets the path of the key. Here reading goes on, so one run
//! reports all problems. A section knows the keys that it was asked for, so unknown keys are reported against the
//! schema itself.

use core::fmt::Display;
use core::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use units::Priority;

use crate::notes::Problems;
use crate::place::{At, Place};
use crate::problem::{ProblemKind, nearest};
use crate::value::{Value, Written, in_words, wrong_type};

/// A table that is being read.
pub(crate) struct Section<'a, 'i> {
    table: &'a DeTable<'i>,
    /// The path of the table, and where it begins.
    pub place: Place,
    pub problems: &'a Problems<'a>,
    asked: Vec<&'static str>,
    /// Whether keys that no one asked for are left to another reader.
    open: bool,
    /// Whether it is a profile, which cannot have all keys.
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

    /// Returns all keys that were not asked for, with their names. None of them is an error from now on.
    pub fn rest(&mut self) -> Vec<(&'a str, Place, &'a Spanned<DeValue<'i>>)> {
        self.open = true;
        let entries = self.table.iter().map(|(name, value)| (name.get_ref().as_ref(), name, value));
        let unasked = entries.filter(|(name, ..)| !self.asked.contains(name));
        unasked.map(|(name, key, value)| (name, self.place_of(name, key.span().start), value)).collect()
    }

    /// Reads the table at `key`. A key that `read` does not ask for is an error.
    pub fn table<T>(&mut self, key: &'static str, read: impl FnOnce(&mut Section<'a, 'i>) -> T) -> Option<T> {
        let (place, value) = self.find(key)?;
        self.section(place, value).map(|section| section.read(read))
    }

    /// Reads each table of the array at `key`.
    pub fn tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'a, 'i>) -> T,
    ) -> Option<Vec<T>> {
        let elements = self.elements(key, "an array of tables")?;
        let sections = elements.into_iter().filter_map(|(place, value)| self.section(place, value));
        Some(sections.map(|section| section.read(&mut read)).collect())
    }

    /// Reads the tables in the table at `key`, whose keys are names that the user chose.
    pub fn named<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Section<'a, 'i>) -> T,
    ) -> Vec<(String, T)> {
        let entries = self.entries(key);
        let sections = entries.into_iter().map(|(name, place, value)| (name, self.section(place, value)));
        sections.filter_map(|(name, section)| Some((name.to_owned(), section?.read(&mut read)))).collect()
    }

    /// The entries of the table at `key`, whose keys the user chose; none if it is absent.
    pub fn entries(&mut self, key: &'static str) -> Vec<(&'a str, Place, &'a DeValue<'i>)> {
        let section = self.find(key).and_then(|(place, value)| self.section(place, value));
        let entries = section.iter().flat_map(|section| {
            section.table.iter().map(|(name, value)| {
                let place = section.place_of(name.get_ref(), value.span().start);
                (name.get_ref().as_ref(), place, value.get_ref())
            })
        });
        entries.collect()
    }

    /// The entries of the table at `key` that are valid: values of priorities, such as `{ 3 = 5 }`.
    pub fn by_priority<T: Value>(&mut self, key: &'static str) -> Vec<(Priority, At<T>)> {
        let entries = self.entries(key).into_iter().filter_map(|(name, place, value)| {
            let priority = name.parse().ok().and_then(|number| Priority::new(number).ok());
            let malformed = || ProblemKind::Malformed { got: name.into(), want: "a priority, 0 to 7" };
            let read = priority.ok_or_else(malformed).and_then(|priority| Ok((priority, T::read(value)?)));
            let (priority, value) = self.valid(&place, read)?;
            Some((priority, At { value, place }))
        });
        entries.collect()
    }

    /// The value at `key`, if it is present and valid.
    pub fn optional<T: Value>(&mut self, key: &'static str) -> Option<At<T>> {
        let (place, value) = self.find(key)?;
        self.value(place, value)
    }

    /// The value at `key`, if it is valid. A missing key is an error.
    pub fn required<T: Value>(&mut self, key: &'static str, example: &'static str) -> Option<At<T>> {
        self.expect(key, example);
        self.optional(key)
    }

    /// Reports an error if `key` is missing.
    pub fn expect(&self, key: &str, example: &'static str) {
        if !self.contains(key) {
            let place = self.place_of(key, self.place.offset);
            self.problems.error(&place, ProblemKind::Missing { example });
        }
    }

    /// The valid values of the array at `key`.
    pub fn list<T: Value>(&mut self, key: &'static str) -> Option<At<Vec<At<T>>>> {
        let elements = self.elements(key, T::LIST)?;
        let values = elements.into_iter().filter_map(|(place, value)| self.value(place, value)).collect();
        Some(At { value: values, place: self.place_of_key(key) })
    }

    /// Whether `at` is in `range`. Reports an error if not.
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

    /// Reports an error if `key` stands beside one of `others`.
    pub fn refuse_beside(&self, key: &str, others: &[&'static str]) {
        let others = others.iter().map(|other| other.trim_start_matches("r#"));
        if let Some(other) = others.into_iter().find(|other| self.contains(other) && self.contains(key)) {
            self.problems.error(&self.place_of_key(key), ProblemKind::Conflict { other });
        }
    }

    /// Reports an error if `key` stands without `other`.
    pub fn refuse_without(&self, key: &str, other: &'static str) {
        if self.contains(key) && !self.contains(other) {
            self.problems.error(&self.place_of_key(key), ProblemKind::Alone { other });
        }
    }

    /// Reports an error if `key` is present although `word`, the value of `selector`, does not allow it.
    pub fn refuse_with<T: Written>(&self, key: &str, selector: &str, word: T, refused: impl Fn(T) -> bool) {
        let with = format!("{selector} = {}", word.write());
        if self.contains(key) && refused(word) {
            self.problems.error(&self.place_of_key(key), ProblemKind::Meaningless { with });
        }
    }

    /// Whether `key` is present.
    pub fn contains(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether `key` has a value that is not a table.
    pub fn is_single(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| !value.get_ref().is_table())
    }

    fn read<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let value = read(&mut self);
        self.finish();
        value
    }

    /// Reports an error for every key that no one asked for.
    pub fn finish(&self) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !self.open && !self.asked.contains(&name) {
                self.problems.error_with(&self.place_of(name, key.span().start), || {
                    ProblemKind::UnknownKey {
                        nearest: nearest(name, self.asked.iter().copied()),
                        valid: self.asked.join(", "),
                    }
                });
            }
        }
    }

    fn find(&mut self, key: &'static str) -> Option<(Place, &'a DeValue<'i>)> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.table.get(key).map(|value| (self.place_of_key(key), value.get_ref()))
    }

    fn elements(&mut self, key: &'static str, want: &'static str) -> Option<Vec<(Place, &'a DeValue<'i>)>> {
        let (place, value) = self.find(key)?;
        let elements = self.valid(&place, value.as_array().ok_or_else(|| wrong_type(value, want)))?;
        let placed = elements.iter().map(|it| (self.place_of(key, it.span().start), it.get_ref()));
        Some(placed.collect())
    }

    fn value<T: Value>(&self, place: Place, value: &DeValue<'_>) -> Option<At<T>> {
        self.valid(&place, T::read(value)).map(|value| At { value, place })
    }

    fn section(&self, place: Place, value: &'a DeValue<'i>) -> Option<Section<'a, 'i>> {
        let table = self.valid(&place, value.as_table().ok_or_else(|| wrong_type(value, "a table")))?;
        Some(Section::new(table, place, self.problems))
    }

    /// Returns what was read, or notes the error at `place`.
    fn valid<T>(&self, place: &Place, read: Result<T, ProblemKind>) -> Option<T> {
        read.map_err(|kind| self.problems.error(place, kind)).ok()
    }

    /// The place of the value at `key`, or of this section if it is absent.
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
