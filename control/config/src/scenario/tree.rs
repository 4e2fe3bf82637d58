//! TOML that is merged from several places. Each value keeps its origin.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::topology;
use super::traffic::TrafficDecl;
use crate::keys::document::Document;
use crate::place::Place;
use crate::table::Table as _;

/// A value and its origin: its place in the scenario, or none if the value is generated.
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

/// Pairs of keys that exclude each other, in both orders. When trees are merged, the later key replaces the other.
static ALTERNATIVES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let mut tables = Vec::new();
    Document::describe("", &mut tables);
    topology::describe(&mut tables);
    TrafficDecl::describe("traffic", &mut tables);
    let keys = tables.into_iter().flat_map(|(_, keys)| keys);
    let pairs = keys.flat_map(|key| key.instead_of.iter().map(|other| (key.name, *other)));
    pairs.flat_map(|(one, other)| [(one, other), (other, one)]).collect()
});

/// The keys that exclude `key`.
pub(super) fn alternatives(key: &str) -> impl Iterator<Item = &'static str> {
    ALTERNATIVES.iter().filter(move |(one, _)| *one == key).map(|(_, other)| *other)
}

/// The value without places.
pub(super) fn plain(value: &DeValue<'_>) -> Value {
    Node::read(value, &Place { key: String::new(), offset: 0 }).value()
}

impl Node {
    /// A generated table.
    pub fn table<const N: usize>(entries: [(&str, Self); N]) -> Self {
        let entries = entries.into_iter().map(|(key, node)| (key.to_owned(), node));
        Self { tree: Tree::Table(entries.collect()), origin: None }
    }

    /// A generated value.
    pub fn leaf(value: impl Into<Value>) -> Self {
        Self { tree: Tree::Leaf(value.into()), origin: None }
    }

    /// A generated array.
    pub fn array(elements: Vec<Self>) -> Self {
        Self { tree: Tree::Array(elements), origin: None }
    }

    /// The value at `place` of the scenario.
    pub fn read(value: &DeValue<'_>, place: &Place) -> Self {
        let tree = match value {
            DeValue::Table(table) => {
                let read = |(name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                    let place = Place { offset: value.span().start, ..place.of_key(name.get_ref()) };
                    (name.get_ref().to_string(), Self::read(value.get_ref(), &place))
                };
                Tree::Table(table.iter().map(read).collect())
            }
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
            // An integer that does not fit becomes a text, which is refused later.
            DeValue::Integer(number) => Tree::Leaf(
                i64::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| Value::String(number.to_string()), Value::Integer),
            ),
        };
        Self { tree, origin: Some(place.clone()) }
    }

    /// The node at `key`, if this is a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        if let Tree::Table(table) = &self.tree { table.get(key) } else { None }
    }

    /// The node at `key`, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        if let Tree::Table(table) = &mut self.tree { table.get_mut(key) } else { None }
    }

    /// Whether `key` has the text `value`.
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.get(key).is_some_and(|node| node.tree == Tree::Leaf(value.into()))
    }

    /// Removes the node at `key` and returns it.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        if let Tree::Table(table) = &mut self.tree { table.remove(key) } else { None }
    }

    /// Whether it is a table with entries.
    pub fn has_any(&self) -> bool {
        matches!(&self.tree, Tree::Table(table) if !table.is_empty())
    }

    /// Puts a generated value at `key`.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.put(key, Self::leaf(value));
    }

    /// Puts `node` at `key`.
    pub fn put(&mut self, key: &str, node: Self) {
        if let Tree::Table(table) = &mut self.tree {
            table.insert(key.into(), node);
        }
    }

    /// Merges `over` into the node: tables entry by entry, everything else as a whole.
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
        for gone in entries.keys().flat_map(|given| alternatives(given)) {
            if !entries.contains_key(gone) {
                table.remove(gone);
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

    /// Merges `over` into each table of an array, or replaces the array if `over` is not a table.
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

    /// The text of the document.
    pub fn text(&self) -> String {
        match self.value() {
            Value::Table(table) => Table::to_string(&table),
            other => other.to_string(),
        }
    }

    /// The origin of the value at byte `offset` of [`Node::text`], which `written` is parsed from: its own, or that
    /// of the nearest table around it that has one.
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
            // The span of a table covers its header only, not its entries.
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
