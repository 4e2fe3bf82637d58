//! `longspan traffic` through a gateway: hosts of a scenario on veth pairs.

use crate::configuration::{LOSSLESS, two_ports};
use crate::lab::{
    Capture, Ended, Host, Lab, Namespace, Process, most_pfc_frames_sent, port, tshark, wait_until,
};
use crate::on_the_wire;
use crate::pair::Pair;
use libtest_mimic::Trial;
use replay::capture::CaptureWriter;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use units::Nanos;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("hosts_of_a_scenario_obey_the_pauses_of_a_gateway_and_lose_nothing", hosts_obey),
        on_the_wire("a_capture_is_played_at_its_times_and_obeys_the_pauses_of_a_gateway", capture_obeys),
        on_the_wire("a_storm_of_pauses_arrives_completely_and_stops_the_priority", storm_arrives),
        on_the_wire("machines_that_plan_differently_fail_and_are_told_so", plans_differ),
        on_the_wire("a_terminated_run_prints_its_figures_and_leaves_no_files", terminated),
        on_the_wire("a_device_that_can_send_nothing_is_refused", devices_refused),
        on_the_wire("pauses_that_could_not_leave_are_not_counted_as_sent", storm_without_link),
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
    let round_trip = &at_sender["groups"]["writes"]["round_trip"];
    assert_eq!(round_trip["count"], at_sender["counters"]["answers_received"]);
    let buckets = round_trip["buckets_ns"].as_object().expect("buckets").values();
    assert_eq!(buckets.map(|it| it.as_u64().unwrap()).sum::<u64>(), round_trip["count"]);
    assert_eq!(counter(at_receiver, "wrong_icrc") + counter(at_sender, "wrong_icrc"), 0);
    let heard = counter(at_sender, "pauses_received");
    assert!((1..=most_pfc_frames_sent(&shown, "dc0")).contains(&heard), "{heard} pauses were heard");
    let data = counter(at_sender, "data_sent") as usize;
    capture.wait_for_frames(data, |frame| frame.dscp() == Some(LOSSLESS.0));
    let path = capture.path().to_owned();
    capture.end();
    pair.gateway.end();
    let packets =
        tshark(&path, "infiniband.bth.opcode >= 0 && infiniband.bth.opcode <= 4", &["infiniband.bth.psn"]);
    assert_eq!(packets.len(), data, "tshark finds every packet of data");
}

/// Two bursts of 2.4 MB in 60 ms, of which the far link of the gateway carries 0.75 MB and a port holds 1.1 MB.
fn capture_obeys(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "100M"));
    let path = lab.path("bursts.pcap");
    let frame = lossless_frame();
    let mut capture = CaptureWriter::create(&path).unwrap();
    for number in 0..4_000_u64 {
        let at = Nanos(1_000_000_000 + number / 2_000 * 500_000_000 + number % 2_000 * 30_000);
        capture.write(at, &frame, frame.len() as u32).unwrap();
    }
    capture.finish().unwrap();
    let file = path.to_str().expect("a plain path");
    let arguments = ["replay", file, "--port", "eth0", "--rate", "1G", "--from", "10.9.0.1"];
    let mut received = Capture::start(lab, &pair.far.namespace, "eth0");
    let report = figures(&start(lab, &pair.near, "replay", &arguments, None).ended());
    received.wait_for_frames(4_000, |frame| frame.dscp() == Some(LOSSLESS.0));
    received.end();
    let shown = pair.gateway.show();
    pair.gateway.end();

    let count = |name: &str| report[name].as_u64().expect("a figure");
    assert_eq!((&report["complete"], count("frames"), count("unsent")), (&true.into(), 4_000, 0));
    assert!(count("duration_ns") >= 559_970_000, "the span of the capture: {report:#}");
    assert!(count("paused") > 0, "{report:#}");
    assert!((1..=most_pfc_frames_sent(&shown, "dc0")).contains(&count("pauses_received")), "{report:#}");
    let drops = port(&shown, "dc0")["priorities"][usize::from(LOSSLESS.1)]["ingress"]["dropped"].to_string();
    assert_eq!(drops, "{}", "nothing is lost");
}

/// A frame of UDP from 10.9.0.1 with the lossless DSCP, for a station that is not there.
fn lossless_frame() -> Vec<u8> {
    let mut frame =
        vec![2, 0, 0, 0, 0x99, 2, 2, 0, 0, 0, 0x99, 1, 0x08, 0x00, 0x45, LOSSLESS.0 << 2, 0x04, 0xa2];
    frame.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    frame.resize(1_200, 0);
    frame
}

fn storm_arrives(lab: &Lab) {
    let pair = Pair::new(lab, &two_ports("1G", "1G"));
    let arguments = ["storm", "eth0", "--priority", "3", "--every", "5ms", "--for", "500ms"];
    let storm = start(lab, &pair.far, "storm", &arguments, None);
    let report = figures(&storm.ended());
    let shown = pair.gateway.show();
    pair.gateway.end();

    let count = |name: &str| report[name].as_u64().expect("a figure");
    assert!(count("sent") > 0 && count("sent") + count("missed") == 100, "{report:#}");
    let lossless = &port(&shown, "lh0")["priorities"][usize::from(LOSSLESS.1)];
    assert_eq!(lossless["pauses_received"]["xoff"], report["sent"]);
    assert!(lossless["pauses_received"]["paused_ns"].as_u64().is_some_and(|it| it > 0), "{lossless:#}");
}

/// Two namespaces with a link between them, `eth0` at both ends.
fn two_ends(lab: &Lab) -> [Namespace; 2] {
    let ends = ["a", "b"].map(|name| lab.namespace(name));
    ends[0].connect("eth0", &ends[1], "eth0", 1_500);
    ends
}

/// Starts `longspan traffic` in a namespace.
fn start_in(lab: &Lab, namespace: &Namespace, name: &str, arguments: &[&str]) -> Process {
    let mut command = namespace.command(env!("CARGO_BIN_EXE_longspan"));
    command.arg("traffic").args(arguments);
    Process::start(name, command, lab.directory())
}

/// Runs it until it ends by itself.
fn run_in(lab: &Lab, namespace: &Namespace, arguments: &[&str]) -> Ended {
    start_in(lab, namespace, "traffic", arguments).ended()
}

/// Another seed, and a size that the sender does not have.
fn plans_differ(lab: &Lab) {
    let [near, far] = two_ends(lab);
    let scenario = lab.path("play.toml");
    let play = |namespace: &Namespace, name: &str, which: &str, more: &[&str]| {
        let file = scenario.to_str().expect("a plain path");
        let arguments = [&["play", file, "--host", which, "--for", "2s", "--json"], more].concat();
        start_in(lab, namespace, name, &arguments)
    };
    for (number, other) in [(0, "scenario.seed=7"), (1, "traffic.writes.size=125kB"), (2, "host.mtu=512")] {
        fs::write(&scenario, SCENARIO.replace("connection_management = true", "")).unwrap();
        let [receiver, sender] = [format!("receiver{number}"), format!("sender{number}")];
        let receiver = play(&far, &receiver, "r0=eth0", &["--set", other]);
        let sender = play(&near, &sender, "h0=eth0", &[]);
        let [sent, received] = [sender, receiver].map(Process::ended);
        for ended in [&sent, &received] {
            assert_eq!(ended.status.code(), Some(1), "{other}: {}", ended.stderr);
        }
        assert!(
            received.stderr.contains("of data do not fit the plan; are the scenario and its seed"),
            "{other}"
        );
        let report: Value = serde_json::from_str(&received.stdout).unwrap();
        assert!(
            report["hosts"][0]["counters"]["misfits"].as_u64().is_some_and(|it| it > 0),
            "{other}: {report:#}"
        );
    }
}

/// DPDK's directory for a run.
fn files(id: u32) -> PathBuf {
    Path::new("/var/run/dpdk").join(format!("longspan_traffic_{id}"))
}

/// Signals while DPDK starts: its directory is made before its slow part.
fn terminated(lab: &Lab) {
    let [near, far] = two_ends(lab);
    let scenario = lab.path("play.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let file = scenario.to_str().expect("a plain path");
    for (namespace, signal) in [(&near, Signal::TERM), (&far, Signal::INT)] {
        let process = start_in(lab, namespace, "play", &["play", file, "--host", "r0=eth0", "--json"]);
        let files = files(process.id());
        wait_until("DPDK's files", || files.exists());
        process.signal(signal);
        let ended = process.ended();
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(report["complete"], false);
        assert!(!files.exists());
    }
}

fn devices_refused(lab: &Lab) {
    let [near, _far] = two_ends(lab);
    let storm = |device, every| {
        let ended =
            run_in(lab, &near, &["storm", device, "--priority", "3", "--every", every, "--for", "100ms"]);
        assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(2), ""), "{device}");
        ended.stderr
    };
    let expected =
        "longspan: there is no interface \"nosuch\" in this network namespace; there are eth0, lo\n";
    assert_eq!(storm("nosuch", "1ms"), expected);
    assert!(storm("lo", "1ms").contains("lo leads to no other machine"));
    assert!(storm("net_foo0", "1ms").contains("net_foo0: DPDK has no driver for net_foo0"));
    assert!(storm("eth0", "1ns").contains("is shorter than a pause takes on eth0 at 10G"));
    let arguments = ["storm", "eth0", "--priority", "3", "--every", "1ms", "--for", "60s"];
    let mut first = start_in(lab, &near, "first", &arguments);
    let files = files(first.id());
    wait_until("DPDK's files", || files.exists());
    assert!(storm("eth0", "1ms").contains("eth0 is used by another"));
    first.expect_running();
    assert!(first.end().status.success());
    near.ip("link set eth0 down");
    assert!(storm("eth0", "1ms").contains("the interface eth0 is down; set it up"));
}

/// The interface is set down in the middle of a storm.
fn storm_without_link(lab: &Lab) {
    let [near, far] = two_ends(lab);
    let arguments = ["storm", "eth0", "--priority", "3", "--every", "10ms", "--for", "4s", "--json"];
    let storm = start_in(lab, &near, "storm", &arguments);
    let received = || {
        let links: Value = serde_json::from_str(&far.ip("-json -stats link show eth0")).unwrap();
        links[0]["stats64"]["rx"]["packets"].as_u64().expect("ip counts packets")
    };
    wait_until("pauses", || received() > 10);
    near.ip("link set eth0 down");
    let report = figures(&storm.ended());
    assert!(report["unsent"].as_u64().is_some_and(|it| it > 0), "{report:#}");
    assert_eq!(report["sent"], received(), "{report:#}");
}
