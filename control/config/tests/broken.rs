//! The messages for broken files. Each `tests/broken/NAME.toml` has its messages beside it in
//! `NAME.txt`. To write them anew after a deliberate change, run with `BLESS=1` and read the diff.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

/// All messages for a file, one a line; warnings where it is valid.
fn messages(text: &str, name: &str) -> String {
    let mut messages = match config::parse(text, name) {
        Ok(gateway) => gateway.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(error) => error.to_string(),
    };
    messages.push('\n');
    messages
}

#[test]
fn every_broken_file_is_told_where_and_why_and_what_would_be_valid() {
    let mut differing = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        let said = messages(&fs::read_to_string(&path).unwrap(), name);
        let golden = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected {
            differing.push(format!("{name} should be told\n{expected}and was told\n{said}"));
        }
    }
    assert!(count > 20, "found {count} files");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn only_the_files_of_warnings_yield_a_gateway() {
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let valid = config::load(&path).is_ok();
            let expected = path.file_stem().unwrap().to_str().unwrap().ends_with("warnings");
            assert_eq!(valid, expected, "{}", path.display());
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = config::load(directory().join("no-such.toml")).unwrap_err();
    assert!(matches!(error, config::ConfigError::Unreadable { .. }));
    assert!(error.to_string().contains("no-such.toml"), "{error}");
}
