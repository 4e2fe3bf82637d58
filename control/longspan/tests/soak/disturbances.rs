//! Disturbances of a pair under load.

use crate::configuration::LOSSLESS;
use crate::gateways::{FAR, FEEDBACK, LAUNCHER_OF_LANES, NEAR, Pair};
use crate::lab::{Lab, PYTHON, Process, cores, port, repository, wait_until};
use crate::load::{Load, Sacrifice};
use crate::watch::Watch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

/// How often both ends are reloaded in a row, with a change and its reversal.
const RELOADS: u64 = 3;
/// Lossless frames of each flow that pass between two disturbances.
const FRAMES_BETWEEN: u64 = 500;
/// Lossless frames that wait for a link before it comes up again.
const FRAMES_WAITING: u64 = 100;
const MALFORMED: usize = 700;
const BURN: &str = "
import time
end = time.monotonic() + 10
while time.monotonic() < end: pass
";

/// Changes rates and thresholds under load, and changes them back. Returns the number of reloads.
pub fn reload(pair: &Pair, load: &mut Load) -> u64 {
    for _ in 0..RELOADS {
        pair.reload(true);
        pair.reload(false);
    }
    load.wait_for_more(FRAMES_BETWEEN);
    // Two at each end.
    RELOADS * 4
}

/// Takes the receiver's link down and up. A kernel loses the frames that it sends into a link as it goes down, whoever
/// sends them. So the receiver first pauses the lossless priority, like a host that shuts down properly, and no
/// lossless frame is on the link. From then on lossless frames wait, and none may be lost.
pub fn flap(lab: &Lab, pair: &Pair, load: &mut Load) {
    let host = &pair.hosts.receiver.namespace;
    let mut command = host.command(PYTHON);
    command.arg(script("hold.py")).args(["eth0", &LOSSLESS.1.to_string()]);
    let mut hold = Process::start("hold", command, lab.directory());
    hold.wait_for_output("holding");
    let priority = usize::from(LOSSLESS.1);
    let is_paused = |shown: &Value| port(shown, "dc3")["levels"][priority]["paused_by_peer"] == true;
    let is_up = |shown: &Value| port(shown, "dc3")["device"]["link_up"] == true;
    wait_until("the receiver's pause to be obeyed", || is_paused(&pair.gateway(FAR).show()));
    host.ip("link set eth0 down");
    let held = hold.ended();
    assert!(held.status.success(), "the receiver did not hold its priority: {}", held.stderr);
    wait_until("the link to be seen down", || {
        let shown = pair.gateway(FAR).show();
        let is_down = !is_up(&shown);
        assert!(is_down || is_paused(&shown), "the pause ended before the link was seen down");
        is_down
    });
    wait_until("lossless frames to wait at the link", || {
        let shown = pair.gateway(FAR).show();
        let queue = &port(&shown, "dc3")["priorities"][priority]["egress"];
        let waiting = queue["queued"]["frames"].as_u64().expect("it is counted");
        // Fewer if the upstream was already paused and nothing more arrives.
        let is_stopped = port(&shown, "lh0")["levels"][priority]["pauses_peer"] == true;
        waiting >= FRAMES_WAITING || (waiting > 0 && is_stopped)
    });
    host.ip("link set eth0 up");
    load.wait_for_more(FRAMES_BETWEEN);
}

/// Takes half of the second core for ten seconds, with a program of the same precedence: the second lane of the near gateway
/// and the lead of the far one, which never sleeps, have the other half.
pub fn slow_lane(lab: &Lab, load: &mut Load) {
    let [launcher, options @ ..] = LAUNCHER_OF_LANES;
    let mut command = Command::new(launcher);
    command.args(options).args(["taskset", "-c", &cores()[1].to_string(), PYTHON, "-c", BURN]);
    let ended = Process::start("slow-lane", command, lab.directory()).ended();
    assert!(ended.status.success(), "the program beside the lane: {}", ended.stderr);
    load.wait_for_more(FRAMES_BETWEEN);
}

/// A host that sends malformed frames and forged messages until it has sent all of them.
pub struct Forger(Process);

impl Forger {
    pub fn start(lab: &Lab, pair: &Pair, seed: u64) -> Self {
        let hosts = &pair.hosts;
        let stations: Vec<_> = [&hosts.flooder, &hosts.flooded, &hosts.sender]
            .map(|host| json!([host.mac, host.address]))
            .to_vec();
        let settings = json!({
            "seed": seed,
            "count": MALFORMED,
            "own_mac": hosts.forger.mac,
            "stations": stations,
            "feedback": [FEEDBACK[FAR], FEEDBACK[NEAR]],
        });
        let mut command = hosts.forger.namespace.command(PYTHON);
        command.arg(script("malformed.py")).arg("eth0").arg(settings.to_string());
        Self(Process::start("malformed", command, lab.directory()))
    }

    /// Waits until it ends, and returns the number of frames sent.
    pub fn finished(self) -> u64 {
        let ended = self.0.ended();
        assert!(ended.status.success(), "the forger: {}", ended.stderr);
        let last = ended.stdout.lines().last().expect("it ends with a line of JSON");
        let sent: BTreeMap<String, u64> = serde_json::from_str(last).unwrap();
        sent.values().sum()
    }
}

/// Kills the far gateway under a separate load, and starts it again. Returns how many frames of that load were sent,
/// and how many of them were lost with the gateway, inside it and on the link.
pub fn kill(lab: &Lab, pair: &mut Pair, watch: &Watch, settle: impl FnOnce(&Pair)) -> (u64, u64) {
    let mut load = Sacrifice::start(lab, &pair.hosts);
    watch.expect_far(false);
    pair.kill_far();
    let link = |pair: &Pair| port(&pair.gateway(NEAR).show(), "lh0").clone();
    wait_until("the link to be seen down", || link(pair)["device"]["link_up"] == false);
    wait_until("lossless frames to wait for the gateway", || {
        let queue = &link(pair)["priorities"][usize::from(LOSSLESS.1)]["egress"];
        queue["queued"]["frames"].as_u64().expect("it is counted") >= FRAMES_WAITING
    });
    pair.start_far(lab);
    pair.learn();
    watch.expect_far(true);
    load.wait_for_more();
    load.end(pair, settle)
}

/// A Python script in this directory.
pub fn script(name: &str) -> std::path::PathBuf {
    repository("control/longspan/tests/soak").join(name)
}
