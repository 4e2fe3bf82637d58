//! The numbers of messages from the other end of a link.

use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// A message whose number is this little behind the last one was overtaken; one further behind comes from a peer that
/// has restarted.
const REORDERED: u32 = 64;

/// A message that comes so long after the last one that was taken was overtaken by none, whatever its number. So a forged
/// number deafens a port for no longer, at any pace of true messages.
const SETTLED: Interval = Interval::from_millis(10);

/// The number of the last message, and what the numbers say about lost ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    last: Option<u32>,
    /// The time at which it came.
    at: Nanos,
    /// Messages taken.
    pub taken: u64,
    /// Messages that never came, by the gaps in the numbers.
    pub missed: u64,
    /// Messages that came twice, or late behind another one.
    pub ignored: u64,
}

impl Sequence {
    /// Takes the next message whatever its number, because its sender has restarted.
    pub(crate) fn restart(&mut self) {
        self.last = None;
    }

    /// Notes the number of a message that comes at `now`. Returns whether it is to be taken.
    pub(crate) fn take(&mut self, now: Nanos, number: u32) -> bool {
        let ahead = self.last.map_or(1, |last| number.wrapping_sub(last));
        let is_behind = ahead == 0 || ahead.wrapping_neg() <= REORDERED;
        if is_behind && now < self.at + SETTLED {
            self.ignored += 1;
            return false;
        }
        // A jump of half the numbers or more is a restart, not a gap.
        self.missed += if ahead < 1 << 31 { u64::from(ahead.saturating_sub(1)) } else { 0 };
        self.taken += 1;
        (self.last, self.at) = (Some(number), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_twice_or_late_is_ignored_and_a_gap_is_counted() {
        let mut sequence = Sequence::default();
        let taken = [u32::MAX, 0, 3, 3, 2, u32::MAX, 4].map(|number| sequence.take(Nanos(0), number));
        assert_eq!(taken, [true, true, true, false, false, false, true]);
        assert_eq!((sequence.taken, sequence.missed, sequence.ignored), (4, 2, 3));
    }

    #[test]
    fn a_peer_that_restarts_is_heard_at_once() {
        let mut sequence = Sequence::default();
        assert!([1_000_000, 1, 2].into_iter().all(|number| sequence.take(Nanos(0), number)));
        assert_eq!((sequence.taken, sequence.missed), (3, 0));
    }

    #[test]
    fn a_peer_that_is_known_to_have_restarted_may_begin_anywhere() {
        let mut sequence = Sequence::default();
        sequence.take(Nanos(0), 10);
        sequence.restart();
        assert!(sequence.take(Nanos(0), 1) && !sequence.take(Nanos(0), 1));
        assert_eq!(sequence.missed, 0);
    }

    #[test]
    fn a_message_that_is_64_behind_was_overtaken_and_one_further_behind_was_not() {
        for (behind, taken) in [(64, false), (65, true)] {
            let mut sequence = Sequence::default();
            sequence.take(Nanos(0), 1_000);
            assert_eq!(sequence.take(Nanos(0), 1_000 - behind), taken);
        }
    }

    #[test]
    fn a_number_far_ahead_deafens_a_port_for_10_ms_at_most_at_any_pace() {
        for pace in [Interval(10_000), Interval::from_millis(1), Interval::from_millis(10)] {
            let (mut sequence, mut now) = (Sequence::default(), Nanos(5));
            assert!(sequence.take(now, 1_000) && sequence.take(now, 1_064), "the second one is forged");
            let heard = (1_001..).find(|number| {
                now += pace;
                sequence.take(now, *number)
            });
            let messages = SETTLED.0.div_ceil(pace.0).min(u64::from(REORDERED)) as u32;
            assert_eq!(heard, Some(1_000 + messages.max(1) + u32::from(messages == REORDERED)), "{pace}");
        }
    }
}
