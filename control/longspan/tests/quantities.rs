//! Pages write quantities by the rule of `units::human`: all golden pages of the workspace, what the book quotes, and
//! what `check` and `plan` print.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use std::fs;
use std::path::PathBuf;
use units::{BitRate, Bytes, Distance, Interval};

/// Units behind a number and a space.
const UNITS: [&str; 18] = [
    "ns", "us", "ms", "s", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s",
    "m", "km",
];
/// The largest of their kind: more has more digits.
const LARGEST: [&str; 4] = ["s", "GB", "Tb/s", "km"];
/// Units in words, which have symbols.
const WORDS: [&str; 6] = ["byte", "bytes", "seconds", "milliseconds", "microseconds", "nanoseconds"];

/// Where a page has quantities as files take them.
#[derive(Clone, Copy, PartialEq)]
enum Exact {
    /// In quotes, behind an option, in problems of a file, and on lines that say what to set.
    Apart,
    /// Anywhere.
    Anywhere,
}

fn is_number(word: &str) -> bool {
    word.starts_with(|it: char| it.is_ascii_digit())
        && word.chars().all(|it| it.is_ascii_digit() || ",.".contains(it))
}

/// Whether a file takes the word as a quantity with a unit: `7.95651ms`, `100G`.
fn is_exact(word: &str) -> bool {
    let has_unit = word.ends_with(|it: char| it.is_ascii_alphabetic());
    has_unit
        && (word.parse::<Interval>().is_ok()
            || word.parse::<Bytes>().is_ok()
            || word.parse::<BitRate>().is_ok()
            || word.parse::<Distance>().is_ok())
}

fn is_grouped(number: &str) -> bool {
    let whole = number.split('.').next().unwrap();
    let mut groups = whole.split(',');
    groups.next().is_some_and(|first| first.len() <= 3) && groups.all(|group| group.len() == 3)
}

/// The words of a line without what is quoted, and without values of options.
fn words(line: &str) -> Vec<&str> {
    let unquoted = line.split('"').step_by(2).flat_map(|part| part.split('`').step_by(2));
    let mut words = Vec::new();
    for part in unquoted {
        let mut of_option = false;
        for word in part.split_whitespace() {
            if !of_option {
                words.push(word.trim_matches(|it: char| "()[],;:.~".contains(it)));
            }
            of_option = word.starts_with("--");
        }
    }
    words
}

/// The quantities of a line that break the rule.
fn otherwise(line: &str, exact: Exact) -> Vec<String> {
    let words = words(line);
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        if exact == Exact::Apart && is_exact(word) {
            found.push((*word).to_owned());
        }
        if !is_number(word) {
            continue;
        }
        let unit = words.get(place + 1).copied().unwrap_or_default();
        let digits = word.chars().filter(char::is_ascii_digit).skip_while(|digit| *digit == '0').count();
        let is_wrong = if UNITS.contains(&unit) {
            let most = if unit == "B" { 5 } else { 3 };
            // The unit of the timeouts of InfiniBand is 4.096 us.
            (digits > most && !["1,000", "4.096"].contains(word) && !LARGEST.contains(&unit))
                || !is_grouped(word)
        } else {
            WORDS.contains(&unit)
                || (exact == Exact::Apart && digits > 4 && !word.contains('.') && !is_grouped(word))
        };
        if is_wrong {
            found.push(format!("{word} {unit}"));
        }
    }
    found
}

/// The lines of a page that break the rule.
fn report(name: &str, page: &str, exact: Exact) -> String {
    let (mut report, mut sets, mut slots) = (String::new(), false, false);
    for line in page.lines() {
        slots = line.starts_with("Other slots") || slots && !line.is_empty();
        let begins = line.chars().take_while(|it| *it == ' ').count() < 14;
        sets = if begins { line.starts_with("  set ") } else { sets };
        let is_exact =
            sets || slots || line.contains(".toml:") || line.contains("calm with a detection time");
        let exact = if is_exact { Exact::Anywhere } else { exact };
        for found in otherwise(line, exact) {
            report += &format!("{name}: {found}: {line}\n");
        }
    }
    report
}

fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_str().unwrap().ends_with(end));
    assert!(!files.is_empty(), "{folder}");
    files.sort();
    files
}

/// The output that a page of the book quotes.
fn quoted(page: &str) -> String {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix("text\n")).collect()
}

/// The breaches of the rule in a part of each file.
fn of_files(files: impl IntoIterator<Item = PathBuf>, part: fn(&str) -> String, exact: Exact) -> String {
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap();
    files.into_iter().map(|file| report(file.to_str().unwrap(), &part(&read(&file)), exact)).collect()
}

#[test]
fn golden_pages_write_quantities_by_the_rule() {
    let folders = ["control/longspan/tests/golden", "control/telemetry/tests/golden"];
    let goldens = folders.into_iter().flat_map(|folder| files(folder, ".txt"));
    // These are a configuration, and metrics for programs.
    let others = ["show-config.txt", "metrics.txt"];
    let pages = goldens.filter(|file| !others.iter().any(|other| file.ends_with(other)));
    assert_eq!(of_files(pages, str::to_owned, Exact::Apart), "");
}

#[test]
fn the_book_quotes_quantities_by_the_rule() {
    // Python has its own rule for the tables that it prints.
    let pages = files("docs", ".md").into_iter().filter(|page| !page.ends_with("python.md"));
    let pages = pages.chain([repository("README.md")]);
    assert_eq!(of_files(pages, quoted, Exact::Apart), "");
}

#[test]
fn problems_write_quantities_as_a_file_takes_them_or_by_the_rule() {
    let folders = ["broken", "newcomers", "scenarios"].map(|name| format!("control/config/tests/{name}"));
    let goldens = folders.iter().flat_map(|folder| files(folder, ".txt"));
    assert_eq!(of_files(goldens, str::to_owned, Exact::Anywhere), "");
}

#[test]
fn check_writes_quantities_by_the_rule() {
    let gateways = files("config/gateways", ".toml");
    let run = run([vec![PathBuf::from("check")], gateways].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(report("check", &run.stdout, Exact::Apart), "");
}

#[test]
fn plans_write_quantities_by_the_rule() {
    let schemes = ["pfc", "bifrost", "bifrostx", "port-grants", "cbfc", "relay"];
    let links = [("100G", "80km"), ("40G", "1.234km"), ("100G", "10000km"), ("400G", "1000km")];
    let mut found = String::new();
    for ((rate, distance), scheme) in links.into_iter().flat_map(|link| schemes.map(|scheme| (link, scheme)))
    {
        // Equation (12) leaves 40G no step with the usual increase.
        for more in [&["--priorities", "3,4"][..], &["--lscc", "--additive-increase", "55M"]] {
            let line =
                [&["plan", "--rate", rate, "--distance", distance, "--scheme", scheme, "--explain"], more]
                    .concat();
            let run = run(&line);
            assert!(!run.stdout.is_empty(), "{}: {}", line.join(" "), run.stderr);
            found += &report(&line.join(" "), &run.stdout, Exact::Apart);
        }
    }
    assert_eq!(found, "");
}

#[test]
fn each_of_the_old_styles_is_found() {
    let old = [
        "up to 7.95651ms on lh0",
        "holds 34,366,336 bytes",
        "holds 34,366,336 B",
        "frames of 2,500 bytes and more",
        "of 4348922 frames",
        "at 2500 Mb/s",
        "dc0 at 100G: yes",
        "814.6 us, and a headroom of 141 kB",
        "BDP = rate x RTT / 8 = 100 Gb/s x 814.564 us / 8",
    ];
    for line in old {
        assert_eq!(otherwise(line, Exact::Apart).len(), 1, "{line}");
    }
    let right =
        "34.4 MB, 9.12 kB, 7.96 ms, 4,348,922 frames, 2.5 Gb/s, --slot 97.2us, xoff = \"13.359456MB\"";
    assert_eq!(otherwise(right, Exact::Apart), [""; 0]);
    assert_eq!(otherwise("a slot of 97.2us, and 4096 bytes", Exact::Anywhere), ["4096 bytes"]);
}
