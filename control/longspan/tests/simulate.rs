//! `longspan simulate` as a process: files, seeds, sweeps, resuming, and errors.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Three hosts send to one at the same time, and then at random, with and without marks. Fast even in a debug build.
const SCENARIO: &str = r#"
[scenario]
title = "Three to one"
until = "100us"

[topology]
template = "incast"
senders = 3
receivers = 1
rate = "100G"
delay = "1us"

[[traffic]]
group = "burst"
pattern = "pairs"
sources = ["h*"]
destinations = ["r0"]
size = "40kB"

[[traffic]]
group = "random"
pattern = "poisson"
size = ["1kB", "8kB"]
load = 0.3

[sampling]
interval = "1us"
rows = 40
flows = ["burst"]

[[variant]]
name = "near"
set.topology.delay = "1us"

[[variant]]
name = "far"
set.topology.delay = "20us"

[[claim]]
id = "sooner"
text = "what is near arrives sooner"
metric = "fct.burst.mean_ns"
of = "near"
against = "far"
least_flows = 3
paper = -0.5

[[claim]]
id = "lossless"
text = "nothing is lost"
metric = "drops.lossless"
of = "far"
paper = 0.0
better = "less"

[[claim]]
id = "range"
text = "a short flow arrives sooner by what its way is shorter"
metric = "fct.burst.mean_ns"
of = "near"
against = "far"
least_flows = 3
paper = [-0.99, -0.01]

[[claim]]
id = "few"
text = "three flows are no percentile"
metric = "fct.burst.p99_ns"
of = "near"
against = "far"
paper = -0.5

[[claim]]
id = "unknown"
text = "no one measures it"
metric = "moon.phase"
of = "far"
paper = 1.0

[quick]
traffic.burst.size = "4kB"
"#;

/// A scenario, and a directory for its results.
struct Setting {
    scratch: Scratch,
    file: String,
}

impl Setting {
    fn new() -> Self {
        Self::with(SCENARIO)
    }

    fn with(scenario: &str) -> Self {
        let scratch = Scratch::new();
        let file = scratch.write("three.toml", scenario);
        Self { scratch, file }
    }

    /// Runs it, with results in the directory `out`.
    fn run(&self, out: &str, arguments: &[&str]) -> Run {
        run([&["simulate", &self.file, "--out", &self.scratch.path(out)], arguments].concat())
    }

    /// Runs it successfully, and returns its output.
    fn done(&self, out: &str, arguments: &[&str]) -> String {
        let run = self.run(out, arguments);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
        run.stdout
    }

    fn summary(&self, path: &str) -> Value {
        json(&fs::read_to_string(self.scratch.path(path)).unwrap())
    }

    fn files(&self, out: &str) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(Path::new(&self.scratch.path(out)), "", &mut found);
        found
    }
}

/// Asserts that both sets hold the same files, byte for byte.
fn assert_same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in one {
        assert!(bytes == &other[name], "{name} differs");
    }
}

fn collect(directory: &Path, before: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &name, found);
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn the_same_seeds_give_the_same_bytes_however_many_run_at_a_time() {
    let setting = Setting::new();
    let wanted = ["--sweep", "topology.rate=100G,40G", "--seeds", "2", "--seed", "7"];
    setting.done("one", &[&wanted[..], &["--jobs", "1"]].concat());
    setting.done("many", &[&wanted[..], &["--jobs", "5"]].concat());
    let (one, many) = (setting.files("one"), setting.files("many"));
    assert_same(&one, &many);
    for file in ["summary.json", "fct.csv", "series.csv", "switches/sw0.toml"] {
        for run in ["near/topology.rate=100G", "far/topology.rate=40G"] {
            assert!(one.contains_key(&format!("/{run}/seed-8/{file}")), "{run} {file}: {:?}", one.keys());
        }
    }
    let flows = |seed: u32| &one[&format!("/near/topology.rate=100G/seed-{seed}/fct.csv")];
    assert!(flows(7) != flows(8), "random flows depend on the seed");
}

#[test]
fn a_summary_has_parameters_metrics_and_verdicts() {
    let setting = Setting::new();
    let page = setting.done("out", &["--seeds", "3", "--set", "scenario.stall=90ms"]);
    assert!(page.contains("Three to one") && page.contains("seeds 1, 2, 3"), "{page}");
    let summary = setting.summary("out/summary.json");
    assert_eq!((&summary["format"], &summary["scenario"]), (&1.into(), &"three".into()));
    let runs = summary["runs"].as_array().unwrap();
    let names: Vec<_> = runs.iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["near/seed-1", "near/seed-2", "near/seed-3", "far/seed-1", "far/seed-2", "far/seed-3"]
    );
    for run in runs {
        assert_eq!(run["ending"], "finished");
        assert_eq!(run["parameters"]["scenario.stall"], "90ms");
        assert_eq!(run["flows"]["started"], run["flows"]["ended"]);
        let metrics = &run["metrics"];
        assert_eq!(metrics["fct.burst.count"], 3);
        assert!(metrics["slowdown.all.p99"].as_f64().unwrap() >= 1.0);
        // In the burst, each of three hosts sends 40 packets: 39 of 1,082 bytes, and one of 64 + 58. Meanwhile, one link
        // carries 40 of them, or 60 if the random flows delay the hosts by half of that time.
        let (host, queue) = (39 * 1_082 + 122, metrics["queue.sw0.r0.max_bytes"].as_u64().unwrap());
        assert!(queue >= 3 * host - host * 3 / 2, "{queue} of {host} from each host");
        assert!(
            metrics["link.r0/sw0.sw0.mean_bps"]
                .as_f64()
                .or(metrics["link.sw0/r0.sw0.mean_bps"].as_f64())
                .is_some()
        );
        let settled: Vec<_> =
            (0..3).filter_map(|flow| metrics[format!("flow.{flow}.settled_bps")].as_u64()).collect();
        let ends = ["min", "max"].map(|of| metrics[format!("settled.burst.{of}_bps")].as_u64());
        assert!(!settled.is_empty());
        assert_eq!(ends, [settled.iter().min().copied(), settled.iter().max().copied()]);
        let [may_hold, held] =
            ["may_hold.sw0.r0.bytes", "ingress.sw0.r0.max_bytes"].map(|it| metrics[it].as_u64());
        assert!(may_hold.unwrap() > 10_000, "at least its headroom");
        assert!(may_hold >= held);
        let path = format!("out/{}/summary.json", run["name"].as_str().unwrap());
        let of_run = setting.summary(&path);
        assert_eq!(&of_run["metrics"], metrics);
        // The order is checked at each delivery, and nothing is lost.
        let hosts = || of_run["hosts"].as_object().unwrap().values();
        let data = |key: &str| -> u64 { hosts().map(|host| host[key].as_u64().unwrap()).sum() };
        assert!(data("data_sent") >= 3 * 40, "the burst alone");
        assert_eq!(
            (&of_run["checks"]["order"], data("data_sent")),
            (&data("data_received").into(), data("data_received"))
        );
        assert!(of_run["switches"]["sw0"]["ports"].is_array() && of_run["hosts"]["h0"]["data_sent"].is_u64());
    }
    let verdicts: Vec<_> = summary["claims"].as_array().unwrap().iter().map(|it| &it["verdict"]).collect();
    assert_eq!(verdicts, ["undecided", "reproduced", "undecided", "not measured", "not measured"]);
    let of = |claim: usize, key: &str| summary["claims"][claim][key].clone();
    assert_eq!((of(0, "needed"), of(1, "kind")), (20.into(), "guarantee".into()));
    assert!(page.contains("3 of 20"), "{page}");
    let papers: Vec<_> = summary["claims"].as_array().unwrap().iter().map(|it| it["paper"].clone()).collect();
    assert_eq!(papers, [(-0.5).into(), 0.into(), serde_json::json!([-0.99, -0.01]), (-0.5).into(), 1.into()]);
    let printed = json(&setting.done("out", &["--seeds", "3", "--set", "scenario.stall=90ms", "--json"]));
    assert_eq!(printed, summary);
}

#[test]
fn flows_are_written_as_they_end_and_rows_are_bounded() {
    let setting = Setting::new();
    setting.done("out", &["--only-variant", "far"]);
    let flows = fs::read_to_string(setting.scratch.path("out/far/seed-1/fct.csv")).unwrap();
    let header = "flow,group,source,destination,priority,bytes,start_ns,end_ns,fct_ns,ideal_ns,slowdown,\
                  retransmitted,acked_ns,counted";
    let mut lines = flows.lines();
    let mut acked = Vec::new();
    assert_eq!(lines.next(), Some(header));
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        let number = |cell: usize| cells[cell].parse::<u64>().unwrap();
        assert_eq!((cells.len(), number(8), number(13)), (14, number(7) - number(6), 1), "{line}");
        assert!(number(9) <= number(8), "{line}");
        acked.push(number(12) - number(6));
        assert!(number(12) > number(7) + 40_000, "the acknowledgement takes two links of 20 us: {line}");
    }
    let metrics = &setting.summary("out/far/seed-1/summary.json")["metrics"];
    let mean = acked.iter().sum::<u64>() as f64 / acked.len() as f64;
    assert!((metrics["fct_acked.all.mean_ns"].as_f64().unwrap() - mean).abs() < 1e-3, "{mean}");
    assert_eq!(metrics["fct_acked.all.max_ns"].as_f64(), acked.iter().max().map(|most| *most as f64));
    let series = fs::read_to_string(setting.scratch.path("out/far/seed-1/series.csv")).unwrap();
    let rows: Vec<Vec<&str>> = series.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 20 && rows.len() <= 41, "{}", rows.len());
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    for column in
        ["sw0.r0.egress_bytes", "sw0.r0.sent_bps", "sw0.buffer_bytes", "flow.0.rate_bps", "flow.0.sent_bps"]
    {
        assert!(rows[0].contains(&column), "{column}: {:?}", rows[0]);
    }
}

#[test]
fn what_is_complete_is_not_run_again() {
    let setting = Setting::new();
    let first = setting.done("out", &[]);
    // Each run writes this file, and nothing reads it.
    let paths = ["near", "far"].map(|it| setting.scratch.path(&format!("out/{it}/seed-1/switches/sw0.toml")));
    let summary = setting.summary("out/summary.json");
    let there = || [&paths[0], &paths[1]].map(|path| Path::new(path).exists());
    let forget = || paths.iter().for_each(|path| fs::remove_file(path).unwrap_or_default());

    forget();
    assert_eq!(setting.done("out", &[]), first);
    assert_eq!(setting.summary("out/summary.json"), summary);
    assert_eq!(there(), [false, false], "both are known");

    // An interrupted run leaves no summary.
    fs::remove_file(setting.scratch.path("out/near/seed-1/summary.json")).unwrap();
    setting.done("out", &[]);
    assert_eq!(setting.summary("out/summary.json"), summary);
    assert_eq!(there(), [true, false], "only what was not complete is run");

    forget();
    setting.done("out", &["--again"]);
    assert_eq!(there(), [true, true], "all are run again");

    forget();
    setting.done("out", &["--quick"]);
    assert_eq!(there(), [true, true], "other values give other results");
    assert_ne!(setting.summary("out/summary.json")["runs"], summary["runs"]);

    forget();
    fs::write(&setting.file, SCENARIO.replace("# ", "#  ").replace("load = 0.3", "load = 0.4")).unwrap();
    setting.done("out", &[]);
    assert_eq!(there(), [true, true], "so does another scenario");
}

#[test]
fn what_is_wrong_is_refused_before_anything_runs() {
    let setting = Setting::new();
    for (arguments, expected) in [
        (&["--set", "topology.sendrs=4"][..], "sendrs"),
        (&["--sweep", "topology.senders=2,-1"], "-1"),
        (&["--sweep", "topology.rate=100G,fast"], "fast"),
        (&["--only-variant", "nearest"], "it has near, far"),
        (&["--set", "traffic.none.load=1"], "none"),
        (&["--seeds", "2", "--seed", "9223372036854775807"], "scenario.seed"),
        (&["--jobs", "0"], "0"),
    ] {
        let run = setting.run("out", arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
        assert!(!Path::new(&setting.scratch.path("out")).exists(), "{arguments:?}");
    }
    let missing = run(["simulate", "nowhere.toml", "--out", &setting.scratch.path("out")]);
    assert!(missing.status == 2 && missing.stderr.contains("nowhere.toml"), "{}", missing.stderr);
    let broken = Setting::with(&SCENARIO.replace("[\"r0\"]", "[\"r9\"]"));
    let refused = broken.run("out", &[]);
    assert!(refused.status == 2 && refused.stderr.contains("three.toml:"), "{}", refused.stderr);
}

#[test]
fn every_scenario_that_we_ship_runs_to_its_end_and_makes_a_page() {
    let scratch = Scratch::new();
    let mut count = 0;
    for entry in fs::read_dir(repository("config/scenarios")).unwrap() {
        let file = entry.unwrap().path();
        let Some(name) = file.to_str().filter(|name| name.ends_with(".toml")) else { continue };
        let out = scratch.path(&format!("out-{count}"));
        let run = run(["simulate", name, "--out", &out, "--quick", "--json"]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{name}");
        let runs = &json(&run.stdout)["runs"];
        let ended = |run: &Value| run["ending"] == "finished" || run["ending"] == "limit";
        assert!(runs.as_array().unwrap().iter().all(ended), "{name}: {runs}");
        assert!(fs::read_to_string(format!("{out}/report.html")).unwrap().starts_with("<!"), "{name}");
        count += 1;
    }
    assert!(count >= 4, "found {count} files");
}

#[test]
fn check_knows_a_scenario_by_its_topology() {
    let setting = Setting::new();
    let approved = run(["check", &setting.file]);
    assert_eq!((approved.status, approved.stderr.as_str()), (0, ""));
    assert!(approved.stdout.contains("OK: scenario, variants near, far"), "{}", approved.stdout);
    let broken = Setting::with(&SCENARIO.replace("better = \"less\"", "better = \"lss\""));
    let refused = run(["check", &broken.file]);
    assert!(refused.status == 2 && refused.stderr.contains("lss"), "{}", refused.stderr);
    let report = json(&run(["check", "--json", &setting.file, &broken.file]).stdout);
    assert_eq!((&report[0]["kind"], &report[1]["ok"]), (&"scenario".into(), &false.into()));
}

#[test]
fn a_replay_of_what_a_switch_took_in_gives_what_it_sent() {
    let tapped = SCENARIO.replace("flows = [\"burst\"]", "taps = [\"sw0\"]");
    let setting = Setting::with(&tapped);
    setting.done("out", &["--only-variant", "far"]);
    let ports = ["h0", "h1", "h2", "r0"];
    let path = |name: &str| setting.scratch.path(&format!("out/far/seed-1/{name}"));
    let inputs: Vec<_> = ports
        .iter()
        .map(|port| format!("{port}={}", path(&format!("captures/sw0.{port}.in.pcap"))))
        .collect();
    let directory = setting.scratch.path("replayed");
    // A simulated switch has no watchdog, about which a gateway warns. The default one changes nothing.
    let simulated = std::fs::read_to_string(path("switches/sw0.toml")).unwrap();
    let config = setting.scratch.path("watched.toml");
    assert!(simulated.contains("watchdog = \"none\"\n"));
    std::fs::write(&config, simulated.replace("watchdog = \"none\"\n", "")).unwrap();
    let mut arguments = vec!["--config", &config, "--out-dir", &directory];
    arguments.extend(inputs.iter().flat_map(|input| ["--in", input]));
    replayed(&arguments);
    for port in ports {
        let simulated = frames_of(path(&format!("captures/sw0.{port}.out.pcap")));
        let replayed = frames_of(Path::new(&directory).join(format!("{port}.pcap")));
        assert!(!simulated.is_empty() && simulated == replayed, "{port}");
    }
}

#[test]
fn a_run_that_gets_nowhere_fails_and_the_others_go_on() {
    let dead = "[[link]]\nbetween = [\"r0\", \"sw0\"]\nfaults.down = [\"10us\", \"3000s\"]\n";
    let short =
        SCENARIO.replace("until = \"100us\"", "until = \"100us\"\nlimit = \"10s\"\nstall = \"200ms\"");
    let scenario =
        short.replace("[[variant]]\nname = \"far\"", &format!("{dead}\n[[variant]]\nname = \"far\""));
    let mended = "set.link.0.faults.down = [\"1000s\", \"3000s\"]";
    let setting = Setting::with(&scenario.replace("set.topology.delay = \"20us\"", mended));
    let run = setting.run("out", &[]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let expected = "longspan: near/seed-1: seed 1: livelock: ";
    assert!(run.stderr.starts_with(expected) && run.stderr.contains("1 of 2 runs failed"), "{}", run.stderr);
    let summary = setting.summary("out/summary.json");
    let endings: Vec<_> = summary["runs"].as_array().unwrap().iter().map(|run| &run["ending"]).collect();
    assert_eq!(endings, ["livelock", "finished"]);
    let verdicts: Vec<_> = summary["claims"].as_array().unwrap().iter().map(|it| &it["verdict"]).collect();
    assert_eq!(verdicts, ["livelock", "undecided", "livelock", "livelock", "not measured"]);
}

/// Interrupts a process once `path` exists, and returns its status and its standard error.
fn interrupted(command: &mut Command, path: &str) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !Path::new(path).exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before {path} existed");
        std::thread::yield_now();
    }
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

/// The scenario, with a second variant that runs until it is interrupted.
fn endless() -> String {
    let endless = "set.scenario.until = \"3000s\"\nset.scenario.limit = \"3000s\"";
    SCENARIO.replace("set.topology.delay = \"20us\"", endless)
}

#[test]
fn an_interrupt_keeps_what_is_complete_and_the_same_command_goes_on() {
    let setting = Setting::new();
    fs::write(&setting.file, endless()).unwrap();
    let out = setting.scratch.path("out");
    let mut command = longspan();
    command.args(["simulate", &setting.file, "--out", &out, "--jobs", "1"]);
    let (status, stderr) = interrupted(&mut command, &setting.scratch.path("out/far/seed-1/fct.csv"));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("interrupted; 1 of 2 runs are complete"), "{stderr}");
    let summary = setting.summary("out/summary.json");
    let endings: Vec<_> = summary["runs"].as_array().unwrap().iter().map(|run| &run["ending"]).collect();
    assert_eq!(endings, ["finished", "interrupted"]);
    assert!(summary["claims"].as_array().unwrap().iter().all(|it| it["verdict"] == "interrupted"));

    let kept = setting.scratch.path("out/near/seed-1/switches/sw0.toml");
    fs::remove_file(&kept).unwrap();
    fs::write(&setting.file, SCENARIO).unwrap();
    setting.done("out", &[]);
    assert!(!Path::new(&kept).exists(), "what was complete is kept");
    let summary = setting.summary("out/summary.json");
    assert!(summary["runs"].as_array().unwrap().iter().all(|run| run["ending"] == "finished"));
}

/// Two variants at two points with three seeds.
const SWEEP: [&str; 4] = ["--sweep", "topology.rate=100G,40G", "--seeds", "3"];

#[test]
fn shards_and_their_join_give_the_same_bytes_as_one_command() {
    let setting = Setting::new();
    let whole = setting.done("whole", &SWEEP);
    let mut before = 0;
    for shard in ["2/5", "1/5", "5/5", "3/5", "4/5"] {
        let said = setting.done("shards", &[&SWEEP[..], &["--shard", shard]].concat());
        assert!(said.starts_with(&format!("Shard {shard} has ")) && said.lines().count() == 1, "{said}");
        let files = setting.files("shards");
        assert!(!files.contains_key("/summary.json") && !files.contains_key("/report.html"), "only runs");
        let runs = files.keys().filter(|name| name.ends_with("/summary.json")).count();
        assert!((2..=3).contains(&(runs - before)), "{shard}: {before} and then {runs} of 12");
        before = runs;
    }
    let joined = setting.done("shards", &[&SWEEP[..], &["--join"]].concat());
    assert_eq!(joined.replace("shards", "whole"), whole);
    assert_same(&setting.files("shards"), &setting.files("whole"));
    // The same command without a shard runs nothing either, and writes the same.
    fs::remove_file(setting.scratch.path("shards/summary.json")).unwrap();
    setting.done("shards", &SWEEP);
    assert_same(&setting.files("shards"), &setting.files("whole"));
}

#[test]
fn a_join_names_what_is_missing_and_writes_nothing() {
    let setting = Setting::new();
    let nothing = setting.run("out", &[&SWEEP[..], &["--join"]].concat());
    assert!(
        nothing.status == 1 && nothing.stderr.contains("12 of 12 runs are missing"),
        "{}",
        nothing.stderr
    );
    assert!(!Path::new(&setting.scratch.path("out")).exists());

    for shard in ["1/3", "3/3"] {
        setting.done("out", &[&SWEEP[..], &["--shard", shard]].concat());
    }
    let before = setting.files("out");
    let run = setting.run("out", &[&SWEEP[..], &["--join"]].concat());
    assert_eq!((run.status, run.stdout.as_str()), (1, ""));
    let expected = "\
longspan: near/topology.rate=100G/seed-2: has not run, or is not complete
longspan: near/topology.rate=40G/seed-1: has not run, or is not complete
longspan: far/topology.rate=100G/seed-3: has not run, or is not complete
longspan: far/topology.rate=40G/seed-2: has not run, or is not complete
longspan: nothing joined; 4 of 12 runs are missing; run their shards again, or run without --join
";
    assert_eq!(run.stderr, expected);
    assert_same(&setting.files("out"), &before);
}

#[test]
fn a_join_takes_no_run_of_other_values_or_another_executable() {
    let setting = Setting::new();
    setting.done("out", &["--shard", "1/2"]);
    let other = setting.scratch.path("other-longspan");
    fs::copy(env!("CARGO_BIN_EXE_longspan"), &other).unwrap();
    // The loader ignores what follows the end of the executable.
    std::io::Write::write_all(&mut fs::File::options().append(true).open(&other).unwrap(), b"other").unwrap();
    let out = setting.scratch.path("out");
    let run = ended(Command::new(&other).args(["simulate", &setting.file, "--out", &out, "--shard", "2/2"]));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let refused = setting.run("out", &["--join"]);
    let expected = "longspan: far/seed-1: was run by another executable, or with other values\n";
    assert!(refused.status == 1 && refused.stderr.starts_with(expected), "{}", refused.stderr);
    // The run is repeated by the executable that joins.
    setting.done("out", &["--shard", "2/2"]);
    setting.done("out", &["--join"]);
    let refused = setting.run("out", &["--join", "--set", "traffic.random.load=0.4"]);
    assert!(refused.stderr.contains("2 of 2 runs are missing"), "{}", refused.stderr);
}

#[test]
fn an_interrupted_shard_goes_on_where_it_was() {
    let setting = Setting::new();
    fs::write(&setting.file, endless()).unwrap();
    let out = setting.scratch.path("out");
    let mut command = longspan();
    command.args(["simulate", &setting.file, "--out", &out, "--shard", "1/1", "--jobs", "1"]);
    let (status, stderr) = interrupted(&mut command, &setting.scratch.path("out/far/seed-1/fct.csv"));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("interrupted; 1 of 2 runs are complete"), "{stderr}");
    let refused = setting.run("out", &["--join"]);
    assert!(refused.stderr.contains("far/seed-1: was interrupted"), "{}", refused.stderr);

    let kept = setting.scratch.path("out/near/seed-1/switches/sw0.toml");
    fs::remove_file(&kept).unwrap();
    fs::write(&setting.file, SCENARIO).unwrap();
    setting.done("out", &["--shard", "1/1"]);
    assert!(!Path::new(&kept).exists(), "what was complete is kept");
    setting.done("out", &["--join"]);
}

#[test]
fn a_shard_with_a_failed_run_ends_with_status_1_and_so_does_the_join() {
    let dead = "[[link]]\nbetween = [\"r0\", \"sw0\"]\nfaults.down = [\"10us\", \"3000s\"]\n";
    let short =
        SCENARIO.replace("until = \"100us\"", "until = \"100us\"\nlimit = \"10s\"\nstall = \"200ms\"");
    let setting = Setting::with(
        &short.replace("[[variant]]\nname = \"near\"", &format!("{dead}\n[[variant]]\nname = \"near\"")),
    );
    let expected = "longspan: far/seed-1: seed 1: livelock: ";
    let shard = setting.run("out", &["--shard", "2/2"]);
    assert!(shard.status == 1 && shard.stderr.starts_with(expected), "{}", shard.stderr);
    assert!(shard.stderr.contains("1 of 1 runs failed"), "{}", shard.stderr);
    setting.run("out", &["--shard", "1/2"]);
    let whole = setting.run("whole", &[]);
    let joined = setting.run("out", &["--join"]);
    assert_eq!((joined.status, joined.stderr.lines().count()), (1, 3), "{}", joined.stderr);
    assert!(joined.stderr.contains("2 of 2 runs failed"), "{}", joined.stderr);
    let mut lines: Vec<_> = whole.stderr.lines().collect();
    lines.sort_unstable();
    let mut joined: Vec<_> = joined.stderr.lines().collect();
    joined.sort_unstable();
    assert_eq!(joined, lines, "the join reports the same failures");
    assert_same(&setting.files("out"), &setting.files("whole"));
}

#[test]
fn more_shards_than_runs_leave_some_without_any() {
    let setting = Setting::new();
    for (number, runs) in (1..=4).zip(["1 run", "1 run", "0 runs", "0 runs"]) {
        let said = setting.done("out", &["--shard", &format!("{number}/4")]);
        assert!(said.starts_with(&format!("Shard {number}/4 has {runs}, ")), "{said}");
    }
    setting.done("out", &["--join"]);
}

#[test]
fn a_run_that_another_process_runs_is_left_to_it() {
    let setting = Setting::new();
    let directory = setting.scratch.path("out/near/seed-1");
    fs::create_dir_all(&directory).unwrap();
    let held = fs::File::create(format!("{directory}/fct.csv")).unwrap();
    held.lock().unwrap();
    let run = setting.run("out", &["--shard", "1/1"]);
    let expected = format!("longspan: {directory}: another process is running this run\n");
    assert_eq!((run.status, run.stderr), (1, expected));
    assert_eq!(setting.files("out").len(), 1 + 4, "nothing is written there, and the other run is complete");
    drop(held);
    setting.done("out", &["--shard", "1/1"]);
    setting.done("out", &["--join"]);
}
