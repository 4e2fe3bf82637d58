//! The view of the switch for a scheme.

use crate::ledger::{Ledger, Volume};
use units::{Bytes, PortId, Priority, PrioritySet, WireBytes};

/// The state of the switch that a scheme may use.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The port whose upstream the scheme controls.
    pub port: PortId,
    /// Its lossless priorities.
    pub lossless: PrioritySet,
    /// All frames that came in through it so far, by priority.
    pub received: &'a [Volume; Priority::COUNT],
    pub ledger: &'a Ledger,
    /// Free space in the shared pool, as the port's shard last saw it.
    pub shared_free: Bytes,
    /// Bytes of the shared pool that all groups hold.
    pub shared_held: Bytes,
    /// The priorities of which frames may be inside that came in through the port; none if all are gone.
    pub holding: PrioritySet,
}

impl Look<'_> {
    /// The lossless frames that came in through the port and are still inside.
    pub fn queue(&self) -> WireBytes {
        let queues = self.lossless.iter().map(|priority| self.ledger.ingress_queue(self.port, priority));
        queues.sum::<Volume>().on_the_wire()
    }

    /// The wire bytes of all lossless frames that came in through the port for port `to`, and of those that have left
    /// there, so far.
    pub fn totals_to(&self, to: PortId) -> (u64, u64) {
        let sum =
            |of: &dyn Fn(Priority) -> Volume| self.lossless.iter().map(of).sum::<Volume>().on_the_wire().0;
        // Departures first: a frame that departs between the two reads still counts.
        let departed = sum(&|priority| self.ledger.departed(self.port, to, priority));
        (sum(&|priority| self.ledger.admitted(self.port, to, priority)), departed)
    }

    /// The frames of `priority` that came in through the port and are still inside.
    pub fn queue_of(&self, priority: Priority) -> WireBytes {
        self.ledger.ingress_queue(self.port, priority).on_the_wire()
    }

    /// All frames of `priority` that came in through the port so far.
    pub fn received_at(&self, priority: Priority) -> WireBytes {
        self.received[priority.index()].on_the_wire()
    }

    /// All lossless frames that came in through the port so far.
    pub fn received(&self) -> WireBytes {
        let received = self.lossless.iter().map(|priority| self.received[priority.index()]);
        received.sum::<Volume>().on_the_wire()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Load;
    use units::Cells;

    #[test]
    fn a_scheme_sees_the_lossless_frames_of_its_port() {
        let (port, other) = (PortId(0), PortId(1));
        let [three, four, lossy] = [3, 4, 0].map(Priority::from_low_bits);
        let volume = |frames| Volume { frames, bytes: Bytes(100 * frames) };
        let ledger = Ledger::new(2, 1);
        for (ingress, priority, frames) in
            [(port, three, 1), (port, four, 2), (port, lossy, 4), (other, three, 8)]
        {
            ledger.admit(ingress, other, priority, Load { cells: Cells(1), volume: volume(frames) });
        }
        let mut received = [Volume::ZERO; Priority::COUNT];
        (received[3], received[4], received[0]) = (volume(16), volume(32), volume(64));
        let lossless = PrioritySet::EMPTY.with(three).with(four);
        let (shared_free, shared_held, holding) = (Bytes::ZERO, Bytes::ZERO, lossless);
        let (received, ledger) = (&received, &ledger);
        let look = Look { port, lossless, received, ledger, shared_free, shared_held, holding };
        assert_eq!(look.queue(), volume(1 + 2).on_the_wire());
        assert_eq!(look.received(), volume(16 + 32).on_the_wire());
    }
}
