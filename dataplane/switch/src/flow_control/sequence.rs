//! The numbers of messages from the other end of a link.

use serde::{Deserialize, Serialize};

/// A message whose number is this little behind the last one was overtaken; one further behind comes from a peer that
/// has restarted.
const REORDERED: u32 = 64;

/// The number of the last message, and what the numbers say about lost ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    last: Option<u32>,
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

    /// Notes the number of a message. Returns whether it is to be taken.
    pub(crate) fn take(&mut self, number: u32) -> bool {
        let ahead = self.last.map_or(1, |last| number.wrapping_sub(last));
        if ahead == 0 || ahead.wrapping_neg() <= REORDERED {
            self.ignored += 1;
            return false;
        }
        // A jump of half the numbers or more is a restart, not a gap.
        self.missed += if ahead < 1 << 31 { u64::from(ahead - 1) } else { 0 };
        self.taken += 1;
        self.last = Some(number);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_twice_or_late_is_ignored_and_a_gap_is_counted() {
        let mut sequence = Sequence::default();
        let taken = [u32::MAX, 0, 3, 3, 2, u32::MAX, 4].map(|number| sequence.take(number));
        assert_eq!(taken, [true, true, true, false, false, false, true]);
        assert_eq!((sequence.taken, sequence.missed, sequence.ignored), (4, 2, 3));
    }

    #[test]
    fn a_peer_that_restarts_is_heard_at_once() {
        let mut sequence = Sequence::default();
        assert!([1_000_000, 1, 2].into_iter().all(|number| sequence.take(number)));
        assert_eq!((sequence.taken, sequence.missed), (3, 0));
    }

    #[test]
    fn a_peer_that_is_known_to_have_restarted_may_begin_anywhere() {
        let mut sequence = Sequence::default();
        sequence.take(10);
        sequence.restart();
        assert!(sequence.take(1) && !sequence.take(1));
        assert_eq!(sequence.missed, 0);
    }

    #[test]
    fn a_message_that_is_64_behind_was_overtaken_and_one_further_behind_was_not() {
        for (behind, taken) in [(64, false), (65, true)] {
            let mut sequence = Sequence::default();
            sequence.take(1_000);
            assert_eq!(sequence.take(1_000 - behind), taken);
        }
    }
}
