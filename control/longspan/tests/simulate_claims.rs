//! What `longspan simulate` makes of the claims of a scenario: runs that are shortened, and runs that stand still.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;

/// The summary of an experiment that we ship.
fn summary(name: &str, arguments: &[&str]) -> (Run, Value) {
    let (scratch, file) = (Scratch::new(), repository(&format!("config/experiments/{name}.toml")));
    let (file, out) = (file.to_str().unwrap(), scratch.path("out"));
    let run = run([&["simulate", file, "--out", &out, "--json"], arguments].concat());
    let summary = json(&run.stdout);
    (run, summary)
}

fn verdicts(summary: &Value) -> Vec<&str> {
    summary["claims"].as_array().unwrap().iter().map(|it| it["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_shortened_run_judges_nothing_and_keeps_its_figures() {
    let short = ["--quick", "--set", "scenario.until=100us"];
    let (run, summary) = summary("bifrost-a", &short);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let verdicts = verdicts(&summary);
    assert!(!verdicts.is_empty() && verdicts.iter().all(|it| *it == "not judged"), "{verdicts:?}");
}

#[test]
fn a_run_that_deadlocks_as_it_is_meant_to_is_no_failure() {
    let (run, summary) = summary("deadlock", &["--quick"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let endings: Vec<_> = summary["runs"].as_array().unwrap().iter().map(|run| &run["ending"]).collect();
    assert_eq!(endings, ["deadlock", "finished"]);
    assert_eq!(verdicts(&summary), ["reproduced"; 4], "it has no quick values, so it is judged");
}
