//! The references of keys in `docs/` are what the tables of keys declare. To write it anew after a
//! deliberate change, run with `BLESS=1` and read the diff.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

/// The text of the page with what stands between the markers of each table replaced, and the tables that it holds.
fn written_anew(page: &str, tables: &[(String, String)]) -> (String, Vec<String>) {
    const END: &str = "<!-- end of keys -->";
    let (mut text, mut held, mut rest) = (String::new(), Vec::new(), page);
    while let Some((before, after)) = rest.split_once("<!-- keys of ") {
        let (path, after) = after.split_once(" -->").expect("a marker ends");
        let (_, after) = after.split_once(END).unwrap_or_else(|| panic!("the keys of {path} have no end"));
        let table = tables.iter().find(|(known, _)| known == path);
        let (_, keys) = table.unwrap_or_else(|| panic!("no table is called {path}"));
        text += &format!("{before}<!-- keys of {path} -->\n{keys}{END}");
        held.push(path.to_owned());
        rest = after;
    }
    (text + rest, held)
}

/// Holds the page against `tables`.
fn hold(page: &str, tables: &[(String, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let (anew, held) = written_anew(&fs::read_to_string(&path).unwrap(), tables);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &anew).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == anew,
        "docs/{page} is not what the tables declare: run with BLESS=1"
    );
    let missing: Vec<_> = tables.iter().map(|(path, _)| path).filter(|path| !held.contains(path)).collect();
    assert!(missing.is_empty(), "docs/{page} lacks the keys of {missing:?}");
}

#[test]
fn the_reference_of_a_gateway_is_what_the_tables_declare_and_leaves_none_out() {
    hold("configuration.md", &config::reference());
}

#[test]
fn the_reference_of_a_scenario_is_what_its_tables_declare_and_leaves_none_out() {
    hold("scenarios.md", &config::scenario::reference());
}
