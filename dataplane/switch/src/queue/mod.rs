//! The queues of frames: first in, first out, all in one store.

mod chains;
mod packed;
mod store;

pub(crate) use chains::{Added, SEGMENT};
pub(crate) use store::{Fifo, Lent, Store};

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, PortId, PortSet, Priority, QueueId};

/// A frame in a queue, with what egress needs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queued<F> {
    pub frame: F,
    /// The time when it was queued, for the delay histogram.
    pub since: Nanos,
    /// Its length, so that egress need not read the frame.
    pub length: u16,
    /// Its charge at ingress.
    pub charge: Charge,
    /// The port through which it leaves.
    pub egress: PortId,
    /// The queue of that port in which it waits.
    pub queue: QueueId,
    /// The start of its IP header, from the start of the frame; zero if it has none that can be marked.
    pub ip_offset: u8,
}

impl<F> Queued<F> {
    #[inline]
    pub fn length(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }

    /// The entry of another frame with the same data.
    fn with_frame<G>(&self, frame: G) -> Queued<G> {
        let Self { since, length, charge, egress, queue, ip_offset, .. } = *self;
        Queued { frame, since, length, charge, egress, queue, ip_offset }
    }
}

/// The charge of a frame: a priority group of its ingress port, credited when the frame leaves.
///
/// The group has the priority in which the frame came in. Its queue has another one if the frame bounced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Charge(u16);

// A port number has twelve bits.
const _: () = assert!(PortSet::CAPACITY <= 1 << 12);

impl Charge {
    /// A charge to `group` of `ingress`. A lossless frame bypasses egress admission.
    #[inline(always)]
    pub fn new(ingress: PortId, group: Priority, lossless: bool) -> Self {
        Self(ingress.0 << 4 | u16::from(group.number()) << 1 | u16::from(lossless))
    }

    /// The port through which the frame came in.
    #[inline(always)]
    pub fn ingress(self) -> PortId {
        PortId(self.0 >> 4)
    }

    /// The priority group that was charged.
    #[inline(always)]
    pub fn group(self) -> Priority {
        Priority::from_low_bits((self.0 >> 1) as u8)
    }

    #[inline(always)]
    pub fn is_lossless(self) -> bool {
        self.0 & 1 == 1
    }
}
