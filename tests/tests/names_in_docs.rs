//! The pages that list names are held against the code.

#[allow(dead_code, reason = "other tests show paths")]
mod source_tree;

use source_tree::{files_under, is_rust, root};
use std::collections::BTreeSet;
use std::fs;
use switch::figure::{LISTS, Section};
use switch::{Consumed, DropReason};

const DROPS: &str = include_str!("../../docs/drops.md");
const REPORT: &str = include_str!("../../docs/report.md");
const SHOW: &str = include_str!("../../docs/show.md");
const SERIES: &str = include_str!("../../docs/series.md");
const SIMULATE: &str = include_str!("../../docs/simulate.md");

/// The part of `page` below `heading`, up to the next heading.
fn below<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, below) = page.split_once(&format!("\n{heading}\n")).expect("the page has that heading");
    below.split("\n#").next().unwrap_or(below)
}

/// The rows of the tables in `text` whose first column has the heading `column`.
fn rows<'a>(text: &'a str, column: &str) -> impl Iterator<Item = &'a str> {
    let head = format!("| {column} |");
    let tables = text.split("\n\n").filter(move |table| table.trim_start().starts_with(&head));
    tables.flat_map(|table| table.trim_start().lines().skip(2).take_while(|line| line.starts_with('|')))
}

/// The names in backticks in `text`.
fn names(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split('`').skip(1).step_by(2)
}

/// The names in the first column of the tables in `text` whose first column has the heading `column`.
fn first_column<'a>(text: &'a str, column: &str) -> Vec<&'a str> {
    rows(text, column).filter_map(|row| row.split('|').nth(1)).flat_map(names).collect()
}

#[test]
fn every_drop_reason_has_its_line_in_the_docs_in_order() {
    assert_eq!(first_column(below(DROPS, "## Dropped"), "name"), DropReason::ALL.map(DropReason::name));
}

#[test]
fn every_consumed_kind_has_its_line_in_the_docs_in_order() {
    assert_eq!(first_column(below(DROPS, "## Consumed"), "name"), Consumed::ALL.map(Consumed::name));
}

/// The keys of a section, sorted.
fn keys(section: &Section) -> BTreeSet<&str> {
    section.figures.iter().map(|figure| figure.key).collect()
}

#[test]
fn the_figures_of_a_report_have_their_keys_in_the_table_of_their_object_and_no_other_is_there() {
    for list in LISTS {
        let text = below(REPORT, &format!("### `{}`", list.name));
        for section in list.report {
            let column = match section.name {
                "" => "key".to_owned(),
                name => format!("key of `{name}`"),
            };
            let documented: BTreeSet<_> = first_column(text, &column).into_iter().collect();
            assert_eq!(documented, keys(section), "docs/report.md: {} {}", list.name, section.name);
        }
    }
}

#[test]
fn the_figures_that_hold_now_have_their_keys_in_the_table_of_a_port_of_a_snapshot() {
    let ports = below(SHOW, "### `ports`");
    for section in LISTS.iter().flat_map(|list| list.now) {
        let documented: BTreeSet<_> = match section.name {
            "" => first_column(ports, "key").into_iter().collect(),
            name => rows(ports, "key")
                .filter(|row| row.starts_with(&format!("| `{name}` |")))
                .flat_map(|row| names(row).skip(1))
                .collect(),
        };
        assert!(documented.is_superset(&keys(section)), "docs/show.md: {} of {documented:?}", section.name);
    }
}

#[test]
fn the_columns_of_a_series_and_the_results_of_a_simulation_have_their_rows() {
    let columns = first_column(below(SERIES, "## Columns"), "name");
    let all = || LISTS.into_iter().flat_map(|list| list.figures().map(move |(path, it)| (list, path, it)));
    for (list, path, sampled) in all().filter_map(|(list, path, it)| Some((list, path, it.sampled?))) {
        assert!(columns.contains(&sampled.name), "docs/series.md: {} {path}", list.name);
    }
    for (list, path, result) in all().filter_map(|(list, path, it)| Some((list, path, it.of_run?))) {
        let prefix = format!("{}.NODE.PORT", list.name);
        // A name that begins with a dot has the prefix of the row's first.
        let is_there = |row: &str| {
            row.starts_with(&format!("| `{prefix}."))
                && names(row.split('|').nth(1).unwrap_or_default())
                    .any(|name| name.strip_prefix(&prefix).unwrap_or(name) == format!(".{result}"))
        };
        assert!(SIMULATE.lines().any(is_there), "docs/simulate.md: {prefix}.{result}, {path}");
    }
}

/// Names of tests are statements, so they are longer than others.
#[test]
fn every_test_that_the_threat_model_names_exists() {
    const PAGE: &str = include_str!("../../docs/security.md");
    const SHORTEST: usize = 25;
    let code: Vec<_> =
        files_under(root(), is_rust).iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    let tests = names(PAGE).filter(|name| name.len() >= SHORTEST && !name.contains(['/', ' ']));
    let exists = |name: &str| {
        let (function, trial) = (format!("fn {name}("), format!("\"{name}\""));
        code.iter().any(|text| text.contains(&function) || text.contains(&trial))
    };
    let missing: Vec<_> = tests.clone().filter(|name| !exists(name)).collect();
    assert!(tests.count() > 30 && missing.is_empty(), "{missing:?}");
}
