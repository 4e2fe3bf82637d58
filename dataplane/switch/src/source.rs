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
    /// The groups whose frames wait in the queue of `priority` at `egress`, by the charges of `ledgers`: one, or one for each
    /// lane. A frame that bounced
    /// waits in the queue of another priority than that of its group. Copies of a flooded lossless frame appear at the priority
    /// that is charged for them, and wait in the queue of the frame. It looks at each port, so it is not for the turn.
    pub fn of_queue<'a>(
        program: &'a Program,
        ledgers: &'a [&'a Ledger],
        (egress, priority): (PortId, Priority),
        held: [Volume; Priority::COUNT],
    ) -> impl Iterator<Item = Self> + 'a {
        let all = Self::of_port(program, ledgers, egress, held);
        all.filter(move |(queue, _)| *queue == priority).map(|(_, source)| source)
    }

    /// All frames that wait at `egress`, with the priority of the queue in which they do. Frames of each priority that repair
    /// of the port has `held` are charged as if they left through it, and wait in no queue. It looks at each port, so it is
    /// not for the turn.
    pub fn of_port<'a>(
        program: &'a Program,
        ledgers: &'a [&'a Ledger],
        egress: PortId,
        held: [Volume; Priority::COUNT],
    ) -> impl Iterator<Item = (Priority, Self)> + 'a {
        let ports = (0..program.settings().ports.len() as u16).map(PortId);
        let groups = ports.flat_map(|port| Priority::all().map(move |it| (port, it)));
        groups.filter_map(move |(ingress, group)| {
            let charged: Volume =
                ledgers.iter().map(|ledger| ledger.occupancy(ingress, egress, group).volume).sum();
            let waiting = if ingress == egress { charged - held[group.index()] } else { charged };
            let source = Self { ingress, priority: group, waiting };
            (waiting.frames > 0).then(|| (program.queue_of(ingress, egress, group), source))
        })
    }
}
