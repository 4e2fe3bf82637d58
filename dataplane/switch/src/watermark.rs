//! The highest level that a figure has reached.

use serde::{Deserialize, Serialize};
use units::Bytes;

/// Two watermarks of one figure, as SONiC keeps them: one since the start, one since the last read that cleared it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    since_cleared: u64,
    persistent: u64,
}

impl Watermark {
    /// Notes that the figure is at `level`.
    #[inline]
    pub(crate) fn note(&mut self, level: u64) {
        if level > self.since_cleared {
            self.since_cleared = level;
            self.persistent = self.persistent.max(level);
        }
    }

    /// The higher of both, for each mark.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            since_cleared: self.since_cleared.max(other.since_cleared),
            persistent: self.persistent.max(other.persistent),
        }
    }

    /// The highest level since the start.
    pub fn persistent(&self) -> Bytes {
        Bytes(self.persistent)
    }

    /// The highest level since the last clear.
    pub fn since_cleared(&self) -> Bytes {
        Bytes(self.since_cleared)
    }

    /// Restarts the cleared mark at `level`, the present level of the figure.
    pub(crate) fn clear(&mut self, level: u64) {
        self.since_cleared = level;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_starts_again_from_the_present_level_and_leaves_the_persistent_mark() {
        let mut mark = Watermark::default();
        mark.note(10);
        mark.note(4);
        assert_eq!(mark.since_cleared(), Bytes(10));
        mark.clear(4);
        assert_eq!(mark.since_cleared(), Bytes(4));
        mark.note(7);
        assert_eq!(mark.since_cleared(), Bytes(7));
        assert_eq!(mark.persistent(), Bytes(10));
    }

    #[test]
    fn the_higher_of_two_is_taken_for_each_mark() {
        let (mut one, mut other) = (Watermark::default(), Watermark::default());
        one.note(10);
        one.clear(2);
        other.note(7);
        for highest in [one.max(other), other.max(one)] {
            assert_eq!((highest.persistent(), highest.since_cleared()), (Bytes(10), Bytes(7)));
        }
    }
}
