//! From one shard to another: frames for ports of other shards, and how they wait where one of those is behind.

use super::Fabric;
use crate::flows::notifications::Notification;
use crate::frame::Frame;
use crate::ledger::ShardId;
use crate::queue::{Charge, Fifo, Queued};
use units::{Nanos, PortId};

/// Something on its way to the shard that owns its egress port.
pub struct Handoff<F> {
    egress: PortId,
    cargo: Cargo<F>,
}

impl<F> Handoff<F> {
    /// The frame that it carries, if it carries one, and the port through which that came in.
    pub(in crate::shard) fn frame(&self) -> Option<(PortId, &F)> {
        match &self.cargo {
            Cargo::Frame(queued) => Some((queued.ingress, &queued.frame)),
            Cargo::Notification(_) => None,
        }
    }
}

enum Cargo<F> {
    /// A frame, charged to the ledger already.
    Frame(Queued<F>),
    /// A notification to a sender. Nobody misses one that is lost: the next interval makes another.
    Notification(Notification),
}

/// Handoffs in an outbox; what finds no room there waits in a queue.
const OUTBOX: usize = 256;
/// Frames in that queue beyond which lossy ones are dropped: 5 ms of 1,500-byte frames at 10G. Nobody pauses for
/// them, so a shard that stands still would fill the buffer with them.
const LOSSY_WAITING: usize = 4_096;

/// The way to one other shard.
pub(super) struct WayOut<F> {
    outbox: Vec<Handoff<F>>,
    waiting: Fifo,
    /// Frames that ever had to wait.
    held_back: u64,
}

impl<F> WayOut<F> {
    pub fn new() -> Self {
        Self { outbox: Vec::with_capacity(OUTBOX), waiting: Fifo::default(), held_back: 0 }
    }

    /// How much more goes on without waiting.
    fn room(&self) -> usize {
        if self.waiting.is_empty() { OUTBOX - self.outbox.len().min(OUTBOX) } else { 0 }
    }

    /// Whether it takes one more frame.
    #[inline]
    pub fn takes(&self, lossless: bool) -> bool {
        lossless || self.waiting.length() < LOSSY_WAITING
    }

    /// Gives a notification for `egress` to the other shard, if nothing holds it up. Returns whether it did.
    pub fn notify(&mut self, egress: PortId, notification: Notification) -> bool {
        let open = self.room() > 0;
        if open {
            self.outbox.push(Handoff { egress, cargo: Cargo::Notification(notification) });
        }
        open
    }
}

impl<F: Frame> Fabric<F> {
    pub fn outbox(&mut self, to: ShardId) -> &mut Vec<Handoff<F>> {
        let Self { ways_out, store, .. } = self;
        let WayOut { outbox, waiting, .. } = &mut ways_out[to.index()];
        while outbox.len() < OUTBOX
            && let Some(queued) = store.pop(waiting)
        {
            outbox.push(Handoff { egress: queued.egress, cargo: Cargo::Frame(queued) });
        }
        outbox
    }

    pub fn held_back(&self) -> u64 {
        self.ways_out.iter().map(|way| way.held_back).sum()
    }

    /// Whether the shard that owns `egress` is near enough for one more frame.
    #[inline]
    pub(super) fn takes_handoff(&self, egress: PortId, charge: Charge) -> bool {
        self.ways_out[self.owners[egress.index()].index()].takes(charge.is_lossless())
    }

    #[inline(never)]
    pub(super) fn hand_over(&mut self, queued: Queued<F>) {
        let egress = queued.egress;
        let way = &mut self.ways_out[self.owners[egress.index()].index()];
        if way.room() > 0 {
            way.outbox.push(Handoff { egress, cargo: Cargo::Frame(queued) });
        } else {
            way.held_back += 1;
            self.store.push(&mut way.waiting, queued);
        }
    }

    pub fn accept(&mut self, now: Nanos, handoffs: &mut Vec<Handoff<F>>) {
        self.read_other_shards();
        self.look_ahead_handed_over(handoffs);
        for Handoff { egress, cargo } in handoffs.drain(..) {
            match cargo {
                Cargo::Frame(queued) => self.accept_frame(now, queued),
                Cargo::Notification(notification) => {
                    // One that finds no room is not missed.
                    let _ = self.egress[egress.index()].notifications.push(notification);
                }
            }
        }
        self.settle();
        self.publish();
    }
}
