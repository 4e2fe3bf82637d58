//! Queues that are paused for too long, and where their frames came in: the part of a cycle of pauses that one switch knows.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use switch::{Ledger, PortInspection, Program, Source, Volume, WatchdogChange, WatchdogEvent};
use units::{Interval, Nanos, PortId, Priority};

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
    pub waiting: Volume,
    /// Whether the switch pauses the neighbour behind that port at that priority.
    pub pauses_peer: bool,
}

impl StalledQueueReport {
    /// The stormed queues among `ports`. The ledgers, one or that of each lane, are read after their inspection, so what waits may differ by what has
    /// moved since.
    pub fn of_ports(
        program: &Program,
        ledgers: &[&Ledger],
        ports: &[(PortId, &PortInspection)],
    ) -> Vec<Self> {
        let pauses_peer = |source: &Source| {
            let ingress = ports.iter().find(|(port, _)| *port == source.ingress);
            ingress.is_some_and(|(_, look)| look.pauses.sent.contains(source.priority))
        };
        let report = |source: Source| SourceReport {
            port: program.port(source.ingress).name.clone(),
            priority: source.priority.number(),
            waiting: source.waiting,
            pauses_peer: pauses_peer(&source),
        };
        let held = |look: &PortInspection| look.repair.map(|it| it.held).unwrap_or_default();
        let queues = ports.iter().flat_map(|(port, look)| Priority::all().map(move |it| (*port, *look, it)));
        let stormed = queues.filter(|(_, look, priority)| look.queues[priority.index()].stormed);
        stormed
            .map(|(port, look, priority)| Self {
                port: program.port(port).name.clone(),
                priority: priority.number(),
                stalled_ns: stalled_for(look.at, look.watchdog.iter(), port, priority).map(|it| it.0),
                sources: Source::of_queue(program, ledgers, (port, priority), held(look))
                    .map(report)
                    .collect(),
            })
            .collect()
    }
}

/// The longest time, until `now`, for which a stormed queue of `priority` has held frames and sent none. `now` is of the
/// clock of the shard that made `events`, which may have drifted away from that of the system.
fn stalled_for<'a>(
    now: Nanos,
    events: impl Iterator<Item = &'a WatchdogEvent>,
    port: PortId,
    priority: Priority,
) -> Option<Interval> {
    // A priority may have several queues.
    let mut stormed = BTreeMap::new();
    for event in events.filter(|event| (event.port, event.priority) == (port, priority)) {
        match &event.change {
            WatchdogChange::Detected(storm) => {
                stormed.insert(event.queue, now.since(event.at) + storm.stalled_for);
            }
            WatchdogChange::Restored(_) => {
                stormed.remove(&event.queue);
            }
        }
    }
    stormed.into_values().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switch::program::WatchdogAction;
    use switch::{Restoration, RestorationCause, Storm};
    use units::QueueId;

    const PORT: PortId = PortId(1);
    const P3: Priority = Priority::from_low_bits(3);

    fn event(at: u64, queue: u8, change: WatchdogChange) -> WatchdogEvent {
        let queue = QueueId::from_low_bits(queue);
        WatchdogEvent { at: Nanos(at), port: PORT, queue, priority: P3, change }
    }

    /// A storm of a queue that had held frames and sent none for 100 ns.
    fn detected(at: u64, queue: u8) -> WatchdogEvent {
        let storm = Storm {
            action: WatchdogAction::Alert,
            stalled_for: Interval(100),
            measured_for: Interval(100),
            paused_for: Interval(100),
            waiting: Volume::ZERO,
        };
        event(at, queue, WatchdogChange::Detected(storm))
    }

    fn restored(at: u64, queue: u8) -> WatchdogEvent {
        let restoration = Restoration {
            cause: RestorationCause::Xon,
            quiet_for: Interval::ZERO,
            stormed_for: Interval::ZERO,
        };
        event(at, queue, WatchdogChange::Restored(restoration))
    }

    #[test]
    fn a_priority_has_stalled_for_as_long_as_the_first_of_its_queues_that_are_stormed_still() {
        let of = |events: &[WatchdogEvent]| {
            stalled_for(Nanos(2_000), events.iter(), PORT, P3).map(|stalled| stalled.0)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[detected(1_000, 3), detected(1_500, 8)]), Some(1_100));
        let one_of_two = [detected(1_000, 3), detected(1_500, 8), restored(1_600, 3)];
        assert_eq!(of(&one_of_two), Some(600));
        assert_eq!(of(&[detected(1_000, 3), restored(1_200, 3), detected(1_700, 3)]), Some(400), "anew");
        assert_eq!(of(&[detected(1_000, 3), restored(1_200, 3)]), None);
    }

    #[test]
    fn storms_of_other_ports_and_priorities_do_not_count() {
        let elsewhere = WatchdogEvent { port: PortId(0), ..detected(1_000, 3) };
        let other = WatchdogEvent { priority: Priority::from_low_bits(4), ..detected(1_000, 4) };
        assert_eq!(stalled_for(Nanos(2_000), [elsewhere, other].iter(), PORT, P3), None);
    }
}
