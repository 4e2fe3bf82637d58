//! Compares two configurations key by key, and finds the changes that a running gateway cannot make.

use core::fmt;
use std::collections::BTreeMap;

use units::{Bytes, Cells, PortId};

use crate::build;
use crate::gateway::Gateway;
use crate::memory;
use crate::table::{Item, Node, Table};
use crate::thresholds::capacity;

/// A key whose value changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key with its tables, such as `port.lh0.lossless.3.xoff`. Ports are identified by name, groups and queues
    /// by priority, routes by prefix, and neighbours by address.
    pub key: String,
    /// The old value as TOML; `None` if the key is new. A secret is never shown.
    pub old: Option<String>,
    /// The new value as TOML; `None` if the key goes away.
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
        write!(f, "{}: {} -> {}", self.key, shown(&self.old), shown(&self.new))
    }
}

/// The changes from `old` to `new`, in the order of `new`, followed by the keys that go away.
pub fn diff(old: &Gateway, new: &Gateway) -> Vec<Change> {
    differences(old, new).into_iter().map(Difference::shown).collect()
}

/// The changes from `running` to `wanted` that need a restart, because they concern devices, memory or sockets. The
/// gateway has the memory of `started`. [`switch::program::Program::can_replace`] reports further changes that need a
/// restart.
pub fn not_live(started: &Gateway, running: &Gateway, wanted: &Gateway) -> Vec<Change> {
    // The program itself refuses other ports, or other names of ports.
    let is_name =
        |it: &Difference| matches!(&it.path[..], [table, _, key] if table == "port" && key == "name");
    let needs_start = |it: &Difference| (it.is_restart && !is_name(it)) || grows(it, started, wanted);
    differences(running, wanted).into_iter().filter(needs_start).map(Difference::shown).collect()
}

/// The `buffer.shared` with which the buffer of `wanted` fits the memory of `started`, if it does not fit as it is,
/// perhaps because a rate or a distance needs more headroom. `None` if it fits, or if no size makes it fit.
pub fn shared_that_fits(started: &Gateway, wanted: &Gateway) -> Option<Bytes> {
    let there = waiting_mbufs(started, started);
    if waiting_mbufs(started, wanted) <= there {
        return None;
    }
    let [has, needs] = [started, wanted].map(|it| {
        let settings = it.program.settings();
        capacity(&settings.buffer, &settings.ports)
    });
    let mut settings = wanted.program.settings().clone();
    let shared = settings.buffer.shared.0.checked_sub(needs.0.checked_sub(has.0)?)?;
    // The pool is counted in whole cells.
    settings.buffer.shared = Cells::within(shared).bytes();
    settings.buffer.egress_lossy = settings.buffer.egress_lossy.min(settings.buffer.shared);
    let fits = memory::packing(&settings.buffer, &settings.ports, &settings.forwarding, &started.runtime)
        .frames
        <= there;
    let shared = settings.buffer.shared;
    (fits && wanted.program.with_settings(settings).is_ok()).then_some(shared)
}

/// Whether the mbufs of `started` are too short or too few for `difference`.
fn grows(difference: &Difference, started: &Gateway, wanted: &Gateway) -> bool {
    let path: Vec<_> = difference.path.iter().map(String::as_str).collect();
    if let ["buffer", "shared" | "headroom"] | ["port", _, "lossless", _, "reserved"] = path[..] {
        return waiting_mbufs(started, wanted) > waiting_mbufs(started, started);
    }
    let [table, port, key] = &difference.path[..] else { return false };
    let port = wanted.port(port).filter(|_| table == "port");
    let (Some(port), Some(before), Some(after)) = (port, started.memory(), wanted.memory()) else {
        return false;
    };
    let on_link = |memory: &crate::MemorySum, port: PortId| memory.on_link(port).map(|link| link.data);
    match key.as_str() {
        "max_frame" => wanted.program.port(port).max_frame > before.longest_frame(),
        "rate" | "tx_window" => on_link(&after, port) > on_link(&before, port),
        _ => false,
    }
}

/// The mbufs of frames in the buffer of `settings`, on the devices of `running`.
fn waiting_mbufs(running: &Gateway, settings: &Gateway) -> usize {
    let settings = settings.program.settings();
    memory::packing(&settings.buffer, &settings.ports, &settings.forwarding, &running.runtime).frames
}

/// A key with its tables, and its two values.
struct Difference {
    path: Vec<String>,
    is_secret: bool,
    /// Whether it takes effect only when the gateway starts.
    is_restart: bool,
    old: Option<String>,
    new: Option<String>,
}

impl Difference {
    fn shown(self) -> Change {
        const SECRET: &str = "(secret)";
        let shown = |value: String| if self.is_secret { SECRET.into() } else { value };
        Change { key: self.path.join("."), old: self.old.map(shown), new: self.new.map(shown) }
    }
}

fn differences(old: &Gateway, new: &Gateway) -> Vec<Difference> {
    let (old, mut new) = (stated(old), stated(new));
    let mut places = BTreeMap::new();
    for (place, it) in new.iter().enumerate() {
        places.entry(it.path.clone()).or_insert(place);
    }
    for gone in old {
        match places.get(&gone.path) {
            Some(place) => new[*place].old = gone.new,
            None => new.push(Difference { old: gone.new, new: None, ..gone }),
        }
    }
    new.retain(|it| it.old != it.new);
    new
}

/// Every key of a gateway, with its value as the new one.
fn stated(gateway: &Gateway) -> Vec<Difference> {
    let mut stated = Vec::new();
    add(&mut stated, &[], build::in_force(gateway).nodes(), false);
    stated
}

/// Adds `nodes` to `stated`. The first key of a table in an array identifies the table.
fn add(stated: &mut Vec<Difference>, path: &[String], nodes: Vec<Node>, is_restart: bool) {
    for Node { key, item } in nodes {
        let is_restart = is_restart || key.is_restart;
        let path = [path, &[key.name.into()]].concat();
        match item {
            Item::Value(value) => {
                let is_secret = key.is_secret;
                stated.push(Difference { path, is_secret, is_restart, old: None, new: Some(value) });
            }
            Item::Table(nodes) => add(stated, &path, nodes, is_restart),
            Item::Tables(tables) => tables.into_iter().for_each(|nodes| {
                let name = nodes.first().map_or("", |node| match &node.item {
                    Item::Value(value) => value.trim_matches(['"', '[', ']']),
                    Item::Table(_) | Item::Tables(_) => "",
                });
                add(stated, &[path.as_slice(), &[name.into()]].concat(), nodes, is_restart);
            }),
        }
    }
}
