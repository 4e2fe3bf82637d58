//! `longspan traffic` through a gateway: hosts of a scenario on veth pairs.

use crate::configuration::{LOSSLESS, two_ports};
use crate::lab::{Capture, Ended, Host, Lab, Process, pauses_sent, port, tshark};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("hosts_of_a_scenario_obey_the_pauses_of_a_gateway_and_lose_nothing", hosts_obey),
        on_the_wire("a_storm_of_pauses_arrives_completely_and_stops_the_priority", storm_arrives),
    ]
}

/// Four messages from one host to another, faster than the far link of the gateway carries them. A retransmission would
/// mean a loss, since the timer is longer than any queue here.
const SCENARIO: &str = r#"
[scenario]
until = "100ms"

[topology]
template = "incast"
senders = 1
rate = "1G"

[host]
congestion_control = "none"
go_back_n = { retransmission_timeout = "5s" }

[network]
connection_management = true

[[traffic]]
group = "writes"
pattern = "pairs"
sources = ["h0"]
destinations = ["r0"]
size = "250kB"
every = "1ms"
times = 4
"#;

/// Starts `longspan traffic` at a host.
fn start(lab: &Lab, host: &Host, name: &str, arguments: &[&str], file: Option<&Path>) -> Process {
    let mut command = host.namespace.command(env!("CARGO_BIN_EXE_longspan"));
    command.args(["traffic", arguments[0]]).args(file).args(&arguments[1..]).arg("--json");
    Process::start(name, command, lab.directory())
}

fn figures(ended: &Ended) -> Value {
    assert!(ended.status.success(), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn hosts_obey(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "100M"));
    let scenario = lab.path("play.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let mut capture = Capture::start(lab, &pair.far.namespace, "eth0");
    let play = |host, name: &str, which| {
        start(lab, host, name, &["play", "--host", which, "--for", "30s"], Some(&scenario))
    };
    let receiver = play(&pair.far, "receiver", "r0=eth0");
    let sender = play(&pair.near, "sender", "h0=eth0");
    let [sent, received] = [sender, receiver].map(|it| figures(&it.ended()));
    let shown = pair.gateway.show();

    let (at_sender, at_receiver) = (&sent["hosts"][0], &received["hosts"][0]);
    assert_eq!(at_sender["groups"]["writes"]["acknowledged_bytes"], 1_000_000);
    assert_eq!(at_receiver["groups"]["writes"]["received"], 4);
    let counter = |host: &Value, name: &str| host["counters"][name].as_u64().expect("a counter");
    assert_eq!(counter(at_sender, "retransmitted"), 0, "{sent:#}");
    assert_eq!(counter(at_sender, "data_sent"), counter(at_receiver, "data_received"));
    assert_eq!(counter(at_receiver, "wrong_icrc") + counter(at_sender, "wrong_icrc"), 0);
    let heard = counter(at_sender, "pauses_received");
    assert!((1..=pauses_sent(&shown, "dc0")).contains(&heard), "{heard} pauses were heard");
    let data = counter(at_sender, "data_sent") as usize;
    capture.wait_for_frames(data, |frame| frame.dscp() == Some(LOSSLESS.0));
    let path = capture.path().to_owned();
    capture.end();
    pair.gateway.end();
    let packets =
        tshark(&path, "infiniband.bth.opcode >= 0 && infiniband.bth.opcode <= 4", &["infiniband.bth.psn"]);
    assert_eq!(packets.len(), data, "tshark finds every packet of data");
}

fn storm_arrives(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let arguments = ["storm", "eth0", "--priority", "3", "--every", "5ms", "--for", "500ms"];
    let storm = start(lab, &pair.far, "storm", &arguments, None);
    let report = figures(&storm.ended());
    let shown = pair.gateway.show();
    pair.gateway.end();

    let count = |name: &str| report[name].as_u64().expect("a figure");
    assert!(count("sent") > 0 && count("sent") + count("missed") <= 101, "{report:#}");
    let lossless = &port(&shown, "lh0")["priorities"][usize::from(LOSSLESS.1)];
    assert_eq!(lossless["pauses_received"]["xoff"], report["sent"]);
    assert!(lossless["pauses_received"]["paused_ns"].as_u64().is_some_and(|it| it > 0), "{lossless:#}");
}
