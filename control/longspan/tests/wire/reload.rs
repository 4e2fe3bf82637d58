//! Reloads under load, and a crash.

use crate::configuration::{LOSSLESS, OTHER_LOSSLESS, two_ports};
use crate::lab::{Flow, Gateway, Lab, Receiver, Sender, ping, wait_until};
use crate::on_the_wire;
use crate::pair::{NAME, Pair};
use libtest_mimic::Trial;
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};

const RELOADS: usize = 1_000;
/// The polling interval of the counters.
const RELOADS_PER_LOOK: usize = 50;
const LINK_BPS: u64 = 1_000_000_000;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("a_thousand_reloads_lose_and_reorder_nothing", reloads_lose_nothing),
        on_the_wire("a_thousand_bad_configurations_change_nothing", bad_ones_change_nothing),
        on_the_wire("a_hangup_reloads_too", hangup_reloads),
        on_the_wire("a_killed_gateway_starts_again_and_leaves_nothing_behind", killed_starts_again),
    ]
}

/// Numbered frames through a gateway, in two flows, until the load is ended.
struct Load {
    sender: Sender,
    receiver: Receiver,
}

impl Load {
    fn put_on(lab: &Lab, pair: &Pair) -> Self {
        let receiver = Receiver::start(lab, &pair.far);
        let flow = |port, (dscp, priority)| Flow { port, dscp, priority, bps: 4_000_000, count: None };
        let flows = [flow(1, LOSSLESS), flow(2, OTHER_LOSSLESS)];
        let sender = Sender::start(lab, &pair.near, &pair.far, 250, LINK_BPS, &flows);
        Self { sender, receiver }
    }

    fn frames(&self) -> u64 {
        let received = self.receiver.so_far();
        received.flow(1).received + received.flow(2).received
    }

    /// Asserts that all frames arrived in order.
    fn take_off(mut self) {
        let sent = self.sender.end();
        for (port, count) in &sent.sent {
            self.receiver.wait_for_flow(*port, *count);
        }
        let received = self.receiver.end();
        for port in sent.sent.keys() {
            received.expect_complete(*port, &sent);
        }
    }
}

fn reloads_lose_nothing(lab: &Lab) {
    let configurations = [two_ports("1G", "1G"), two_ports("1G", "1G").replace("64KiB", "96KiB")];
    let mut pair = Pair::new(lab, &configurations[0]);
    let load = Load::put_on(lab, &pair);
    let before = load.frames();
    let mut totals = pair.gateway.totals();
    for reload in 1..=RELOADS {
        let output = pair.gateway.reload(&configurations[reload % 2]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if reload % RELOADS_PER_LOOK == 0 {
            let now = pair.gateway.totals();
            for (name, before) in &totals {
                assert!(now[name] >= *before, "{name} fell from {before} to {}", now[name]);
            }
            totals = now;
        }
    }
    assert!(load.frames() > before, "frames crossed meanwhile");
    load.take_off();
    pair.gateway.expect_running();
    pair.gateway.end();
}

fn bad_ones_change_nothing(lab: &Lab) {
    let good = two_ports("1G", "1G");
    let bad = [
        "this is not TOML".to_owned(),
        good.replace("64KiB", "64 parsecs"),
        good.replace("priorities = [4]", "priorities = [3]"),
        good.replace("pairs = [[\"dc0\", \"lh0\"]]", "pairs = [[\"dc0\", \"dc1\"]]"),
        // Valid by itself, but not for a running gateway.
        good.replace("iface=lh0", "iface=lh1"),
    ];
    let pair = Pair::new(lab, &good);
    let load = Load::put_on(lab, &pair);
    let before = pair.gateway.show()["config"].clone();
    for attempt in 0..RELOADS {
        let output = pair.gateway.reload(&bad[attempt % bad.len()]);
        assert!(!output.status.success(), "attempt {attempt}: {}", String::from_utf8_lossy(&output.stdout));
    }
    let after = pair.gateway.show();
    assert_eq!(after["config"], before);
    assert_eq!((&after["reloads"]["applied"], &after["reloads"]["refused"]), (&0.into(), &RELOADS.into()));
    load.take_off();
    pair.gateway.end();
}

fn hangup_reloads(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let before = pair.gateway.show()["config"].clone();
    pair.gateway.write(&two_ports("1G", "1G").replace("64KiB", "96KiB"));
    pair.gateway.signal(Signal::HUP);
    wait_until("the hangup to be heard", || pair.gateway.show()["reloads"]["applied"] == 1);
    assert_ne!(pair.gateway.show()["config"], before);
    pair.gateway.end();
}

fn killed_starts_again(lab: &Lab) {
    let configuration = two_ports("1G", "1G");
    let Pair { near, far, gateway, namespace } = Pair::new(lab, &configuration);
    ping(&near, &far, 10);
    gateway.end();
    assert_eq!(left_behind(lab), NOTHING);

    let gateway = Gateway::start(lab, &namespace, NAME, &configuration);
    ping(&near, &far, 10);
    gateway.kill();

    let gateway = Gateway::start(lab, &namespace, NAME, &configuration);
    ping(&near, &far, 10);
    let socket = gateway.socket().to_owned();
    gateway.end();
    assert!(!socket.exists(), "the control socket");
    assert_eq!(left_behind(lab), NOTHING);
}

pub const NOTHING: [PathBuf; 0] = [];

/// Files of a gateway that has ended.
pub fn left_behind(lab: &Lab) -> Vec<PathBuf> {
    let prefix = lab.unique(NAME);
    let directories = ["/var/run/dpdk", "/dev/hugepages", "/dev/shm", "/run/longspan"].map(Path::new);
    directories.iter().flat_map(|directory| files_in(directory, |name| name.contains(&prefix))).collect()
}

fn files_in(directory: &Path, which: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| which(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}
