//! The pages that list names are held against the code.

#[allow(dead_code, reason = "other tests show paths")]
mod source_tree;

use source_tree::{files_under, is_rust, root};
use std::fs;
use switch::figure::LISTS;
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

#[test]
fn every_figure_of_a_list_is_in_the_docs_wherever_it_is_shown() {
    const REPORT: &str = include_str!("../../docs/report.md");
    const SHOW: &str = include_str!("../../docs/show.md");
    const SERIES: &str = include_str!("../../docs/series.md");
    const SIMULATE: &str = include_str!("../../docs/simulate.md");
    for list in LISTS {
        for (path, figure) in list.figures() {
            let key = format!("`{}`", figure.key);
            assert!(REPORT.contains(&key) || SHOW.contains(&key), "{} {path}", list.name);
            let column = figure.sampled.map(|it| format!("`{}`", it.name));
            assert!(column.is_none_or(|it| SERIES.contains(&it)), "docs/series.md: {} {path}", list.name);
            let metric = figure.of_run.map(|name| format!(".{name}`"));
            assert!(metric.is_none_or(|it| SIMULATE.contains(&it)), "docs/simulate.md: {} {path}", list.name);
        }
    }
}

/// Names of tests are statements, so they are longer than others.
#[test]
fn every_test_that_the_threat_model_names_exists() {
    const PAGE: &str = include_str!("../../docs/security.md");
    const SHORTEST: usize = 25;
    let code: Vec<_> =
        files_under(root(), is_rust).iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    let names: Vec<_> = PAGE.split('`').skip(1).step_by(2).collect();
    let tests = names.iter().filter(|name| name.len() >= SHORTEST && !name.contains(['/', ' ']));
    let exists = |name: &str| {
        let (function, trial) = (format!("fn {name}("), format!("\"{name}\""));
        code.iter().any(|text| text.contains(&function) || text.contains(&trial))
    };
    let missing: Vec<_> = tests.clone().filter(|name| !exists(name)).collect();
    assert!(tests.count() > 30 && missing.is_empty(), "{missing:?}");
}
