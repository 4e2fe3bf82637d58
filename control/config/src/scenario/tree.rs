//! TOML that is put together from several places, each value with where it comes from.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::keys::document::Document;
use crate::place::Place;
use crate::table::Table as _;

/// A value with its origin: where in the scenario it is written; none where it was made up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub tree: Tree,
    pub origin: Option<Place>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Leaf(Value),
    Array(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

/// Keys of which one says what the other would: whichever is put in last remains.
static ALTERNATIVES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let mut tables = Vec::new();
    Document::describe("", &mut tables);
    let keys = tables.into_iter().flat_map(|(_, keys)| keys);
    keys.flat_map(|key| key.instead_of.iter().map(|other| (key.name, *other))).collect()
});

/// The value without its places.
pub(super) fn plain(value: &DeValue<'_>) -> Value {
    Node::read(value, &Place { key: String::new(), offset: 0 }).value()
}

impl Node {
    /// A table without entries.
    pub fn table() -> Self {
        Self { tree: Tree::Table(BTreeMap::new()), origin: None }
    }

    /// An array that was made up.
    pub fn array(elements: Vec<Self>) -> Self {
        Self { tree: Tree::Array(elements), origin: None }
    }

    /// A value of the scenario that stands at `place`.
    pub fn read(value: &DeValue<'_>, place: &Place) -> Self {
        let tree = match value {
            DeValue::Table(table) => Tree::Table(
                table
                    .iter()
                    .map(|(key, value)| {
                        let name: &str = key.get_ref().as_ref();
                        let key = format!("{}.{name}", place.key);
                        (
                            name.to_owned(),
                            Self::read(value.get_ref(), &Place { key, offset: value.span().start }),
                        )
                    })
                    .collect(),
            ),
            DeValue::Array(elements) => {
                let read = |element: &Spanned<DeValue<'_>>| {
                    Self::read(element.get_ref(), &Place { offset: element.span().start, ..place.clone() })
                };
                Tree::Array(elements.iter().map(read).collect())
            }
            DeValue::String(text) => Tree::Leaf(Value::String(text.as_ref().into())),
            DeValue::Boolean(truth) => Tree::Leaf(Value::Boolean(*truth)),
            DeValue::Datetime(instant) => Tree::Leaf(Value::Datetime(*instant)),
            DeValue::Float(number) => {
                Tree::Leaf(number.as_str().parse().map_or(Value::Float(0.0), Value::Float))
            }
            // What does not fit stays a text, which the reader of the whole refuses.
            DeValue::Integer(number) => Tree::Leaf(
                i64::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| Value::String(number.to_string()), Value::Integer),
            ),
        };
        Self { tree, origin: Some(place.clone()) }
    }

    /// Its entries; none where it is no table.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let table = match &self.tree {
            Tree::Table(table) => Some(table),
            _ => None,
        };
        table.into_iter().flatten().map(|(key, node)| (key.as_str(), node))
    }

    /// What stands at `key`.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().find(|(name, _)| *name == key).map(|(_, node)| node)
    }

    /// Takes out what stands at `key`.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        match &mut self.tree {
            Tree::Table(table) => table.remove(key),
            _ => None,
        }
    }

    /// Puts a made-up value at `key`.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.put(key, Self { tree: Tree::Leaf(value.into()), origin: None });
    }

    /// Puts `node` at `key`.
    pub fn put(&mut self, key: &str, node: Self) {
        if let Tree::Table(table) = &mut self.tree {
            table.insert(key.into(), node);
        }
    }

    /// Puts `over` on top: tables entry by entry, everything else as a whole.
    pub fn merge(&mut self, over: Self) {
        let (table, entries) = match (&mut self.tree, over) {
            (Tree::Table(table), Self { tree: Tree::Table(entries), origin }) => {
                if origin.is_some() {
                    self.origin = origin;
                }
                (table, entries)
            }
            (_, over) => {
                *self = over;
                return;
            }
        };
        for &(one, other) in ALTERNATIVES.iter() {
            for (given, gone) in [(one, other), (other, one)] {
                if entries.contains_key(given) && !entries.contains_key(gone) {
                    table.remove(gone);
                }
            }
        }
        for (key, node) in entries {
            match table.get_mut(&key) {
                Some(below) => below.merge(node),
                None => {
                    table.insert(key, node);
                }
            }
        }
    }

    /// Puts `over` on each table of an array, or in its place where it is an array itself.
    pub fn merge_each(&mut self, over: Self) {
        match (&mut self.tree, &over.tree) {
            (Tree::Array(elements), Tree::Table(_)) => {
                elements.iter_mut().for_each(|element| element.merge(over.clone()));
            }
            _ => *self = over,
        }
    }

    /// The value without origins.
    pub fn value(&self) -> Value {
        match &self.tree {
            Tree::Leaf(value) => value.clone(),
            Tree::Array(elements) => Value::Array(elements.iter().map(Self::value).collect()),
            Tree::Table(table) => {
                Value::Table(table.iter().map(|(key, node)| (key.clone(), node.value())).collect())
            }
        }
    }

    /// As a document.
    pub fn text(&self) -> String {
        match self.value() {
            Value::Table(table) => Table::to_string(&table),
            other => other.to_string(),
        }
    }

    /// Where the value comes from that stands at byte `offset` of [`Node::text`], which is `written`: its own
    /// origin, or that of the nearest table around it which has one.
    pub fn origin_at(&self, written: &DeTable<'_>, offset: usize) -> Option<Place> {
        self.search_table(written, offset).unwrap_or_default()
    }

    fn search_table(&self, written: &DeTable<'_>, offset: usize) -> Option<Option<Place>> {
        let inside = written.iter().find_map(|(key, value)| {
            let node = self.get(key.get_ref())?;
            if key.span().contains(&offset) {
                return Some(node.origin.clone());
            }
            node.search(value, offset)
        });
        inside.map(|found| found.or_else(|| self.origin.clone()))
    }

    fn search(&self, value: &Spanned<DeValue<'_>>, offset: usize) -> Option<Option<Place>> {
        let here = value.span().start == offset || value.span().contains(&offset);
        let inside = match (&self.tree, value.get_ref()) {
            // The span of a table is its header, and its entries are elsewhere.
            (Tree::Table(_), DeValue::Table(table)) => self.search_table(table, offset),
            (Tree::Array(nodes), DeValue::Array(elements)) => {
                nodes.iter().zip(elements.iter()).find_map(|(node, element)| node.search(element, offset))
            }
            _ => None,
        };
        inside
            .map(|found| found.or_else(|| self.origin.clone()))
            .or_else(|| here.then(|| self.origin.clone()))
    }
}
