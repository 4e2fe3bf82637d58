//! Whose turn it is: strict priority above deficit weighted round robin.

use crate::program::{QueueSettings, Scheduling};
use units::{Priority, PrioritySet, WireBytes};

/// The longest frame on a link, in wire bytes: the least quantum that gives every visit a frame.
const LONGEST: u64 = WireBytes::of_frame(crate::program::PortSettings::LARGEST_FRAME).0;

/// The state of one port's round.
#[derive(Debug)]
pub(crate) struct Scheduler {
    strict: PrioritySet,
    /// What a weighted queue may send per round, in wire bytes.
    quantum: [u64; Priority::COUNT],
    /// What is left of it.
    deficit: [u64; Priority::COUNT],
    /// The weighted queue whose visit it is.
    visited: Priority,
}

impl Scheduler {
    pub fn new(queues: &[QueueSettings; Priority::COUNT]) -> Self {
        let mut scheduler = Self {
            strict: PrioritySet::EMPTY,
            quantum: [0; Priority::COUNT],
            deficit: [0; Priority::COUNT],
            visited: Priority::default(),
        };
        scheduler.configure(queues);
        scheduler
    }

    /// New weights, from the next visit on.
    pub fn configure(&mut self, queues: &[QueueSettings; Priority::COUNT]) {
        let weight = |queue: &QueueSettings| match queue.scheduling {
            Scheduling::Strict => None,
            Scheduling::Weighted(weight) => Some(u64::from(weight)),
        };
        let least = queues.iter().filter_map(weight).min().unwrap_or(1);
        self.strict = PrioritySet::EMPTY;
        for priority in Priority::all() {
            match weight(&queues[priority.index()]) {
                None => self.strict = self.strict.with(priority),
                Some(weight) => self.quantum[priority.index()] = LONGEST * weight / least,
            }
        }
    }

    /// The queue to serve out of `eligible`, and how many wire bytes it may send before somebody
    /// else is to be asked. `head` tells the wire length of a queue's first frame.
    #[inline]
    pub fn choose(
        &mut self,
        eligible: PrioritySet,
        head: impl Fn(Priority) -> WireBytes,
    ) -> Option<(Priority, u64)> {
        if let Some(strict) = eligible.intersection(self.strict).highest() {
            return Some((strict, u64::MAX));
        }
        if eligible.is_single() {
            return eligible.highest().map(|only| (only, u64::MAX));
        }
        self.choose_weighted(eligible, head)
    }

    fn choose_weighted(
        &mut self,
        eligible: PrioritySet,
        head: impl Fn(Priority) -> WireBytes,
    ) -> Option<(Priority, u64)> {
        if eligible.is_empty() {
            return None;
        }
        // Every visit adds a quantum that the longest frame fits, so one round is enough.
        loop {
            let deficit = self.deficit[self.visited.index()];
            if eligible.contains(self.visited) && head(self.visited).0 <= deficit {
                return Some((self.visited, deficit));
            }
            self.visited = next_after(self.visited, eligible);
            // Whose visit ended because its head did not fit has less than the longest frame left.
            // Who has more was paused or held back in its visit, and saves nothing up for later.
            let quantum = self.quantum[self.visited.index()];
            let deficit = &mut self.deficit[self.visited.index()];
            *deficit = quantum + (*deficit).min(LONGEST);
        }
    }

    /// `queue` has sent `bytes` of what it was allowed and is now `empty` or not.
    #[inline]
    pub fn served(&mut self, queue: Priority, bytes: u64, empty: bool) {
        let deficit = &mut self.deficit[queue.index()];
        // An idle queue saves nothing up for later.
        *deficit = if empty { 0 } else { deficit.saturating_sub(bytes) };
    }
}

/// The member of `eligible` that follows `queue` in the round, which may be `queue` itself.
#[inline]
fn next_after(queue: Priority, eligible: PrioritySet) -> Priority {
    let rotated = eligible.bits().rotate_right(u32::from(queue.number()) + 1);
    let step = rotated.trailing_zeros() as u8 + 1;
    Priority::from_low_bits(queue.number().wrapping_add(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_round_visits_the_eligible_queues_in_turn(queue in 0_u8..8, bits in 1_u8..) {
            let eligible = PrioritySet::from_bits(bits);
            let queue = Priority::new(queue).unwrap();
            let naive = (1..=8).map(|step| Priority::from_low_bits(queue.number() + step));
            let expected = naive.into_iter().find(|next| eligible.contains(*next));
            prop_assert_eq!(Some(next_after(queue, eligible)), expected);
        }
    }
}
