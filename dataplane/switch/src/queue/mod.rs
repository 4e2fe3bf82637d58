//! Where frames wait: FIFO queues cut from one store of descriptors.

mod store;

pub(crate) use store::{Fifo, Store};

use units::{Bytes, Nanos, PortId};

/// A frame that waits, and what egress needs to know of it.
pub(crate) struct Queued<F> {
    pub frame: F,
    /// When it was queued, for the delay histogram.
    pub since: Nanos,
    /// Its length, to spare a look into the frame.
    pub length: u32,
    /// Whom to credit when it leaves.
    pub ingress: PortId,
    /// Where its IP header starts, from the start of the frame; zero where there is none that
    /// can be marked.
    pub ip_offset: u8,
    /// Whether it was admitted as lossless, and so bypasses egress admission.
    pub lossless: bool,
}

impl<F> Queued<F> {
    #[inline]
    pub fn length(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }
}
