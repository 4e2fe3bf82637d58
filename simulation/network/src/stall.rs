//! Networks that stand still, and networks that run on the spot.

use crate::outcome::Ending;
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
    stuck: Stuck,
}

/// By queue that holds frames and is paused, what it has sent so far.
pub(crate) type Stuck = HashMap<Queue, u64, foldhash::fast::FixedState>;

/// A queue, by the place of its switch among all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Queue {
    pub switch: usize,
    pub port: PortId,
    pub priority: Priority,
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

    /// When it looked before it does at `now`.
    pub fn before(&self, now: Nanos) -> Nanos {
        now - self.stall
    }

    /// Those of the queues that are `stuck` now that were at the last look, too, and have sent nothing since; in
    /// their order.
    pub fn standing(&mut self, stuck: Stuck) -> Vec<Queue> {
        let standing =
            |queue: &Queue| stuck.get(queue).is_some_and(|sent| self.stuck.get(queue) == Some(sent));
        let mut queues: Vec<Queue> = stuck.keys().copied().filter(standing).collect();
        queues.sort_by_key(|queue| (queue.switch, queue.port, queue.priority));
        self.stuck = stuck;
        queues
    }

    /// Looks at `now` whether what moves brings anything; returns how the run ends where it does not, and has set the
    /// time of the next look otherwise.
    pub fn look_for_a_livelock(&mut self, now: Nanos, is_active: bool) -> Option<Ending> {
        let moved = self.moved != core::mem::replace(&mut self.moved_before, self.moved);
        if !is_active || self.delivered_at > self.before(now) {
            self.fruitless = 0;
        } else if moved {
            self.fruitless += 1;
        }
        if self.fruitless >= FRUITLESS {
            return Some(Ending::Livelock { since: self.delivered_at });
        }
        self.next = now + self.stall;
        None
    }
}

/// A cycle of a graph, by the edges of each node; empty where there is none.
pub(crate) fn cycle(edges: &[Vec<usize>]) -> Vec<usize> {
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
