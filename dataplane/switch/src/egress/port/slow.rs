//! The slow queues of a port: their limit, and the order of flows that enter and leave them.

use super::EgressPort;
use crate::egress::queue::Slow;
use crate::program::PortSettings;
use units::{Bytes, Nanos, Priority, QueueId, QueueSet};

impl EgressPort {
    /// Applies the settings of slow queues. Queues themselves never change.
    pub(super) fn configure_slow(&mut self, settings: &PortSettings) {
        self.slow = settings.slow.map_or([None; Priority::COUNT], |slow| slow.queues);
        for (id, queue) in QueueSet::first(self.queues.len()).iter().zip(&mut self.queues) {
            let limit = settings.slow.and_then(|slow| slow.limit_of(id));
            // Frames that came in before the queue was slow count as well.
            let entered = queue.counters.transmitted.frames + queue.fifo.length() as u64;
            let Slow { entered, behind, .. } = queue.slow.unwrap_or(Slow { entered, ..Slow::default() });
            queue.slow = limit.map(|Bytes(limit)| Slow { limit, entered, behind });
            if queue.slow.is_none() {
                self.barred = self.barred.without(id);
            }
        }
    }

    /// The slow queue of `priority`, with the frames that have entered it so far.
    pub fn slow_queue(&self, priority: Priority) -> Option<(QueueId, u64)> {
        let id = self.slow[priority.index()]?;
        Some((id, self.queues[id.index()].slow?.entered))
    }

    /// Limits the rate of the slow queue of `priority` until `until`, or longer if it already does. A flow that
    /// `enters` it may have frames in the first queue of the priority, so these leave before.
    pub fn slow_down(&mut self, priority: Priority, until: Nanos, enters: bool) {
        let Some(id) = self.slow[priority.index()] else { return };
        self.gate.limit_until(id, until);
        let first = &self.queues[QueueId::from(priority).index()];
        if enters && !first.fifo.is_empty() {
            let behind = first.counters.transmitted.frames + first.fifo.length() as u64;
            self.queues[id.index()].slow.iter_mut().for_each(|slow| slow.behind = behind);
            self.barred = self.barred.with(id);
        }
    }

    /// Lets the slow queue of the priority of `first` send again, if it waits for that queue no longer.
    #[inline]
    pub(super) fn unbar(&mut self, first: QueueId) {
        if !self.barred.is_empty() {
            self.unbar_now(first);
        }
    }

    #[cold]
    fn unbar_now(&mut self, first: QueueId) {
        let slow = self.slow.get(first.index()).copied().flatten().filter(|id| self.barred.contains(*id));
        let Some(id) = slow else { return };
        let queue = &self.queues[first.index()];
        let behind = self.queues[id.index()].slow.map_or(0, |slow| slow.behind);
        if queue.fifo.is_empty() || queue.counters.transmitted.frames >= behind {
            self.barred = self.barred.without(id);
        }
    }
}
