//! The page and the JSON of `show roce` where they are not about a single rule.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{in_crate, snapshot, snapshot_at_rest};
use serde_json::json;
use telemetry::health::{Health, HealthVerdict, NO_LOSSLESS_CLASS, render};
use telemetry::{Period, Snapshot};

/// The snapshot at rest of a gateway whose file has lost its lossless classes.
fn without_lossless_classes() -> Snapshot {
    let mut snapshot = snapshot_at_rest();
    for port in &mut snapshot.ports {
        port.port.priorities.iter_mut().for_each(|it| it.ingress.lossless = false);
    }
    snapshot
}

/// The rules that hold of dc0 since the start.
fn rules(snapshot: &Snapshot) -> Vec<String> {
    let health = Health::of(&Period::since_start(snapshot), Some("dc0"));
    health.classes[0].findings.iter().map(|it| it.rule.to_string()).collect()
}

#[test]
fn a_gateway_without_a_lossless_class_is_not_healthy() {
    let snapshot = without_lossless_classes();
    let health = Health::of(&Period::since_start(&snapshot), None);
    assert_eq!(health.verdict, HealthVerdict::Watch);
    let json = serde_json::to_value(&health).unwrap();
    assert_eq!((&json["verdict"], &json["classes"]), (&json!("watch"), &json!([])));
    assert_eq!(json["findings"][0]["rule"], json!(NO_LOSSLESS_CLASS));
    let page = render(&health);
    let found = "\nno_lossless_class (watch)\n  No priority of the gateway is lossless.\n  Next: ";
    assert!(page.starts_with("Gateway \"amsterdam\" is WATCH over ") && page.contains(found), "{page}");
    let docs = std::fs::read_to_string(in_crate("../../docs/show.md")).unwrap();
    assert!(docs.contains(&format!("`{NO_LOSSLESS_CLASS}`")));
}

#[test]
fn a_port_without_a_lossless_class_is_told_where_it_alone_is_asked_for() {
    let mut snapshot = snapshot_at_rest();
    snapshot.ports[0].port.priorities[3].ingress.lossless = false;
    let of = |port| Health::of(&Period::since_start(&snapshot), port);
    assert_eq!((of(None).verdict, of(None).findings.len()), (HealthVerdict::Healthy, 0));
    assert_eq!(of(Some("dc0")).findings[0].found, "No priority of port dc0 is lossless.");
}

#[test]
fn a_page_fits_on_a_terminal_of_80_columns() {
    let mut snapshot = snapshot();
    snapshot.gateway = "a gateway with a name that takes a good part of the line on such a terminal".into();
    snapshot.memory.mbufs_in_use = snapshot.memory.mbufs;
    let page = render(&Health::of(&Period::since_start(&snapshot), None));
    let widest = page.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= 80, "{widest}");
    assert!(page.contains("link_down (unhealthy), lh0 priority 3\n"), "{page}");
}

#[test]
fn a_peer_that_ignores_pauses_is_found_long_after_by_what_the_headroom_refused() {
    let mut snapshot = snapshot_at_rest();
    // A headroom of 262,144 bytes for the pause, and one for a pause that may have lasted at the start.
    let mut refused = |bytes: u64| {
        let priority = &mut snapshot.ports[0].port.priorities[3];
        let count = serde_json::from_value(json!({"frames": 600, "bytes": bytes})).unwrap();
        priority.ingress.dropped.insert("headroom_exceeded".into(), count);
        priority.pauses_sent.frames.xoff = 1;
        snapshot.clone()
    };
    assert!(!rules(&refused(524_288)).contains(&"peer_ignores_pauses".into()));
    let mut snapshot = refused(524_289);
    assert!(rules(&snapshot).contains(&"peer_ignores_pauses".into()));
    // 90 us at 10 Gb/s are 112,500 bytes.
    snapshot.workers[0].late_turns = 1;
    assert_eq!(rules(&snapshot)[0], "late_worker");
    assert!(
        !rules(&snapshot).contains(&"peer_ignores_pauses".into()),
        "the worker may have paused it too late"
    );
}
