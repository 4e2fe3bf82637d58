//! The view of the switch for a scheme.

use crate::ledger::{Ledger, Volume};
use core::ops::Add;
use units::{Bytes, PortId, Priority, PrioritySet, WireBytes};

/// What a lane sees of the others.
pub(crate) trait OtherLanes {
    /// All bytes on the wire of `priority` that they have shown to have come in through `port`.
    fn received(&self, port: PortId, priority: Priority) -> WireBytes;

    /// Gives their ledgers to `each`.
    fn ledgers(&self, each: &mut dyn FnMut(&Ledger));
}

/// The accounts of a switch: those of one shard, and where that is a lane, those of the others as well.
#[derive(Clone, Copy)]
pub(crate) struct Accounts<'a> {
    pub ledger: &'a Ledger,
    pub others: Option<&'a dyn OtherLanes>,
}

/// Those of a shard that is no lane.
impl<'a> From<&'a Ledger> for Accounts<'a> {
    fn from(ledger: &'a Ledger) -> Self {
        Self { ledger, others: None }
    }
}

impl Accounts<'_> {
    /// The sum of a figure over the ledgers. A frame is in one of them.
    pub fn sum<T: Add<Output = T> + Copy>(&self, of: impl Fn(&Ledger) -> T) -> T {
        let mut sum = of(self.ledger);
        if let Some(others) = self.others {
            others.ledgers(&mut |ledger| sum = sum + of(ledger));
        }
        sum
    }
}

/// The state of the switch that a scheme may use.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The port whose upstream the scheme controls.
    pub port: PortId,
    /// Its lossless priorities.
    pub lossless: PrioritySet,
    /// All frames that came in through it so far, by priority; on a lane, those that came to it.
    pub received: &'a [Volume; Priority::COUNT],
    pub accounts: Accounts<'a>,
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
        let queues = self.lossless.iter().map(|priority| self.queue_of(priority));
        queues.sum()
    }

    /// The wire bytes of all lossless frames that came in through the port for port `to`, and of those that have left
    /// there, so far.
    pub fn totals_to(&self, to: PortId) -> (u64, u64) {
        let sum =
            |of: &dyn Fn(Priority) -> Volume| self.lossless.iter().map(of).sum::<Volume>().on_the_wire().0;
        // Departures first: a frame that departs between the two reads still counts.
        let Accounts { ledger, .. } = self.accounts;
        let departed = sum(&|priority| ledger.departed(self.port, to, priority));
        (sum(&|priority| ledger.admitted(self.port, to, priority)), departed)
    }

    /// The frames of `priority` that came in through the port and are still inside.
    pub fn queue_of(&self, priority: Priority) -> WireBytes {
        self.accounts.sum(|ledger| ledger.ingress_queue(self.port, priority)).on_the_wire()
    }

    /// All frames of `priority` that came in through the port so far. Those of other lanes count as soon as they are shown: they
    /// are in the queue before, so both together are never too few.
    pub fn received_at(&self, priority: Priority) -> WireBytes {
        let others = self.accounts.others.map(|it| it.received(self.port, priority));
        self.received[priority.index()].on_the_wire() + others.unwrap_or(WireBytes(0))
    }

    /// All lossless frames that came in through the port so far.
    pub fn received(&self) -> WireBytes {
        self.lossless.iter().map(|priority| self.received_at(priority)).sum()
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
        let (received, accounts) = (&received, Accounts::from(&ledger));
        let look = Look { port, lossless, received, accounts, shared_free, shared_held, holding };
        assert_eq!(look.queue(), volume(1 + 2).on_the_wire());
        assert_eq!(look.received(), volume(16 + 32).on_the_wire());
    }
}
