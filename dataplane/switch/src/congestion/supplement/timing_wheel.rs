//! Slots by the time at which they are due: a timing wheel.

use crate::flows::Slot;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// Bins, of which a turn covers nearly two intervals. A power of two.
const BINS: usize = 16;
/// Bins in an interval.
const BINS_PER_INTERVAL: u64 = 8;
/// No slot, and so not listed.
const NOWHERE: u32 = 0;
/// The last slot of its bin.
const END: u32 = u32::MAX;

/// Slots that are due at most an interval ahead, in bins of an eighth of it. Each slot is listed once. A call looks at
/// no more than all bins, whatever the number of slots.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TimingWheel {
    width: Interval,
    /// The first slot of each bin, as in `next`.
    heads: [u32; BINS],
    /// The slot after each slot of a bin, plus one; or one of the two constants.
    next: Vec<u32>,
    /// The number of the earliest bin that may hold slots. Bin n holds slots that are due by the time `n * width`.
    earliest: u64,
    listed: u32,
}

impl TimingWheel {
    /// A wheel for slots below `capacity` that are due at most `interval` ahead.
    pub fn new(capacity: u32, interval: Interval) -> Self {
        Self {
            width: Interval((interval.0 / BINS_PER_INTERVAL).max(1)),
            heads: [NOWHERE; BINS],
            next: vec![NOWHERE; capacity as usize],
            earliest: 0,
            listed: 0,
        }
    }

    /// Whether a slot is listed.
    pub fn has(&self, slot: Slot) -> bool {
        self.next[slot.index()] != NOWHERE
    }

    /// The number of slots that are listed.
    pub fn listed(&self) -> u64 {
        self.listed.into()
    }

    /// Lists a slot, which is not listed, to be due at `due` or up to a bin's width later.
    pub fn add(&mut self, now: Nanos, slot: Slot, due: Nanos) {
        if self.listed == 0 {
            self.earliest = now.0 / self.width.0;
        }
        let latest = self.earliest + BINS as u64 - 1;
        let bin = due.0.div_ceil(self.width.0).clamp(self.earliest, latest);
        let head = &mut self.heads[bin as usize % BINS];
        self.next[slot.index()] = if *head == NOWHERE { END } else { *head };
        *head = slot.index() as u32 + 1;
        self.listed += 1;
    }

    /// Takes a slot that is due at `now` off the list.
    pub fn take(&mut self, now: Nanos) -> Option<Slot> {
        if self.listed == 0 {
            return None;
        }
        let last = now.0 / self.width.0;
        // After a long delay all slots are due, whatever their bins: only the order among them is lost.
        self.earliest = self.earliest.max(last.saturating_sub(BINS as u64 - 1));
        while self.earliest <= last {
            let head = &mut self.heads[self.earliest as usize % BINS];
            if let Some(index) = head.checked_sub(1) {
                let next = core::mem::replace(&mut self.next[index as usize], NOWHERE);
                *head = if next == END { NOWHERE } else { next };
                self.listed -= 1;
                return Some(Slot::numbered(index));
            }
            self.earliest += 1;
        }
        None
    }

    /// The time when the earliest bin with slots is due; never without slots.
    pub fn deadline(&self) -> Nanos {
        if self.listed == 0 {
            return Nanos::NEVER;
        }
        let bins = (0..BINS as u64).map(|ahead| self.earliest + ahead);
        let first = bins.into_iter().find(|bin| self.heads[*bin as usize % BINS] != NOWHERE);
        first.map_or(Nanos::NEVER, |bin| Nanos(bin.saturating_mul(self.width.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Interval = Interval(800);

    #[test]
    fn a_slot_is_due_at_its_time_or_an_eighth_of_the_interval_later() {
        let mut wheel = TimingWheel::new(4, INTERVAL);
        let now = Nanos(1_000_000);
        assert_eq!((wheel.deadline(), wheel.take(now)), (Nanos::NEVER, None));
        let (slow, fast) = (Slot::numbered(1), Slot::numbered(3));
        wheel.add(now, slow, now + INTERVAL);
        wheel.add(now, fast, now + Interval(1));
        assert!(wheel.has(slow) && wheel.has(fast) && !wheel.has(Slot::numbered(0)));
        assert_eq!((wheel.take(now), wheel.deadline()), (None, now + Interval(100)));
        assert_eq!(wheel.take(now + Interval(100)), Some(fast));
        assert_eq!(wheel.deadline(), now + INTERVAL);
        assert_eq!((wheel.take(now + Interval(799)), wheel.take(now + INTERVAL)), (None, Some(slow)));
        assert_eq!((wheel.deadline(), wheel.has(slow)), (Nanos::NEVER, false));
    }

    proptest! {
        #[test]
        fn each_slot_comes_once_not_before_its_time_and_by_the_deadline(
            steps in proptest::collection::vec((0_u32..8, 0_u64..=800, 0_u64..5_000), 1..200),
        ) {
            let (mut wheel, mut now) = (TimingWheel::new(8, INTERVAL), Nanos(7));
            let mut due = [None::<Nanos>; 8];
            for (index, ahead, pass) in steps {
                let slot = Slot::numbered(index);
                if !wheel.has(slot) {
                    let at = now + Interval(ahead);
                    wheel.add(now, slot, at);
                    due[slot.index()] = Some(at);
                }
                now += Interval(pass);
                let awaited = wheel.deadline();
                let mut any = false;
                while let Some(slot) = wheel.take(now) {
                    let at = due[slot.index()].take();
                    prop_assert!(at.is_some_and(|at| at <= now), "{slot:?} at {now:?}, due {at:?}");
                    any = true;
                }
                prop_assert_eq!(any, awaited <= now);
                prop_assert!(due.iter().flatten().all(|at| now.0 < at.0 + 100), "{:?} at {:?}", due, now);
            }
        }
    }
}
