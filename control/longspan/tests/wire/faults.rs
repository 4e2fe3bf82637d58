//! Faults around a gateway: it continues, keeps its guarantees or counts losses by name, and leaks no mbuf.

use crate::configuration::{LOSSLESS, LOSSY, on_core, two_ports};
use crate::lab::{Flow, Lab, Receiver, Sender, answers, cores, pauses_sent, port, scapy, wait_until};
use crate::on_the_wire;
use crate::pair::Pair;
use crate::pause::PAUSE_PRIORITY_3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::BTreeMap;

const LINK_BPS: u64 = 1_000_000_000;
/// The drop reason of a lossy queue that is full.
const LOSSY_LIMITS: [&str; 2] = ["queue_threshold", "egress_pool_full"];

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_gateway_that_stood_still_for_50_ms_loses_nothing", stands_still),
        on_the_wire(
            "frames_that_find_the_receive_ring_full_while_a_gateway_stands_still_are_counted",
            stands_still_too_long,
        ),
        on_the_wire("a_worker_that_stands_still_is_reported_and_goes_on", worker_stands_still),
        on_the_wire("a_link_that_was_down_carries_again", link_goes_down),
        on_the_wire("a_flood_of_short_best_effort_frames_costs_no_lossless_frame", flooded_by_short_frames),
    ]
}

/// A lossless flow of `count` frames of 250 bytes, at 2,500 per second.
fn flow(count: Option<u64>) -> [Flow; 1] {
    let (dscp, priority) = LOSSLESS;
    [Flow { port: 1, dscp, priority, bps: 5_000_000, count }]
}

/// Asserts that the gateway works as at its start: all frames pass, no mbuf is missing, and every frame that ever
/// arrived has left, or was dropped or consumed by name.
fn expect_sound(lab: &Lab, mut pair: Pair, idle_mbufs: u64) {
    pair.gateway.expect_running();
    let mut receiver = Receiver::start(lab, &pair.far);
    let sent = Sender::start(lab, &pair.near, &pair.far, 250, LINK_BPS, &flow(Some(500))).finished();
    receiver.wait_for_flow(1, 500);
    receiver.end().expect_complete(1, &sent);
    wait_until("all mbufs to come back", || pair.gateway.mbufs_in_use() == idle_mbufs);
    wait_until("every frame to be accounted for", || pair.gateway.unaccounted_frames() == 0);
    let ended = pair.gateway.end();
    assert!(ended.status.success(), "{}", ended.stderr);
}

fn stands_still(lab: &Lab) {
    /// 50 ms at 2,500 frames per second.
    const FRAMES_MEANWHILE: u64 = 125;
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let mut receiver = Receiver::start(lab, &pair.far);
    let sender = Sender::start(lab, &pair.near, &pair.far, 250, LINK_BPS, &flow(None));
    for stop in 1..=10 {
        receiver.wait_for_flow(1, stop * 50);
        pair.gateway.stop();
        let then = pair.near.packets_sent();
        wait_until("the host to send on", || pair.near.packets_sent() >= then + FRAMES_MEANWHILE);
        pair.gateway.go_on();
    }
    let sent = sender.end();
    receiver.wait_for_flow(1, sent.sent[&1]);
    receiver.end().expect_complete(1, &sent);
    expect_sound(lab, pair, idle_mbufs);
}

fn stands_still_too_long(lab: &Lab) {
    /// More than the receive ring holds.
    const FRAMES: u64 = 20_000;
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let received_and_missed = || {
        let shown = pair.gateway.show();
        let counters = &port(&shown, "dc0")["counters"];
        ["received", "missed"].map(|counter| counters[counter].as_u64().expect("a device counts frames"))
    };
    let [before, 0] = received_and_missed() else { panic!("nothing is missed yet") };
    pair.gateway.stop();
    let [flow] = flow(Some(FRAMES));
    let fast = Flow { bps: LINK_BPS, ..flow };
    Sender::start(lab, &pair.near, &pair.far, 250, LINK_BPS, &[fast]).finished();
    pair.gateway.go_on();
    wait_until("all frames to be received or missed", || {
        // Hosts send an ARP request now and then, too.
        received_and_missed().iter().sum::<u64>() >= before + FRAMES
    });
    let [_, missed] = received_and_missed();
    assert!(missed > 0, "the ring was full");
    wait_until("the frames of the ring to leave", || pair.gateway.mbufs_in_use() <= idle_mbufs);
    expect_sound(lab, pair, idle_mbufs);
}

fn worker_stands_still(lab: &Lab) {
    let [core] = *cores().first_chunk().expect("this process runs on one");
    let pair = Pair::new(lab, &on_core(&two_ports("1G", "1G"), core));
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let stopped = pair.gateway.stop_worker(lab, &pair.namespace, core);
    let report = format!("the worker on core {core} has not completed a turn");
    wait_until("the stall to be reported", || pair.gateway.log().contains(&report));
    stopped.end();
    let report = format!("the worker on core {core} resumed");
    wait_until("the worker to go on", || pair.gateway.log().contains(&report));
    expect_sound(lab, pair, idle_mbufs);
}

fn link_goes_down(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let sender = Sender::start(lab, &pair.near, &pair.far, 250, LINK_BPS, &flow(None));
    for _ in 0..3 {
        let before = pauses_sent(&pair.gateway.show(), "dc0");
        pair.far.namespace.ip("link set eth0 down");
        // Frames that cannot leave wait, until their sender must wait too.
        wait_until("the sender to be paused", || pauses_sent(&pair.gateway.show(), "dc0") > before);
        pair.far.namespace.ip("link set eth0 up");
        wait_until("the link to carry again", || answers(&pair.far, &pair.near));
    }
    sender.end();
    expect_sound(lab, pair, idle_mbufs);
}

/// The dropped frames of `priority` by reason, at one `side` of `port`.
fn dropped(shown: &Value, name: &str, priority: u8, side: &str) -> BTreeMap<String, u64> {
    let dropped = &port(shown, name)["priorities"][usize::from(priority)][side]["dropped"];
    let reasons = dropped.as_object().expect("reasons are keys").iter();
    reasons.map(|(reason, of)| (reason.clone(), of["frames"].as_u64().expect("it is counted"))).collect()
}

/// Asserts that no lossless frame was dropped, and that memory sufficed for all arrivals.
fn assert_lossless(pair: &Pair) {
    let shown = pair.gateway.show();
    for (name, side) in [("dc0", "ingress"), ("lh0", "egress")] {
        assert_eq!(dropped(&shown, name, LOSSLESS.1, side), BTreeMap::new(), "{name}");
    }
    let memory = |what: &str| shown["memory"][what].as_u64().expect("it is counted");
    assert!(memory("mbufs_in_use") < memory("mbufs"));
    let hardware = pair.gateway.totals();
    for counter in ["dc0.counters.missed", "dc0.counters.no_mbuf"] {
        assert_eq!(hardware[counter], 0, "{counter}");
    }
}

fn flooded_by_short_frames(lab: &Lab) {
    /// The shortest length of a numbered frame.
    const LENGTH: usize = 64;
    // 5,600 such frames leave per second, and about 5,000 best-effort ones fit into the buffer.
    let configuration = two_ports("1G", "4M").replace("8MiB", "512KiB");
    let pair = Pair::new(lab, &configuration);
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let mut receiver = Receiver::start(lab, &pair.far);
    let [lossless] = flow(None);
    let (dscp, priority) = LOSSY;
    let flood = Flow { port: 2, dscp, priority, bps: 20_000_000, count: None };
    // Twice as many as XOFF arrive while they are held.
    let flows = [Flow { bps: 2_000_000, ..lossless }, flood];
    let sender = Sender::start(lab, &pair.near, &pair.far, LENGTH, LINK_BPS, &flows);
    wait_until("best-effort frames to be dropped and the lossless sender to be paused", || {
        // Held for a third of a second each time, so that lossless frames wait next to the flood.
        scapy(&pair.far.namespace, &format!("{PAUSE_PRIORITY_3}'eth0')"));
        assert_lossless(&pair);
        let shown = pair.gateway.show();
        let flooded = dropped(&shown, "lh0", LOSSY.1, "egress");
        assert!(flooded.keys().all(|reason| LOSSY_LIMITS.contains(&reason.as_str())), "{flooded:?}");
        flooded.values().any(|frames| *frames > 1_000) && pauses_sent(&shown, "dc0") > 0
    });
    let sent = sender.end();
    receiver.wait_for_flow(1, sent.sent[&1]);
    receiver.end().expect_complete(1, &sent);
    assert_lossless(&pair);
    // The remaining frames leave.
    wait_until("all mbufs to come back", || pair.gateway.mbufs_in_use() == idle_mbufs);
    expect_sound(lab, pair, idle_mbufs);
}
