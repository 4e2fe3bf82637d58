//! The part of the switch that a scheme may see.

use crate::ledger::{Ledger, Volume};
use units::{PortId, Priority, PrioritySet, WireBytes};

/// A look at the switch, for a scheme.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The port whose upstream the scheme speaks to.
    pub port: PortId,
    /// Its lossless priorities.
    pub lossless: PrioritySet,
    /// All frames that ever came in through it, by priority.
    pub received: &'a [Volume; Priority::COUNT],
    pub ledger: &'a Ledger,
}

impl Look<'_> {
    /// The lossless frames that came in through the port and are still inside.
    pub fn queue(&self) -> WireBytes {
        let queues = self.lossless.iter().map(|priority| self.ledger.ingress_queue(self.port, priority));
        queues.sum::<Volume>().on_the_wire()
    }

    /// All lossless frames that ever came in through the port.
    pub fn received(&self) -> WireBytes {
        let received = self.lossless.iter().map(|priority| self.received[priority.index()]);
        received.sum::<Volume>().on_the_wire()
    }
}
