//! Senders that obey PFC and CNPs, and receivers that count their frames.

use super::capture::script;
use super::host::INTERFACE;
use super::process::Process;
use super::wait::wait_until;
use super::{Host, Lab, PYTHON};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Numbered RoCEv2 frames of one UDP source port.
#[derive(Clone, Serialize)]
pub struct Flow {
    pub port: u16,
    pub dscp: u8,
    /// The priority that the host assigns to the frames, which determines the pauses that hold them.
    pub priority: u8,
    /// The rate of the frames, in bits per second, without overhead.
    pub bps: u64,
    /// The number of frames; `None` for no limit.
    pub count: Option<u64>,
}

#[derive(Serialize)]
struct Settings<'a> {
    source_mac: &'a str,
    destination_mac: &'a str,
    source_ip: &'a str,
    destination_ip: &'a str,
    lengths: &'a [usize],
    link_bps: u64,
    flows: &'a [Flow],
}

/// A host that sends.
pub struct Sender {
    process: Process,
}

/// The counters of a sender.
#[derive(Debug, Deserialize)]
pub struct Sent {
    /// Frames per UDP source port.
    pub sent: BTreeMap<u16, u64>,
    /// CNPs received, per UDP source port.
    pub cnps: BTreeMap<u16, u64>,
    /// PFC frames received, per priority.
    pub pauses: [u64; 8],
    /// How long PFC held each priority, in nanoseconds.
    pub silent_ns: [u64; 8],
}

impl Sender {
    /// Sends frames of `length` bytes over a link of `link_bps`, which determines the duration of a quantum.
    pub fn start(lab: &Lab, from: &Host, to: &Host, length: usize, link_bps: u64, flows: &[Flow]) -> Self {
        Self::start_mixed(lab, from, to, &[length], link_bps, flows)
    }

    /// The same, with several lengths, which each flow uses in turn.
    pub fn start_mixed(
        lab: &Lab,
        from: &Host,
        to: &Host,
        lengths: &[usize],
        link_bps: u64,
        flows: &[Flow],
    ) -> Self {
        let settings = Settings {
            source_mac: &from.mac,
            destination_mac: &to.mac,
            source_ip: &from.address,
            destination_ip: &to.address,
            lengths,
            link_bps,
            flows,
        };
        let mut command = from.namespace.command(PYTHON);
        command.arg(script("send.py")).arg(INTERFACE).arg(serde_json::to_string(&settings).unwrap());
        let mut process = Process::start(&format!("send-{}", from.address), command, lab.directory());
        process.wait_for_output("sending");
        Self { process }
    }

    #[allow(dead_code, reason = "for the soak")]
    pub fn expect_running(&mut self) {
        self.process.expect_running();
    }

    /// Stops it.
    pub fn end(self) -> Sent {
        told(&self.process.end().stdout)
    }

    /// Waits until all frames of all flows are sent.
    pub fn finished(self) -> Sent {
        told(&self.process.ended().stdout)
    }
}

fn told(stdout: &str) -> Sent {
    serde_json::from_str(stdout.lines().last().expect("a sender ends with a line of JSON")).unwrap()
}

/// A host that counts numbered frames.
pub struct Receiver {
    process: Process,
    path: PathBuf,
}

/// The counters of a receiver for one flow.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Seen {
    pub received: u64,
    /// One more than the highest number.
    pub next: u64,
    /// Numbers that were missing when a higher one arrived.
    pub missing: u64,
    /// Frames that arrived after one with a higher number.
    pub late: u64,
    /// Frames that arrived with CE.
    pub marked: u64,
}

/// The counters of a receiver.
#[derive(Clone, Debug, Deserialize)]
pub struct Received {
    pub flows: BTreeMap<u16, Seen>,
    pub bytes: u64,
    /// Frames that the receiver itself lost.
    pub overflow: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
}

impl Received {
    /// Asserts that all frames of the flow have arrived in order.
    pub fn expect_complete(&self, port: u16, sent: &Sent) {
        assert_eq!(self.overflow, 0, "the receiver kept up");
        let (seen, count) = (self.flow(port), sent.sent[&port]);
        let complete = Seen { received: count, next: count, marked: seen.marked, ..Seen::default() };
        assert_eq!(seen, complete, "flow {port}");
    }

    /// The counters of a flow.
    pub fn flow(&self, port: u16) -> Seen {
        self.flows.get(&port).cloned().unwrap_or_default()
    }

    /// The rate of the frames from the first to the last.
    pub fn bits_per_second(&self) -> f64 {
        let (Some(first), Some(last)) = (self.first_ns, self.last_ns) else { return 0.0 };
        self.bytes as f64 * 8e9 / last.saturating_sub(first).max(1) as f64
    }
}

impl Receiver {
    /// Counts the frames that arrive at `host` after this returns.
    pub fn start(lab: &Lab, host: &Host) -> Self {
        let path = lab.path(&format!("received-{}.json", host.address));
        let mut command = host.namespace.command(PYTHON);
        command.arg(script("receive.py")).arg(INTERFACE).arg(&path);
        let mut process = Process::start(&format!("receive-{}", host.address), command, lab.directory());
        process.wait_for_output("receiving");
        Self { process, path }
    }

    pub fn so_far(&self) -> Received {
        serde_json::from_str(&std::fs::read_to_string(&self.path).unwrap()).unwrap()
    }

    /// Waits until the frame before number `next` of a flow, or a later one, has arrived.
    pub fn wait_for_flow(&mut self, port: u16, next: u64) {
        wait_until(&format!("frame {next} of flow {port}"), || {
            self.process.expect_running();
            self.so_far().flow(port).next >= next
        });
    }

    /// Ends it once all arrived frames are counted.
    pub fn end(self) -> Received {
        self.process.end();
        serde_json::from_str(&std::fs::read_to_string(&self.path).unwrap()).unwrap()
    }
}
