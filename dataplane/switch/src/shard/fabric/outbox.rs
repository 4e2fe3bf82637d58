//! The way to another shard: an outbox, and a queue for the time when that shard lags.

use crate::flows::notifications::Notification;
use crate::queue::{Fifo, Queued};
use serde::{Deserialize, Serialize};
use units::PortId;

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
pub(super) const READY: usize = 256;
/// Length of that queue above which lossy frames are dropped: 5 ms of 1,500-byte frames at 10G. Lossy frames pause
/// no one, so they would fill the buffer if a shard stalled.
pub(super) const LOSSY_WAITING: usize = 4_096;

/// The handoffs to one other shard.
#[derive(Serialize, Deserialize)]
pub(super) struct Outbox<F> {
    pub ready: Vec<Handoff<F>>,
    pub waiting: Fifo,
    /// Frames that had to wait so far.
    pub held_back: u64,
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
