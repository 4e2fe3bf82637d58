//! The watch for deadlocks and livelocks.

use crate::outcome::{Ending, PausedQueue};
use endpoint::FlowId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use units::{Interval, Nanos};

/// Looks without progress after which moving frames are a livelock. One would be too few: a frame that is
/// sent again after a timeout may be lost once more.
const FRUITLESS: u32 = 3;

/// Signs of progress in a part of the network.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Motion {
    /// Rises whenever a frame other than a PFC frame is sent.
    pub moved: u64,
    /// The instant at which the last new byte was delivered.
    pub delivered_at: Nanos,
    /// The flow of the last delivery, and its bytes delivered so far.
    pub delivered: Option<(FlowId, u64)>,
}

/// Looks at intervals whether a network makes progress.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    stall: Interval,
    /// The instant of the next look.
    next: Nanos,
    /// The instant at which the last new byte was delivered.
    pub delivered_at: Nanos,
    /// The sum of [`Motion::moved`] at the last look.
    moved_before: u64,
    /// Looks since the last new byte at which frames had moved.
    fruitless: u32,
    /// The queues that held frames and were paused at the last look.
    stuck: Stuck,
}

/// The paused queues that hold frames, with the number of frames that each has sent so far.
pub(crate) type Stuck = HashMap<PausedQueue, u64, foldhash::fast::FixedState>;

impl Watch {
    /// A watch that looks every `stall`.
    pub fn new(stall: Interval) -> Self {
        Self {
            stall,
            next: Nanos::ZERO + stall,
            delivered_at: Nanos::ZERO,
            moved_before: 0,
            fruitless: 0,
            stuck: HashMap::default(),
        }
    }

    pub fn next(&self) -> Nanos {
        self.next
    }

    /// The instant of the look before the one at `now`.
    pub fn before(&self, now: Nanos) -> Nanos {
        now - self.stall
    }

    /// The `stuck` queues that were stuck at the last look too and have sent nothing since, sorted.
    pub fn standing(&mut self, stuck: Stuck) -> Vec<PausedQueue> {
        let standing =
            |queue: &PausedQueue| stuck.get(queue).is_some_and(|sent| self.stuck.get(queue) == Some(sent));
        let mut queues: Vec<PausedQueue> = stuck.keys().copied().filter(standing).collect();
        queues.sort_unstable();
        self.stuck = stuck;
        queues
    }

    /// Looks for a livelock at `now`, when the frames of all parts have moved `moved` times; returns how the run ends
    /// if there is one. Otherwise sets the next look.
    pub fn look_for_a_livelock(&mut self, now: Nanos, moved: u64, is_active: bool) -> Option<Ending> {
        let moved = moved != core::mem::replace(&mut self.moved_before, moved);
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

/// A cycle of the graph with these edges of each node; empty if there is none.
pub(crate) fn cycle(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut done = vec![false; edges.len()];
    for start in 0..edges.len() {
        // The path from `start` to the current node, with the edge of each node to try next.
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
