//! The report and the summary of a capture with a pause storm.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;

const MS: u64 = 1_000_000;
/// The first frame.
const START: u64 = 1_000_000_000;

/// Two ports at 10G with a watchdog toward `lh0`.
const GATEWAY: &str = r#"
[[port]]
name = "dc0"
rate = "10G"
distance = "100m"
[[port.lossless]]
priorities = [3]

[[port]]
name = "lh0"
rate = "10G"
distance = "1km"
tx_window = "0us"
[[port.lossless]]
priorities = [3]
[port.watchdog]
detection = "150ms"
action = "ACTION"
"#;

/// Replays data that arrives every 10 ms for 800 ms, while the peer at `lh0` pauses every 2 ms from 100 ms to 398 ms,
/// and with `xon` resumes at 399 ms. Returns the report and the summary.
fn stormed(action: &str, xon: bool) -> (serde_json::Value, String) {
    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", GATEWAY.replace("ACTION", action));
    let data = scratch.write("data.pcap", pcap(&stream(80, 1_000, 10 * MS)));
    let pause = |at: u64, quanta| (START + at * MS, pfc_frame(quanta), 60);
    let mut pauses: Vec<Kept> = (100..400).step_by(2).map(|at| pause(at, 65_535)).collect();
    if xon {
        pauses.push(pause(399, 0));
    }
    let pauses = scratch.write("pauses.pcap", pcap(&pauses));
    let inputs = [format!("dc0={data}"), format!("lh0={pauses}")];
    let arguments = ["--config", &config, "--in", &inputs[0], "--in", &inputs[1]];
    let report = json(&replayed(&[&arguments[..], &["--json"]].concat()).stdout);
    (report, replayed(&arguments).stdout)
}

fn egress(report: &serde_json::Value) -> &serde_json::Value {
    &report["ports"][1]["priorities"][3]["egress"]
}

#[test]
fn a_storm_in_a_capture_is_in_the_report_with_its_instants_and_reasons() {
    let (report, summary) = stormed("drop", false);
    let detected = serde_json::json!({
        "at_ns": START + 260 * MS, "port": "lh0", "priority": 3, "event": "detected", "action": "drop",
        "stalled_ns": 150 * MS, "measured_ns": 150 * MS, "paused_ns": 150 * MS,
        // The frames from 110 ms on, including one at this instant. The frame at 100 ms left before the pause.
        "waiting": { "frames": 16, "bytes": 16_000 },
    });
    let restored = serde_json::json!({
        "at_ns": START + 598 * MS, "port": "lh0", "priority": 3, "event": "restored",
        "cause": "quiet", "quiet_ns": 200 * MS, "stormed_ns": 338 * MS,
    });
    let expected = serde_json::json!({ "events": [detected, restored], "discarded_events": 0 });
    assert_eq!(report["watchdog"], expected);

    let queue = egress(&report);
    assert_eq!(queue["watchdog"], serde_json::json!({ "storms": 1, "restored": 1, "stormed": false }));
    // The frames that waited, and those that arrived until 590 ms.
    assert_eq!(queue["dropped"]["pfc_watchdog"]["frames"], 49);
    assert_eq!(queue["transmitted"]["frames"], 31);
    assert_eq!(report["ports"][1]["priorities"][0]["egress"]["watchdog"], serde_json::Value::Null);
    // The other port has a watchdog too, like every port that obeys pauses, but no one pauses it.
    let quiet = serde_json::json!({ "storms": 0, "restored": 0, "stormed": false });
    assert_eq!(report["ports"][0]["priorities"][3]["egress"]["watchdog"], quiet);
    assert_eq!((&report["conservation"]["holds"], &report["format"]), (&true.into(), &1.into()));

    let storms = "STORMS: queues with a pause storm\n  \
        port  prio  storms  restored    status\n  \
        lh0   3          1         1  restored\n";
    assert!(summary.contains(storms), "{summary}");
}

#[test]
fn an_xon_in_a_capture_ends_the_storm_and_an_alert_loses_nothing() {
    let (report, summary) = stormed("alert", true);
    let restored = &report["watchdog"]["events"][1];
    assert_eq!((&restored["cause"], &restored["at_ns"]), (&"xon".into(), &(START + 399 * MS).into()));
    assert_eq!(egress(&report)["transmitted"]["frames"], 80);
    assert!(summary.contains("STORMS"), "{summary}");
}

#[test]
fn every_key_of_a_storm_is_in_the_docs() {
    let (report, _) = stormed("drop", false);
    let docs = std::fs::read_to_string(repository("docs/report.md")).unwrap();
    let events = report["watchdog"]["events"].as_array().unwrap();
    let keys = events.iter().flat_map(|event| event.as_object().unwrap().keys());
    // The keys of all events stand behind the name of their list.
    let has = |key: &String| docs.contains(&format!("`{key}`")) || docs.contains(&format!("`events.{key}`"));
    let missing: Vec<_> = keys.filter(|key| !has(key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
