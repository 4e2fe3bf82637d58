//! The way to another shard: an outbox, and a queue for the time when that shard lags.

use crate::flows::notifications::Notification;
use crate::queue::{Fifo, Queued};
use serde::{Deserialize, Serialize};
use units::PortId;

/// A frame or notification on its way to the shard that owns its egress port.
#[derive(Serialize, Deserialize)]
pub struct Handoff<F> {
    pub(super) egress: PortId,
    pub(super) cargo: Cargo<F>,
}

// Two cache lines, for a frame as small as that of a device.
const _: () = assert!(size_of::<Handoff<usize>>() <= 128);

impl<F> Handoff<F> {
    /// The frame, if it carries one, and the port through which that came in.
    pub(in crate::shard) fn frame(&self) -> Option<(PortId, &F)> {
        match &self.cargo {
            Cargo::Frame(queued) => Some((queued.charge.ingress(), &queued.frame)),
            Cargo::Notification(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) enum Cargo<F> {
    /// A frame that is already charged to the ledger.
    Frame(Queued<F>),
    /// A notification to a sender. A loss does no harm: the next interval makes another.
    Notification(Notification),
}

/// Capacity of an outbox, in handoffs. Further ones wait in a queue.
pub(super) const OUTBOX: usize = 256;
/// Length of that queue above which lossy frames are dropped: 5 ms of 1,500-byte frames at 10G. Lossy frames pause
/// nobody, so they would fill the buffer if a shard stalled.
const LOSSY_WAITING: usize = 4_096;

/// The way to one other shard.
#[derive(Serialize, Deserialize)]
pub(super) struct WayOut<F> {
    pub outbox: Vec<Handoff<F>>,
    pub waiting: Fifo,
    /// Frames that had to wait so far.
    pub held_back: u64,
}

impl<F> WayOut<F> {
    pub fn new() -> Self {
        Self { outbox: Vec::with_capacity(OUTBOX), waiting: Fifo::default(), held_back: 0 }
    }

    /// The number of handoffs that can still go on without waiting.
    pub fn room(&self) -> usize {
        if self.waiting.is_empty() { OUTBOX - self.outbox.len().min(OUTBOX) } else { 0 }
    }

    /// Whether it takes one more frame. It always takes lossless ones.
    #[inline]
    pub fn takes(&self, lossless: bool) -> bool {
        lossless || self.waiting.length() < LOSSY_WAITING
    }

    /// Hands a notification for `egress` to the other shard, unless others wait. Returns whether it did.
    pub fn notify(&mut self, egress: PortId, notification: Notification) -> bool {
        let open = self.room() > 0;
        if open {
            self.outbox.push(Handoff { egress, cargo: Cargo::Notification(notification) });
        }
        open
    }
}
