//! The example configurations on cores that are busy: no lossless frame is lost, or the log says which port can no
//! longer guarantee that, and what to set.

use crate::configuration::LOSSLESS;
use crate::examples::ExamplePair;
use crate::lab::{
    Flow, Gateway, Lab, PYTHON, Process, Receiver, Sender, cores, pauses_sent, ping, wait_until,
};
use crate::on_the_wire;
use libtest_mimic::Trial;
use serde_json::Value;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        on_the_wire("shared_cores_cost_nothing_unsaid_with_pfc", |lab| busy(lab, "PFC", "")),
        on_the_wire("shared_cores_cost_nothing_unsaid_with_bifrost", |lab| busy(lab, "Bifrost", "-bifrost")),
        on_the_wire("shared_cores_cost_nothing_unsaid_with_lscc", |lab| busy(lab, "LSCC", "-lscc")),
    ]
}

/// Their UDP source ports.
const FLOWS: [u16; 2] = [2, 3];
const LINK_BPS: u64 = 1_000_000_000;
const FRAME_BYTES: usize = 1_400;
/// The number of frames that arrive from each sender before both end.
const FRAMES: u64 = 10_000;
const BPS: u64 = 400_000_000;
/// The receiver holds its priority half of the time: for 67 ms, as its port has 500M, every 130 ms.
const HOLD: &str = "
from scapy.all import Ether, sendp
from scapy.contrib.mac_control import MACControlClassBasedFlowControl
pause = Ether(dst='01:80:c2:00:00:01') / MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=65535)
print('holding', flush=True)
sendp(pause, iface='eth0', count=1000, inter=0.13, verbose=False)
";
const BURN: &str = "
import time
end = time.monotonic() + 120
while time.monotonic() < end: pass
";
/// The log message about a guarantee that no longer holds.
const NOT_COVERED: &str = "lossless frames are lost when";

fn busy(lab: &Lab, scheme_name: &str, scheme: &str) {
    // Started normally, without precedence.
    let ExamplePair { near, far, gateways } = ExamplePair::start(lab, scheme, &["nice", "-n", "0"]);
    near.iter().for_each(|host| ping(&far, host, 1));
    let burners: Vec<Process> = cores().iter().map(|core| burner(lab, *core)).collect();
    let mut hold = far.namespace.command(PYTHON);
    hold.args(["-c", HOLD]);
    let mut hold = Process::start("hold", hold, lab.directory());
    hold.wait_for_output("holding");
    let mut receiver = Receiver::start(lab, &far);
    let (dscp, priority) = LOSSLESS;
    let senders: Vec<Sender> = FLOWS
        .into_iter()
        .zip(&near)
        .map(|(port, host)| {
            let flow = Flow { port, dscp, priority, bps: BPS, count: None };
            Sender::start(lab, host, &far, FRAME_BYTES, LINK_BPS, &[flow])
        })
        .collect();
    FLOWS.iter().for_each(|flow| receiver.wait_for_flow(*flow, FRAMES));
    let sent: u64 = senders.into_iter().flat_map(|sender| sender.end().sent.into_values()).sum();
    let arrived = || FLOWS.iter().map(|flow| receiver.so_far().flow(*flow).received).sum::<u64>();
    wait_until("all that was sent to arrive or to be dropped by name", || {
        arrived()
            + gateways
                .iter()
                .map(|gateway| lost_by_port(&gateway.show()).map(|(_, lost)| lost).sum::<u64>())
                .sum::<u64>()
            >= sent
    });
    let lost = (sent - arrived()) as f64 / sent as f64;
    let shown = gateways.each_ref().map(Gateway::show);
    let logs = gateways.map(|gateway| gateway.end().stderr);

    let unsaid: Vec<String> =
        shown.iter().zip(&logs).flat_map(|(shown, log)| lost_unsaid(shown, log)).collect();
    let warnings = logs.iter().flat_map(|log| log.lines()).filter(|line| line.contains(NOT_COVERED)).count();
    let late: Vec<String> = shown.iter().flat_map(lateness).collect();
    println!("{scheme_name}: {:.2} % lost, {warnings} warnings; {}", lost * 100.0, late.join("; "));
    assert!(pauses_sent(&shown[1], "lh0") > 0, "the far end had to hold the near one");
    assert_eq!(unsaid, Vec::<String>::new(), "ports that lost frames, of which nothing was said");
    for mut process in burners.into_iter().chain([hold]) {
        process.expect_running();
    }
}

/// Lossless frames that the gateway dropped, and frames that found no room in a device, by port.
fn lost_by_port(shown: &Value) -> impl Iterator<Item = (&str, u64)> {
    let (_, priority) = LOSSLESS;
    let of_port = move |port: &Value| {
        let of = |side: &str| &port["priorities"][usize::from(priority)][side]["dropped"];
        let dropped = ["ingress", "egress"].iter().filter_map(|side| of(side).as_object());
        let dropped =
            dropped.flat_map(|reasons| reasons.values()).filter_map(|count| count["frames"].as_u64());
        dropped.sum::<u64>() + port["counters"]["missed"].as_u64().expect("devices count what they miss")
    };
    let ports = shown["ports"].as_array().expect("there are ports").iter();
    ports.map(move |port| (port["name"].as_str().expect("a port has a name"), of_port(port)))
}

/// Ports that lost frames although the log does not say that they no longer cover their worker's lateness.
fn lost_unsaid(shown: &Value, log: &str) -> Vec<String> {
    let is_said = |name: &str| {
        log.lines().any(|line| line.contains(NOT_COVERED) && line.contains(&format!("port {name} covers")))
    };
    let lost = lost_by_port(shown).filter(|(name, lost)| *lost > 0 && !is_said(name));
    lost.map(|(name, lost)| format!("{name}: {lost}")).collect()
}

/// Keeps a core busy, and ends by itself.
fn burner(lab: &Lab, core: usize) -> Process {
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string(), PYTHON, "-c", BURN]);
    Process::start(&format!("burner-{core}"), command, lab.directory())
}

/// The lateness that each worker covers, and its maximum lateness.
fn lateness(shown: &Value) -> Vec<String> {
    let workers = shown["workers"].as_array().expect("there are workers");
    let millis = |value: &Value| value.as_f64().unwrap_or(f64::NAN) / 1e6;
    let line = |worker: &Value| {
        format!(
            "covers {:.1} ms, was away for {:.1} ms, late {} times",
            millis(&worker["covered_lateness_ns"]),
            millis(&worker["turn"]["max_ns"]),
            worker["late_turns"],
        )
    };
    workers.iter().map(line).collect()
}
