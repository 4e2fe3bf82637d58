//! The search for queues that wait for each other.

use super::Engine;
use crate::network::LinkEnd;
use crate::outcome::{Ending, PausedQueue};
use crate::stall::{Stuck, cycle};
use switch::Shard;
use units::{Nanos, PortId, PrioritySet};

impl Engine {
    /// Looks for a deadlock or a livelock; returns how the run ends if there is one.
    #[cold]
    pub(super) fn look_for_a_standstill(&mut self) -> Option<Ending> {
        let before = self.watch.before(self.now);
        let cycle = self.find_cycle();
        if !cycle.is_empty() {
            return Some(Ending::Deadlock { since: before, cycle });
        }
        let is_active = self.active() > 0;
        let next = self.next_of_parts().0.min(self.next_start_or_stop());
        if is_active && next == Nanos::NEVER {
            return Some(Ending::Deadlock { since: before, cycle });
        }
        let motions = || self.parts.iter().map(|part| part.motion);
        let moved = motions().map(|motion| motion.moved).sum();
        let delivered_at = motions().map(|motion| motion.delivered_at).max().unwrap_or_default();
        self.watch.delivered_at = self.watch.delivered_at.max(delivered_at);
        self.watch.look_for_a_livelock(self.now, moved, is_active)
    }

    /// A cycle of queues that have waited for each other since the last look or longer. Each is paused by the
    /// switch at the other end of its link, where frames from that link wait in the next queue.
    fn find_cycle(&mut self) -> Vec<PausedQueue> {
        let stuck = self.stuck_queues();
        let queues = self.watch.standing(stuck);
        let waits_for: Vec<Vec<usize>> = queues
            .iter()
            .map(|queue| {
                let next = self.waits_for(*queue);
                (0..queues.len()).filter(|other| next.contains(&queues[*other])).collect()
            })
            .collect();
        cycle(&waits_for).into_iter().map(|index| queues[index]).collect()
    }

    /// All paused queues that hold frames, with the number of frames that each has sent so far.
    fn stuck_queues(&self) -> Stuck {
        let mut stuck = Stuck::default();
        for it in self.parts.iter().flat_map(|part| &part.switches) {
            for port in (0..it.out.len() as u16).map(PortId) {
                let lanes = it.driver.lanes();
                let paused = lanes.iter().map(|lane| lane.pauses(self.now, port).received);
                for priority in paused.fold(PrioritySet::EMPTY, PrioritySet::union).iter() {
                    let reports = || lanes.iter().map(|lane| lane.queue(self.now, port, priority));
                    if reports().any(|report| report.waiting.frames > 0) {
                        let sent = reports().map(|report| report.counters.transmitted.frames).sum();
                        stuck.insert(PausedQueue { node: it.node, port, priority }, sent);
                    }
                }
            }
        }
        stuck
    }

    /// The queues that make the neighbour pause `queue`: frames from its link wait in them, those that bounced there
    /// in the queue of their isolated priority. Frames that repair holds wait in none: they come again in spite of pauses.
    fn waits_for(&self, queue: PausedQueue) -> Vec<PausedQueue> {
        let PausedQueue { node, port, priority } = queue;
        let part = &self.parts[self.homes[node.0 as usize]];
        let out = self.switch(node).and_then(|it| it.out[port.index()]);
        let Some(out) = out else { return Vec::new() };
        let LinkEnd { node, port: ingress } = part.directions[out].to;
        let Some(it) = self.switch(node) else { return Vec::new() };
        (0..it.out.len() as u16)
            .map(PortId)
            .filter(|egress| {
                let inside = |lane: &Shard<_>| {
                    let charged = lane.ledger().occupancy(ingress, *egress, priority).volume;
                    if *egress == ingress { charged - lane.held(ingress, priority) } else { charged }
                };
                it.driver.total(inside).frames > 0
            })
            .map(|port| PausedQueue { node, port, priority: it.program.queue_of(ingress, port, priority) })
            .collect()
    }
}
