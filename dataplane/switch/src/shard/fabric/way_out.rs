//! What waits for another shard: an outbox, and a queue behind it where that shard is behind.

use crate::flows::notifications::Notification;
use crate::queue::{Fifo, Queued};
use units::PortId;

/// Something on its way to the shard that owns its egress port.
pub struct Handoff<F> {
    pub(super) egress: PortId,
    pub(super) cargo: Cargo<F>,
}

impl<F> Handoff<F> {
    /// The frame that it carries, if it carries one, and the port through which that came in.
    pub(in crate::shard) fn frame(&self) -> Option<(PortId, &F)> {
        match &self.cargo {
            Cargo::Frame(queued) => Some((queued.charge.ingress(), &queued.frame)),
            Cargo::Notification(_) => None,
        }
    }
}

pub(super) enum Cargo<F> {
    /// A frame, charged to the ledger already.
    Frame(Queued<F>),
    /// A notification to a sender. Nobody misses one that is lost: the next interval makes another.
    Notification(Notification),
}

/// Handoffs in an outbox; what finds no room there waits in a queue.
pub(super) const OUTBOX: usize = 256;
/// Frames in that queue beyond which lossy ones are dropped: 5 ms of 1,500-byte frames at 10G. Nobody pauses for
/// them, so a shard that stands still would fill the buffer with them.
const LOSSY_WAITING: usize = 4_096;

/// The way to one other shard.
pub(super) struct WayOut<F> {
    pub outbox: Vec<Handoff<F>>,
    pub waiting: Fifo,
    /// Frames that ever had to wait.
    pub held_back: u64,
}

impl<F> WayOut<F> {
    pub fn new() -> Self {
        Self { outbox: Vec::with_capacity(OUTBOX), waiting: Fifo::default(), held_back: 0 }
    }

    /// How much more goes on without waiting.
    pub fn room(&self) -> usize {
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
