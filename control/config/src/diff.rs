//! What another configuration changes, key by key, and what of that a running gateway cannot take.

use core::fmt;

use units::{Bytes, Cells, PortId};

use crate::build::capacity;
use crate::gateway::Gateway;
use crate::memory;
use crate::render::render;

/// A key that has another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key with its tables: ports by their names, groups and queues by their priorities, routes by
    /// their prefixes and neighbours by their addresses, as in `port.lh0.lossless.3.xoff`.
    pub key: String,
    /// Its value as TOML; `None` where it was not there. A secret is never shown.
    pub old: Option<String>,
    /// The same of what it is to be.
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
        write!(f, "{}: {} -> {}", self.key, shown(&self.old), shown(&self.new))
    }
}

/// What `new` changes of `old`, in the order of `new`, then what it leaves out.
pub fn diff(old: &Gateway, new: &Gateway) -> Vec<Change> {
    differences(old, new).into_iter().map(Difference::shown).collect()
}

/// Changes of `wanted` that a gateway which runs `running`, and has the memory of `started`, cannot make without a new
/// start, beside those that [`switch::program::Program::can_replace`] names: its devices, its memory and its sockets.
/// Empty where it can make all of them.
pub fn not_live(started: &Gateway, running: &Gateway, wanted: &Gateway) -> Vec<Change> {
    let needs_start = |it: &Difference| it.is_made_at_start() || grows(it, started, wanted);
    differences(running, wanted).into_iter().filter(needs_start).map(Difference::shown).collect()
}

/// The `buffer.shared` with which `wanted` needs no more memory for its buffer than `started` has, where it needs more
/// as it is, perhaps because headroom follows from a rate or a distance. `None` where it fits, or no size makes it fit.
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
    // In whole cells, as it is counted.
    settings.buffer.shared = Cells::within(shared).bytes();
    settings.buffer.egress_lossy = settings.buffer.egress_lossy.min(settings.buffer.shared);
    let fits = memory::packing(&settings.buffer, &settings.ports, &started.runtime).frames <= there;
    let shared = settings.buffer.shared;
    (fits && wanted.program.with_settings(settings).is_ok()).then_some(shared)
}

/// Whether the mbufs of `started` are too short, or too few, for what `difference` changes.
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

/// The mbufs that frames in the buffer of `settings` take on the devices of `running`.
fn waiting_mbufs(running: &Gateway, settings: &Gateway) -> usize {
    let settings = settings.program.settings();
    memory::packing(&settings.buffer, &settings.ports, &running.runtime).frames
}

/// A key as the tables that lead to it, and its two values.
struct Difference {
    path: Vec<String>,
    old: Option<String>,
    new: Option<String>,
}

impl Difference {
    fn shown(self) -> Change {
        const SECRET: &str = "(secret)";
        let secret = matches!(&self.path[..], [.., table, key] if table == "lscc" && key == "key");
        let shown = |value: Option<String>| value.map(|value| if secret { SECRET.into() } else { value });
        Change { key: self.path.join("."), old: shown(self.old), new: shown(self.new) }
    }

    /// Whether it is of what is made once, when the gateway starts.
    fn is_made_at_start(&self) -> bool {
        let path: Vec<_> = self.path.iter().map(String::as_str).collect();
        match path[..] {
            ["control", key] => !matches!(key, "stall" | "drain"),
            ["port", _, table, _] => matches!(table, "device" | "emulation"),
            ["dpdk" | "process", _] => true,
            _ => false,
        }
    }
}

fn differences(old: &Gateway, new: &Gateway) -> Vec<Difference> {
    let (old, new) = (entries(&render(old)), entries(&render(new)));
    let value = |entries: &[Entry], path: &[String]| {
        entries.iter().find(|entry| entry.path == path).map(|entry| entry.value.clone())
    };
    let both = new.iter().map(|entry| {
        let path = entry.path.clone();
        Difference { old: value(&old, &path), new: Some(entry.value.clone()), path }
    });
    let gone = old.iter().filter(|entry| value(&new, &entry.path).is_none());
    let gone =
        gone.map(|entry| Difference { path: entry.path.clone(), old: Some(entry.value.clone()), new: None });
    both.filter(|it| it.old != it.new).chain(gone).collect()
}

/// A line of a rendered gateway.
struct Entry {
    path: Vec<String>,
    value: String,
}

/// Every key of a rendered gateway with its value. The first key of a table of an array says which of
/// them it is.
fn entries(rendered: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    // The tables around the present line, each with what tells it from others of its array.
    let mut tables: Vec<(&str, Option<&str>)> = Vec::new();
    let mut awaits_name = false;
    for line in rendered.lines() {
        if line.starts_with('[') {
            awaits_name = line.starts_with("[[");
            let path: Vec<_> = line.trim_matches(['[', ']']).split('.').collect();
            let same = tables.iter().zip(&path).take_while(|((known, _), name)| known == *name).count();
            tables.truncate(same.min(path.len() - 1));
            let inner = &path[tables.len()..];
            tables.extend(inner.iter().map(|name| (*name, None)));
        } else if let Some((key, value)) = line.split_once(" = ") {
            if awaits_name && let Some((_, name)) = tables.last_mut() {
                *name = Some(value.trim_matches(['"', '[', ']']));
            }
            awaits_name = false;
            let path = tables.iter().flat_map(|(table, name)| [Some(*table), *name]).flatten();
            let path = path.chain([key]).map(Into::into).collect();
            entries.push(Entry { path, value: value.into() });
        }
    }
    entries
}
