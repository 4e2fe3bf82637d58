//! F, the virtual incoming bytes: bytes granted within the last round trip that may still come in.

use crate::program;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{BitRate, Interval, Nanos};

/// The two ways to keep it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum VirtualIncoming {
    Counter(Counter),
    History(History),
}

impl VirtualIncoming {
    /// Starts with everything granted: one round trip and one slot at line rate.
    pub fn new(settings: &program::Bifrost, rate: BitRate) -> Self {
        match settings.virtual_incoming {
            program::VirtualIncoming::Counter => {
                let most = rate.bytes_in(settings.round_trip + settings.slot);
                Self::Counter(Counter { bytes: most, most })
            }
            program::VirtualIncoming::History { jitter } => {
                Self::History(History::new(settings, settings.round_trip + jitter, rate))
            }
        }
    }

    /// Grants everything, as a port at rest begins its first slot at `now`.
    pub fn refill(&mut self, now: Nanos) {
        match self {
            Self::Counter(counter) => counter.bytes = counter.most,
            Self::History(history) => history.refill(now),
        }
    }

    /// Settles `arrived` bytes, which came in during the slot that ends at `now`.
    pub fn settle(&mut self, now: Nanos, arrived: u64) {
        match self {
            Self::Counter(counter) => counter.bytes = counter.bytes.saturating_sub(arrived),
            Self::History(history) => history.expire(now),
        }
    }

    /// Extends the grant of the running slot by `bytes`, because the slot lasted `late` longer than granted.
    pub fn extend(&mut self, late: Interval, bytes: u64) {
        match self {
            Self::Counter(counter) => counter.grant(bytes),
            Self::History(history) => history.extend(late, bytes),
        }
    }

    /// Grants `bytes` for the slot that begins at `now`.
    pub fn grant(&mut self, now: Nanos, bytes: u64) {
        match self {
            Self::Counter(counter) => counter.grant(bytes),
            Self::History(history) => history.grant(now, bytes),
        }
    }

    /// F at `now`, up to which it was settled.
    pub fn bytes(&self, now: Nanos) -> u64 {
        match self {
            Self::Counter(counter) => counter.bytes,
            Self::History(history) => history.bytes(now),
        }
    }

    /// Whether everything that the link can carry within a round trip and a slot is granted.
    pub fn is_full(&self, now: Nanos) -> bool {
        match self {
            Self::Counter(counter) => counter.bytes == counter.most,
            Self::History(history) => history.is_full(now),
        }
    }
}

/// The method of the paper: grants are added and arrivals deducted (algorithm 1, line 15), between zero and `BDP +
/// Rs T`.
///
/// An arrival moves bytes from F to L, so a leak is deducted as if it had been granted, and shows only when F would
/// fall below zero.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Counter {
    bytes: u64,
    most: u64,
}

impl Counter {
    fn grant(&mut self, bytes: u64) {
        self.bytes = (self.bytes + bytes).min(self.most);
    }
}

/// Longspan's own method: the grants of the last round trip in a ring. Unused grants expire one round trip later.
/// Arrivals beyond the grants show in the slot in which they arrive, because they are in L and still in F.
///
/// Its risk is a link longer than configured: a grant would expire while its bytes are still under way. Jitter is a
/// margin for that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct History {
    /// Round trip and jitter.
    round_trip: Interval,
    slot: Interval,
    rate: BitRate,
    grants: VecDeque<Grant>,
    /// Bytes of all grants but the first.
    behind_first: u64,
    /// The time since which everything was granted; never, while not everything is.
    full_since: Nanos,
}

/// Bytes that were granted and may still come in.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Grant {
    bytes: u64,
    /// The arrival of the last of them.
    until: Nanos,
}

impl History {
    fn new(settings: &program::Bifrost, round_trip: Interval, rate: BitRate) -> Self {
        let slots = round_trip.0.div_ceil(settings.slot.0.max(1)) as usize;
        Self {
            round_trip,
            slot: settings.slot,
            rate,
            // The grants of a round trip, of the running slot, and of one that is expiring.
            grants: VecDeque::with_capacity(slots + 3),
            behind_first: 0,
            full_since: Nanos::ZERO,
        }
    }

    /// Grants all that the link can carry until the slot that begins at `now` has arrived.
    fn refill(&mut self, now: Nanos) {
        self.grants.clear();
        let bytes = self.rate.bytes_in(self.round_trip + self.slot);
        self.grants.push_back(Grant { bytes, until: now + self.round_trip + self.slot });
        self.behind_first = 0;
        self.full_since = Nanos::ZERO;
    }

    fn grant(&mut self, now: Nanos, bytes: u64) {
        if !self.grants.is_empty() {
            self.behind_first += bytes;
        }
        self.grants.push_back(Grant { bytes, until: now + self.round_trip + self.slot });
        if bytes < self.rate.bytes_in(self.slot) {
            self.full_since = Nanos::NEVER;
        } else {
            self.full_since = self.full_since.min(now);
        }
    }

    fn extend(&mut self, late: Interval, bytes: u64) {
        if self.grants.len() > 1 {
            self.behind_first += bytes;
        }
        if let Some(last) = self.grants.back_mut() {
            last.bytes += bytes;
            last.until += late;
        }
    }

    /// Drops grants whose bytes have arrived, or no longer can, by `now`.
    fn expire(&mut self, now: Nanos) {
        while self.grants.front().is_some_and(|first| first.until <= now) {
            self.grants.pop_front();
            self.behind_first -= self.grants.front().map_or(0, |first| first.bytes);
        }
    }

    /// Bytes of the first grant that line rate can still bring before it ends.
    fn bytes(&self, now: Nanos) -> u64 {
        let first = self.grants.front();
        let rest = first.map_or(0, |first| first.bytes.min(self.rate.bytes_in(first.until.since(now))));
        rest + self.behind_first
    }

    fn is_full(&self, now: Nanos) -> bool {
        now.since(self.full_since) >= self.round_trip + self.slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot carries 1,000 bytes, and the round trip takes three.
    fn history() -> History {
        History {
            round_trip: Interval(3_000),
            slot: Interval(1_000),
            rate: BitRate::gigabits(8),
            grants: VecDeque::new(),
            behind_first: 0,
            full_since: Nanos::ZERO,
        }
    }

    #[test]
    fn what_a_late_slot_is_charged_may_come_in_with_its_grant() {
        let mut history = history();
        history.grant(Nanos(0), 500);
        history.extend(Interval(10), 10);
        assert_eq!(history.bytes(Nanos(0)), 510);
        history.grant(Nanos(1_010), 800);
        history.extend(Interval(10), 7);
        assert_eq!(history.bytes(Nanos(1_010)), 510 + 807);
        history.expire(Nanos(4_009));
        assert_eq!(history.bytes(Nanos(4_009)), 1 + 807, "the last nanosecond of the first");
        history.expire(Nanos(4_010));
        assert_eq!(history.bytes(Nanos(4_010)), 807);
        history.expire(Nanos(5_020));
        assert_eq!(history.bytes(Nanos(5_020)), 0);
    }

    #[test]
    fn a_link_is_full_once_everything_was_granted_for_a_round_trip_and_a_slot() {
        let mut history = history();
        history.grant(Nanos(0), 999);
        assert!(!history.is_full(Nanos(1_000_000)));
        history.grant(Nanos(1_000), 1_000);
        history.grant(Nanos(2_000), 1_000);
        assert!(!history.is_full(Nanos(4_999)));
        assert!(history.is_full(Nanos(5_000)));
    }
}
