//! The pages that list names are held against the code.

#[allow(dead_code, reason = "other tests show paths")]
mod source_tree;

use source_tree::{files_under, is_rust, root};
use std::fs;
use switch::figure::LISTS;

const SIMULATE: &str = include_str!("../../docs/simulate.md");

/// The names in backticks in `text`.
fn names(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_results_of_a_simulation_have_their_rows() {
    let all = || LISTS.into_iter().flat_map(|list| list.figures().map(move |(path, it)| (list, path, it)));
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
