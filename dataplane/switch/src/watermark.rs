//! The highest level that a figure has reached.

use units::Bytes;

/// Two watermarks of one figure, as SONiC keeps them: one since the start, one since it was last
/// read and cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    since_cleared: u64,
    persistent: u64,
}

impl Watermark {
    /// Notes that the figure stands at `level`.
    #[inline]
    pub(crate) fn note(&mut self, level: u64) {
        if level > self.since_cleared {
            self.since_cleared = level;
            self.persistent = self.persistent.max(level);
        }
    }

    /// The higher of both, mark by mark.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            since_cleared: self.since_cleared.max(other.since_cleared),
            persistent: self.persistent.max(other.persistent),
        }
    }

    /// The highest level ever.
    pub fn persistent(&self) -> Bytes {
        Bytes(self.persistent)
    }

    /// The highest level since it was last cleared.
    pub fn since_cleared(&self) -> Bytes {
        Bytes(self.since_cleared)
    }

    /// Starts the cleared mark again from `level`, where the figure stands now.
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
}
