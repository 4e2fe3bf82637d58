//! Links of a bundle that fail while a capture is replayed.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;

const MS: u64 = 1_000_000;
/// The instant of the first frame.
const START: u64 = 1_000_000_000;

/// 2,000 frames of 16 flows within 20 ms.
fn capture() -> Vec<Kept> {
    let mut frames = stream(2_000, 976, 10_000);
    for (number, (_, frame, _)) in frames.iter_mut().enumerate() {
        // The UDP source port tells flows apart.
        frame[35] = (number % 16) as u8;
    }
    frames
}

/// The instants, from the first frame on, at which frames leave `lh0` and `lh1`.
fn departures(faults: &[&str]) -> [Vec<u64>; 2] {
    let scratch = Scratch::new();
    let input = format!("dc0={}", scratch.write("in.pcap", pcap(&capture())));
    let (config, out) = (repository("config/gateways/bundle.toml"), scratch.path("out"));
    let arguments = ["--config", config.to_str().unwrap(), "--in", &input, "--out-dir", &out];
    replayed(&[&arguments[..], faults].concat());
    ["lh0", "lh1"].map(|port| {
        let frames = frames_of(format!("{out}/{port}.pcap")).into_iter();
        frames.filter(|(.., length)| *length == 976).map(|(at, ..)| at - START).collect()
    })
}

#[test]
fn frames_leave_through_the_other_link_while_one_has_failed() {
    let [lh0, lh1] = departures(&[]);
    assert!(lh0.len() > 500 && lh1.len() > 500, "both carry some of the flows");
    let [failed, other] = departures(&["--fault", "lh0=5ms..12ms"]);
    assert_eq!(failed.len() + other.len(), 2_000, "nothing is lost inside");
    let during = |times: &[u64]| times.iter().filter(|at| (5 * MS..12 * MS).contains(at)).count();
    assert_eq!(during(&failed), 0);
    assert!(
        during(&other) > 600,
        "all 700 but those for which the longer way has to empty: {}",
        during(&other)
    );
    assert!(failed.iter().any(|at| *at < 5 * MS) && failed.iter().any(|at| *at > 12 * MS));
}

#[test]
fn frames_wait_until_a_link_is_back_if_all_have_failed() {
    let faults = ["--fault", "lh0=5ms..400ms", "--fault", "lh1=5ms..300ms"];
    let [lh0, lh1] = departures(&faults);
    assert_eq!(lh0.len() + lh1.len(), 2_000);
    let early: Vec<_> = lh0.iter().chain(&lh1).filter(|at| (5 * MS..300 * MS).contains(*at)).collect();
    assert!(early.is_empty(), "{early:?}");
}

#[test]
fn a_fault_after_the_last_frame_is_a_warning_and_takes_no_time() {
    let scratch = Scratch::new();
    let input = format!("dc0={}", scratch.write("in.pcap", pcap(&capture())));
    let config = repository("config/gateways/bundle.toml");
    let arguments = ["replay", "--json", "--config", config.to_str().unwrap(), "--in", &input];
    let end = |more: &[&str]| {
        let run = run([&arguments[..], more].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        (json(&run.stdout)["clock"]["end_ns"].as_u64().unwrap(), run.stderr)
    };
    let (usual, said) = end(&[]);
    assert_eq!(said, "");
    let (late, said) = end(&["--fault", "lh0=1s..30s"]);
    assert!(said.contains("warning: a --fault begins after all frames have left"), "{said}");
    assert_eq!(late, usual);
    let (during, said) = end(&["--fault", "lh0=5ms..30s"]);
    assert_eq!((during, said.as_str()), (usual, ""));
}

#[test]
fn a_fault_of_a_port_without_a_bundle_and_one_that_overlaps_another_are_refused() {
    let config = repository("config/gateways/bundle.toml");
    let told = |faults: &[&str]| {
        refused(2, &[&["--config", config.to_str().unwrap(), "--in", "dc0=x.pcap"], faults].concat())
    };
    assert!(told(&["--fault", "dc0=1ms..2ms"]).contains("port dc0, which belongs to no bundle"));
    assert!(told(&["--fault", "lh7=1ms..2ms"]).contains("has no port \"lh7\""));
    let twice = ["--fault", "lh0=1ms..3ms", "--fault", "lh0=3ms..4ms"];
    assert!(told(&twice).contains("two --fault of port lh0"));
}
