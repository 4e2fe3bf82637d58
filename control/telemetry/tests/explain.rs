//! Why a port pauses, is paused, marks or drops.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::{assert_golden, snapshot, snapshot_at_rest};
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
    lh0.port.out.bytes.0 = 25_600_000;
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
    more.waiting.bytes.0 += 1;
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
    assert!(page.starts_with("dc0 has paused no one"), "{page}");
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

/// A gateway at rest whose dc0 dropped three frames of 40 kB in all, after one of 60 kB that the headroom took.
fn dropping() -> Snapshot {
    let mut snapshot = snapshot_at_rest();
    let group = &mut snapshot.ports[0].port.priorities[3].ingress;
    let count = serde_json::from_value(serde_json::json!({"frames": 3, "bytes": 40_000})).unwrap();
    group.dropped.insert("headroom_exceeded".into(), count);
    group.headroom_watermark_bytes = 60_000;
    snapshot
}

#[test]
fn drops_have_their_bytes_and_the_most_that_the_headroom_held() {
    let page = page(&dropping(), "dc0");
    let line = "  priority 3: dropped 3 frames (40.0 kB) on the way in: headroom_exceeded; its group uses 0 B of 262 kB \
                headroom now (watermark 60.0 kB since the start)\n";
    assert!(page.contains(line), "{page}");
}

#[test]
fn drops_are_followed_to_the_finding_that_names_their_cause() {
    let mut snapshot = dropping();
    let priority = &mut snapshot.ports[0].port.priorities[3];
    // Of a second, the peer of 10 Gb/s was to be silent for 0.9 s.
    (priority.pauses_sent.paused_ns, priority.pauses_sent.frames.xoff) = (900_000_000, 1);
    priority.ingress.received.bytes.0 = 1_000_000_000;
    let told = explain(&Period::since_start(&snapshot), "dc0").unwrap();
    let cause = "the peer sent 1.00 GB although it was paused for 900 ms of 1.00 s: at most 126 MB could come if it \
                 obeyed (peer_ignores_pauses)";
    let sentence = format!("dc0 dropped 3 frames (40.0 kB) at priority 3 for headroom_exceeded: {cause}.");
    assert!(told.because.contains(&sentence), "{:#?}", told.because);
    let drops = told.effects.iter().find(|it| it.kind == "drops").unwrap();
    let causes: Vec<_> = drops.causes.iter().map(|it| (&*it.kind, &*it.text)).collect();
    assert_eq!(causes, [("peer_ignores_pauses", cause)]);
}

#[test]
fn drops_of_a_device_that_sends_no_pauses_are_its_own_and_not_those_of_the_peer() {
    let mut snapshot = dropping();
    let named = |it: &Snapshot| {
        let effects = explain(&Period::since_start(it), "dc0").unwrap().effects;
        let drops = effects.into_iter().find(|it| it.kind == "drops").unwrap();
        drops.causes.first().map(|it| it.kind.to_string())
    };
    assert_eq!(named(&snapshot).as_deref(), Some("headroom_short"));
    snapshot.ports[0].device.pfc.receive = telemetry::Passage::No;
    assert_eq!(named(&snapshot).as_deref(), Some("headroom_short"), "pauses of the peer keep no frame out");
    snapshot.ports[0].device.pfc.transmit = telemetry::Passage::No;
    assert_eq!(named(&snapshot).as_deref(), Some("pfc_not_passed"));
}

#[test]
fn pauses_that_the_device_kept_are_named_before_everything_else() {
    let mut snapshot = dropping();
    snapshot.ports[0].counters.hardware.kept_pauses = 1;
    let told = explain(&Period::since_start(&snapshot), "dc0").unwrap();
    let kept = "kept 1 pause of the peer to itself, so the port sent while the peer had no room";
    assert!(told.because[0].contains(kept), "{:#?}", told.because);
    assert_eq!(told.effects[0].kind, "pfc_not_passed");
}

#[test]
fn a_late_worker_is_told_below_the_drops_that_it_causes_and_not_again() {
    let mut snapshot = dropping();
    snapshot.workers[0].late_turns = 1;
    let page = page(&snapshot, "dc0");
    assert!(page.contains("\n    the worker of core 2 was late: 1 turn longer than"), "{page}");
    // The first is in the sentence about the drops.
    assert_eq!(page.matches("the worker of core 2 was late").count(), 2, "{page}");
}

#[test]
fn no_pause_is_longer_than_the_time_that_is_explained() {
    let mut snapshot = snapshot();
    // The workers answered a moment after the clock was read.
    snapshot.uptime_ns = 170_600_000_000;
    snapshot.ports[0].port.priorities[3].pauses_sent.paused_ns = 170_700_000_000;
    let sent = page(&snapshot, "dc0");
    assert!(sent.contains("pauses its peer now, for 2 min 50 s of 2 min 50 s ("), "{sent}");
    snapshot.ports[1].port.priorities[3].pauses_received.paused_ns = 170_700_000_000;
    let received = page(&snapshot, "lh0");
    assert!(received.contains("now, for 2 min 50 s of 2 min 50 s (4,000 XOFF)"), "{received}");
}

#[test]
fn one_frame_is_told_as_one() {
    let mut snapshot = snapshot();
    let priority = &mut snapshot.ports[1].port.priorities[3];
    (priority.egress.queued.frames, priority.egress.queued.bytes.0) = (1, 42);
    (priority.egress.ecn_marked, priority.egress.transmitted.frames) = (1, 1);
    let page = page(&snapshot, "lh0");
    assert!(
        page.contains("42 B (1 frame) wait in its queue") && page.contains("marked 1 of 1 frame;"),
        "{page}"
    );
}

#[test]
fn rates_since_the_start_or_of_a_link_that_is_down_are_averages() {
    let before = snapshot();
    let mut now = before.clone();
    (now.at_ns, now.uptime_ns) = (now.at_ns + 1_000_000_000, now.uptime_ns + 1_000_000_000);
    let told = |now: &Snapshot| {
        let explained = explain(&Period::between(&before, now).unwrap(), "lh0").unwrap();
        render(&explained)
    };
    assert!(told(&now).contains("sent 0 b/s on average, the port 0 b/s of 1 Gb/s"), "{}", told(&now));
    now.ports[1].device.link_up = true;
    assert!(told(&now).contains("sends 0 b/s, the port 0 b/s of 1 Gb/s"), "{}", told(&now));
    let since_start = page(&now, "lh0");
    assert!(since_start.contains("sent 173 kb/s on average, the port 505 kb/s of 1 Gb/s"), "{since_start}");
}

#[test]
fn a_port_whose_peer_pauses_it_or_whose_link_is_down_says_so_first() {
    let mut snapshot = snapshot();
    let first = |it: &Snapshot| explain(&Period::since_start(it), "lh0").unwrap().because.remove(0);
    assert_eq!(first(&snapshot), "278 kB of lh0's frames wait at priority 3 because its link is down.");
    snapshot.ports[1].device.link_up = true;
    let pause = "is paused by its peer now, for 200 ms of 205 ms (4,000 XOFF)";
    assert_eq!(first(&snapshot), format!("278 kB of lh0's frames wait at priority 3 because it {pause}."));
    let queued = &mut snapshot.ports[1].port.priorities[3].egress.queued;
    (queued.frames, queued.bytes.0) = (0, 0);
    assert_eq!(first(&snapshot), format!("lh0 {pause} at priority 3; none of its frames wait now."));
}

#[test]
fn a_link_that_is_down_is_told_even_where_nothing_waits_for_it() {
    let mut snapshot = snapshot_at_rest();
    snapshot.ports[1].device.link_up = false;
    let page = page(&snapshot, "lh0");
    assert!(page.starts_with("link_down (unhealthy), lh0 priority 3\n"), "{page}");
    assert!(page.contains("\nThe link of lh0 is down; no frame waits for it.\n\nlh0, over "), "{page}");
    assert!(page.contains("\n  its link is down\n"), "{page}");
}

#[test]
fn of_the_lanes_of_a_port_the_one_that_was_late_most_often_is_its_worker() {
    let mut snapshot = snapshot();
    for worker in &mut snapshot.workers {
        worker.ports = vec!["dc0".into(), "lh0".into()];
    }
    let cores: Vec<_> = snapshot.workers.iter().map(|worker| worker.core).collect();
    let worker_of = |it: &Snapshot| Period::since_start(it).worker_of("lh0").unwrap().core;
    assert_eq!(worker_of(&snapshot), cores[0], "the first of equals");
    snapshot.workers[1].late_turns += 1;
    assert_eq!(worker_of(&snapshot), cores[1]);
}
