//! The pseudo-queue: what would wait if the link had the rate that the other end advertised.

use units::{BitRate, Nanos, WireBytes};

/// A byte in bits times 10^9: the unit in which a rate times a time comes out without rounding.
const BYTE: u128 = 8_000_000_000;

/// Room above any reference.
const LEAST_ABOVE: WireBytes = WireBytes(64 << 10);

/// Equation (10): `dQ* = (R_in - R) dt`, never below zero, and never more than it may hold.
///
/// The paper sets no upper end. But what does not fit has gone out to the link all the same, and stands in the queue of
/// the other end, for which the rate that it advertises makes up already. Counted here as well, it would hold senders
/// down for as long again: after a round trip in which nobody could be told, for tens of milliseconds.
#[derive(Debug)]
pub(crate) struct PseudoQueue {
    bytes: WireBytes,
    /// The most that it holds.
    most: WireBytes,
    /// What has drained of the next byte, in units of which [`BYTE`] make one.
    drained: u64,
    at: Nanos,
    longest: WireBytes,
}

impl PseudoQueue {
    /// An empty one for this reference, Q\*ref: it holds twice as much, and some frames at least.
    pub fn new(reference: WireBytes) -> Self {
        let most = Self::most(reference);
        Self { bytes: WireBytes(0), most, drained: 0, at: Nanos::ZERO, longest: WireBytes(0) }
    }

    /// Another reference; what is in it stays, as far as it fits.
    pub fn configure(&mut self, reference: WireBytes) {
        self.most = Self::most(reference);
        self.bytes = self.bytes.min(self.most);
    }

    fn most(reference: WireBytes) -> WireBytes {
        WireBytes(reference.0.saturating_add(reference.0.max(LEAST_ABOVE.0)))
    }

    /// Lets it drain until `now` at `rate`; without one it is empty.
    pub fn drain(&mut self, now: Nanos, rate: Option<BitRate>) {
        let elapsed = now.since(self.at);
        self.at = now;
        let Some(rate) = rate else {
            (self.bytes, self.drained) = (WireBytes(0), 0);
            return;
        };
        let drained = u128::from(rate.bits_per_second()) * u128::from(elapsed.0) + u128::from(self.drained);
        let whole = u64::try_from(drained / BYTE).unwrap_or(u64::MAX);
        // An empty queue does not drain.
        self.drained = if whole < self.bytes.0 { (drained % BYTE) as u64 } else { 0 };
        self.bytes.0 = self.bytes.0.saturating_sub(whole);
    }

    /// Adds what comes in.
    #[inline]
    pub fn arrive(&mut self, bytes: WireBytes) {
        self.bytes = WireBytes(self.bytes.0 + bytes.0).min(self.most);
        self.longest = self.longest.max(self.bytes);
    }

    /// What is in it, rounded up to whole bytes.
    #[inline]
    pub fn bytes(&self) -> WireBytes {
        self.bytes
    }

    /// The most that was in it.
    pub fn longest(&self) -> WireBytes {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_the_integral_of_arrivals_less_rate_wherever_it_is_neither_empty_nor_full(
            rate in 1_u64..2_000_000_000_000,
            reference in 0_u64..2_000_000,
            steps in proptest::collection::vec((0_u64..1_000_000, 0_u64..100_000), 1..200),
        ) {
            let mut queue = PseudoQueue::new(WireBytes(reference));
            let most = (reference + reference.max(65_536)) as f64;
            let (mut now, mut model) = (0_u64, 0.0_f64);
            for (elapsed, bytes) in steps {
                now += elapsed;
                queue.drain(Nanos(now), BitRate::new(rate));
                model = (model - rate as f64 * elapsed as f64 / 8e9).max(0.0);
                prop_assert!((queue.bytes().0 as f64 - model).abs() < 2.0 + model * 1e-9);
                queue.arrive(WireBytes(bytes));
                model = (model + bytes as f64).min(most);
            }
        }
    }

    #[test]
    fn what_drains_in_parts_of_a_byte_drains_in_the_end() {
        let mut queue = PseudoQueue::new(WireBytes(0));
        queue.arrive(WireBytes(1_000));
        for step in 1..=1_000 {
            // Half a byte each.
            queue.drain(Nanos(step * 4), BitRate::new(1_000_000_000));
        }
        assert_eq!(queue.bytes(), WireBytes(500));
    }

    #[test]
    fn a_queue_that_has_emptied_keeps_no_part_of_a_byte() {
        let mut queue = PseudoQueue::new(WireBytes(0));
        queue.arrive(WireBytes(1));
        // One byte and seven eighths.
        queue.drain(Nanos(15), BitRate::new(1_000_000_000));
        queue.arrive(WireBytes(1));
        queue.drain(Nanos(16), BitRate::new(1_000_000_000));
        assert_eq!(queue.bytes(), WireBytes(1));
    }

    #[test]
    fn what_does_not_fit_is_forgotten_and_a_lower_reference_lets_less_stay() {
        let mut queue = PseudoQueue::new(WireBytes(1_000_000));
        (0..10).for_each(|_| queue.arrive(WireBytes(400_000)));
        assert_eq!((queue.bytes(), queue.longest()), (WireBytes(2_000_000), WireBytes(2_000_000)));
        queue.configure(WireBytes(100_000));
        assert_eq!(queue.bytes(), WireBytes(200_000));
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut queue = PseudoQueue::new(WireBytes(0));
        queue.arrive(WireBytes(1_000));
        queue.drain(Nanos(1), None);
        assert_eq!(queue.bytes(), WireBytes(0));
        assert_eq!(queue.longest(), WireBytes(1_000));
    }
}
