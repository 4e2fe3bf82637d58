//! Whose turn it is: strict priority above deficit weighted round robin.

use crate::program::{QueueSettings, Scheduling};
use units::{BitRate, Bytes, Interval, Priority, PrioritySet, WireBytes};

/// For so long a queue may send before the others have their turn, or for the longest frame if that takes longer: the
/// others wait no longer, however unequal the weights are and slow the link is.
const LONGEST_TURN: Interval = Interval::from_millis(1);

/// The state of one port's round.
#[derive(Debug)]
pub(crate) struct Scheduler {
    strict: PrioritySet,
    /// The longest frame on the link, in wire bytes.
    longest: u64,
    /// What a weighted queue may send per round, in wire bytes.
    quantum: [u64; Priority::COUNT],
    /// What is left of it.
    deficit: [u64; Priority::COUNT],
    /// The weighted queue whose visit it is.
    visited: Priority,
}

impl Scheduler {
    /// For the queues of a port of `rate` through which frames of `max_frame` leave, without FCS.
    pub fn new(queues: &[QueueSettings; Priority::COUNT], max_frame: Bytes, rate: BitRate) -> Self {
        let mut scheduler = Self {
            strict: PrioritySet::EMPTY,
            longest: 0,
            quantum: [0; Priority::COUNT],
            deficit: [0; Priority::COUNT],
            visited: Priority::default(),
        };
        scheduler.configure(queues, max_frame, rate);
        scheduler
    }

    /// New weights, from the next visit on.
    ///
    /// The least weight gets the longest frame per round, so that every visit sends one, and the others get as much more
    /// as they weigh. Where that would be more than [`LONGEST_TURN`] for one of them, all get less, and the light
    /// ones save up over several rounds.
    pub fn configure(&mut self, queues: &[QueueSettings; Priority::COUNT], max_frame: Bytes, rate: BitRate) {
        let weight = |queue: &QueueSettings| match queue.scheduling {
            Scheduling::Strict => None,
            Scheduling::Weighted(weight) => Some(u64::from(weight)),
        };
        let weights = || queues.iter().filter_map(weight);
        let (least, most) = (weights().min().unwrap_or(1), weights().max().unwrap_or(1));
        self.longest = WireBytes::of_frame(max_frame).0;
        let longest_turn = self.longest.max(rate.bytes_in(LONGEST_TURN));
        // The heaviest queue gets so much, and the others in proportion.
        let turn = (self.longest * most / least).min(longest_turn);
        self.strict = PrioritySet::EMPTY;
        for priority in Priority::all() {
            match weight(&queues[priority.index()]) {
                None => self.strict = self.strict.with(priority),
                Some(weight) => self.quantum[priority.index()] = (turn * weight / most).max(1),
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
        // A round adds a quantum to each. Where the longest frame fits each of them one is enough, and otherwise one for each
        // time that the heaviest weighs more than the lightest: 255 at most.
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
            *deficit = quantum + (*deficit).min(self.longest);
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
    use crate::program::{LossyQueue, Threshold};
    use proptest::prelude::*;

    const FRAME: Bytes = Bytes(1_514);

    /// What two queues of weights 1 and 50, which always hold frames of 1,514 bytes, send in so many turns through a port
    /// of `rate`, and the longest turn.
    fn share(rate: BitRate, turns: u32) -> ([u64; 2], u64) {
        let lossy = LossyQueue { reserved: Bytes::ZERO, threshold: Threshold::Static(Bytes::MAX) };
        let queue = |scheduling| QueueSettings { scheduling, rate_limit: None, red: None, lossy };
        let mut queues = core::array::from_fn(|_| queue(Scheduling::Strict));
        (queues[0], queues[1]) = (queue(Scheduling::Weighted(1)), queue(Scheduling::Weighted(50)));
        let mut scheduler = Scheduler::new(&queues, FRAME, rate);
        let (frame, mut sent, mut longest) = (WireBytes::of_frame(FRAME), [0; 2], 0);
        for _ in 0..turns {
            let (queue, allowance) = scheduler.choose(PrioritySet::from_bits(0b11), |_| frame).unwrap();
            let bytes = allowance / frame.0 * frame.0;
            assert!(bytes > 0, "every turn sends a frame");
            scheduler.served(queue, bytes, false);
            sent[queue.index()] += bytes;
            longest = longest.max(bytes);
        }
        (sent, longest)
    }

    #[test]
    fn a_heavy_queue_of_a_slow_port_lets_the_others_have_their_turn_in_time_and_still_gets_its_share() {
        let slow = BitRate::megabits(20);
        let (sent, longest) = share(slow, 10_000);
        let ratio = sent[1] as f64 / sent[0] as f64;
        assert!((49.5..50.5).contains(&ratio), "{ratio}");
        assert!(longest <= slow.bytes_in(LONGEST_TURN * 2), "{longest}");
    }

    #[test]
    fn where_a_turn_is_short_enough_the_lightest_queue_sends_a_frame_in_each_round() {
        let (sent, longest) = share(BitRate::gigabits(100), 200);
        assert_eq!((sent[1], longest), (50 * sent[0], 50 * 1_538));
    }

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
