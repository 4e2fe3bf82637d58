//! The search for queues that wait for each other.

use super::Engine;
use crate::network::LinkEnd;
use crate::nodes::Place;
use crate::outcome::{Ending, PausedQueue};
use crate::stall::{Queue, Stuck, cycle};
use units::{Nanos, PortId};

impl Engine {
    /// Looks for a deadlock or a livelock; returns how the run ends if there is one.
    #[cold]
    pub(super) fn look_for_a_standstill(&mut self) -> Option<Ending> {
        let before = self.watch.before(self.now);
        let cycle = self.find_cycle();
        if !cycle.is_empty() {
            return Some(Ending::Deadlock { since: before, cycle });
        }
        self.calendar.actors.set(self.actors.watch, Nanos::NEVER);
        let is_active = self.flows.active() > 0;
        if is_active && self.calendar.actors.next().0 == Nanos::NEVER {
            return Some(Ending::Deadlock { since: before, cycle });
        }
        let ending = self.watch.look_for_a_livelock(self.now, is_active);
        if ending.is_none() {
            self.calendar.actors.set(self.actors.watch, self.watch.next());
        }
        ending
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
        let named = |index: usize| {
            let Queue { switch, port, priority } = queues[index];
            PausedQueue { node: self.switches[switch].node, port, priority }
        };
        cycle(&waits_for).into_iter().map(named).collect()
    }

    /// All paused queues that hold frames, with the number of frames that each has sent so far.
    fn stuck_queues(&self) -> Stuck {
        let mut stuck = Stuck::default();
        for (switch, it) in self.switches.iter().enumerate() {
            for port in (0..it.out.len() as u16).map(PortId) {
                for priority in it.shard.pauses(self.now, port).received.iter() {
                    let report = it.shard.queue(self.now, port, priority);
                    if report.waiting.frames > 0 {
                        let sent = report.counters.transmitted.frames;
                        stuck.insert(Queue { switch, port, priority }, sent);
                    }
                }
            }
        }
        stuck
    }

    /// The queues that make the neighbour pause `queue`: frames from its link wait in them, those that bounced there
    /// in the queue of their isolated priority.
    fn waits_for(&self, queue: Queue) -> Vec<Queue> {
        let Queue { switch, port, priority } = queue;
        let Some(out) = self.switches[switch].out[port.index()] else { return Vec::new() };
        let LinkEnd { node, port: ingress } = self.directions[out].to;
        let Place::Switch(switch) = self.places[node.0 as usize] else { return Vec::new() };
        let it = &self.switches[switch];
        (0..it.out.len() as u16)
            .map(PortId)
            .filter(|egress| it.shard.ledger().occupancy(ingress, *egress, priority).volume.frames > 0)
            .map(|port| Queue {
                switch,
                port,
                priority: it.shard.program().queue_of(ingress, port, priority),
            })
            .collect()
    }
}
