//! The tables of `longspan simulate --tables`.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;
use std::fs;

/// Some flows of one host, and one that has no end. Each variant has metrics that the other has not.
const SCENARIO: &str = r#"
[scenario]
until = "20us"

[topology]
template = "incast"
senders = 2
receivers = 1
rate = "100G"
delay = "1us"

[[traffic]]
group = "sized"
pattern = "pairs"
sources = ["h0"]
destinations = ["r0"]
size = "3kB"
flows = 3

[[traffic]]
group = "endless"
pattern = "pairs"
sources = ["h1"]
destinations = ["r0"]

[[variant]]
name = "of-receiver"
set.sampling.ports = ["sw0.r0"]

[[variant]]
name = "of-sender"
set.sampling.ports = ["sw0.h0"]
"#;

/// Two points of two keys, of which one has commas and quotes.
const POINTS: [&str; 4] =
    ["--sweep", "topology.senders=2", "--sweep", "traffic.sized.sources=[\"h0\"],[\"h0\",\"h1\"]"];

/// Runs the scenario into a directory, which it returns.
fn simulated(scratch: &Scratch, arguments: &[&str]) -> String {
    let (file, out) = (scratch.write("two.toml", SCENARIO), scratch.path("out"));
    let run = run([&["simulate", &file, "--out", &out][..], &POINTS, arguments].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    out
}

/// The rows of a CSV file.
fn csv(path: &str) -> Vec<Vec<String>> {
    let row = |line: &str| {
        let (mut cells, mut is_quoted) = (vec![String::new()], false);
        for letter in line.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(String::new()),
                _ => cells.last_mut().unwrap().push(letter),
            }
        }
        cells
    };
    // Quotes within quotes are doubled.
    let text = fs::read_to_string(path).unwrap().replace("\"\"", "\u{201d}");
    text.lines()
        .map(|line| row(line).into_iter().map(|cell| cell.replace('\u{201d}', "\"")).collect())
        .collect()
}

#[test]
fn the_table_of_runs_has_the_figures_of_the_summary() {
    let scratch = Scratch::new();
    let out = simulated(&scratch, &["--tables", "csv"]);
    let rows = csv(&format!("{out}/runs.csv"));
    let summary = json(&fs::read_to_string(format!("{out}/summary.json")).unwrap());
    let runs = summary["runs"].as_array().unwrap();
    assert_eq!((rows.len(), runs.len()), (1 + 4, 4));
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let place = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    for (row, run) in rows[1..].iter().zip(runs) {
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let expect = |column: &str, value: &Value| assert_eq!(row[place(column)], shown(value), "{column}");
        expect("scenario", &summary["scenario"]);
        expect("run", &run["name"]);
        for column in ["variant", "seed", "ending", "end_ns", "transmissions"] {
            expect(column, &run[column]);
        }
        expect("flows_started", &run["flows"]["started"]);
        expect("flows_ended", &run["flows"]["ended"]);
        for (key, value) in run["parameters"].as_object().unwrap() {
            expect(&format!("parameter.{key}"), value);
        }
        let metrics = run["metrics"].as_object().unwrap();
        metrics.iter().for_each(|(name, value)| expect(name, value));
        let cells = 9 + 2 + metrics.len();
        assert_eq!(
            row.iter().filter(|cell| !cell.is_empty()).count(),
            cells,
            "metrics of other runs are missing"
        );
        assert!(cells < rows[0].len(), "{cells} of {}", rows[0].len());
    }
}

#[test]
fn the_table_of_flows_has_the_lines_of_all_runs() {
    let scratch = Scratch::new();
    let out = simulated(&scratch, &["--tables", "csv", "--seeds", "2"]);
    let rows = csv(&format!("{out}/flows.csv"));
    let runs = csv(&format!("{out}/runs.csv"));
    assert_eq!(rows[0][..6], runs[0][..6]);
    let mut flows = rows[1..].iter();
    let (mut endless, mut number) = (0, 0);
    for run in &runs[1..] {
        let path = format!("{out}/{}/fct.csv", run[1]);
        for line in csv(&path) {
            if line[0] == "flow" {
                assert_eq!(rows[0][6..], line, "the columns have the same names");
                continue;
            }
            let flow = flows.next().unwrap();
            assert_eq!(flow[..6], run[..6]);
            assert_eq!(flow[6..], line);
            endless += usize::from(line[10].is_empty());
            number += 1;
        }
    }
    assert!(flows.next().is_none() && endless == 8 && number > 8 * 3, "{endless} of {number} flows");
}
