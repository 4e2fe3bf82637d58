//! Where the frames of an egress queue came in: the hop that a pause takes through a switch.

use crate::ledger::{Ledger, Volume};
use crate::program::Program;
use units::{PortId, Priority};

/// Frames of one priority group that wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The port through which they came in.
    pub ingress: PortId,
    /// The priority of their group: a pause of that stops their senders.
    pub priority: Priority,
    /// Their number and length.
    pub waiting: Volume,
}

impl Source {
    /// The groups whose frames wait in the queue of `priority` at `egress`, by the charges of `ledger`. A frame that bounced
    /// waits in the queue of another priority than that of its group. It looks at each port, so it is not for the turn.
    pub fn of_queue<'a>(
        program: &'a Program,
        ledger: &'a Ledger,
        egress: PortId,
        priority: Priority,
    ) -> impl Iterator<Item = Self> + 'a {
        let groups =
            (0..ledger.ports() as u16).flat_map(|port| Priority::all().map(move |it| (PortId(port), it)));
        let there =
            groups.filter(move |(ingress, group)| program.queue_of(*ingress, egress, *group) == priority);
        let held = there.map(move |(ingress, group)| Self {
            ingress,
            priority: group,
            waiting: ledger.occupancy(ingress, egress, group).volume,
        });
        held.filter(|source| source.waiting.frames > 0)
    }
}
