//! The end of a slot of Bifrost.

use super::Fabric;
use crate::frame::Frame;
use units::{Nanos, PortId};

impl<F: Frame> Fabric<F> {
    /// Ends the slot of `port`, if one is due, and has its pause sent.
    #[inline]
    pub(super) fn end_slot(&mut self, now: Nanos, port: PortId) {
        let ingress = &mut self.ingress[port.index()];
        if ingress.slot_deadline() <= now {
            let lossless = ingress.lossless().iter();
            let queue = lossless.map(|priority| self.ledger.ingress_queue(port, priority)).sum();
            ingress.end_slot(now, queue);
        }
    }
}
