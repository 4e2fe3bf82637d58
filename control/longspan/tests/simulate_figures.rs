//! The table of `longspan simulate --figures`: figures of claims that outlive directories and builds.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Hosts that send at random to one, near and far.
const SCENARIO: &str = r#"
[scenario]
until = "100us"

[topology]
template = "incast"
senders = 3
receivers = 1
rate = "100G"

[[traffic]]
group = "random"
pattern = "poisson"
size = ["1kB", "8kB"]
load = 0.3

[[variant]]
name = "near"
set.topology.delay = "1us"

[[variant]]
name = "far"
set.topology.delay = "20us"

[[claim]]
id = "sooner"
text = "what is near arrives sooner"
metric = "fct.random.mean_ns"
of = "near"
against = "far"
least_flows = 1
paper = -0.8

[[claim]]
id = "unknown"
text = "no one measures it"
metric = "moon.phase"
of = "near"
paper = 1.0
source = "ours"
"#;

/// A scenario, a table, and directories for results.
struct Setting {
    scratch: Scratch,
    file: String,
    table: String,
}

impl Setting {
    fn new() -> Self {
        let scratch = Scratch::new();
        let (file, table) = (scratch.write("random.toml", SCENARIO), scratch.path("kept/figures.csv"));
        Self { scratch, file, table }
    }

    fn command<'a>(&'a self, out: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["simulate", &self.file, "--out", out, "--figures", &self.table, "--json"], arguments].concat()
    }

    /// Runs it, and returns what it complains about, and the claims.
    fn run(&self, out: &str, arguments: &[&str]) -> (String, Value) {
        let out = self.scratch.path(out);
        let run = run(self.command(&out, arguments));
        assert_eq!(run.status, 0, "{}", run.stderr);
        (run.stderr, json(&run.stdout)["claims"].clone())
    }

    /// Which of these runs have files.
    fn ran<const N: usize>(&self, out: &str, runs: [&str; N]) -> [bool; N] {
        runs.map(|run| Path::new(&self.scratch.path(out)).join(run).join("fct.csv").exists())
    }

    fn table(&self) -> String {
        fs::read_to_string(&self.table).unwrap()
    }
}

const RUNS: [&str; 4] = ["near/seed-1", "near/seed-2", "far/seed-1", "far/seed-2"];

#[test]
fn another_build_judges_the_same_figures_without_a_run() {
    let setting = Setting::new();
    let (complaints, claims) = setting.run("one", &["--seeds", "2"]);
    assert_eq!((complaints.as_str(), setting.ran("one", RUNS)), ("", [true; 4]));
    assert!(claims[0]["ours"]["standard_error"].as_f64().unwrap() > 0.0, "{claims}");
    let kinds = [0, 1].map(|claim: usize| claims[claim]["kind"].as_str().unwrap());
    assert_eq!(kinds, ["paper", "ours"]);
    let table = setting.table();
    assert!(table.starts_with("inputs,variant,point,seed,ending,metric,value\n"), "{table}");
    // Of each run, the metric of a claim, the number of flows, and what every run has; near, that of the other claim.
    assert_eq!(table.lines().count(), 1 + 2 * 6 + 2 * 7, "{table}");

    let other = setting.scratch.path("other-longspan");
    fs::copy(env!("CARGO_BIN_EXE_longspan"), &other).unwrap();
    // The loader ignores what follows the end of the executable.
    std::io::Write::write_all(&mut fs::File::options().append(true).open(&other).unwrap(), b"other").unwrap();
    let out = setting.scratch.path("two");
    let again = ended(Command::new(&other).args(setting.command(&out, &["--seeds", "2"])));
    assert_eq!((again.status, again.stderr.as_str()), (0, ""));
    assert_eq!((&json(&again.stdout)["claims"], setting.ran("two", RUNS)), (&claims, [false; 4]));
    let page = fs::read_to_string(setting.scratch.path("two/report.html")).unwrap();
    assert!(page.contains("Only the figures of claims are known of 4 runs"));

    // More seeds run alone.
    setting.run("three", &["--seeds", "3"]);
    assert_eq!(setting.ran("three", RUNS), [false; 4]);
    assert_eq!(setting.ran("three", ["near/seed-3", "far/seed-3"]), [true; 2]);
    assert!(table.lines().all(|line| setting.table().contains(line)));
    setting.run("four", &["--seeds", "2", "--again"]);
    assert_eq!(setting.ran("four", RUNS), [true; 4]);
}

#[test]
fn figures_of_other_inputs_are_counted_replaced_and_never_judged() {
    let setting = Setting::new();
    let (_, before) = setting.run("one", &["--seeds", "2"]);
    fs::write(&setting.file, SCENARIO.replace("delay = \"20us\"", "delay = \"30us\"")).unwrap();
    let (complaints, after) = setting.run("two", &["--seeds", "2"]);
    let expected =
        format!("longspan: {}: the figures of 2 runs are of other inputs, and not used\n", setting.table);
    assert_eq!((complaints, setting.ran("two", RUNS)), (expected, [false, false, true, true]));
    assert_ne!(after[0]["ours"], before[0]["ours"]);
    let (complaints, same) = setting.run("three", &["--seeds", "2"]);
    assert_eq!((complaints.as_str(), &same, setting.ran("three", RUNS)), ("", &after, [false; 4]));
    assert_eq!(setting.table().lines().count(), 1 + 2 * 6 + 2 * 7, "no stale row is left");
}

#[test]
fn a_claim_with_another_metric_repeats_the_runs_that_it_is_about() {
    let setting = Setting::new();
    setting.run("one", &[]);
    fs::write(&setting.file, SCENARIO.replace("moon.phase", "queue.max_bytes")).unwrap();
    setting.run("two", &[]);
    assert_eq!(setting.ran("two", ["near/seed-1", "far/seed-1"]), [true, false]);
}

#[test]
fn what_is_complete_is_kept_if_another_run_fails() {
    let setting = Setting::new();
    let directory = setting.scratch.path("one/far/seed-1");
    fs::create_dir_all(&directory).unwrap();
    let held = fs::File::create(format!("{directory}/fct.csv")).unwrap();
    held.lock().unwrap();
    let failed = run(setting.command(&setting.scratch.path("one"), &[]));
    assert!(failed.status == 1 && failed.stderr.contains("another process"), "{}", failed.stderr);
    setting.run("two", &[]);
    assert_eq!(setting.ran("two", ["near/seed-1", "far/seed-1"]), [false, true]);
}

#[test]
fn shards_fill_the_table_and_a_join_reads_it() {
    let setting = Setting::new();
    // Only the second shard shares the table; the join adds the runs of the first from its directory.
    let (file, out) = (&setting.file, setting.scratch.path("one"));
    let first = run(["simulate", file, "--out", &out, "--shard", "1/2", "--seeds", "2"]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    let elsewhere = setting.scratch.path("elsewhere");
    let second = [
        "simulate",
        file,
        "--out",
        &elsewhere,
        "--shard",
        "2/2",
        "--seeds",
        "2",
        "--figures",
        &setting.table,
    ];
    assert_eq!(run(second).status, 0);
    let (_, joined) = setting.run("one", &["--seeds", "2", "--join"]);
    let (_, known) = setting.run("two", &["--seeds", "2"]);
    assert_eq!((joined, setting.ran("two", RUNS)), (known, [false; 4]));
}

#[test]
fn a_table_that_is_damaged_meanwhile_is_a_failure_of_the_run_and_not_of_the_command_line() {
    let mut setting = Setting::new();
    // A run writes this file before it keeps its figures.
    setting.table = setting.scratch.path("one/near/seed-1/summary.json");
    let failed = run(setting.command(&setting.scratch.path("one"), &["--only-variant", "near"]));
    assert_eq!(failed.status, 1, "{}", failed.stderr);
    assert!(failed.stderr.contains(&setting.table), "{}", failed.stderr);
}

#[test]
fn a_damaged_table_is_refused_with_its_line_before_anything_runs() {
    let setting = Setting::new();
    setting.run("one", &[]);
    let whole = setting.table();
    let last = whole.lines().last().unwrap();
    let (row, _) = last.rsplit_once(',').unwrap();
    let merged = format!("{whole}{last}\n");
    let no_figure = whole.replace(last, &format!("{row},NaN"));
    let interrupted = whole.replace(",finished,", ",interrupted,");
    for damaged in [&whole[..whole.len() - 20], &merged, &no_figure, &interrupted] {
        fs::write(&setting.table, damaged).unwrap();
        let refused = run(setting.command(&setting.scratch.path("two"), &[]));
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(&setting.table), "{}", refused.stderr);
        assert!(refused.stderr.contains("line"), "{}", refused.stderr);
    }
    assert!(!Path::new(&setting.scratch.path("two")).exists());
    let quick = run(setting.command(&setting.scratch.path("two"), &["--quick"]));
    assert!(quick.status == 2 && quick.stderr.contains("--quick"), "{}", quick.stderr);
}
