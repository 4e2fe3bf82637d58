//! The pauses that a port obeys: IEEE 802.1Q clause 36.1.3.3.

use crate::flow_control::pause_time::PauseMeter;
use crate::program::{PfcSettings, PortSettings};
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, PauseQuanta, Priority, PrioritySet, QueueId, QueueSet};

/// Pause frames received for one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausesReceived {
    /// Frames that paused it, refreshes included.
    pub xoff: u64,
    /// Frames that resumed it.
    pub xon: u64,
    /// Frames for a priority that does not obey.
    pub ignored: u64,
}

/// The receiving half of flow control on one port. Pauses come for priorities and stop their queues.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReceivedPauses {
    obey: PrioritySet,
    rate: BitRate,
    /// The queues of each priority.
    queues: [QueueSet; Priority::COUNT],
    /// The priority of each queue.
    priorities: Vec<Priority>,
    paused: QueueSet,
    /// Queues that send in spite of a pause.
    ignoring: QueueSet,
    meters: [PauseMeter; Priority::COUNT],
    received: [PausesReceived; Priority::COUNT],
}

impl ReceivedPauses {
    pub fn new(settings: &PortSettings) -> Self {
        let queues =
            |index| settings.queues_of(PrioritySet::EMPTY.with(Priority::from_low_bits(index as u8)));
        Self {
            obey: settings.pfc.obey,
            rate: settings.rate,
            queues: core::array::from_fn(queues),
            priorities: settings.queues.iter().map(|queue| queue.priority).collect(),
            paused: QueueSet::EMPTY,
            ignoring: QueueSet::EMPTY,
            meters: Default::default(),
            received: Default::default(),
        }
    }

    /// Applies new settings. A priority that no longer obeys resumes at once, unless an 802.3x PAUSE may have
    /// stopped it and the port still obeys those.
    pub fn configure(&mut self, now: Nanos, pfc: &PfcSettings, rate: BitRate) {
        for priority in PrioritySet::ALL.difference(pfc.obeyed()).iter() {
            self.meters[priority.index()].pause(now, Interval::ZERO);
            self.paused = self.paused.difference(self.queues(priority));
        }
        (self.obey, self.rate) = (pfc.obey, rate);
    }

    /// The queues of `priority`.
    #[inline]
    pub fn queues(&self, priority: Priority) -> QueueSet {
        self.queues[priority.index()]
    }

    /// The priority to which `queue` belongs.
    #[inline]
    pub fn priority(&self, queue: QueueId) -> Priority {
        self.priorities[queue.index()]
    }

    /// Whether `priority` obeys PFC frames. If not, counts the frame as ignored.
    pub fn obeys(&mut self, priority: Priority) -> bool {
        let obeys = self.obey.contains(priority);
        self.received[priority.index()].ignored += u64::from(!obeys);
        obeys
    }

    /// Pauses `priority` for `time`: a PFC frame that it obeys, or an 802.3x PAUSE that is honoured.
    pub fn stop(&mut self, now: Nanos, priority: Priority, time: PauseQuanta) {
        let received = &mut self.received[priority.index()];
        match time {
            PauseQuanta::ZERO => received.xon += 1,
            _ => received.xoff += 1,
        }
        self.hear(now, priority, time.interval_at(self.rate));
    }

    /// Pauses `priority` for `time`, or ends that with zero, for a frame that is counted elsewhere.
    pub fn hear(&mut self, now: Nanos, priority: Priority, time: Interval) {
        let queues = self.queues[priority.index()];
        self.meters[priority.index()].pause(now, time);
        self.paused = match time {
            Interval::ZERO => self.paused.difference(queues),
            _ => self.paused.union(queues).difference(self.ignoring),
        };
    }

    /// Lets exactly the queues in `ignoring` send in spite of a pause from now on.
    pub fn ignore(&mut self, now: Nanos, ignoring: QueueSet) {
        for queue in self.ignoring.difference(ignoring).iter() {
            if self.meter(queue).until() > now {
                self.paused = self.paused.with(queue);
            }
        }
        self.ignoring = ignoring;
        self.paused = self.paused.difference(ignoring);
    }

    /// The meter of the pauses received for `queue`, ignored or not: the meter of its priority.
    #[inline]
    pub fn meter(&self, queue: QueueId) -> &PauseMeter {
        &self.meters[self.priority(queue).index()]
    }

    /// The queues that are paused at `now`.
    #[inline]
    pub fn paused(&mut self, now: Nanos) -> QueueSet {
        if !self.paused.is_empty() {
            for queue in self.paused.iter() {
                if self.meter(queue).until() <= now {
                    self.paused = self.paused.without(queue);
                }
            }
        }
        self.paused
    }

    /// The queues that were paused at the last query: all that are paused now, and possibly some whose pause has
    /// run out.
    #[inline]
    pub fn stopped(&self) -> QueueSet {
        self.paused
    }

    /// The end of the pause of `queue`: in the past if it is not paused.
    #[inline]
    pub fn paused_until(&self, queue: QueueId) -> Nanos {
        if self.paused.contains(queue) { self.meter(queue).until() } else { Nanos::ZERO }
    }

    /// The end of the last pause received for `priority`, ignored or not.
    pub fn ends_at(&self, priority: Priority) -> Nanos {
        self.meters[priority.index()].until()
    }

    pub fn received(&self, priority: Priority) -> PausesReceived {
        self.received[priority.index()]
    }

    pub fn paused_for(&self, priority: Priority, now: Nanos) -> Interval {
        self.meters[priority.index()].total(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::ethernet::MacAddress;

    const P3: Priority = Priority::from_low_bits(3);
    const P4: Priority = Priority::from_low_bits(4);
    const Q3: QueueSet = QueueSet::EMPTY.with(QueueId::from_low_bits(3));

    /// The pauses of a port whose quanta are 64 ns and whose priority 3 obeys.
    fn pauses() -> (PortSettings, ReceivedPauses) {
        let mut port = PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::gigabits(8));
        port.pfc.obey = PrioritySet::EMPTY.with(P3);
        let pauses = ReceivedPauses::new(&port);
        (port, pauses)
    }

    #[test]
    fn pauses_are_counted_by_what_they_do() {
        let (_, mut pauses) = pauses();
        for now in 0..3 {
            pauses.stop(Nanos(now), P3, PauseQuanta(10));
        }
        for now in 3..5 {
            pauses.stop(Nanos(now), P3, PauseQuanta::ZERO);
        }
        assert_eq!([P3, P3, P4, P4, P4].map(|it| pauses.obeys(it)), [true, true, false, false, false]);
        assert_eq!(pauses.received(P3), PausesReceived { xoff: 3, xon: 2, ignored: 0 });
        assert_eq!(pauses.received(P4), PausesReceived { xoff: 0, xon: 0, ignored: 3 });
        assert_eq!(
            (pauses.paused_for(P3, Nanos(10)), pauses.paused_for(P4, Nanos(10))),
            (Interval(3), Interval(0))
        );
    }

    #[test]
    fn a_priority_that_no_longer_obeys_resumes_at_once_and_one_that_does_waits() {
        let (port, mut pauses) = pauses();
        pauses.stop(Nanos(0), P3, PauseQuanta(10));
        pauses.configure(Nanos(5), &port.pfc, port.rate);
        assert_eq!((pauses.paused(Nanos(5)), pauses.queues(P3)), (Q3, Q3));
        let deaf = PfcSettings { obey: PrioritySet::EMPTY, ..port.pfc };
        let all = PfcSettings { obey_global_pause: true, ..deaf };
        pauses.configure(Nanos(6), &all, port.rate);
        assert_eq!(pauses.paused(Nanos(6)), Q3, "an 802.3x PAUSE may have stopped it");
        assert!(!pauses.obeys(P3));
        pauses.configure(Nanos(7), &deaf, port.rate);
        assert_eq!(
            (pauses.paused(Nanos(7)), pauses.paused_for(P3, Nanos(99))),
            (QueueSet::EMPTY, Interval(7))
        );
    }

    #[test]
    fn a_queue_that_ignored_a_pause_stops_again_only_while_the_pause_lasts() {
        for (now, paused) in [(639, Q3), (640, QueueSet::EMPTY)] {
            let (_, mut pauses) = pauses();
            pauses.stop(Nanos(0), P3, PauseQuanta(10));
            pauses.ignore(Nanos(1), Q3);
            assert_eq!(pauses.stopped(), QueueSet::EMPTY);
            pauses.ignore(Nanos(now), QueueSet::EMPTY);
            assert_eq!(pauses.stopped(), paused);
        }
    }
}
