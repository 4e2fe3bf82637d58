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

/// The first simulation of a newcomer. `BLESS=1` writes its output and its picture anew; then change what README.md says.
#[test]
fn the_first_simulation_prints_and_draws_what_the_pages_show() {
    let (scratch, file) = (Scratch::new(), repository("config/scenarios/long-link.toml"));
    let out = scratch.path("out");
    let run = run(["simulate", file.to_str().unwrap(), "--out", &out, "--quick"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let (printed, _) = run.stdout.split_once("\nResults are in").unwrap();
    let picture = std::fs::read_to_string(format!("{out}/compared.svg")).unwrap();
    let golden = repository("control/longspan/tests/golden/long-link.txt");
    let drawn = repository("docs/long-link.svg");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, printed).unwrap();
        std::fs::write(&drawn, &picture).unwrap();
    }
    let read = |path| std::fs::read_to_string(repository(path)).unwrap();
    assert_eq!(printed, std::fs::read_to_string(golden).unwrap());
    assert!(picture == std::fs::read_to_string(drawn).unwrap(), "docs/long-link.svg is another picture");
    let readme = read("README.md");
    for figure in ["29.9 MB", "10.8 MB", "2.43 ms", "1.18 ms", "96.8 Gb/s", "76.9 Gb/s"] {
        assert!(printed.contains(figure) && readme.contains(figure), "{figure}");
    }
    let (_, tables) = printed.split_once("\n\n").unwrap();
    assert!(read("docs/first-steps.md").contains(tables), "docs/first-steps.md");
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
    let (run, summary) = summary("deadlock", &["--quick", "--seeds", "2"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let endings: Vec<_> = summary["runs"].as_array().unwrap().iter().map(|run| &run["ending"]).collect();
    assert_eq!(endings, ["deadlock", "deadlock", "finished", "finished"]);
    assert_eq!(verdicts(&summary), ["reproduced"; 4], "it has no quick values, so it is judged");
}
