//! The choice of the next queue: strict priority above deficit weighted round robin.

use crate::program::{QueueSettings, Scheduling, longest_quantum};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Priority, QueueId, QueueSet, WireBytes};

/// The round of all weighted queues, behind those of the strict queues of each priority.
const WEIGHTED: usize = Priority::COUNT;

/// The share of one queue, in wire bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Share {
    /// Added to the deficit in each visit.
    quantum: u64,
    /// Bytes that it may still send.
    deficit: u64,
}

/// The scheduler of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Scheduler {
    /// The strict queues of each priority.
    strict: [QueueSet; Priority::COUNT],
    /// The longest frame on the link, in wire bytes.
    longest: u64,
    shares: Vec<Share>,
    /// The visited queue of each round.
    visited: [QueueId; WEIGHTED + 1],
}

impl Scheduler {
    /// A scheduler for the queues of a port of `rate`, with frames of up to `max_frame`, without FCS.
    pub fn new(queues: &[QueueSettings], max_frame: Bytes, rate: BitRate) -> Self {
        let mut scheduler = Self {
            strict: Default::default(),
            longest: 0,
            shares: vec![Share::default(); queues.len()],
            visited: Default::default(),
        };
        scheduler.configure(queues, max_frame, rate);
        scheduler
    }

    /// Applies new weights from the next visit on.
    ///
    /// The quantum of the least weight is the longest frame, so that every visit sends one, and the other quanta
    /// are in proportion to the weights. If that exceeded [`Scheduling::LONGEST_TURN`] for a queue, all get less, and light
    /// queues save up over several rounds. The quantum of a strict queue is the longest frame.
    pub fn configure(&mut self, queues: &[QueueSettings], max_frame: Bytes, rate: BitRate) {
        let weight = |queue: &QueueSettings| queue.scheduling.weight().map(u64::from);
        let most = queues.iter().filter_map(weight).max().unwrap_or(1);
        self.longest = WireBytes::of_frame(max_frame).0;
        // The heaviest queue gets this quantum, and the others in proportion.
        let turn = longest_quantum(queues, max_frame, rate).0;
        self.strict = Default::default();
        for (id, (share, queue)) in
            QueueSet::first(queues.len()).iter().zip(self.shares.iter_mut().zip(queues))
        {
            share.quantum = weight(queue).map_or(self.longest, |weight| (turn * weight / most).max(1));
            if queue.scheduling == Scheduling::Strict {
                let strict = &mut self.strict[queue.priority.index()];
                *strict = strict.with(id);
            }
        }
    }

    /// Chooses the queue to serve out of `eligible`, and the wire bytes that it may send before the next choice.
    /// `head` returns the wire length of a queue's first frame.
    #[inline]
    pub fn choose(
        &mut self,
        eligible: QueueSet,
        head: impl Fn(QueueId) -> WireBytes,
    ) -> Option<(QueueId, u64)> {
        if eligible.is_single() {
            return eligible.highest().map(|only| (only, u64::MAX));
        }
        self.choose_among(eligible, head)
    }

    fn choose_among(
        &mut self,
        eligible: QueueSet,
        head: impl Fn(QueueId) -> WireBytes,
    ) -> Option<(QueueId, u64)> {
        let strict = self.strict.iter().map(|queues| eligible.intersection(*queues));
        let highest = strict.enumerate().rfind(|(_, queues)| !queues.is_empty());
        let (round, queues) = highest.unwrap_or((WEIGHTED, eligible));
        if queues.is_single() {
            return queues.highest().map(|only| (only, u64::MAX));
        }
        // A round adds a quantum to each queue. One round is enough if each quantum holds the longest frame.
        // Otherwise it takes at most the ratio of the heaviest to the lightest weight: 255.
        loop {
            let visited = self.visited[round];
            let deficit = self.shares[visited.index()].deficit;
            if queues.contains(visited) && head(visited).0 <= deficit {
                return Some((visited, deficit));
            }
            let next = queues.next_after(visited)?;
            self.visited[round] = next;
            // A queue whose visit ended because its head did not fit has less than the longest frame left. A queue
            // with more was paused or held back during its visit, and saves nothing up.
            let share = &mut self.shares[next.index()];
            share.deficit = share.quantum + share.deficit.min(self.longest);
        }
    }

    /// Deducts `bytes`, which `queue` has sent of its allowance. `empty` says whether it is empty now.
    #[inline]
    pub fn served(&mut self, queue: QueueId, bytes: u64, empty: bool) {
        let deficit = &mut self.shares[queue.index()].deficit;
        // An idle queue saves nothing up.
        *deficit = if empty { 0 } else { deficit.saturating_sub(bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{LossyQueue, PortSettings, Threshold};
    use proptest::prelude::*;
    use wire::ethernet::MacAddress;

    const FRAME: Bytes = Bytes(1_514);
    const FAST: BitRate = BitRate::gigabits(100);
    const STRICT: Scheduling = Scheduling::Strict;

    fn queue(priority: u8, scheduling: Scheduling) -> QueueSettings {
        let lossy = LossyQueue { reserved: Bytes::ZERO, threshold: Threshold::Static(Bytes::MAX) };
        let priority = Priority::from_low_bits(priority);
        QueueSettings { priority, scheduling, rate_limit: None, red: None, lossy }
    }

    /// The bytes that each of `queues` sends in so many turns through a port of `rate`, and those of the longest turn.
    /// The `eligible` queues always hold frames of 1,514 bytes.
    fn sent(queues: &[QueueSettings], eligible: QueueSet, rate: BitRate, turns: u32) -> (Vec<u64>, u64) {
        let mut scheduler = Scheduler::new(queues, FRAME, rate);
        let (frame, mut sent, mut longest) = (WireBytes::of_frame(FRAME), vec![0; queues.len()], 0);
        for _ in 0..turns {
            let (queue, allowance) = scheduler.choose(eligible, |_| frame).unwrap();
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
        let queues = [1, 50].map(|weight| queue(0, Scheduling::Weighted(weight)));
        let (sent, longest) = sent(&queues, QueueSet::first(2), slow, 10_000);
        let ratio = sent[1] as f64 / sent[0] as f64;
        assert!((49.5..50.5).contains(&ratio), "{ratio}");
        assert!(longest <= slow.bytes_in(Scheduling::LONGEST_TURN * 2), "{longest}");
    }

    #[test]
    fn where_a_turn_is_short_enough_the_lightest_queue_sends_a_frame_in_each_round() {
        let queues = [2, 100].map(|weight| queue(0, Scheduling::Weighted(weight)));
        let (sent, longest) = sent(&queues, QueueSet::first(2), FAST, 200);
        assert_eq!((sent[1], longest), (50 * sent[0], 50 * 1_538));
    }

    #[test]
    fn strict_queues_of_the_highest_priority_send_in_turn_and_all_others_wait() {
        let weighted = Scheduling::Weighted(9);
        let queues =
            [queue(5, STRICT), queue(2, STRICT), queue(5, STRICT), queue(7, weighted), queue(5, STRICT)];
        let each = 10 * 1_538;
        assert_eq!(sent(&queues, QueueSet::first(5), FAST, 30), (vec![each, 0, each, 0, each], 1_538));
    }

    #[test]
    fn weighted_queues_share_by_their_own_weights_whatever_their_priorities() {
        let weights = [(3, 1), (4, 2), (3, 3), (3, 2)];
        let queues = weights.map(|(priority, weight)| queue(priority, Scheduling::Weighted(weight)));
        let (sent, _) = sent(&queues, QueueSet::first(4), FAST, 400);
        assert_eq!(sent, weights.map(|(_, weight)| u64::from(weight) * 100 * 1_538));
    }

    #[test]
    fn a_strict_frame_between_two_visits_leaves_the_round_of_weighted_queues_as_it_was() {
        let queues = [queue(0, Scheduling::Weighted(1)), queue(0, Scheduling::Weighted(3)), queue(1, STRICT)];
        let mut scheduler = Scheduler::new(&queues, FRAME, FAST);
        let (all, frame, mut sent) = (QueueSet::first(3), WireBytes::of_frame(FRAME), [0; 3]);
        for turn in 0..400 {
            let eligible = if turn % 2 == 0 { all } else { QueueSet::first(2) };
            let (queue, _) = scheduler.choose(eligible, |_| frame).unwrap();
            scheduler.served(queue, frame.0, false);
            sent[queue.index()] += 1;
        }
        assert_eq!(sent, [50, 150, 200]);
    }

    proptest! {
        /// Whatever their frames: in no stretch of time does one queue send more than the other and a visit.
        #[test]
        fn of_two_queues_of_one_weight_none_gets_ahead_by_more_than_a_visit(
            weight in 1..=255_u8,
            megabits in prop::sample::select(vec![10_u64, 1_000, 400_000]),
            frames in prop::collection::vec([60..=9_118_u64, 60..=9_118_u64], 1..40),
        ) {
            let port = PortSettings {
                max_frame: Bytes(9_118),
                queues: [weight, weight, 1].map(|it| queue(0, Scheduling::Weighted(it))).into(),
                ..PortSettings::lossy("a", MacAddress([2, 0, 0, 0, 0, 1]), BitRate::megabits(megabits))
            };
            let mut scheduler = Scheduler::new(&port.queues, port.max_frame, port.rate);
            let (mut next, mut ahead, mut extremes) = ([0_usize; 2], 0_i64, (0_i64, 0_i64));
            for _ in 0..4_000 {
                let head = |it: QueueId| {
                    WireBytes::of_frame(Bytes(frames[next[it.index()] % frames.len()][it.index()]))
                };
                let (chosen, allowance) = scheduler.choose(QueueSet::first(2), head).unwrap();
                let sent = head(chosen).0;
                prop_assert!(sent <= allowance);
                scheduler.served(chosen, sent, false);
                next[chosen.index()] += 1;
                ahead += if chosen.index() == 0 { sent as i64 } else { -(sent as i64) };
                extremes = (extremes.0.min(ahead), extremes.1.max(ahead));
                // The furthest from the point at which the other was furthest ahead.
                let got = (ahead - extremes.0).max(extremes.1 - ahead) as u64;
                prop_assert!(got <= port.longest_visit().0, "{got} of {}", port.longest_visit().0);
            }
        }
    }
}
