//! Where frames wait: first in, first out, queue by queue, in one store.

mod chains;
mod packed;
mod store;

pub(crate) use chains::SEGMENT;
pub(crate) use store::{Fifo, Lent, Store};

use units::{Bytes, Nanos, PortId, PortSet, Priority, QueueId};

/// A frame that waits, and what egress needs to know of it.
pub(crate) struct Queued<F> {
    pub frame: F,
    /// When it was queued, for the delay histogram.
    pub since: Nanos,
    /// Its length, to spare a look into the frame.
    pub length: u16,
    /// How it was charged at ingress.
    pub charge: Charge,
    /// Through which port it leaves.
    pub egress: PortId,
    /// In which queue of that port it waits.
    pub queue: QueueId,
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

/// What a frame was charged to at ingress: a priority group of a port, which is credited when the frame leaves.
///
/// The group has the priority of the frame, and so far that of its queue; nothing behind admission relies on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charge(u16);

// The number of the port has twelve bits.
const _: () = assert!(PortSet::CAPACITY <= 1 << 12);

impl Charge {
    /// Charged to `group` of `ingress`, as lossless or not. A lossless frame bypasses egress admission.
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
