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

#[test]
fn a_file_with_many_problems_has_the_first_100_of_them() {
    let port = |name: usize, keys: &str| format!("[[port]]\nname = \"p{name}\"\nrate = \"1G\"\n{keys}\n");
    let two = port(0, "") + &port(1, "");
    let addresses = format!("addresses = [{}]", "\"10.0.0.1/24\",".repeat(40_000));
    let keys: String = (0..40_000).map(|number| format!("unknown{number} = 0\n")).collect();
    let pairs = format!("[forwarding]\npairs = [{}]\n", "[\"a\",\"b\"],\n".repeat(40_000));
    let profiles: String =
        (0..20_000).map(|number| format!("[profile.port.q{number}]\nmtu = 1500\n")).collect();
    let files = [
        (port(0, &addresses) + &port(1, ""), "the address 10.0.0.1 already appears on line 4"),
        (port(0, &keys) + &port(1, ""), "port.unknown0: unknown key"),
        (two.clone() + &pairs, "there is no port \"a\"; valid names are p0, p1"),
        (
            two.clone() + "profile = \"missing\"\n" + &profiles,
            "there is no port profile \"missing\"; valid names are q0, ",
        ),
        (
            (0..40_000).map(|number| port(number, "")).collect(),
            "40000 ports are out of range; expected 1 to 128",
        ),
        (two + &"x = = 1\n".repeat(10_000), "gw.toml:9:"),
    ];
    for (text, first) in files {
        let error = messages(&text, "gw.toml");
        let lines: Vec<_> = error.lines().collect();
        assert!(lines[0].contains(first), "{}", lines[0]);
        assert!(lines.iter().all(|line| line.len() < 2_000));
        let count = if ["ports are", "profile"].iter().any(|one| first.contains(one)) { 1 } else { 101 };
        assert_eq!(lines.len(), count, "{first}");
        assert_eq!(lines[count - 1] == "gw.toml: stopped after 100 errors", count > 1, "{first}");
    }
}
