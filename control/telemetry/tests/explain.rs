//! Why a port pauses, is paused, marks or drops.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{assert_golden, in_crate, snapshot, snapshot_at_rest};
use telemetry::explain::{explain, render};
use telemetry::{Period, Snapshot};

fn page(snapshot: &Snapshot, port: &str) -> String {
    render(&explain(&Period::since_start(snapshot), port).unwrap())
}

#[test]
fn a_busy_gateway_is_explained_as_the_golden_pages_do() {
    for port in ["dc0", "lh0"] {
        assert_golden(&format!("explain-{port}.txt"), &page(&snapshot(), port));
    }
    let docs = std::fs::read_to_string(in_crate("../../docs/show.md")).unwrap();
    assert!(docs.contains(&format!("```text\n{}```\n", page(&snapshot(), "dc0"))), "docs/show.md differs");
}

#[test]
fn a_pause_is_followed_to_the_peer_that_holds_the_queue() {
    let mut snapshot = snapshot();
    snapshot.ports[1].device.link_up = true;
    let sentence = &explain(&Period::since_start(&snapshot), "dc0").unwrap().because[0];
    assert_eq!(
        sentence,
        "dc0 pauses its peer at priority 3 because 278 kB of its frames wait for lh0, which is paused by its peer \
         now, for 200 ms of 205 ms (4,000 XOFF)."
    );
}

#[test]
fn a_pause_ends_at_a_link_that_is_down_or_at_the_rate_of_a_link() {
    let mut snapshot = snapshot();
    let because = |it: &Snapshot| explain(&Period::since_start(it), "dc0").unwrap().because.remove(0);
    assert!(because(&snapshot).ends_with("wait for lh0, whose link is down."), "{}", because(&snapshot));
    let lh0 = &mut snapshot.ports[1];
    lh0.device.link_up = true;
    lh0.levels[3].paused_by_peer = false;
    lh0.port.priorities[3].pauses_received.paused_ns = 0;
    // 1 Gb/s for 205 ms.
    lh0.port.out.bytes = 25_600_000;
    lh0.port.priorities[3].egress.watchdog = None;
    let mut without_lscc = serde_json::to_value(&snapshot).unwrap();
    without_lscc["ports"][1]["lscc"] = serde_json::Value::Null;
    let snapshot: Snapshot = serde_json::from_value(without_lscc).unwrap();
    assert!(because(&snapshot).ends_with("of 1 Gb/s, the rate of its link."), "{}", because(&snapshot));
}

#[test]
fn a_late_worker_is_named_before_a_link_that_could_send_more_and_an_idle_one_in_time_is_not() {
    let mut snapshot = snapshot_at_rest();
    let told = |it: &Snapshot| {
        let effects = explain(&Period::since_start(it), "dc0").unwrap().effects;
        effects.into_iter().find(|it| it.kind == "late_worker").map(|it| it.text)
    };
    assert_eq!(told(&snapshot), None);
    snapshot.workers[1].late_turns = 7;
    assert_eq!(told(&snapshot), None, "that of another port");
    snapshot.workers[0].late_turns = 7;
    let late = told(&snapshot).unwrap();
    assert!(late.starts_with("the worker of core 2 was late: 7 turns longer than the "), "{late}");
    snapshot.workers[0].late_turns = 0;
    snapshot.workers[0].runtime.since_start.counts.idle_turns = 0;
    let full = told(&snapshot).unwrap();
    assert!(full.starts_with("the worker of core 2 was never idle in "), "{full}");
}

#[test]
fn a_pause_ends_at_a_worker_that_is_late_where_its_link_has_room_and_nothing_harder_holds_the_queue() {
    let mut json = serde_json::to_value(snapshot()).unwrap();
    json["ports"][1]["lscc"] = serde_json::Value::Null;
    let mut snapshot: Snapshot = serde_json::from_value(json).unwrap();
    let lh0 = &mut snapshot.ports[1];
    lh0.device.link_up = true;
    lh0.levels[3].paused_by_peer = false;
    lh0.port.priorities[3].pauses_received.paused_ns = 0;
    lh0.port.priorities[3].egress.watchdog = None;
    let because = explain(&Period::since_start(&snapshot), "dc0").unwrap().because.remove(0);
    assert!(because.contains("wait for lh0: the worker of core 3 was late: 2 turns"), "{because}");
}

#[test]
fn frames_are_told_by_the_queue_in_which_they_wait_the_most_first() {
    let mut snapshot = snapshot();
    let mut more = snapshot.waiting[0].clone();
    assert_eq!((more.came_in.as_str(), more.leaves_by.as_str(), more.priority), ("dc0", "lh0", 3));
    more.leaves_by = "dc0".into();
    more.waiting.bytes += 1;
    snapshot.waiting.push(more);
    let effects = explain(&Period::since_start(&snapshot), "dc0").unwrap().effects;
    let pauses = effects.iter().find(|it| it.kind == "pauses_peer").unwrap();
    let waits: Vec<_> =
        pauses.causes.iter().filter(|it| it.kind == "waits").map(|it| it.port.as_str()).collect();
    assert_eq!(waits, ["dc0", "lh0"]);
}

#[test]
fn a_dynamic_threshold_is_a_share_of_what_is_free() {
    let mut snapshot = snapshot();
    let limits = snapshot.ports[0].port.priorities[3].ingress.limits.as_mut().unwrap();
    (limits.xoff_bytes, limits.xoff_dynamic_th) = (None, Some(-1));
    (snapshot.pools.shared.size_bytes, snapshot.pools.shared.held_bytes) = (322_000, 22_000);
    let page = page(&snapshot, "dc0");
    // Half of 300 kB, and 2 kB reserved.
    assert!(page.contains("128 kB below XOFF 152 kB"), "{page}");
}

#[test]
fn a_port_of_which_there_is_nothing_to_tell_says_so() {
    let page = page(&snapshot_at_rest(), "dc0");
    assert!(page.starts_with("dc0 has paused nobody"), "{page}");
}

#[test]
fn a_port_that_is_not_there_is_refused_with_those_that_are() {
    let refused = explain(&Period::since_start(&snapshot()), "dc7").unwrap_err();
    assert_eq!(refused.to_string(), "the gateway has no port \"dc7\"; its ports are dc0, lh0");
}

#[test]
fn a_snapshot_of_an_older_gateway_is_explained_without_its_ledger() {
    let mut json = serde_json::to_value(snapshot()).unwrap();
    assert!(json.as_object_mut().unwrap().remove("waiting").is_some());
    let page = page(&serde_json::from_value(json).unwrap(), "dc0");
    assert!(page.contains("none of its frames wait now"), "{page}");
}
