//! The figures of a run, as JSON has them. Times end with their unit.

use core::fmt;
use endpoint::HostCounters;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use units::human::count_of;

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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    pub completion: Option<TimesReport>,
    /// Times from packets of data to their acknowledgements, by the sender's clock; absent if none was acknowledged. Only
    /// packets that ask for an acknowledgement and were sent once are measured.
    pub round_trip: Option<TimesReport>,
}

/// Times, to three significant digits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimesReport {
    /// How many there are.
    pub count: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The shortest.
    pub min_ns: u64,
    /// Half of them were no longer.
    pub p50_ns: u64,
    /// 99 of 100 were no longer.
    pub p99_ns: u64,
    /// 999 of 1,000 were no longer.
    pub p99_9_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How many there are by the highest time of their bucket, in nanoseconds. All histograms have the same buckets, so
    /// those of several hosts are merged by adding the counts.
    pub buckets_ns: BTreeMap<u64, u64>,
}

impl TimesReport {
    /// The figures of a histogram; `None` if it is empty.
    pub fn of(times: &Histogram<u64>) -> Option<Self> {
        let buckets = times.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value()));
        (!times.is_empty()).then(|| Self {
            count: times.len(),
            mean_ns: times.mean(),
            min_ns: times.min(),
            p50_ns: times.value_at_quantile(0.5),
            p99_ns: times.value_at_quantile(0.99),
            p99_9_ns: times.value_at_quantile(0.999),
            max_ns: times.max(),
            buckets_ns: buckets.collect(),
        })
    }
}

/// The counters of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Acknowledgements received for flows that had not ended, negative ones among them.
    pub answers_received: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// PFC frames received.
    pub pauses_received: u64,
    /// Packets with a wrong ICRC.
    pub wrong_icrc: u64,
    /// Data of hosts of the scenario that does not fit the plan: its queue pair, sequence number or length is another.
    pub misfits: u64,
    /// Other frames for no flow of this host.
    pub strays: u64,
    /// Frames that the device took and could not send.
    pub unsent: u64,
}

impl CountersReport {
    /// The counters of a host. Those of what is in front of it are zero.
    pub fn of(host: HostCounters) -> Self {
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
            strays,
            ..Self::default()
        }
    }
}

/// What a person should look at after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Data did not fit the plan.
    Misfits {
        /// The host that received it.
        host: String,
        /// Packets.
        packets: u64,
    },
    /// Nothing that a host sent was acknowledged.
    Unanswered {
        /// The host.
        host: String,
    },
    /// Retransmission timers ran out, though answers came.
    TimedOut {
        /// The host.
        host: String,
        /// How often.
        timeouts: u64,
    },
    /// A device took frames and could not send them.
    Unsent {
        /// The host.
        host: String,
        /// Frames.
        frames: u64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misfits { host, packets } => {
                let (packets, do_not) =
                    (count_of(*packets, "packet"), if *packets == 1 { "does" } else { "do" });
                write!(
                    f,
                    "{host}: {packets} of data {do_not} not fit the plan; are the scenario and its seed "
                )?;
                f.write_str("(--set, --variant, --quick) the same at all machines?")
            }
            Self::Unanswered { host } => {
                write!(
                    f,
                    "{host}: nothing that it sent was acknowledged; has its receiver started, and are "
                )?;
                f.write_str("the scenario and its seed (--set, --variant, --quick) the same at all machines?")
            }
            Self::TimedOut { host, timeouts } => {
                let timers = count_of(*timeouts, "retransmission timer");
                write!(f, "{host}: {timers} ran out; unless frames were lost, the path is longer than the ")?;
                f.write_str("timers reckon with: state its round trip, --set host.round_trip=100ms")
            }
            Self::Unsent { host, frames } => {
                let frames = count_of(*frames, "frame");
                write!(f, "{host}: the device took {frames} that it could not send; is its link up?")
            }
        }
    }
}

/// How a run failed that had begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// Flows have not ended.
    #[error("{} {} not ended", count_of(*flows, "flow"), if *flows == 1 { "has" } else { "have" })]
    Flows {
        /// Flows, counted at each end that was played.
        flows: u64,
    },
    /// Data came that is not in the plan.
    #[error("{} that the plan does not have", count_of(*packets, "packet"))]
    Misfits {
        /// Packets.
        packets: u64,
    },
}

impl PlayReport {
    /// Whether the run did what its plan says.
    ///
    /// # Errors
    /// All of [`Unfinished`].
    pub fn outcome(&self) -> Result<(), Unfinished> {
        let groups = self.hosts.iter().flat_map(|host| host.groups.values());
        let flows = groups.map(|it| it.to_send - it.completed + it.to_receive - it.received).sum();
        let packets = self.hosts.iter().map(|host| host.counters.misfits).sum();
        match (flows, packets) {
            (0, 0) => Ok(()),
            (0, packets) => Err(Unfinished::Misfits { packets }),
            (flows, _) => Err(Unfinished::Flows { flows }),
        }
    }

    /// What a person should look at.
    pub fn doubts(&self) -> Vec<Doubt> {
        self.hosts.iter().flat_map(HostReport::doubts).collect()
    }
}

impl HostReport {
    fn doubts(&self) -> impl Iterator<Item = Doubt> {
        let host = || self.name.clone();
        let CountersReport { misfits, unsent, data_sent, answers_received, timeouts, .. } = self.counters;
        let is_answered = data_sent == 0 || answers_received > 0;
        [
            (misfits > 0).then(|| Doubt::Misfits { host: host(), packets: misfits }),
            (!is_answered).then(|| Doubt::Unanswered { host: host() }),
            (timeouts > 0 && answers_received > 0).then(|| Doubt::TimedOut { host: host(), timeouts }),
            (unsent > 0).then(|| Doubt::Unsent { host: host(), frames: unsent }),
        ]
        .into_iter()
        .flatten()
    }
}

/// The figures of a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StormReport {
    /// Pauses sent.
    pub sent: u64,
    /// Pauses left out, because the core was away for longer than an interval or the device took none.
    pub missed: u64,
    /// Pauses that the device took or was to take, and did not send.
    pub unsent: u64,
    /// How long after its time the latest pause was handed to the device.
    pub latest_ns: u64,
}
