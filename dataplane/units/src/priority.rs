//! The eight priorities of IEEE 802.1Q, and sets of them.

use crate::bit_set::bit_set;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A priority, 0 to 7. It also numbers the traffic class and the priority group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Priority(u8);

/// The number is not a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("priority {0} is not one of 0 to 7")]
pub struct PriorityOutOfRange(pub u8);

impl Priority {
    /// The number of priorities.
    pub const COUNT: usize = 8;

    /// Priority `number`, 0 to 7.
    ///
    /// # Errors
    /// [`PriorityOutOfRange`] for 8 and above.
    pub const fn new(number: u8) -> Result<Self, PriorityOutOfRange> {
        if number < 8 { Ok(Self(number)) } else { Err(PriorityOutOfRange(number)) }
    }

    /// The priority in the low three bits, as a PCP field carries it.
    #[inline]
    pub const fn from_low_bits(bits: u8) -> Self {
        Self(bits & 7)
    }

    /// All eight, lowest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..8).map(Self)
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its number, to index a table of [`Priority::COUNT`] rows.
    #[inline]
    pub const fn index(self) -> usize {
        // The mask is free and tells the compiler that an index into a table of eight is in bounds.
        (self.0 & 7) as usize
    }
}

impl TryFrom<u8> for Priority {
    type Error = PriorityOutOfRange;

    fn try_from(number: u8) -> Result<Self, PriorityOutOfRange> {
        Self::new(number)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of priorities: bit n is priority n, as in a class-enable vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PrioritySet(u8);

bit_set!(PrioritySet(u8) of Priority);

impl PrioritySet {
    /// All eight.
    pub const ALL: Self = Self(0xff);

    /// The set whose bits are `bits`.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// One bit per member.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_is_no_priority() {
        assert_eq!(Priority::new(8), Err(PriorityOutOfRange(8)));
        assert_eq!(Priority::new(7).map(Priority::number), Ok(7));
    }

    #[test]
    fn a_set_gives_back_what_was_put_in_lowest_first() {
        let members = [Priority(6), Priority(0), Priority(3)];
        let set: PrioritySet = members.into_iter().collect();
        assert_eq!(set.iter().map(Priority::number).collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(set.highest(), Some(Priority(6)));
        assert!(set.without(Priority(3)).difference(set).is_empty());
        assert_eq!(set.bits(), 0b0100_1001);
    }
}
