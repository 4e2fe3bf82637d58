//! Queues that are paused for too long, and where their frames came in: the part of a cycle of pauses that one switch knows.

use crate::Count;
use serde::{Deserialize, Serialize};
use switch::{Ledger, PortInspection, Program, Source, WatchdogChange, WatchdogLog};
use units::{Nanos, PortId, Priority};

/// A queue that a watchdog holds for stormed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StalledQueueReport {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// The time since it began to hold frames and send none, if it still obeys the pause; `None` if the watchdog has
    /// forgotten when that was.
    pub stalled_ns: Option<u64>,
    /// Where the frames that wait in it came in.
    pub sources: Vec<SourceReport>,
}

/// Frames of one priority group that wait in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReport {
    /// The port through which they came in.
    pub port: String,
    /// The priority in which they came in.
    pub priority: u8,
    /// Frames that wait.
    pub waiting: Count,
    /// Whether the switch pauses the neighbour behind that port at that priority.
    pub pauses_peer: bool,
}

impl StalledQueueReport {
    /// The stormed queues among `ports`, which were inspected at about `now`. The ledger is read after that, so what waits may
    /// differ by what has moved since.
    pub fn of_ports(
        program: &Program,
        ledger: &Ledger,
        now: Nanos,
        ports: &[(PortId, &PortInspection)],
    ) -> Vec<Self> {
        let pauses_peer = |source: &Source| {
            let ingress = ports.iter().find(|(port, _)| *port == source.ingress);
            ingress.is_some_and(|(_, look)| look.pauses.sent.contains(source.priority))
        };
        let report = |source: Source| SourceReport {
            port: program.port(source.ingress).name.clone(),
            priority: source.priority.number(),
            waiting: source.waiting.into(),
            pauses_peer: pauses_peer(&source),
        };
        let queues = ports.iter().flat_map(|(port, look)| Priority::all().map(move |it| (*port, *look, it)));
        let stormed = queues.filter(|(_, look, priority)| look.queues[priority.index()].stormed);
        stormed
            .map(|(port, look, priority)| Self {
                port: program.port(port).name.clone(),
                priority: priority.number(),
                stalled_ns: stalled_ns(&look.watchdog, now, port, priority),
                sources: Source::of_queue(program, ledger, port, priority).map(report).collect(),
            })
            .collect()
    }
}

fn stalled_ns(log: &WatchdogLog, now: Nanos, port: PortId, priority: Priority) -> Option<u64> {
    let of_queue = log.iter().filter(|event| (event.port, event.priority) == (port, priority));
    let since = of_queue.filter_map(|event| match &event.change {
        WatchdogChange::Detected(storm) => Some(now.since(event.at) + storm.stalled_for),
        WatchdogChange::Restored(_) => None,
    });
    since.last().map(|it| it.0)
}
