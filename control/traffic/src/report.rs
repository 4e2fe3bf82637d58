//! The figures of a run, as JSON has them. Times end with their unit.

use endpoint::HostCounters;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct PlayReport {
    /// How long the run took.
    pub duration_ns: u64,
    /// Whether all flows of all hosts have ended.
    pub complete: bool,
    /// Its hosts, in the order in which they were named.
    pub hosts: Vec<HostReport>,
}

/// The figures of a host.
#[derive(Clone, Debug, Serialize)]
pub struct HostReport {
    /// Its name.
    pub name: String,
    /// Its flows, by the name of their group.
    pub groups: BTreeMap<String, FlowsReport>,
    /// Its counters.
    pub counters: CountersReport,
}

/// The flows of a group at one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FlowsReport {
    /// Flows that it was to send.
    pub to_send: u64,
    /// Of these, flows that it started.
    pub started: u64,
    /// Of these, flows whose last packet was acknowledged.
    pub completed: u64,
    /// Message bytes of the flows that completed. Flows that stop at a time have no length of their own, and count none.
    pub acknowledged_bytes: u64,
    /// Flows that it was to receive.
    pub to_receive: u64,
    /// Of these, flows that arrived completely.
    pub received: u64,
    /// Times from the start of a flow that it sent to its last acknowledgement; absent if none completed.
    pub completion: Option<CompletionReport>,
}

/// Completion times, to three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CompletionReport {
    /// The mean.
    pub mean_ns: f64,
    /// The shortest.
    pub min_ns: u64,
    /// Half of the flows took no longer.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// 999 of 1,000 took no longer.
    pub p99_9_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl CompletionReport {
    /// The figures of a histogram that is not empty.
    pub fn of(times: &Histogram<u64>) -> Self {
        Self {
            mean_ns: times.mean(),
            min_ns: times.min(),
            p50_ns: times.value_at_quantile(0.5),
            p99_ns: times.value_at_quantile(0.99),
            p99_9_ns: times.value_at_quantile(0.999),
            max_ns: times.max(),
        }
    }
}

/// The counters of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CountersReport {
    /// Data packets sent, retransmissions among them.
    pub data_sent: u64,
    /// Data packets retransmitted.
    pub retransmitted: u64,
    /// Data packets received.
    pub data_received: u64,
    /// Of these, packets with a congestion mark.
    pub marked: u64,
    /// CNPs sent.
    pub cnps_sent: u64,
    /// CNPs received.
    pub cnps_received: u64,
    /// Negative acknowledgements sent.
    pub naks_sent: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// PFC frames received.
    pub pauses_received: u64,
    /// Packets with a wrong ICRC.
    pub wrong_icrc: u64,
    /// Other frames for no flow of this host.
    pub strays: u64,
}

impl CountersReport {
    /// The counters of a host, and of the port in front of it.
    pub fn new(host: HostCounters, wrong_icrc: u64) -> Self {
        let HostCounters {
            data_sent, retransmitted, data_received, marked, cnps_sent, cnps_received, ..
        } = host;
        let HostCounters { naks_sent, timeouts, pauses_received, strays, .. } = host;
        Self {
            data_sent,
            retransmitted,
            data_received,
            marked,
            cnps_sent,
            cnps_received,
            naks_sent,
            timeouts,
            pauses_received,
            wrong_icrc,
            strays,
        }
    }
}

/// The figures of a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StormReport {
    /// Pauses sent.
    pub sent: u64,
    /// Pauses left out, because the core was away for longer than an interval.
    pub missed: u64,
    /// How long after its time the latest pause was handed to the device.
    pub latest_ns: u64,
}
