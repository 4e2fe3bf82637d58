//! The pauses that a port obeys, and its watchdog.

use super::super::gate::Gate;
use super::super::watchdog::WatchdogChange;
use super::EgressPort;
use crate::admission::Pools;
use crate::flow_control::PauseEnds;
use crate::frame::Frame;
use crate::queue::{Queued, Store};
use units::{Cells, Interval, Nanos, PauseQuanta, Priority, QueueId, QueueSet};

impl EgressPort {
    /// Takes a pause of `time` for `priority`, which obeys it. Calls `report` with the resulting changes of the
    /// watchdog.
    pub fn pause<F: Frame>(
        &mut self,
        now: Nanos,
        priority: Priority,
        time: PauseQuanta,
        store: &Store<F>,
        report: impl FnMut(QueueId, WatchdogChange),
    ) {
        self.watch_pause(now, priority, time != PauseQuanta::ZERO, store, report);
        self.gate.pauses.stop(now, priority, time);
        self.gate.pauses.ignore(now, self.watchdog.forwarding());
    }

    /// As [`EgressPort::pause`], for a pause that another lane has received and counted: the time that is left of it, and
    /// whether it was one.
    pub fn hear<F: Frame>(
        &mut self,
        now: Nanos,
        priority: Priority,
        (time, stops): (Interval, bool),
        store: &Store<F>,
        report: impl FnMut(QueueId, WatchdogChange),
    ) {
        self.watch_pause(now, priority, stops, store, report);
        self.gate.pauses.hear(now, priority, time);
        self.gate.pauses.ignore(now, self.watchdog.forwarding());
    }

    /// Shows the watchdog a pause (`stops`) or the end of one.
    fn watch_pause<F: Frame>(
        &mut self,
        now: Nanos,
        priority: Priority,
        stops: bool,
        store: &Store<F>,
        mut report: impl FnMut(QueueId, WatchdogChange),
    ) {
        for id in self.gate.pauses.queues(priority).iter() {
            let (queue, meter) = (&self.queues[id.index()], self.gate.pauses.meter(id));
            if stops {
                self.watchdog.xoff(now, id, meter, || queue.stalled_since(store));
            } else if let Some(change) = self.watchdog.xon(now, id, meter) {
                report(id, change);
            }
        }
    }

    /// The ends of the pauses in force, by priority; zero where none is, or where the watchdog sends or drops frames in
    /// spite of it.
    pub fn pauses_in_force(&self) -> PauseEnds {
        let Gate { pauses, .. } = &self.gate;
        let stopped = pauses.stopped().difference(self.watchdog.dropping);
        let end = |queue| pauses.paused_until(queue);
        core::array::from_fn(|index| {
            let queues = pauses.queues(Priority::from_low_bits(index as u8)).intersection(stopped);
            queues.iter().map(end).max().unwrap_or(Nanos::ZERO)
        })
    }

    /// The time when the watchdog has a storm to detect or to end, or frames to drop.
    #[inline(always)]
    pub fn watchdog_deadline<F: Frame>(&self, store: &Store<F>) -> Nanos {
        let suspects = self.backlog.intersection(self.gate.pauses.stopped());
        let idle = suspects.is_empty() || !self.watchdog.is_on();
        if idle && self.watchdog.stormed.is_empty() {
            return Nanos::NEVER;
        }
        self.watched_until(suspects, store)
    }

    #[inline(never)]
    fn watched_until<F: Frame>(&self, suspects: QueueSet, store: &Store<F>) -> Nanos {
        let stormed = self.watchdog.stormed;
        if !self.to_be_dropped().is_empty() {
            return Nanos::ZERO;
        }
        let pauses = &self.gate.pauses;
        let restored = stormed.iter().map(|it| self.watchdog.restoration_at(it, pauses.meter(it)));
        let detected = suspects.iter().map(|it| {
            self.watchdog.detection_at(it, pauses.meter(it), || self.queue(it).stalled_since(store))
        });
        restored.chain(detected).min().unwrap_or(Nanos::NEVER)
    }

    /// Detects or ends the storms that are due at `now`, and calls `report` for each.
    pub fn judge<F: Frame>(
        &mut self,
        now: Nanos,
        store: &Store<F>,
        mut report: impl FnMut(QueueId, WatchdogChange),
    ) {
        // A pause that has run out by now is no longer a suspect, even if its decision was due earlier.
        self.gate.pauses.paused(now);
        for (id, queue) in QueueSet::first(self.queues.len()).iter().zip(&self.queues) {
            let (stalled, waiting) = (queue.stalled_since(store), queue.waiting());
            let change = self.watchdog.judge(now, id, self.gate.pauses.meter(id), stalled, waiting);
            if let Some(change) = change {
                report(id, change);
            }
        }
        self.gate.pauses.ignore(now, self.watchdog.forwarding());
    }

    /// Whether the watchdog drops new frames for `queue`.
    #[inline]
    pub fn drops(&self, queue: QueueId) -> bool {
        self.watchdog.dropping.contains(queue)
    }

    /// Queues that hold frames which the watchdog drops.
    #[inline]
    pub fn to_be_dropped(&self) -> QueueSet {
        self.backlog.intersection(self.watchdog.dropping)
    }

    /// Takes the first frame of queue `id`, which is not sent: it is dropped, or moves to another port.
    pub fn take_first<F: Frame>(
        &mut self,
        id: QueueId,
        store: &mut Store<F>,
        pools: &mut Pools,
    ) -> Option<Queued<F>> {
        let queue = &mut self.queues[id.index()];
        let queued = store.pop(&mut queue.fifo)?;
        queue.bytes -= u64::from(queued.length);
        if !queued.charge.is_lossless() {
            queue.lossy.release(Cells::of_frame(queued.length()), pools);
        }
        if queue.fifo.is_empty() {
            self.backlog = self.backlog.without(id);
            self.scheduler.served(id, 0, true);
        }
        self.unbar(id);
        Some(queued)
    }
}
