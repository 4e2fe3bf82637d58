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

/// Three hosts send to one over long links. Its flows, its samples and its captures make all files of a run.
const SCENARIO: &str = r#"
[scenario]
until = "10ms"

[topology]
template = "incast"
senders = 3
receivers = 1
rate = "100G"
delay = "20us"

[[traffic]]
group = "random"
pattern = "poisson"
size = ["1kB", "80kB"]
load = 0.3

[[traffic]]
group = "sampled"
pattern = "pairs"
sources = ["h*"]
destinations = ["r0"]
size = "4MB"

[sampling]
interval = "5us"
rows = 300
flows = ["sampled"]
taps = ["sw0"]
"#;

struct Setting {
    scratch: Scratch,
    file: String,
}

impl Setting {
    fn new() -> Self {
        let scratch = Scratch::new();
        let file = scratch.write("scenario.toml", SCENARIO);
        Self { scratch, file }
    }

    fn arguments<'a>(&'a self, out: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["simulate", &self.file, "--out", out], arguments].concat()
    }

    /// Runs it to its end, and returns what was on standard error.
    fn done(&self, out: &str, arguments: &[&str]) -> String {
        let run = run(self.arguments(out, arguments));
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.stderr
    }

    /// A run that is under way, once `file` of it is there.
    fn under_way(&self, out: &str, arguments: &[&str], file: &str) -> Child {
        let mut command = longspan();
        let command =
            command.args(self.arguments(out, arguments)).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while !Path::new(out).join(file).exists() {
            assert!(child.try_wait().unwrap().is_none(), "the run ends before {file} is there");
            thread::yield_now();
        }
        child
    }
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
    let setting = Setting::new();
    let [whole, killed] = ["whole", "killed"].map(|name| setting.scratch.path(name));
    assert_eq!(setting.done(&whole, &[]), "");

    let mut child = setting.under_way(&killed, &["--checkpoint", "1ms"], "seed-1/checkpoint");
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
    let mut child = setting.under_way(&killed, &["--checkpoint", "1h"], "seed-1/switches/sw0.toml");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(fs::read(&checkpoint).unwrap() != of_killed, "it wrote one more");

    assert_eq!(setting.done(&killed, &[]), "", "it goes on without a word");
    assert!(!checkpoint.exists());
    assert_same(&killed, &whole);

    // The digest of other inputs.
    let wrong = setting.scratch.path("wrong");
    fs::create_dir_all(format!("{wrong}/seed-1")).unwrap();
    fs::write(
        format!("{wrong}/seed-1/checkpoint"),
        [&of_killed[..8], &[b'0'; 32], &of_killed[40..]].concat(),
    )
    .unwrap();
    let said = setting.done(&wrong, &[]);
    assert!(said.contains("seed-1: begins anew") && said.contains("of other inputs"), "{said}");
    assert_same(&wrong, &whole);
}
