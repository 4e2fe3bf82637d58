//! The delay that several exchanges agree on.

use serde::{Deserialize, Serialize};
use units::Interval;

/// The exchanges that are looked at together.
pub(super) const WINDOW: usize = 8;
/// The place of the estimate among them, from the shortest on.
const RANK: usize = 2;

/// The delays of the last exchanges.
///
/// A software timestamp can only be late for a frame that comes in, and early for one that goes out, and each such
/// error makes the delay longer. So the shortest delays are the best ones. A clock that is set between two
/// timestamps, or someone who forges one, makes a delay of any length. So the estimate is the third shortest delay of
/// eight: two that are too short do not matter, nor do five that are too long.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Samples {
    delays: [Interval; WINDOW],
    count: usize,
    next: usize,
}

impl Samples {
    pub fn push(&mut self, delay: Interval) {
        self.delays[self.next] = delay;
        self.next = (self.next + 1) % WINDOW;
        self.count = (self.count + 1).min(WINDOW);
    }

    /// The estimate; `None` until the window is full.
    pub fn estimate(&self) -> Option<Interval> {
        if self.count < WINDOW {
            return None;
        }
        let mut delays = self.delays;
        delays.sort_unstable();
        Some(delays[RANK])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(delays: &[u64]) -> Option<u64> {
        let mut samples = Samples::default();
        delays.iter().for_each(|delay| samples.push(Interval(*delay)));
        samples.estimate().map(|delay| delay.0)
    }

    #[test]
    fn there_is_no_estimate_before_the_window_is_full() {
        assert_eq!(estimate(&[5; 7]), None);
        assert_eq!(estimate(&[5; 8]), Some(5));
    }

    #[test]
    fn two_short_delays_and_five_long_ones_change_nothing() {
        assert_eq!(estimate(&[400, 0, 400, 401, 3, 400, 400, 400]), Some(400));
        assert_eq!(estimate(&[400, 900, 400, 900, 900, 900, 400, 900]), Some(400));
    }

    #[test]
    fn a_longer_link_is_seen_after_six_exchanges_and_a_shorter_one_after_three() {
        let changed = |to, exchanges| estimate(&[vec![400; 8], vec![to; exchanges]].concat());
        assert_eq!([5, 6].map(|exchanges| changed(700, exchanges)), [Some(400), Some(700)]);
        assert_eq!([2, 3].map(|exchanges| changed(100, exchanges)), [Some(400), Some(100)]);
    }
}
