//! The pseudo-queue: the queue that there would be if the link had the rate advertised by the other end.

use serde::{Deserialize, Serialize};
use units::{BitRate, Nanos, WireBytes};

/// A byte in bits times 10^9: in this unit, the product of a rate and a time needs no rounding.
const BYTE: u128 = 8_000_000_000;

/// Equation (10): `dQ* = (R_in - R) dt`, at least zero, and at most its limit.
///
/// The paper sets no limit. But bytes beyond it have left for the link all the same, and stand in the queue of the
/// other end, whose advertised rate already compensates for them. If they counted here as well, they would hold
/// senders down for as long again: for tens of milliseconds, after a round trip without notifications.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PseudoQueue {
    bytes: WireBytes,
    /// Its limit.
    most: WireBytes,
    /// The drained part of the next byte, in units of 1 / [`BYTE`].
    drained: u64,
    at: Nanos,
    /// Its greatest length before it last drained: it only grows until it drains.
    longest: WireBytes,
    /// All that has drained so far.
    left: WireBytes,
    /// All that has arrived here so far, which wraps.
    arrived: WireBytes,
}

impl PseudoQueue {
    /// An empty queue with a limit, or without one.
    pub fn new(limit: Option<WireBytes>) -> Self {
        let most = limit.unwrap_or(WireBytes(u64::MAX));
        let none = WireBytes(0);
        Self { bytes: none, most, drained: 0, at: Nanos::ZERO, longest: none, left: none, arrived: none }
    }

    /// Sets another limit; the content stays, as far as it fits.
    pub fn configure(&mut self, limit: Option<WireBytes>) {
        self.longest = self.longest();
        self.most = limit.unwrap_or(WireBytes(u64::MAX));
        self.bytes = self.bytes.min(self.most);
    }

    /// Drains it until `now` at `rate`; without a rate it is empty.
    pub fn drain(&mut self, now: Nanos, rate: Option<BitRate>) {
        let elapsed = now.since(self.at);
        self.at = now;
        self.longest = self.longest();
        let Some(rate) = rate else {
            (self.bytes, self.drained) = (WireBytes(0), 0);
            return;
        };
        let drained = u128::from(rate.bits_per_second()) * u128::from(elapsed.0) + u128::from(self.drained);
        let whole = u64::try_from(drained / BYTE).unwrap_or(u64::MAX);
        // An empty queue does not drain.
        self.drained = if whole < self.bytes.0 { (drained % BYTE) as u64 } else { 0 };
        let whole = whole.min(self.bytes.0);
        self.bytes.0 -= whole;
        self.left.0 = self.left.0.wrapping_add(whole);
    }

    /// Adds arriving bytes.
    #[inline]
    pub fn arrive(&mut self, bytes: WireBytes) {
        self.arrived.0 = self.arrived.0.wrapping_add(bytes.0);
        self.add(bytes);
    }

    /// Adds bytes that have arrived at other lanes.
    #[inline]
    pub fn add(&mut self, bytes: WireBytes) {
        self.bytes = WireBytes(self.bytes.0.saturating_add(bytes.0)).min(self.most);
    }

    /// Takes the length that another lane has found.
    pub fn set(&mut self, bytes: WireBytes) {
        self.longest = self.longest();
        self.bytes = bytes.min(self.most);
    }

    /// Its length, rounded up to whole bytes.
    #[inline]
    pub fn bytes(&self) -> WireBytes {
        self.bytes
    }

    /// All bytes that have arrived here.
    pub fn arrived(&self) -> WireBytes {
        self.arrived
    }

    /// All bytes that have drained at a rate so far, which wraps.
    #[inline]
    pub fn left(&self) -> WireBytes {
        self.left
    }

    /// Its greatest length.
    pub fn longest(&self) -> WireBytes {
        self.longest.max(self.bytes)
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
            limit in proptest::option::of(0_u64..4_000_000),
            steps in proptest::collection::vec((0_u64..1_000_000, 0_u64..100_000), 1..200),
        ) {
            let mut queue = PseudoQueue::new(limit.map(WireBytes));
            let most = limit.map_or(f64::INFINITY, |limit| limit as f64);
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
        let mut queue = PseudoQueue::new(None);
        queue.arrive(WireBytes(1_000));
        for step in 1..=1_000 {
            // Half a byte each.
            queue.drain(Nanos(step * 4), BitRate::new(1_000_000_000));
        }
        assert_eq!(queue.bytes(), WireBytes(500));
    }

    #[test]
    fn a_queue_that_has_emptied_keeps_no_part_of_a_byte() {
        let mut queue = PseudoQueue::new(None);
        queue.arrive(WireBytes(1));
        // One byte and seven eighths.
        queue.drain(Nanos(15), BitRate::new(1_000_000_000));
        queue.arrive(WireBytes(1));
        queue.drain(Nanos(16), BitRate::new(1_000_000_000));
        assert_eq!(queue.bytes(), WireBytes(1));
    }

    #[test]
    fn what_does_not_fit_is_forgotten_and_a_lower_limit_lets_less_stay() {
        let mut queue = PseudoQueue::new(Some(WireBytes(2_000_000)));
        (0..10).for_each(|_| queue.arrive(WireBytes(400_000)));
        assert_eq!((queue.bytes(), queue.longest()), (WireBytes(2_000_000), WireBytes(2_000_000)));
        queue.configure(Some(WireBytes(200_000)));
        assert_eq!(queue.bytes(), WireBytes(200_000));
        queue.configure(None);
        (0..10).for_each(|_| queue.arrive(WireBytes(400_000)));
        assert_eq!(queue.bytes(), WireBytes(4_200_000), "without a limit all of it counts");
    }

    #[test]
    fn what_left_is_what_drained_and_not_what_was_forgotten() {
        let mut queue = PseudoQueue::new(Some(WireBytes(1_500)));
        queue.arrive(WireBytes(1_000));
        queue.drain(Nanos(4_000), BitRate::new(1_000_000_000));
        assert_eq!((queue.left(), queue.bytes()), (WireBytes(500), WireBytes(500)));
        queue.arrive(WireBytes(9_000));
        queue.drain(Nanos(1_000_000), BitRate::new(1_000_000_000));
        assert_eq!(queue.left(), WireBytes(2_000), "no more than there was room for");
        queue.arrive(WireBytes(1_000));
        queue.drain(Nanos(1_000_001), None);
        assert_eq!(queue.left(), WireBytes(2_000));
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut queue = PseudoQueue::new(None);
        queue.arrive(WireBytes(1_000));
        queue.drain(Nanos(1), None);
        assert_eq!(queue.bytes(), WireBytes(0));
        assert_eq!(queue.longest(), WireBytes(1_000));
    }
}
