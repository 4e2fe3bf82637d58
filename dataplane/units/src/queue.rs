//! Queue numbers and sets of them.

use crate::Priority;
use crate::bit_set::bit_set;
use core::fmt;
use serde::{Deserialize, Serialize};

/// An egress queue of one port: its position in the port's settings, from zero.
///
/// Queues 0 to 7 belong to the priorities of the same numbers. The settings of each further queue name its
/// priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueueId(u8);

impl QueueId {
    /// Queue `index`; `None` for [`QueueSet::CAPACITY`] and above.
    pub const fn new(index: usize) -> Option<Self> {
        if index < QueueSet::CAPACITY { Some(Self(index as u8)) } else { None }
    }

    /// The queue in the low six bits.
    #[inline]
    pub const fn from_low_bits(bits: u8) -> Self {
        Self(bits & 63)
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The number as an index into a table with one row per queue.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<Priority> for QueueId {
    /// The first queue of `priority`, which has the same number.
    #[inline]
    fn from(priority: Priority) -> Self {
        Self(priority.number())
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {}", self.0)
    }
}

/// A set of queues, one bit per queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueueSet(u64);

bit_set!(QueueSet(u64) of QueueId);

impl QueueSet {
    /// The largest number of queues of a set, and so of a port.
    pub const CAPACITY: usize = 64;

    /// Queues 0 to `count - 1`.
    pub const fn first(count: usize) -> Self {
        if count >= Self::CAPACITY { Self(u64::MAX) } else { Self((1 << count) - 1) }
    }

    /// The member that follows `queue` in a round over all members, which may be `queue` itself.
    #[inline]
    pub const fn next_after(self, queue: QueueId) -> Option<QueueId> {
        if self.0 == 0 {
            return None;
        }
        let behind = queue.0 + 1;
        let step = self.0.rotate_right(behind as u32).trailing_zeros() as u8;
        Some(QueueId::from_low_bits(behind + step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_is_no_queue() {
        assert_eq!(QueueId::new(64), None);
        assert_eq!(QueueId::new(63).map(QueueId::number), Some(63));
    }

    #[test]
    fn a_set_gives_back_what_was_put_in_lowest_first() {
        let set: QueueSet = [63, 0, 17].map(QueueId).into_iter().collect();
        assert_eq!(set.iter().map(QueueId::index).collect::<Vec<_>>(), [0, 17, 63]);
        assert_eq!((set.highest(), QueueSet::EMPTY.highest()), (Some(QueueId(63)), None));
        assert_eq!(set.difference(QueueSet::first(18)), QueueSet::EMPTY.with(QueueId(63)));
        assert!(set.without(QueueId(17)).difference(set).is_empty());
    }

    #[test]
    fn a_round_visits_the_members_in_turn() {
        for bits in [1, 1 << 63, 0b1010, u64::MAX, 1 | 1 << 63, 0x00f0_0000_8000_0001] {
            let set = QueueSet(bits);
            for queue in 0..64 {
                let mut round = (1..=64).map(|step| QueueId::from_low_bits(queue + step));
                assert_eq!(
                    set.next_after(QueueId(queue)),
                    round.find(|next| set.contains(*next)),
                    "{bits:x}"
                );
            }
        }
        assert_eq!(QueueSet::EMPTY.next_after(QueueId(5)), None);
    }
}
