//! `docs/conformance.md` names tests that exist, and misses none of the numbered chapters.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../docs/conformance.md");

/// The chapters that state behaviour by number: all of their tests are on the page, unless it says
/// how many more there are.
const NUMBERED: [&str; 8] = ["buffer", "pfc", "congestion", "scheduling", "ecn", "watchdog", "cnp", "roce"];

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("{name}.rs"));
    fs::read_to_string(&path).expect("the page names a chapter that exists")
}

/// The functions behind a `#[test]`.
fn tests_of(source: &str) -> BTreeSet<&str> {
    let behind = source.split("#[test]\n").skip(1);
    behind.filter_map(|rest| rest.trim_start().strip_prefix("fn ")?.split('(').next()).collect()
}

/// The names on the page in backticks.
fn named() -> BTreeSet<&'static str> {
    PAGE.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let chapters =
        NUMBERED.into_iter().chain(["classification"]).map(|name| source(&format!("conformance_{name}")));
    let sources: Vec<_> = chapters.chain([source("shards")]).collect();
    let tests: BTreeSet<_> = sources.iter().flat_map(|source| tests_of(source)).collect();
    // Sentences, that is, not names of files, settings or crates.
    let sentences = named().into_iter().filter(|name| !name.contains(' ') && name.matches('_').count() > 3);
    let unknown: Vec<_> = sentences.filter(|name| !tests.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn every_numbered_chapter_is_on_the_page_with_all_its_tests() {
    for chapter in NUMBERED {
        let source = source(&format!("conformance_{chapter}"));
        let missing: Vec<_> = tests_of(&source).into_iter().filter(|test| !named().contains(test)).collect();
        assert!(missing.is_empty(), "conformance_{chapter}: {missing:#?}");
    }
}
