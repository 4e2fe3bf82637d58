//! Where frames wait: first in, first out, by port and priority, in one store.

mod chains;
mod packed;
mod store;

pub(crate) use chains::SEGMENT;
pub(crate) use store::{Fifo, Store};

use units::{Bytes, Nanos, PortId, Priority};

/// A frame that waits, and what egress needs to know of it.
pub(crate) struct Queued<F> {
    pub frame: F,
    /// When it was queued, for the delay histogram.
    pub since: Nanos,
    /// Its length, to spare a look into the frame.
    pub length: u16,
    /// Whom to credit when it leaves.
    pub ingress: PortId,
    /// Through which port it leaves.
    pub egress: PortId,
    /// How it was charged at ingress.
    pub charge: Charge,
    /// Where its IP header starts, from the start of the frame; zero where there is none that
    /// can be marked.
    pub ip_offset: u8,
}

impl<F> Queued<F> {
    #[inline]
    pub fn length(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }
}

/// What a frame was charged to at ingress, and the queue in which it waits at egress.
///
/// The group is credited when the frame leaves. So far it always has the priority of the queue; nothing behind
/// admission relies on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charge(u8);

impl Charge {
    /// Charged to `group`, as lossless or not; waits in `queue`. A lossless frame bypasses egress admission.
    #[inline(always)]
    pub fn new(group: Priority, queue: Priority, lossless: bool) -> Self {
        Self(queue.number() << 4 | group.number() << 1 | u8::from(lossless))
    }

    /// The priority group that was charged.
    #[inline(always)]
    pub fn group(self) -> Priority {
        Priority::from_low_bits(self.0 >> 1)
    }

    /// The queue in which the frame waits.
    #[inline(always)]
    pub fn queue(self) -> Priority {
        Priority::from_low_bits(self.0 >> 4)
    }

    #[inline(always)]
    pub fn is_lossless(self) -> bool {
        self.0 & 1 == 1
    }
}
