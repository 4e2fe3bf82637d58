//! A gateway as TOML, with every key written out, and the reference of the keys.

use core::fmt::Write;

use crate::build;
use crate::gateway::Gateway;
use crate::keys::document::Document;
use crate::table::{Item, Key, Node, Table};

/// The TOML text that [`crate::parse`] reads as the same gateway, LSCC's secret keys in clear.
///
/// Every key is written, whatever its default, so that it shows what is in force and stays valid when a
/// default changes.
pub fn render(gateway: &Gateway) -> String {
    rendered(gateway, false)
}

/// The same text for others to see: each secret key is `"(hidden)"`, which [`crate::parse`] refuses.
pub fn render_without_keys(gateway: &Gateway) -> String {
    rendered(gateway, true)
}

fn rendered(gateway: &Gateway, hides: bool) -> String {
    let mut text = String::new();
    write_table(&mut text, "", &build::in_force(gateway).nodes(), hides);
    text.trim_start().into()
}

/// Values first: whatever stands behind the header of a table is of that.
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

/// The keys of each table of a gateway's file, as a table in Markdown, with the path of that table: `port.lossless`.
/// `docs/configuration.md` holds them.
pub fn reference() -> Vec<(String, String)> {
    let mut tables = Vec::new();
    Document::describe("", &mut tables);
    in_markdown(tables, true)
}

/// Tables of keys, each as a table in Markdown, which may say whether a change of a key needs a new start.
pub(crate) fn in_markdown(tables: Vec<(String, &'static [Key])>, says_change: bool) -> Vec<(String, String)> {
    let [change, line] = if says_change { [" change |", "---|"] } else { ["", ""] };
    let header = format!("| key | value | default |{change} meaning |\n|---|---|---|{line}---|\n");
    // A table in a table has rows of its own, at the first key where it stands.
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
