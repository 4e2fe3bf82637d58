//! Writes a gateway as TOML with every key, and the reference of all keys.

use core::fmt::Write;

use crate::build;
use crate::gateway::Gateway;
use crate::keys::document::Document;
use crate::table::{Item, Key, Node, Table};

/// The TOML text that [`crate::parse`] reads as the same gateway, with LSCC's secret keys.
///
/// It has every key, so that it shows what is in force and does not depend on defaults.
pub fn render(gateway: &Gateway) -> String {
    rendered(gateway, false)
}

/// The same text without secrets: each secret key is `"(hidden)"`, which [`crate::parse`] refuses.
pub fn render_without_keys(gateway: &Gateway) -> String {
    rendered(gateway, true)
}

fn rendered(gateway: &Gateway, hides: bool) -> String {
    let mut text = String::new();
    write_table(&mut text, "", &build::in_force(gateway).nodes(), hides);
    text.trim_start().into()
}

/// Writes values first, because everything below the header of a table belongs to that table.
fn write_table(out: &mut String, path: &str, nodes: &[Node], hides: bool) {
    for Node { key, item } in nodes {
        if let Item::Value(value) = item {
            // A link without a key has nothing to hide.
            let hidden = hides && key.is_secret && value != "\"none\"";
            let value = if hidden { "\"(hidden)\"" } else { value };
            // Writing to a string cannot fail.
            let _written = writeln!(out, "{} = {value}", key.name);
        }
    }
    for Node { key, item } in nodes {
        let path = if path.is_empty() { key.name.into() } else { format!("{path}.{}", key.name) };
        let mut write = |header: String, nodes: &[Node]| {
            let _written = writeln!(out, "\n{header}");
            write_table(out, &path, nodes, hides);
        };
        match item {
            Item::Value(_) => {}
            Item::Table(nodes) => write(format!("[{path}]"), nodes),
            Item::Tables(tables) => tables.iter().for_each(|nodes| write(format!("[[{path}]]"), nodes)),
        }
    }
}

/// The reference of `docs/configuration.md`: the path of each table of a gateway's file, such as `port.lossless`, and
/// its keys as a table in Markdown.
pub fn reference() -> Vec<(String, String)> {
    let mut tables = Vec::new();
    Document::describe("", &mut tables);
    in_markdown(tables, true)
}

/// Each table of keys as a table in Markdown, if wanted with a column that says which changes require a restart.
pub(crate) fn in_markdown(tables: Vec<(String, &'static [Key])>, says_change: bool) -> Vec<(String, String)> {
    let [change, line] = if says_change { [" change |", "---|"] } else { ["", ""] };
    let header = format!("| key | value | default |{change} meaning |\n|---|---|---|{line}---|\n");
    // A table that appears in several places is written at the first one.
    let mut known = Vec::new();
    let mut written = Vec::new();
    for (path, keys) in tables {
        let rows = keys.iter().filter(|key| !key.about.is_empty()).map(|key| row(key, says_change));
        let rows: String = rows.collect();
        if !rows.is_empty() && !known.contains(&keys.as_ptr()) {
            known.push(keys.as_ptr());
            written.push((path, header.clone() + &rows));
        }
    }
    written
}

fn row(key: &Key, says_change: bool) -> String {
    let Key { name, about, kind, without, is_restart, .. } = key;
    let change = if *is_restart { " restart |" } else { " live |" };
    let change = if says_change { change } else { "" };
    format!("| `{name}` | {kind} | {without} |{change} {} |\n", about.trim())
}
