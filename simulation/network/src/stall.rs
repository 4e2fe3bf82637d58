//! Networks that stand still, and networks that run on the spot.

use crate::engine::{Engine, Place};
use crate::network::LinkEnd;
use crate::outcome::{Ending, PausedQueue};
use endpoint::FlowId;
use std::collections::HashMap;
use units::{Interval, Nanos, PortId, Priority};

/// So often it is looked until frames that move and bring nothing are a livelock: what is sent again after a
/// timeout may have been lost once more.
const FRUITLESS: u32 = 3;

/// Looks now and then whether a network gets on.
#[derive(Debug)]
pub(crate) struct Watch {
    stall: Interval,
    /// When it looks.
    next: Nanos,
    /// When a new byte was last delivered.
    pub delivered_at: Nanos,
    /// Of which flow more was delivered last, and how much of it there is.
    pub delivered: Option<(FlowId, u64)>,
    /// Rises whenever something but a pause is sent.
    pub moved: u64,
    /// What that was at the last look.
    moved_before: u64,
    /// How often it was looked since new bytes were delivered, and something had moved.
    fruitless: u32,
    /// What each queue had sent at the last look, where it held frames and was paused.
    stuck: HashMap<Queue, u64, foldhash::fast::FixedState>,
}

/// A queue, by the place of its switch among all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Queue {
    switch: usize,
    port: PortId,
    priority: Priority,
}

impl Watch {
    /// Looks every `stall`.
    pub fn new(stall: Interval) -> Self {
        Self {
            stall,
            next: Nanos::ZERO + stall,
            delivered_at: Nanos::ZERO,
            delivered: None,
            moved: 0,
            moved_before: 0,
            fruitless: 0,
            stuck: HashMap::default(),
        }
    }

    pub fn next(&self) -> Nanos {
        self.next
    }
}

impl Engine {
    /// Looks whether the network gets on; returns how the run ends where it does not.
    #[cold]
    pub(crate) fn look_for_a_standstill(&mut self) -> Option<Ending> {
        let before = self.now - self.watch.stall;
        let cycle = self.find_cycle();
        if !cycle.is_empty() {
            return Some(Ending::Deadlock { since: before, cycle });
        }
        self.tournament.set(self.actors.watch, Nanos::NEVER);
        if self.flows.active() > 0 && self.tournament.next().0 == Nanos::NEVER {
            return Some(Ending::Deadlock { since: before, cycle });
        }
        let watch = &mut self.watch;
        let moved = watch.moved != core::mem::replace(&mut watch.moved_before, watch.moved);
        if self.flows.active() == 0 || watch.delivered_at > before {
            watch.fruitless = 0;
        } else if moved {
            watch.fruitless += 1;
        }
        if watch.fruitless >= FRUITLESS {
            return Some(Ending::Livelock { since: watch.delivered_at });
        }
        watch.next = self.now + watch.stall;
        self.tournament.set(self.actors.watch, watch.next);
        None
    }

    /// Queues that have waited for each other since the last look at least: each is paused by the switch at
    /// the other end of its link, whose frames from there wait in the next one.
    fn find_cycle(&mut self) -> Vec<PausedQueue> {
        let stuck = self.stuck_queues();
        let standing =
            |queue: &Queue| stuck.get(queue).is_some_and(|sent| self.watch.stuck.get(queue) == Some(sent));
        let mut queues: Vec<Queue> = stuck.keys().copied().filter(standing).collect();
        queues.sort_by_key(|queue| (queue.switch, queue.port, queue.priority));
        let waits_for: Vec<Vec<usize>> = queues
            .iter()
            .map(|queue| {
                let next = self.waits_for(*queue);
                (0..queues.len()).filter(|other| next.contains(&queues[*other])).collect()
            })
            .collect();
        self.watch.stuck = stuck;
        let named = |index: usize| {
            let Queue { switch, port, priority } = queues[index];
            PausedQueue { node: self.switches[switch].node, port, priority }
        };
        cycle(&waits_for).into_iter().map(named).collect()
    }

    /// All queues that hold frames and are paused, with what they have sent so far.
    fn stuck_queues(&self) -> HashMap<Queue, u64, foldhash::fast::FixedState> {
        let mut stuck = HashMap::default();
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

    /// The queues in which frames wait that make the neighbour pause `queue`.
    fn waits_for(&self, queue: Queue) -> Vec<Queue> {
        let Queue { switch, port, priority } = queue;
        let Some(out) = self.switches[switch].out[port.index()] else { return Vec::new() };
        let LinkEnd { node, port: ingress } = self.directions[out].to;
        let Place::Switch(switch) = self.places[node.0 as usize] else { return Vec::new() };
        let it = &self.switches[switch];
        (0..it.out.len() as u16)
            .map(PortId)
            .filter(|egress| it.shard.ledger().occupancy(ingress, *egress, priority).volume.frames > 0)
            .map(|port| Queue { switch, port, priority })
            .collect()
    }
}

/// A cycle of a graph, by the edges of each node; empty where there is none.
fn cycle(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut done = vec![false; edges.len()];
    for start in 0..edges.len() {
        // The way from `start` to where the search is, with the edge of each node that is tried next.
        let mut way = vec![(start, 0)];
        while let Some((node, edge)) = way.last_mut() {
            let Some(next) = edges[*node].get(*edge).copied() else {
                done[*node] = true;
                way.pop();
                continue;
            };
            *edge += 1;
            if let Some(begin) = way.iter().position(|(node, _)| *node == next) {
                return way[begin..].iter().map(|(node, _)| *node).collect();
            }
            if !done[next] {
                way.push((next, 0));
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_behind_a_tail_and_a_tree_has_none() {
        assert_eq!(cycle(&[vec![1, 2], vec![2], vec![]]), Vec::<usize>::new());
        assert_eq!(cycle(&[vec![1], vec![2], vec![3], vec![1]]), [1, 2, 3]);
        assert_eq!(cycle(&[vec![], vec![1]]), [1], "a queue that waits for itself");
        assert!(cycle(&[]).is_empty());
    }
}
