//! What goes wrong around a gateway: it goes on, keeps its promises or counts by name, and leaks no mbuf.

use crate::configuration::{LOSSLESS, on_cores, two_ports};
use crate::lab::{Flow, Lab, Receiver, Sender, answers, cores, pauses_sent, port, scapy, wait_until};
use crate::pair::Pair;
use crate::pause::PAUSE_PRIORITY_3;
use crate::{on_the_wire, on_the_wire_with_cores};
use libtest_mimic::Trial;

const LINK_BPS: u64 = 1_000_000_000;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_gateway_that_stood_still_for_50_ms_loses_nothing", stands_still),
        on_the_wire_with_cores(
            2,
            "a_worker_that_stands_still_is_reported_and_its_frames_wait",
            worker_stands_still,
        ),
        on_the_wire("a_link_that_was_down_carries_again", link_goes_down),
        on_the_wire(
            "a_gateway_without_descriptors_counts_what_it_drops_and_goes_on",
            runs_out_of_descriptors,
        ),
        on_the_wire_with_cores(
            2,
            "a_backlog_without_room_for_a_worker_that_stands_still_is_counted_and_goes_on",
            backlog_fills_up,
        ),
    ]
}

/// A lossless flow of `count` frames of 250 bytes, 2,500 a second.
fn flow(count: Option<u64>) -> [Flow; 1] {
    let (dscp, priority) = LOSSLESS;
    [Flow { port: 1, dscp, priority, bps: 5_000_000, count }]
}

/// A lossless flow of 100-byte frames, 5,000 a second.
fn fast_flow() -> [Flow; 1] {
    let [flow] = flow(None);
    [Flow { bps: 4_000_000, ..flow }]
}

/// The gateway works as on its first day: frames pass, all of them; no mbuf is missing, and every frame
/// that ever came in has left, or was dropped or consumed by name.
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
    /// At 2,500 frames a second: 50 ms.
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

fn worker_stands_still(lab: &Lab) {
    /// A ring between two workers has room for so many.
    const RING: u64 = 1_024;
    let [receiving, sending] = *cores().first_chunk().expect("two were asked for");
    let configuration = two_ports("1G", "1G").replace("64KiB", "512KiB").replace("32KiB", "256KiB");
    let configuration = on_cores(&configuration, &[("dc0", receiving), ("lh0", sending)]);
    let pair = Pair::new(lab, &configuration);
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let mut receiver = Receiver::start(lab, &pair.far);
    let sender = Sender::start(lab, &pair.near, &pair.far, 100, LINK_BPS, &fast_flow());
    receiver.wait_for_flow(1, 100);
    let stopped = pair.gateway.stop_worker(lab, &pair.namespace, sending);
    let inside = || {
        let totals = pair.gateway.totals();
        totals["dc0.in.frames"].saturating_sub(totals["lh0.out.frames"])
    };
    wait_until("the ring to be full", || inside() > 2 * RING);
    let report = format!("the worker on core {sending} has ended no turn");
    wait_until("the stall to be reported", || pair.gateway.log().contains(&report));
    wait_until("the sender to be paused", || pauses_sent(&pair.gateway.show(), "dc0") > 0);
    stopped.end();
    let report = format!("the worker on core {sending} goes on");
    wait_until("the worker to go on", || pair.gateway.log().contains(&report));
    let sent = sender.end();
    receiver.wait_for_flow(1, sent.sent[&1]);
    receiver.end().expect_complete(1, &sent);
    expect_sound(lab, pair, idle_mbufs);
}

fn link_goes_down(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let sender = Sender::start(lab, &pair.near, &pair.far, 250, LINK_BPS, &flow(None));
    for _ in 0..3 {
        let before = pauses_sent(&pair.gateway.show(), "dc0");
        pair.far.namespace.ip("link set eth0 down");
        // What cannot leave waits, until its sender has to.
        wait_until("the sender to be paused", || pauses_sent(&pair.gateway.show(), "dc0") > before);
        pair.far.namespace.ip("link set eth0 up");
        wait_until("the link to carry again", || answers(&pair.far, &pair.near));
    }
    sender.end();
    expect_sound(lab, pair, idle_mbufs);
}

fn runs_out_of_descriptors(lab: &Lab) {
    // Room for a few frames only: short ones use it up long before the bytes.
    let configuration = two_ports("1G", "100M").replace("64KiB", "1MiB").replace("32KiB", "512KiB");
    let configuration = configuration.replace("[buffer]", "[buffer]\ndescriptors = 256");
    let pair = Pair::new(lab, &configuration);
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let sender = Sender::start(lab, &pair.near, &pair.far, 100, LINK_BPS, &fast_flow());
    wait_until("the gateway to run out of descriptors", || {
        // Held for a third of a second each time.
        scapy(&pair.far.namespace, &format!("{PAUSE_PRIORITY_3}'eth0')"));
        let shown = pair.gateway.show();
        let memory = |what: &str| shown["memory"][what].as_u64().expect("it is counted");
        // Rings and bursts have mbufs of their own, so that a full buffer never keeps frames from arriving.
        assert!(memory("mbufs_in_use") < memory("mbufs"));
        let queue = &port(&shown, "lh0")["priorities"][usize::from(LOSSLESS.1)]["egress"];
        queue["dropped"]["no_descriptor"]["frames"].as_u64().is_some_and(|frames| frames > 0)
    });
    let hardware = pair.gateway.totals();
    for counter in ["dc0.counters.missed", "dc0.counters.no_mbuf"] {
        assert_eq!(hardware[counter], 0, "{counter}");
    }
    sender.end();
    // What still waits leaves once the pause is over.
    wait_until("all mbufs to come back", || pair.gateway.mbufs_in_use() == idle_mbufs);
    expect_sound(lab, pair, idle_mbufs);
}

fn backlog_fills_up(lab: &Lab) {
    let [receiving, sending] = *cores().first_chunk().expect("two were asked for");
    // Room for a few frames only in front of the ring, and for more bytes than these ever have.
    let configuration = two_ports("1G", "1G").replace("64KiB", "1MiB").replace("32KiB", "512KiB");
    let configuration = configuration.replace("[buffer]", "[buffer]\ndescriptors = 256");
    let configuration = on_cores(&configuration, &[("dc0", receiving), ("lh0", sending)]);
    let pair = Pair::new(lab, &configuration);
    let idle_mbufs = pair.gateway.mbufs_in_use();
    let mut receiver = Receiver::start(lab, &pair.far);
    let sender = Sender::start(lab, &pair.near, &pair.far, 100, LINK_BPS, &fast_flow());
    receiver.wait_for_flow(1, 100);
    let stopped = pair.gateway.stop_worker(lab, &pair.namespace, sending);
    wait_until("the backlog to be full", || {
        let shown = pair.gateway.show();
        let memory = |what: &str| shown["memory"][what].as_u64().expect("it is counted");
        assert!(memory("mbufs_in_use") < memory("mbufs"), "there are mbufs for what arrives");
        let group = &port(&shown, "dc0")["priorities"][usize::from(LOSSLESS.1)]["ingress"];
        group["dropped"]["handoff_full"]["frames"].as_u64().is_some_and(|frames| frames > 0)
    });
    stopped.end();
    sender.end();
    receiver.end();
    wait_until("all mbufs to come back", || pair.gateway.mbufs_in_use() == idle_mbufs);
    expect_sound(lab, pair, idle_mbufs);
}
