//! Handoffs between shards: frames for ports of other shards leave through an outbox, or wait in a queue while that
//! shard lags, and frames for the ports of this shard come in.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::flows::LOOK_AHEAD;
use crate::flows::notifications::Notification;
use crate::frame::Frame;
use crate::ledger::ShardId;
use crate::queue::{Charge, Fifo, Queued};
use crate::reason::DropReason;
use serde::{Deserialize, Serialize};
use units::{Nanos, PortId};

/// A frame or notification on its way to the shard that owns its egress port.
#[derive(Serialize, Deserialize)]
pub struct Handoff<F> {
    pub(super) egress: PortId,
    pub(super) payload: Payload<F>,
}

// Two cache lines, for a frame as small as that of a device.
const _: () = assert!(size_of::<Handoff<usize>>() <= 128);

#[derive(Serialize, Deserialize)]
pub(super) enum Payload<F> {
    /// A frame that is already charged to the ledger.
    Frame(Queued<F>),
    /// A notification to a sender. A loss does no harm: the next interval makes another.
    Notification(Notification),
}

impl<F> Handoff<F> {
    /// The frame, if it carries one, and the port through which that came in.
    pub(in crate::shard) fn frame(&self) -> Option<(PortId, &F)> {
        match &self.payload {
            Payload::Frame(queued) => Some((queued.charge.ingress(), &queued.frame)),
            Payload::Notification(_) => None,
        }
    }
}

/// Handoffs that are ready to be carried over. Further ones wait in a queue.
const READY: usize = 256;
/// Length of that queue above which lossy frames are dropped: 5 ms of 1,500-byte frames at 10G. Lossy frames pause
/// nobody, so they would fill the buffer if a shard stalled.
const LOSSY_WAITING: usize = 4_096;

/// What goes to one other shard.
#[derive(Serialize, Deserialize)]
pub(super) struct Outbox<F> {
    pub ready: Vec<Handoff<F>>,
    waiting: Fifo,
    /// Frames that had to wait so far.
    held_back: u64,
}

impl<F> Outbox<F> {
    pub fn new() -> Self {
        Self { ready: Vec::with_capacity(READY), waiting: Fifo::default(), held_back: 0 }
    }

    /// The number of handoffs that can still go on without waiting.
    pub fn room(&self) -> usize {
        if self.waiting.is_empty() { READY - self.ready.len().min(READY) } else { 0 }
    }

    /// Hands a notification for `egress` to the other shard, unless others wait. Returns whether it did.
    pub fn notify(&mut self, egress: PortId, notification: Notification) -> bool {
        let open = self.room() > 0;
        if open {
            self.ready.push(Handoff { egress, payload: Payload::Notification(notification) });
        }
        open
    }
}

impl<F: Frame> Fabric<F> {
    pub fn outbox(&mut self, to: ShardId) -> &mut Vec<Handoff<F>> {
        let Self { outboxes, store, .. } = self;
        let Outbox { ready, waiting, .. } = &mut outboxes[to.index()];
        while ready.len() < READY
            && let Some(queued) = store.pop(waiting)
        {
            ready.push(Handoff { egress: queued.egress, payload: Payload::Frame(queued) });
        }
        ready
    }

    pub fn held_back(&self) -> u64 {
        self.outboxes.iter().map(|outbox| outbox.held_back).sum()
    }

    /// Whether the shard that owns `egress` takes one more frame. It always takes lossless ones.
    #[inline]
    pub(super) fn takes_handoff(&self, egress: PortId, charge: Charge) -> bool {
        let outbox = &self.outboxes[self.owners[egress.index()].index()];
        charge.is_lossless() || outbox.waiting.length() < LOSSY_WAITING
    }

    #[inline(never)]
    pub(super) fn hand_over(&mut self, queued: Queued<F>) {
        let egress = queued.egress;
        let outbox = &mut self.outboxes[self.owners[egress.index()].index()];
        if outbox.room() > 0 {
            outbox.ready.push(Handoff { egress, payload: Payload::Frame(queued) });
        } else {
            outbox.held_back += 1;
            self.store.push(&mut outbox.waiting, queued);
        }
    }

    pub fn accept(&mut self, now: Nanos, handoffs: &mut Vec<Handoff<F>>) {
        self.read_other_shards();
        let mut arriving = handoffs.drain(..);
        loop {
            let next = arriving.as_slice();
            let next = next.get(..LOOK_AHEAD).unwrap_or(next);
            if next.is_empty() {
                break;
            }
            self.look_ahead_handed_over(next);
            arriving.by_ref().take(LOOK_AHEAD).for_each(|handoff| self.accept_handoff(now, handoff));
        }
        drop(arriving);
        self.settle();
        self.publish();
    }

    #[inline]
    fn accept_handoff(&mut self, now: Nanos, Handoff { egress, payload }: Handoff<F>) {
        match payload {
            Payload::Frame(queued) => self.accept_frame(now, queued),
            Payload::Notification(notification) => {
                self.changed.insert(egress);
                // The other shard may follow an older program, in which a port here keeps flows.
                self.equipped.insert(egress);
                // A lost notification does no harm.
                let _ = self.egress[egress.index()].notifications.push(notification);
            }
        }
    }

    /// Queues a frame that another shard has charged. That shard could not know the far ports of this one.
    fn accept_frame(&mut self, now: Nanos, mut queued: Queued<F>) {
        let headers = queued.frame.headers();
        if self.steered.contains(queued.egress)
            && let Some(descriptor) = Descriptor::parse(headers, queued.length())
        {
            queued.queue = self.steer(queued.egress, queued.queue, &descriptor, headers);
        }
        let Queued { egress, queue, charge, .. } = queued;
        if self.egress[egress.index()].drops(queue) {
            self.drop_at_egress((egress, queue), charge, queued.length(), DropReason::PfcWatchdog);
            return;
        }
        queued.since = now;
        self.changed.insert(egress);
        self.show_senders_handed_over(egress, &mut queued);
        self.enqueue(queued);
    }
}
