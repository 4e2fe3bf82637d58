//! External tools, run in a host's namespace until they end.

use super::host::INTERFACE;
use super::process::Process;
use super::{Host, Lab, Namespace, PYTHON};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pings `to` until `count` replies have arrived, with none missing.
pub fn ping(from: &Host, to: &Host, count: u32) {
    let count = count.to_string();
    from.namespace.run("ping", &["-n", "-q", "-i", "0.02", "-W", "5", "-c", &count, &to.address]);
}

/// Whether one ping is answered within a second.
pub fn answers(to: &Host, from: &Host) -> bool {
    let mut command = from.namespace.command("ping");
    command.args(["-n", "-q", "-W", "1", "-c", "1", &to.address]).stdout(Stdio::null());
    command.status().unwrap().success()
}

/// The block size of `iperf3`, in bytes.
pub const IPERF3_BLOCK: u64 = 128 * 1024;

/// Bytes that one end of a TCP connection wrote, and that the other one read.
#[derive(Debug)]
pub struct Carried {
    pub sent: u64,
    pub received: u64,
}

/// Transfers `bytes` over TCP, rounded up to blocks.
pub fn iperf3(lab: &Lab, from: &Host, to: &Host, bytes: u64) -> Carried {
    let mut command = to.namespace.command("iperf3");
    command.args(["--server", "--one-off", "--forceflush"]);
    let mut server = Process::start(&format!("iperf3-{}", to.address), command, lab.directory());
    server.wait_for_output("Server listening");
    let bytes = bytes.to_string();
    let told = from.namespace.run("iperf3", &["--client", &to.address, "--bytes", &bytes, "--json"]);
    server.ended();
    let told: Value = serde_json::from_str(&told).unwrap();
    let sum = |end: &str| told["end"][end]["bytes"].as_u64().expect("iperf3 counts bytes");
    Carried { sent: sum("sum_sent"), received: sum("sum_received") }
}

/// Sends all frames of a capture, `frames_per_second` of them.
pub fn tcpreplay(from: &Host, capture: &Path, frames_per_second: u32) {
    let rate = format!("--pps={frames_per_second}");
    let capture = capture.to_str().expect("captures have plain names");
    from.namespace.run("tcpreplay", &["--quiet", "--intf1", INTERFACE, &rate, capture]);
}

/// Runs a few lines of Python, with scapy imported.
pub fn scapy(namespace: &Namespace, lines: &str) {
    let program = format!("from scapy.all import *\nfrom scapy.contrib.mac_control import *\n{lines}\n");
    namespace.run(PYTHON, &["-c", &program]);
}

/// The given fields of the frames that match `filter`, according to tshark, one line per frame.
pub fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-Y", filter, "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // From 4.2 on it writes flags in words.
    let text = String::from_utf8(output.stdout).unwrap().replace("True", "1").replace("False", "0");
    text.lines().map(str::to_owned).collect()
}

/// Writes the frames that match `filter` into another capture.
pub fn tshark_write(capture: &Path, filter: &str, to: &Path) {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-Y", filter, "-F", "pcap", "-w"]).arg(to);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
