//! Nothing that a user writes is ignored: every key of every table, in each place where it may stand, acts or is
//! refused by name, and so is a misspelt one. The tables say which keys there are, so a new key is tried without a
//! change here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod gateways;

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::problem::Problem;
use crate::table::Key;

/// Values for each kind of key. A range in the description of the kind adds its ends.
const SAMPLES: [(&str, &str); 46] = [
    (
        "list (name)",
        "[['other'], ['h1'], ['s0'], ['s0.s1'], ['all'], ['h2'], ['s2'], ['h0', 's0'], ['h1', 's1'], ['s0', 's1'], ['h0', 'h1'], ['b', 'a'], ['drop']]",
    ),
    ("list (pair of ports)", "[[['a', 'c'], ['b', 'd']], [['dc0', 'lh0']]]"),
    ("list (address with prefix length)", "[['10.9.0.1/24']]"),
    ("list (IP address)", "[['10.0.0.2'], ['10.0.0.3']]"),
    ("list (core, 0 to 1023)", "[[5], [2, 3, 4, 5, 6]]"),
    ("list (argument)", "[['--log-level=7']]"),
    ("list (priority", "[[3], [4], [], [1], [3, 4], [5]]"),
    ("size, or range of two", "['64kB', ['64kB', '4MB']]"),
    ("size", "['64kB', '300kB', '3MB', '20MB', '150MB', '2GB', '50kB', '2kB', '100B']"),
    ("rate, or table of", "['7G', { rate = '7G', burst = '1MB' }]"),
    ("rate", "['40G', '7G', '90M', '200M', '3M', '10M']"),
    ("distance", "['12km', '300m', 'none']"),
    ("time, 1us to 1s", "['70us', '3us']"),
    ("time", "['70us', '3us', '900us', '8ms', '11ms', '300ms', '2s', '20s', '400us', '9us', '2ns']"),
    ("two times", "[['1ms', '2ms']]"),
    ("IP address", "['10.0.0.3', '10.0.0.9']"),
    ("IPv4 address", "['10.255.0.9']"),
    ("address with prefix length", "['10.7.0.0/16']"),
    ("MAC address", "['02:00:00:00:00:77']"),
    ("PCI address", "['0000:5e:00.1']"),
    ("address and port", "['127.0.0.1:9999']"),
    ("virtual device of DPDK", "['net_null7']"),
    ("interface", "['veth7']"),
    ("absolute path", "['/run/longspan/other.sock']"),
    ("octal permissions", "['640']"),
    ("file name", "['other']"),
    ("power of two, 64 to 32768", "[2048]"),
    ("core, 0 to 1023", "[2, 3]"),
    ("argument", "['--log-level=7']"),
    ("whole number", "[3, 77, 2, 1, 4, 6, 20000, 1000000]"),
    ("priority", "[5, 3, 1]"),
    ("DSCP", "[5]"),
    ("probability", "[0.25, 0.001]"),
    ("5 or 8", "[5, 8]"),
    ("1 to 1000", "[7]"),
    ("-8 to 8", "[2, -1]"),
    ("true or false", "[true, false]"),
    ("number of bytes", "[1500, 4000, 100]"),
    ("number of quanta or time", "[40000, '200us']"),
    ("number, or range of two", "[0.7, [0.1, 0.9]]"),
    ("number", "[0.5, 1.5, 0.001]"),
    (
        "name",
        "['other', 'used', 's0', 's2', 'h1', 'websearch', 'example.key', 'flows.csv', 'gateway.toml', 'a', 'a0', 'a1', 'lh0', 'fct.all.mean_ns']",
    ),
    ("table of priorities", "[{ 3 = 5 }, { 9 = 1 }, { 3 = 1 }]"),
    ("table of code points", "[{ 3 = 27 }]"),
    ("32 hexadecimal digits", "['000102030405060708090a0b0c0d0e0f']"),
    ("`", "[]"),
];

/// Values for a key of this kind, the least surprising first.
fn values(kind: &str) -> Vec<Value> {
    let ends = [", with `", ", not with `", ", instead of `"].into_iter().filter_map(|end| kind.find(end));
    let own = ends.min().map_or(kind, |end| &kind[..end]);
    let sample = SAMPLES.iter().find(|(start, _)| own.starts_with(start));
    let (_, samples) = sample.unwrap_or_else(|| panic!("say in SAMPLES what is a value of the kind {own}"));
    let mut values = parsed(samples).as_array().unwrap().clone();
    let words = own.split('`').skip(1).step_by(2).filter(|it| it.starts_with('"'));
    values.extend(words.map(parsed));
    for part in own.split(", ").skip(1) {
        let (least, most) = part.split_once(" to ").unwrap_or(("", part));
        let most = most.strip_prefix("up to ").unwrap_or(if least.is_empty() { "" } else { most });
        for end in [least, most].map(|end| end.trim_end_matches(" bytes").trim_end_matches(')')) {
            values.extend(end.parse().map(Value::Integer).or(end.parse().map(Value::Float)));
            if end.starts_with(|it: char| it.is_ascii_digit()) && end.ends_with(char::is_alphabetic) {
                values.push(end.into());
            }
        }
    }
    values
}

fn parsed(text: &str) -> Value {
    format!("it = {text}")
        .parse::<Table>()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .remove("it")
        .unwrap()
}

/// What a file makes: all of it as text, or nothing, and its problems.
pub(crate) struct Made {
    pub all: Option<String>,
    pub problems: Vec<Problem>,
}

/// What a key does in a place.
#[derive(Debug, PartialEq)]
enum Effect {
    Acts,
    /// A problem names it.
    Told,
    /// Another key is refused.
    Elsewhere(String),
    Nothing,
}

/// Reads a file, with a value that is put at a path.
pub(crate) trait Make: Fn(&Table, Option<(&[String], &Value)>) -> Made {}

impl<M: Fn(&Table, Option<(&[String], &Value)>) -> Made> Make for M {}

/// Whether the key has a value; the keys of tables are tried by themselves.
pub(crate) fn is_tried(key: &Key) -> bool {
    !key.about.is_empty() && key.kind != "table"
}

/// A place for keys: a valid file, and the path of a table in it. Numbers count elements of arrays.
pub(crate) struct Place<'a> {
    pub file: &'a Table,
    pub path: Vec<String>,
    pub keys: &'static [Key],
    /// Values that keys have though the file does not say so.
    pub anyway: &'static [(&'static str, &'static str)],
}

/// Every key of every table that was tried, and what is wrong.
#[derive(Default)]
pub(crate) struct Trial {
    known: BTreeSet<String>,
    acted: BTreeSet<String>,
    faults: Vec<String>,
}

impl Trial {
    /// Tries each key of a `table` in a place, and a misspelt one. `make` reads a file in which a value was put at a
    /// path.
    pub fn place(&mut self, table: &str, place: &Place<'_>, make: &impl Make) {
        let base = make(place.file, None);
        let keys = || place.keys.iter().filter(|key| is_tried(key));
        self.known.extend(keys().map(|key| format!("{table}.{}", key.name)));
        if base.all.is_none() {
            // The place has no such table.
            let is_told = effect(&base, &base, &place.path) == Effect::Told;
            assert!(is_told, "{}: {:?}", place.path.join("."), told(&base.problems));
            return;
        }
        for key in keys() {
            let effects = effects(key, place, &base, make);
            if effects.iter().any(|(effect, _)| *effect == Effect::Acts) {
                self.acted.insert(format!("{table}.{}", key.name));
            } else if effects.iter().any(|(effect, _)| *effect == Effect::Nothing) {
                self.faults.push(format!("{}.{}: {effects:?}", place.path.join("."), key.name));
            }
        }
        let path = [place.path.as_slice(), &["misspelt".to_owned()]].concat();
        let misspelt = effect(&base, &make(place.file, Some((&path, &Value::Integer(1)))), &path);
        if misspelt != Effect::Told {
            self.faults.push(format!("{}: {misspelt:?}", path.join(".")));
        }
    }

    /// Ends the trial: nothing was ignored, and each key acts in some place, except those of `elsewhere`: keys, and
    /// tables with all of their keys.
    pub fn end(self, elsewhere: &[&str]) {
        let is_elsewhere = |key: &str| {
            elsewhere
                .iter()
                .any(|it| key.strip_prefix(it).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        };
        let never = self.known.difference(&self.acted).filter(|key| !is_elsewhere(key));
        let never: Vec<_> = never.collect();
        assert!(self.faults.is_empty(), "{} are ignored:\n{}", self.faults.len(), self.faults.join("\n"));
        assert!(never.is_empty(), "these never act: {never:?}");
    }
}

/// What the values of a key do, up to the first that acts. Values that the key has anyway do nothing.
fn effects(key: &Key, place: &Place<'_>, base: &Made, make: &impl Make) -> Vec<(Effect, Value)> {
    let path = [place.path.as_slice(), &[key.name.to_owned()]].concat();
    let others = place.keys.iter().filter(|it| it.instead_of.contains(&key.name)).map(|it| it.name);
    let mut file = place.file.clone();
    for gone in key.instead_of.iter().copied().chain(others) {
        take(&mut file, &[place.path.as_slice(), &[gone.to_owned()]].concat());
    }
    let stated = take(&mut place.file.clone(), &path);
    let mut effects = Vec::new();
    for value in values(&key.kind) {
        let is_anyway = place.anyway.iter().any(|(name, it)| *name == key.name && value.as_str() == Some(it));
        let is_default = stated.is_none() && key.without == format!("`{value}`");
        if stated.as_ref() == Some(&value) || is_default || is_anyway {
            continue;
        }
        let effect = effect(base, &make(&file, Some((&path, &value))), &path);
        let acts = effect == Effect::Acts;
        effects.push((effect, value));
        if acts {
            break;
        }
    }
    effects
}

fn effect(before: &Made, after: &Made, path: &[String]) -> Effect {
    if after.all.is_some() && after.all != before.all {
        return Effect::Acts;
    }
    let is_new =
        |it: &&Problem| !before.problems.iter().any(|known| known.key == it.key && known.kind == it.kind);
    let steps = path.iter().filter(|it| it.parse::<usize>().is_err()).map(String::as_str);
    let path = steps.collect::<Vec<_>>().join(".") + ".";
    // A table of which no key applies is named as a whole, and an entry of a value as itself.
    let names = |it: &&Problem| {
        let key = format!("{}.", it.key);
        key != "." && (path.starts_with(&key) || key.starts_with(&path))
    };
    let is_first = core::ptr::eq(before, after);
    match after.problems.iter().filter(|it| is_first || is_new(it)).find(names) {
        Some(_) => Effect::Told,
        None if after.all.is_none() => Effect::Elsewhere(told(&after.problems).join("; ")),
        None => Effect::Nothing,
    }
}

fn told(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|it| format!("{}: {}", it.key, it.kind)).collect()
}

/// The value at `path`, where tables are made as they are needed.
fn at<'v>(mut value: &'v mut Value, path: &[String]) -> &'v mut Value {
    for step in path {
        value = match value {
            Value::Array(elements) => &mut elements[step.parse::<usize>().unwrap()],
            Value::Table(table) => table.entry(step.clone()).or_insert_with(|| Table::new().into()),
            _ => panic!("{path:?} leads into a value"),
        };
    }
    value
}

/// Takes the value at `path` out of the file.
fn take(file: &mut Table, path: &[String]) -> Option<Value> {
    let (key, tables) = path.split_last().unwrap();
    let mut whole = Value::Table(core::mem::take(file));
    let taken = at(&mut whole, tables).as_table_mut().unwrap().remove(key);
    if let Value::Table(table) = whole {
        *file = table;
    }
    taken
}

/// `file` with `value` at `path`.
pub(crate) fn with(file: &Table, path: &[String], value: Value) -> Table {
    let mut whole = Value::Table(file.clone());
    *at(&mut whole, path) = value;
    match whole {
        Value::Table(table) => table,
        _ => panic!("a file is a table"),
    }
}

/// The paths of all tables in `value` that `path` leads to; a `*` is any key.
pub(crate) fn places(value: &Value, path: &[&str]) -> Vec<Vec<String>> {
    let below = |step: &str, value: &Value, path: &[&str]| {
        let found = places(value, path);
        found.into_iter().map(|it| [&[step.to_owned()], it.as_slice()].concat()).collect::<Vec<_>>()
    };
    match (value, path) {
        (Value::Array(elements), _) => {
            let each = elements.iter().enumerate();
            each.flat_map(|(index, element)| below(&index.to_string(), element, path)).collect()
        }
        (Value::Table(_), []) => vec![Vec::new()],
        (Value::Table(table), ["*", rest @ ..]) => {
            table.iter().flat_map(|(key, value)| below(key, value, rest)).collect()
        }
        (Value::Table(table), [step, rest @ ..]) => {
            table.get(*step).map_or_else(Vec::new, |value| below(step, value, rest))
        }
        _ => Vec::new(),
    }
}
