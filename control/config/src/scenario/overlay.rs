//! Values that override those of the file: `--set`, variants, quick runs.

use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::tree;
use crate::notes::Problems;
use crate::place::Location;
use crate::place::Place;
use crate::problem::{ProblemKind, nearest};

/// A value that overrides that of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The key with its tables, separated by dots. An element of an array is identified by its index from 0, or by
    /// its `name`, `group` or `id`.
    pub key: String,
    /// The value in TOML. Text that is not TOML is a string.
    pub value: String,
    /// Its place, if it is part of the scenario.
    location: Option<Location>,
}

/// A text is not an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not of the form key=value, for example traffic.0.load=0.7")]
pub struct ParseOverrideError {
    text: String,
}

impl FromStr for Override {
    type Err = ParseOverrideError;

    fn from_str(text: &str) -> Result<Self, ParseOverrideError> {
        let wrong = || ParseOverrideError { text: text.into() };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let key = key.trim();
        if key.is_empty() || key.split('.').any(str::is_empty) {
            return Err(wrong());
        }
        Ok(Self { key: key.into(), value: value.trim().into(), location: None })
    }
}

/// The form on the command line.
impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl Override {
    /// Overrides `key` with `value`, a TOML value or a bare word.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), location: None }
    }

    /// Adds each value in `value`, with its path, to `found`. Empty tables and arrays count as values.
    pub(super) fn leaves(
        path: &str,
        value: &Spanned<DeValue<'_>>,
        locate: &impl Fn(usize) -> Location,
        found: &mut Vec<Self>,
    ) {
        match value.get_ref() {
            DeValue::Table(table) if !table.is_empty() => {
                for (key, value) in table {
                    Self::leaves(&format!("{path}.{}", key.get_ref()), value, locate, found);
                }
            }
            single => found.push(Self {
                key: path.into(),
                value: tree::plain(single).to_string(),
                location: Some(locate(value.span().start)),
            }),
        }
    }

    fn location(&self) -> Location {
        let argument = || Location { file: format!("--set {self}"), line: 0, column: 0 };
        self.location.clone().unwrap_or_else(argument)
    }
}

/// The text of each override, at offsets beyond those of the file and of earlier overrides.
pub(super) struct Overlay<'a> {
    overrides: &'a [Override],
    /// Each override as a document with one key, after as many line feeds as there are bytes before it.
    texts: Vec<(usize, String)>,
}

/// Tables that are read from the file alone, before anything overrides it.
const OF_FILE: [&str; 3] = ["variant", "claim", "quick"];
/// The key of such a document.
const KEY: &str = "value";

impl<'a> Overlay<'a> {
    /// Overrides for a file of `length` bytes.
    pub fn new(length: usize, overrides: &'a [Override]) -> Self {
        let mut start = length + 1;
        let texts = overrides.iter().map(|it| {
            let as_toml = format!("{KEY} = {}", it.value);
            let text = if DeTable::parse(&as_toml).is_ok_and(|table| table.get_ref().len() == 1) {
                as_toml
            } else {
                format!("{KEY} = {}", toml::Value::String(it.value.clone()))
            };
            let placed = (start, format!("{}{text}", "\n".repeat(start)));
            start += text.len() + 1;
            placed
        });
        Self { overrides, texts: texts.collect() }
    }

    /// The offset at which each override begins, and its origin.
    pub fn additions(&self) -> Vec<(usize, Location)> {
        let starts = self.texts.iter().map(|(start, _)| *start);
        starts.zip(self.overrides.iter().map(Override::location)).collect()
    }

    /// Applies the overrides to the file, in order.
    pub fn apply<'i>(&'i self, table: &mut DeTable<'i>, problems: &Problems<'_>) {
        let mut root = DeValue::Table(core::mem::replace(table, DeTable::new()));
        for (it, (start, text)) in self.overrides.iter().zip(&self.texts) {
            // It was parsed before, and line feeds make no difference.
            let Ok(parsed) = DeTable::parse(text) else { continue };
            let Some((_, value)) = parsed.into_inner().into_iter().next() else { continue };
            let path: Vec<&str> = it.key.split('.').collect();
            if OF_FILE.contains(&path[0]) {
                let with = "--set or [[variant]]".into();
                let place = Place { key: path[0].into(), offset: *start };
                problems.error(&place, ProblemKind::Meaningless { with });
                continue;
            }
            if let Err((key, kind)) = put(&mut root, &path, String::new(), *start, value) {
                problems.error(&Place { key, offset: *start }, kind);
            }
        }
        if let DeValue::Table(whole) = root {
            *table = whole;
        }
    }
}

type Refused = (String, ProblemKind);

/// Puts `value` at `path` below `inside`, which is at the key `before`.
fn put<'i>(
    inside: &mut DeValue<'i>,
    path: &[&str],
    before: String,
    at: usize,
    value: Spanned<DeValue<'i>>,
) -> Result<(), Refused> {
    let [name, rest @ ..] = path else { return Ok(()) };
    let element = match inside {
        DeValue::Table(table) => {
            // The key gets the offset of the override, in case it is unknown.
            let spanned = Spanned::new(at..at, Cow::Owned((*name).to_owned()));
            if rest.is_empty() {
                // Of two keys for the same setting the later one holds.
                for gone in tree::alternatives(name) {
                    table.remove(gone);
                }
                table.remove(*name);
                table.insert(spanned, value);
                return Ok(());
            }
            if !table.contains_key(*name) {
                table.insert(spanned, Spanned::new(at..at, DeValue::Table(DeTable::new())));
            }
            table.get_mut(*name)
        }
        DeValue::Array(elements) => {
            let names = || elements.iter().filter_map(|element| name_of(element.get_ref()));
            let named = elements.iter().position(|element| name_of(element.get_ref()) == Some(name));
            let index = named.or_else(|| name.parse().ok().filter(|index| *index < elements.len()));
            let Some(index) = index else {
                let valid: Vec<String> = if names().count() == elements.len() {
                    names().map(Into::into).collect()
                } else {
                    (0..elements.len()).map(|index| index.to_string()).collect()
                };
                let nearest = nearest(name, names());
                let kind = ProblemKind::Undefined { what: "element", got: (*name).into(), nearest, valid };
                return Err((before, kind));
            };
            elements.get_mut(index)
        }
        _ => return Err((before.clone(), ProblemKind::NotInside { key: before, name: path.join(".") })),
    };
    let key = if before.is_empty() { (*name).to_owned() } else { format!("{before}.{name}") };
    match element {
        Some(element) if rest.is_empty() => *element = value,
        Some(element) => return put(element.get_mut(), rest, key, at, value),
        None => {}
    }
    Ok(())
}

/// The name that identifies an element of an array.
fn name_of<'a>(element: &'a DeValue<'_>) -> Option<&'a str> {
    let table = element.as_table()?;
    ["name", "group", "id"].into_iter().find_map(|key| table.get(key)?.get_ref().as_str())
}
