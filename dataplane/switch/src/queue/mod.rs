//! Where frames wait: first in, first out, by port and priority, in one store.

mod chains;
mod packed;
mod store;

pub(crate) use chains::SEGMENT;
pub(crate) use store::{Fifo, Store};

use crate::shard::Arrival;
use units::{Bytes, Nanos, PortId, Priority};

/// A frame that waits, and what egress needs to know of it.
pub(crate) struct Queued<F> {
    pub frame: F,
    /// When it was queued, for the delay histogram.
    pub since: Nanos,
    /// Its length, to spare a look into the frame.
    pub length: u16,
    /// Packed frames that leave before it, and after the frame before it.
    behind: u32,
    /// Whom to credit when it leaves.
    pub ingress: PortId,
    /// Through which port it leaves.
    pub egress: PortId,
    /// The priority to which it was charged, and at which it leaves.
    pub priority: Priority,
    /// Where its IP header starts, from the start of the frame; zero where there is none that
    /// can be marked.
    pub ip_offset: u8,
    /// Whether it was admitted as lossless, and so bypasses egress admission.
    pub lossless: bool,
}

impl<F> Queued<F> {
    /// `frame`, which has come in as `arrival` says and leaves through `egress`.
    #[inline(always)]
    pub fn new(arrival: &Arrival<'_>, egress: PortId, frame: F, lossless: bool) -> Self {
        let Arrival { now: since, port: ingress, priority, length, descriptor } = *arrival;
        // What is longer than the longest frame of a port is never queued.
        let (length, ip_offset) = (length.0 as u16, descriptor.markable_ip_offset());
        Self { frame, since, length, behind: 0, ingress, egress, priority, ip_offset, lossless }
    }

    #[inline]
    pub fn length(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }
}
