//! What a scenario states of samples: which flows count, and which events are recorded.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;
use std::fs;

/// Three hosts send to one at the same time, and then at random. Fast even in a debug build.
const SCENARIO: &str = r#"
[scenario]
until = "100us"

[topology]
template = "incast"
senders = 3
receivers = 1
rate = "100G"
delay = "20us"

[[traffic]]
group = "burst"
pattern = "pairs"
sources = ["h*"]
destinations = ["r0"]
size = "80kB"

[[traffic]]
group = "random"
pattern = "poisson"
size = ["1kB", "8kB"]
load = 0.3
"#;

/// Runs it with these values, and returns the directory of the run.
fn done(scratch: &Scratch, out: &str, values: &[&str]) -> String {
    let (file, out) = (scratch.write("three.toml", SCENARIO), scratch.path(out));
    let values = values.iter().flat_map(|value| ["--set", *value]);
    let run = run(["simulate", &file, "--out", &out].into_iter().chain(values));
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    format!("{out}/seed-1")
}

/// What standard error says of a value that is refused.
fn refused(scratch: &Scratch, values: &[&str]) -> String {
    let (file, out) = (scratch.write("three.toml", SCENARIO), scratch.path("refused"));
    let values = values.iter().flat_map(|value| ["--set", *value]);
    let run = run(["simulate", &file, "--out", &out].into_iter().chain(values));
    assert_eq!(run.status, 2);
    run.stderr
}

#[test]
fn flows_that_end_after_the_last_start_have_rows_and_only_those_of_the_stated_times_are_counted() {
    let scratch = Scratch::new();
    let run = |out: &str, values: &[&str]| {
        let directory = done(&scratch, out, values);
        let flows = fs::read_to_string(format!("{directory}/fct.csv")).unwrap();
        let rows = flows.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect());
        let summary = json(&fs::read_to_string(format!("{directory}/summary.json")).unwrap());
        (rows.collect::<Vec<Vec<String>>>(), summary["metrics"]["fct.all.count"].as_u64().unwrap() as usize)
    };
    let number = |row: &[String], cell: usize| row[cell].parse::<u64>().unwrap();
    let (all, of_all) = run("all", &[]);
    let late = all.iter().filter(|row| number(row, 7) > 100_000).count();
    assert!(late > 0 && all.len() == of_all, "{late} of {} end after 100 us", all.len());
    let (rows, counted) = run("some", &["sampling.counted=[\"20us\", \"60us\"]"]);
    let is_counted = |row: &&Vec<String>| (20_000..60_000).contains(&number(row, 6));
    assert!((1..of_all).contains(&counted), "{counted} of {of_all}");
    assert_eq!(counted, rows.iter().filter(is_counted).count());
    for (row, before) in rows.iter().zip(&all) {
        assert_eq!((&row[..13], row[13] == "1"), (&before[..13], is_counted(&row)), "the run is the same");
    }
    let late = refused(&scratch, &["sampling.counted=[\"101us\", \"200us\"]"]);
    let why = "sampling.counted: 101us is out of range; expected a first time of scenario.until or less";
    assert!(late.contains(why), "{late}");
}

#[test]
fn events_are_written_for_the_switches_ports_and_kinds_that_are_stated_and_are_those_of_a_replay() {
    let scratch = Scratch::new();
    let common = ["switch.lossless.xoff=20kB", "switch.ecn.on=false", "sampling.taps=[\"sw0\"]"];
    let recorded = |out: &str, more: &[&str]| {
        let directory = done(&scratch, out, &[&common[..], more].concat());
        let lines = fs::read_to_string(format!("{directory}/events/sw0.jsonl")).unwrap();
        (directory, lines.lines().map(json).collect::<Vec<Value>>())
    };
    let (directory, all) = recorded("all", &["sampling.events=[\"sw0\"]"]);
    let is_pause = |event: &&Value| event["kind"] == "pause" && event["port"] == "h0";
    let (pauses, others) = all.iter().partition::<Vec<_>, _>(is_pause);
    assert!(!pauses.is_empty() && others.iter().any(|event| event["kind"] == "xoff"), "{all:?}");
    let some = ["sampling.events=[\"sw0.h0\"]", "sampling.event_kinds=[\"pause\"]"];
    // Lines are numbered in their file.
    let unnumbered = |event: &Value| {
        let mut event = event.clone();
        event.as_object_mut().unwrap().remove("number");
        event
    };
    let same: Vec<_> = pauses.into_iter().map(unnumbered).collect();
    assert_eq!(recorded("some", &some).1.iter().map(unnumbered).collect::<Vec<_>>(), same);

    let input = |port: &str| format!("{port}={directory}/captures/sw0.{port}.in.pcap");
    let inputs = ["h0", "h1", "h2", "r0"].map(input);
    let (config, events) = (format!("{directory}/switches/sw0.toml"), scratch.path("replayed.jsonl"));
    let inputs = inputs.iter().flat_map(|input| ["--in", input.as_str()]);
    assert_eq!(run(["replay", "--config", &config, "--events", &events].into_iter().chain(inputs)).status, 0);
    let replayed: Vec<Value> = fs::read_to_string(&events).unwrap().lines().map(json).collect();
    // The replay goes on until all pauses have run out.
    assert_eq!(replayed[..all.len()], all);
    let wrong = refused(&scratch, &["sampling.events=[\"sw0\"]", "sampling.event_kinds=[\"pausing\"]"]);
    assert!(wrong.contains("sampling.event_kinds: pausing matches no kind"), "{wrong}");
}
