//! Changes of what is known of the senders' queue pairs, one at a time, for a caller that records them.

use crate::flows::table::{FlowTable, Slot};
use core::net::Ipv6Addr;
use serde::{Deserialize, Serialize};
use units::Nanos;
use wire::roce::QueuePair;

/// A change of what is known of a flow and its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowChange {
    /// The time of the change.
    pub at: Nanos,
    /// The change.
    pub kind: FlowChangeKind,
    /// The sender. IPv4 addresses are mapped into IPv6.
    pub source: Ipv6Addr,
    /// The receiver.
    pub destination: Ipv6Addr,
    /// The receiver's queue pair.
    pub destination_qp: QueuePair,
    /// The sender's queue pair, if it is known.
    pub source_qp: Option<QueuePair>,
}

units::named! {
    /// A kind of change.
    FlowChangeKind [serde] {
        /// The connection manager's messages contain the sender's queue pair.
        LearnedByCm = "learned_by_cm",
        /// The sender's queue pair follows from the PSNs of responses.
        LearnedByPsn = "learned_by_psn",
        /// The sender's packets come from another port, station or VLAN.
        Moved = "moved",
        /// PSNs went back or leapt ahead: a queue pair may have been used again.
        Suspended = "suspended",
        /// A response was about a request that was never sent.
        Contradicted = "contradicted",
        /// The connection manager's messages ended the connection.
        Ended = "ended",
        /// Another flow took its place in the table.
        Displaced = "displaced",
    }
}

/// The latest changes, until they are taken. Nothing is kept before they are taken for the first time.
#[derive(Serialize, Deserialize)]
pub(super) struct Changes {
    waiting: Vec<FlowChange>,
    lost: u64,
    is_on: bool,
}

impl Changes {
    /// The number of changes that may wait.
    const CAPACITY: usize = 64;

    /// No changes. The room for them is made here, because they are taken on the turn.
    pub fn new() -> Self {
        Self { waiting: Vec::with_capacity(Self::CAPACITY), lost: 0, is_on: false }
    }

    /// Notes a change of the flow at `slot`, whose sender has the queue pair of its partner.
    #[inline]
    pub fn note(
        &mut self,
        table: &FlowTable,
        slot: Slot,
        partner: Option<Slot>,
        kind: FlowChangeKind,
        at: Nanos,
    ) {
        if self.is_on {
            self.keep(table, slot, partner, kind, at);
        }
    }

    #[cold]
    fn keep(
        &mut self,
        table: &FlowTable,
        slot: Slot,
        partner: Option<Slot>,
        kind: FlowChangeKind,
        at: Nanos,
    ) {
        if self.waiting.len() == Self::CAPACITY {
            self.lost += 1;
            return;
        }
        let key = table.hot(slot).key();
        self.waiting.push(FlowChange {
            at,
            kind,
            source: key.hosts.source.into(),
            destination: key.hosts.destination.into(),
            destination_qp: key.qp,
            source_qp: partner.map(|partner| table.hot(partner).key().qp),
        });
    }

    /// Gives all changes to `take`, and returns the number of those that found no room.
    pub fn take(&mut self, take: impl FnMut(FlowChange)) -> u64 {
        self.is_on = true;
        self.waiting.drain(..).for_each(take);
        core::mem::take(&mut self.lost)
    }
}
