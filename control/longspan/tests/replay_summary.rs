//! Output for people: the summary, the help, and the results of `check`.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;

#[test]
fn the_summary_of_the_soft_roce_capture_is_the_golden_one() {
    let (config, capture) = (repository("config/gateways/replay.toml"), soft_roce());
    let arguments = ["--config", config.to_str().unwrap(), "--split", capture.to_str().unwrap()];
    let sides = ["--from", "dc0=52:54:00:00:00:01", "--from", "lh0=52:54:00:00:00:02"];
    let summary = replayed(&[arguments, sides].concat()).stdout;
    let (before, after) = summary.split_once(" It took ").unwrap();
    let (took, after) = after.split_once(" to replay.").unwrap();
    assert!(took.ends_with('s'), "{took}");
    let summary = format!("{before}{after}");
    let golden = repository("control/longspan/tests/golden/soft-roce-summary.txt");
    if std::env::var_os("LONGSPAN_WRITE_GOLDEN").is_some() {
        std::fs::write(&golden, &summary).unwrap();
    }
    assert_eq!(summary, std::fs::read_to_string(golden).unwrap(), "LONGSPAN_WRITE_GOLDEN=1 writes it anew");
    assert!(summary.is_ascii() && summary.lines().all(|line| line.len() <= 100), "{summary}");
}

#[test]
fn the_reports_of_the_soft_roce_capture_are_the_golden_ones_byte_for_byte() {
    for gateway in ["replay-bifrost", "replay-near"] {
        let config = repository(&format!("config/gateways/{gateway}.toml"));
        let (config, capture) = (config.to_str().unwrap(), soft_roce());
        let arguments = ["--config", config, "--split", capture.to_str().unwrap(), "--json"];
        let sides = ["--from", "dc0=52:54:00:00:00:01", "--from", "lh0=52:54:00:00:00:02"];
        let report = replayed(&[&arguments[..], &sides].concat()).stdout;
        let golden = repository(&format!("control/longspan/tests/golden/soft-roce-{gateway}.json"));
        if std::env::var_os("LONGSPAN_WRITE_GOLDEN").is_some() {
            std::fs::write(&golden, &report).unwrap();
        }
        let same = report == std::fs::read_to_string(golden).unwrap();
        assert!(same, "{gateway}: LONGSPAN_WRITE_GOLDEN=1 writes it anew, and git diff shows the change");
    }
}

#[test]
fn the_page_that_shows_the_summary_shows_the_golden_one() {
    let read = |path| std::fs::read_to_string(repository(path)).unwrap();
    let golden = read("control/longspan/tests/golden/soft-roce-summary.txt");
    let (_, tables) = golden.split_once("\n\n").unwrap();
    let (tables, _) = tables.rsplit_once("\n\n").unwrap();
    let indent = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    let indented: Vec<_> = tables.lines().map(indent).collect();
    assert!(read("docs/replay.md").contains(&indented.join("\n")), "docs/replay.md");
}

#[test]
fn json_on_standard_output_is_the_report_that_is_written() {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let capture = scratch.write("in.pcap", pcap(&stream(50, 976, 1_000)));
    let (input, report) = (format!("dc0={capture}"), scratch.path("report.json"));
    let run = replayed(&["--config", &config, "--in", &input, "--report", &report, "--json"]);
    assert_eq!(run.stdout, std::fs::read_to_string(report).unwrap());
    let scratch_name = scratch.path("");
    assert!(!run.stdout.contains(scratch_name.trim_end_matches('/')), "no path is in the report");
}

#[test]
fn every_key_of_the_report_is_in_the_docs() {
    fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
                found.insert(key.clone());
                keys(value, found);
            }),
            serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let (config, capture) = (repository("config/gateways/replay.toml"), soft_roce());
    let arguments = ["--config", config.to_str().unwrap(), "--split", capture.to_str().unwrap(), "--json"];
    let report = replayed(&[&arguments[..], &["--from", "dc0=10.0.0.1"]].concat()).stdout;
    let mut found = std::collections::BTreeSet::new();
    keys(&json(&report), &mut found);
    let docs = std::fs::read_to_string(repository("docs/report.md")).unwrap();
    // A key within another one stands behind a dot.
    let is_there = |key: &&String| ["`", "."].iter().any(|before| docs.contains(&format!("{before}{key}`")));
    let missing: Vec<_> = found.iter().filter(|key| !is_there(key)).collect();
    assert!(found.len() > 60 && missing.is_empty(), "{missing:?}");
}

#[test]
fn help_has_examples_and_goes_to_standard_output() {
    for arguments in [&["--help"][..], &["replay", "--help"], &["check", "--help"], &["--version"]] {
        let run = run(arguments);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        assert!(run.stdout.contains("longspan"));
    }
    let help = run(["replay", "--help"]).stdout;
    for option in
        ["--config", "--in", "--split", "--from", "--speed", "--loop", "--out-dir", "--report", "--json"]
            .into_iter()
            .chain(["--series", "--plot", "--sample", "--rows"])
    {
        assert!(help.contains(option), "{option}");
    }
    assert!(help.contains("Examples:"));
}

#[test]
fn check_approves_every_gateway_of_the_repository_but_not_a_broken_one() {
    let directory = repository("config/gateways");
    let files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    let arguments: Vec<_> = std::iter::once("check".into()).chain(files.iter().cloned()).collect();
    let run_all = run(arguments);
    assert_eq!((run_all.status, run_all.stderr.as_str()), (0, ""));
    assert_eq!(run_all.stdout.matches(": OK: gateway").count(), files.len());

    let scratch = Scratch::new();
    let wrong = scratch.write("wrong.toml", SLOW_HAUL.replace("\"100M\"", "\"fast\""));
    let refused = run(["check", &wrong]);
    assert_eq!((refused.status, refused.stdout.as_str(), refused.stderr.lines().count()), (2, "", 1));
    assert!(refused.stderr.starts_with(&format!("{wrong}:")), "{}", refused.stderr);

    let right = scratch.write("right.toml", SLOW_HAUL);
    let mixed = run(["check", "--json", &right, &wrong]);
    assert_eq!(mixed.status, 2);
    assert_eq!(mixed.stderr, "longspan: 1 of 2 files are invalid\n");
    let report = json(&mixed.stdout);
    assert_eq!((&report[0]["ok"], &report[1]["ok"]), (&true.into(), &false.into()));
    assert_eq!(report[1]["problems"][0]["severity"], "error");
}

#[test]
fn check_says_what_each_core_of_a_gateway_with_devices_keeps_up_with() {
    let with = repository("config/gateways/wire-e810.toml");
    let without = repository("config/gateways/replay.toml");
    let shown = run(["check".as_ref(), with.as_os_str(), without.as_os_str()]).stdout;
    let docs = std::fs::read_to_string(repository("docs/configuration.md")).unwrap();
    let lines: Vec<_> = shown.lines().filter(|line| line.contains("keeps up with")).collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(docs.contains(&lines.join("\n")), "{shown}");

    let report =
        json(&run(["check".as_ref(), "--json".as_ref(), with.as_os_str(), without.as_os_str()]).stdout);
    let core = serde_json::json!({
        "core": 2,
        "ports": ["dc0", "lh0"],
        "rate": 120_000_000_000_u64,
        "frames_per_second": 5_000_000,
        "min_mean_wire_bytes": 3_000,
        "keeps_up": true,
        "receive_rings": [
            { "port": "dc0", "min_mean_wire_bytes": 284 },
            { "port": "lh0", "min_mean_wire_bytes": 1_791 },
        ],
    });
    assert_eq!((&report[0]["cores"][0], &report[1]["cores"]), (&core, &serde_json::json!([])));
}

#[test]
fn check_says_what_lscc_amounts_to_where_a_port_has_it() {
    let with = repository("config/gateways/longhaul-lscc-80km.toml");
    let without = repository("config/gateways/longhaul-80km.toml");
    let shown = run(["check".as_ref(), with.as_os_str(), without.as_os_str()]).stdout;
    assert_eq!(shown.matches("LSCC from").count(), 1, "{shown}");
    assert!(shown.contains("\nport lh0: LSCC from 10.255.0.1 to 10.255.0.2, with a key\n"), "{shown}");

    let report =
        json(&run(["check".as_ref(), "--json".as_ref(), with.as_os_str(), without.as_os_str()]).stdout);
    let sum = &report[0]["lscc"][0];
    assert_eq!((&sum["port"], &sum["signed"]), (&"lh0".into(), &true.into()));
    assert_eq!((&sum["rates_in_flight"], &sum["reference_bytes"]), (&5.into(), &1_268_205.into()));
    assert_eq!(report[1]["lscc"], serde_json::json!([]));
}
