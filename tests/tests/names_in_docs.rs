//! The pages that list names are held against the code.

use switch::{Consumed, DropReason};

const DROPS: &str = include_str!("../../docs/drops.md");

/// The names in the first column of the tables under `heading`.
fn names_under(heading: &str) -> Vec<&'static str> {
    let section =
        DROPS.split("\n## ").find(|section| section.starts_with(heading)).expect("the page has that section");
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn every_drop_reason_has_its_line_in_the_docs_in_order() {
    assert_eq!(names_under("Dropped"), DropReason::ALL.map(DropReason::name));
}

#[test]
fn every_consumed_kind_has_its_line_in_the_docs_in_order() {
    assert_eq!(names_under("Consumed"), Consumed::ALL.map(Consumed::name));
}
