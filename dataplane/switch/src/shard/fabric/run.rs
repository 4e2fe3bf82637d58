//! Runs: successive frames of a burst for one queue, charged and queued together.

use super::Fabric;
use super::arrival::{Arrival, Decided};
use crate::forwarding::Verdict;
use crate::frame::Frame;
use crate::ledger::Load;
use crate::queue::{Charge, Lent};
use units::{Bytes, Cells, PortId, Priority, QueueId};

impl<F: Frame> Fabric<F> {
    /// Takes a frame that may begin a run. A frame that fits no run is handled alone.
    #[inline(never)]
    pub(super) fn start_run(&mut self, decided: Decided<F>) -> Option<Run> {
        let Decided { frame, arrival, verdict } = decided;
        if let Verdict::Forward(egress) = verdict {
            let mut run = self.open(&arrival, egress);
            self.note_change(egress, arrival.queue);
            if run.takes(egress, &arrival) {
                if run.way == Way::Queue {
                    run.lent = self.egress[egress.index()].lend(arrival.queue);
                }
                self.add_to(&mut run, &arrival, frame);
                return Some(run);
            }
        }
        self.carry_out(verdict, arrival, frame);
        None
    }

    /// Starts a run: frames of one priority for one queue, for as long as their group has room without a closer
    /// check.
    #[inline]
    fn open(&self, arrival: &Arrival, egress: PortId) -> Run {
        let Arrival { port, priority, queue, .. } = *arrival;
        let (from, to) = (&self.ingress[port.index()], &self.egress[egress.index()]);
        let charge = arrival.charge(from);
        let (mut room, mut way) = (from.room(priority, &self.pools), Way::Queue);
        match to.room_for_run(queue, charge, &self.store, &self.pools) {
            // Frames to be dropped are handled one by one.
            _ if to.drops(queue) => room = Cells::ZERO,
            Cells::ZERO => way = Way::OneByOne,
            most => room = room.min(most),
        }
        let shown = self.notifying.contains(egress);
        let (longest, load, lent) = (to.longest.any, Load::ZERO, Lent::default());
        Run { egress, priority, queue, longest, room, way, shown, charge, load, lent }
    }

    /// Adds a frame to a run.
    #[inline(always)]
    pub(super) fn add_to(&mut self, run: &mut Run, arrival: &Arrival, mut frame: F) {
        let Run { egress, way, charge, .. } = *run;
        if run.shown {
            self.show_senders(egress, *arrival, &mut frame);
        }
        let queued = arrival.queued(egress, frame, charge);
        match way {
            Way::Queue => self.store.push_of_run(&mut run.lent, queued),
            Way::OneByOne => self.enqueue(queued),
        }
    }

    /// Charges the frames of a run.
    #[inline(always)]
    pub(super) fn close(&mut self, port: PortId, run: Option<Run>) {
        if let Some(run) = run {
            self.charge(port, run);
        }
    }

    pub(super) fn charge(&mut self, port: PortId, run: Run) {
        let Run { egress, priority, queue, load, charge, way, lent, .. } = run;
        self.ingress[port.index()].charge_within_room(priority, load, &mut self.pools);
        self.ledger.admit(port, egress, priority, load);
        if way == Way::Queue {
            let (egress, parts) = (&mut self.egress[egress.index()], (&mut self.store, &mut self.pools));
            egress.end_run(queue, (lent, charge, load), parts);
        }
    }
}

/// The way of a frame into its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Accounted for together with the rest of its run.
    Queue,
    /// One by one: it may be marked or dropped there.
    OneByOne,
}

/// Successive frames of a burst with the same priority and queue. They are charged and queued together, as long as
/// the result is the same: their sum stays below every threshold.
pub(super) struct Run {
    pub egress: PortId,
    pub queue: QueueId,
    pub priority: Priority,
    /// The longest frame that may leave through the egress port.
    pub longest: Bytes,
    /// The cells that the group may take without reaching a threshold.
    pub room: Cells,
    pub way: Way,
    /// Whether the egress port notifies senders, and so reads every frame that goes out.
    pub shown: bool,
    pub charge: Charge,
    pub load: Load,
    /// The frames lent by the queue, if the run adds to it directly.
    pub lent: Lent,
}

impl Run {
    /// Adds a frame, if it belongs to the run.
    #[inline]
    pub fn takes(&mut self, egress: PortId, arrival: &Arrival) -> bool {
        let Arrival { priority, queue, length, .. } = *arrival;
        let cells = Cells::of_frame(length);
        let belongs = self.egress == egress
            && self.queue == queue
            && self.priority == priority
            && length <= self.longest
            && self.load.cells + cells <= self.room;
        if belongs {
            self.load.count(length, cells);
        }
        belongs
    }
}
