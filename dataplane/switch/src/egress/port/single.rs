//! A port that takes and gives frames one by one: what [`EgressPort::serve`] and its like come to for one frame.

use super::{EgressPort, mark};
use crate::admission::Pools;
use crate::frame::Frame;
use crate::program::MarkAt;
use crate::queue::{Charge, Queued, Store};
use rand_core::Rng;
use units::{Bytes, Cells, Nanos, WireBytes};

impl EgressPort {
    /// Whether frames leave as they are as soon as the link is free, so that this alone decides when the next one
    /// does: nothing is paused, watched, shaped or stamped.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.gate.is_link_alone()
            && self.stamper.is_none()
            && self.watchdog.stormed().is_empty()
            && self.notifications.is_empty()
    }

    /// Whether no frame waits.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Whether a frame that is queued now would leave at once, where the port
    /// [is calm](Self::is_calm).
    #[inline]
    pub fn is_open(&self, now: Nanos) -> bool {
        self.backlog.is_empty() && self.gate.link_opens_at() <= now
    }

    /// Whether the queue takes a frame of `length` with this `charge` without a closer look: that is within the
    /// [room for a run](Self::room_for_run).
    #[inline(always)]
    pub fn takes<F: Frame>(&self, length: Bytes, charge: Charge, store: &Store<F>, pools: &Pools) -> bool {
        let (queue, cells) = (&self.queues[charge.queue().index()], Cells::of_frame(length));
        length <= self.max_frame
            && cells <= store.room_for_run(&queue.fifo)
            && queue.red.as_ref().is_none_or(|red| red.at != MarkAt::Enqueue)
            && (charge.is_lossless() || queue.lossy.has_room(cells, pools))
    }

    /// Sends a frame that has come just now through a port that is calm, [open](Self::is_open), and
    /// [takes](Self::takes) it. Returns its start. A queue that is left empty marks nothing.
    #[inline(always)]
    pub fn send_through(&mut self, now: Nanos, length: Bytes, charge: Charge, pools: &mut Pools) -> Nanos {
        let priority = charge.queue();
        let queue = &mut self.queues[priority.index()];
        if !charge.is_lossless() {
            queue.lossy.pass_within_room(Cells::of_frame(length), pools);
        }
        let wire_bytes = WireBytes::of_frame(length);
        let start = self.gate.occupy(now, length);
        queue.watermark.note(length.0);
        queue.delay.record(start.since(now));
        queue.counters.transmitted.count(length);
        queue.last_sent = now;
        self.scheduler.served(priority, wire_bytes.0, true);
        start
    }

    /// Takes the frame whose turn it is off its queue and occupies the link with it. Returns its start as well. `None`,
    /// with nothing changed, where the port is not [calm](Self::is_calm), none may leave now, or more than one may.
    #[inline]
    pub fn send_one<F: Frame>(
        &mut self,
        now: Nanos,
        store: &mut Store<F>,
        pools: &mut Pools,
        rng: &mut impl Rng,
    ) -> Option<(Nanos, Queued<F>)> {
        if !self.is_calm() || self.gate.has_window() {
            return None;
        }
        let priority = self.next_turn(now, store)?.priority;
        let queue = &mut self.queues[priority.index()];
        let mut queued = store.pop(&mut queue.fifo)?;
        let wire_bytes = WireBytes::of_frame(queued.length());
        let start = self.gate.occupy(now, queued.length());
        queue.bytes -= u64::from(queued.length);
        queue.delay.record(start.since(queued.since));
        if let Some(red) = queue.red.as_ref().filter(|red| red.at == MarkAt::Dequeue)
            && queued.ip_offset != 0
            && red.marks(Bytes(queue.bytes), rng)
        {
            queue.counters.count(mark(&mut queued));
        }
        queue.counters.transmitted.count(queued.length());
        if !queued.charge.is_lossless() {
            queue.lossy.release(Cells::of_frame(queued.length()), pools);
        }
        queue.last_sent = now;
        let empty = queue.fifo.is_empty();
        if empty {
            self.backlog = self.backlog.without(priority);
        }
        self.scheduler.served(priority, wire_bytes.0, empty);
        Some((start, queued))
    }
}
