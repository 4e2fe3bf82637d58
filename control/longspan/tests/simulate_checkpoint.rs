//! A run of `longspan simulate` that is killed or ended goes on from its checkpoint.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

/// The arguments of a run of three hosts that send to one over long links.
fn arguments(out: &str, arguments: &[&str]) -> Vec<String> {
    let scenario = repository("tests/data/scenarios/long-incast.toml").to_str().unwrap().to_owned();
    let whole = ["simulate", &scenario, "--out", out].into_iter().chain(arguments.iter().copied());
    whole.map(str::to_owned).collect()
}

/// Runs it to its end, and returns what was on standard error.
fn done(out: &str, more: &[&str]) -> String {
    let run = run(arguments(out, more));
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.stderr
}

/// A run that is under way, once `file` of it is there.
fn under_way(out: &str, more: &[&str], file: &str) -> Child {
    let mut command = longspan();
    let command = command.args(arguments(out, more)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    while !Path::new(out).join(file).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ends before {file} is there");
        thread::yield_now();
    }
    child
}

/// All files below a directory.
fn files(directory: &str) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path.to_str().unwrap().to_owned()),
                false => drop(found.insert(path.to_str().unwrap().to_owned(), fs::read(&path).unwrap())),
            }
        }
    }
    found
        .into_iter()
        .map(|(name, bytes)| (name.rsplit_once("/seed-1").map_or(name.clone(), |it| it.1.into()), bytes))
        .collect()
}

/// Asserts that both directories hold the same results, byte for byte.
fn assert_same(one: &str, other: &str) {
    let results = |out: &str| files(&format!("{out}/seed-1"));
    let (one, other) = (results(one), results(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in one {
        assert!(bytes == other[&name], "{name} differs");
    }
}

#[test]
fn a_run_that_is_killed_or_ended_goes_on_from_its_checkpoint_with_the_same_results() {
    let scratch = Scratch::new();
    let [whole, killed] = ["whole", "killed"].map(|name| scratch.path(name));
    assert_eq!(done(&whole, &[]), "");

    let mut child = under_way(&killed, &["--checkpoint", "1ms", "--threads", "3"], "seed-1/checkpoint");
    child.kill().unwrap();
    child.wait().unwrap();
    let checkpoint = Path::new(&killed).join("seed-1/checkpoint");
    assert!(
        checkpoint.exists() && !Path::new(&killed).join("seed-1/summary.json").exists(),
        "it was killed too late"
    );
    let of_killed = fs::read(&checkpoint).unwrap();

    // The second command is ended once it goes on, and leaves a later checkpoint.
    fs::remove_dir_all(Path::new(&killed).join("seed-1/switches")).unwrap();
    let mut child = under_way(&killed, &["--checkpoint", "1h"], "seed-1/switches/sw0.toml");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(fs::read(&checkpoint).unwrap() != of_killed, "it wrote one more");

    assert_eq!(done(&killed, &[]), "", "it goes on without a word");
    assert!(!checkpoint.exists());
    assert_same(&killed, &whole);

    // The digest of other inputs.
    let wrong = scratch.path("wrong");
    fs::create_dir_all(format!("{wrong}/seed-1")).unwrap();
    fs::write(
        format!("{wrong}/seed-1/checkpoint"),
        [&of_killed[..8], &[b'0'; 32], &of_killed[40..]].concat(),
    )
    .unwrap();
    let said = done(&wrong, &[]);
    assert!(said.contains("seed-1: begins anew") && said.contains("of other inputs"), "{said}");
    assert_same(&wrong, &whole);
}

#[test]
fn a_directory_of_the_name_of_the_checkpoint_stays_and_the_error_says_what_to_do() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let directory = format!("{out}/seed-1/checkpoint");
    fs::create_dir_all(format!("{directory}/of-someone")).unwrap();
    for more in [&[][..], &["--again"]] {
        let run = run(arguments(&out, more));
        assert_eq!(run.status, 1);
        let wanted =
            format!("{directory}: a checkpoint needs this name, but it is a directory; move it away");
        assert!(run.stderr.contains(&wanted), "{}", run.stderr);
        assert!(Path::new(&directory).join("of-someone").exists());
    }
}

#[test]
fn a_checkpoint_of_lanes_is_refused_by_the_name_of_the_switch_before_anything_is_written() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let run = run(arguments(&out, &["--checkpoint", "1ms", "--set", "switch.lanes=2"]));
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("--checkpoint: sw0 has several lanes"), "{}", run.stderr);
    assert!(!Path::new(&out).exists());
    assert_eq!(done(&out, &["--set", "switch.lanes=2"]), "");
}
