//! The rate limiting module's own table of flows (table I), by the slots of the flow table.
//!
//! An entry is valid only while its note stands in the flow's first line. So an entry left by another flow has no
//! effect, and most packets touch no entry.

use crate::congestion::notes::{LSCC_FAR_CNP, LSCC_FLAGGED};
use crate::flows::{Flows, Hot, Slot};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The unit of flag times, as a power of two of nanoseconds: stamps wrap after 73 minutes.
const STAMP_SHIFT: u32 = 10;

/// The entries, whose memory is touched on first use.
#[derive(Serialize, Deserialize)]
pub(super) struct FlowStates {
    /// The time when a flow was flagged last.
    flagged: Vec<u32>,
    /// The time when a CNP from the far side was passed on last, in nanoseconds.
    far_cnp: Vec<u64>,
}

impl FlowStates {
    /// Entries for slots below `capacity`.
    pub fn new(capacity: u32) -> Self {
        let slots = capacity as usize;
        Self { flagged: vec![0; slots], far_cnp: vec![0; slots] }
    }

    /// Prefetches the entry that [`FlowStates::is_flagged`] will read.
    #[inline]
    pub fn peek(&self, slot: Slot, hot: &Hot) -> u64 {
        if hot.notes.has(LSCC_FLAGGED) { u64::from(self.flagged[slot.index()]) } else { 0 }
    }

    /// Flags a flow.
    pub fn flag(&mut self, flows: &mut Flows, slot: Slot, now: Nanos) {
        self.flagged[slot.index()] = stamp(now);
        flows.hot_mut(slot).notes.set(LSCC_FLAGGED, true);
    }

    /// Whether a flow was flagged less than `lasts` ago.
    #[inline(always)]
    pub fn is_flagged(&self, flows: &mut Flows, slot: Slot, now: Nanos, lasts: Interval) -> bool {
        flows.hot(slot).notes.has(LSCC_FLAGGED) && self.flag_lasts(flows, slot, now, lasts)
    }

    /// Whether the flag of a flow that has one lasts.
    #[inline(never)]
    fn flag_lasts(&self, flows: &mut Flows, slot: Slot, now: Nanos, lasts: Interval) -> bool {
        let notes = &mut flows.hot_mut(slot).notes;
        let age = u64::from(stamp(now).wrapping_sub(self.flagged[slot.index()])) << STAMP_SHIFT;
        notes.set(LSCC_FLAGGED, age < lasts.0);
        age < lasts.0
    }

    /// Whether a CNP from the far side that comes `now` is passed on: the first one is, and each that comes at
    /// least `interval` after the last one passed on.
    pub fn passes(&mut self, flows: &mut Flows, slot: Slot, now: Nanos, interval: Interval) -> bool {
        let notes = &mut flows.hot_mut(slot).notes;
        let last = &mut self.far_cnp[slot.index()];
        let passes = !notes.has(LSCC_FAR_CNP) || now.since(Nanos(*last)) >= interval;
        if passes {
            *last = now.0;
            notes.set(LSCC_FAR_CNP, true);
        }
        passes
    }
}

#[inline]
fn stamp(now: Nanos) -> u32 {
    (now.0 >> STAMP_SHIFT) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Lscc;
    use units::BitRate;

    const LASTS: Interval = Interval::from_micros(100);

    /// A table of one flow.
    fn scene() -> (Flows, FlowStates) {
        let settings = Lscc::PLAIN.flows(BitRate::gigabits(100));
        (Flows::new(settings, 7), FlowStates::new(settings.capacity))
    }

    #[test]
    fn a_flag_lasts_and_says_nothing_of_the_next_flow_in_the_slot() {
        let (mut flows, mut states) = scene();
        let now = Nanos(1 << 30);
        let slot = flows.enter(1, now);
        let flagged = |states: &FlowStates, flows: &mut Flows, after| {
            states.is_flagged(flows, slot, now + after, LASTS)
        };
        assert!(!flagged(&states, &mut flows, Interval::ZERO));
        states.flag(&mut flows, slot, now);
        assert!(flagged(&states, &mut flows, Interval::from_micros(99)));
        assert!(!flagged(&states, &mut flows, Interval::from_micros(101)));
        states.flag(&mut flows, slot, now);
        assert_eq!(flows.enter(2, now), slot);
        assert!(!flagged(&states, &mut flows, Interval::ZERO));
    }

    #[test]
    fn a_flag_that_has_ended_does_not_come_back_when_its_stamp_has_wrapped() {
        let (mut flows, mut states) = scene();
        let (now, lasts) = (Nanos(1 << 30), Interval(100 << STAMP_SHIFT));
        let slot = flows.enter(1, now);
        states.flag(&mut flows, slot, now);
        let wrapped = Interval(1 << (u32::BITS + STAMP_SHIFT));
        let (last, end) = (Interval(99 << STAMP_SHIFT), lasts);
        let flagged =
            [last, last, end, wrapped].map(|after| states.is_flagged(&mut flows, slot, now + after, lasts));
        assert_eq!(flagged, [true, true, false, false]);
    }

    #[test]
    fn of_cnps_from_the_far_side_one_passes_in_an_interval_and_the_first_of_each_flow() {
        let (mut flows, mut states) = scene();
        let slot = flows.enter(1, Nanos::ZERO);
        let passed = [0, 99_999, 100_000, 150_000, 200_000]
            .map(|now| states.passes(&mut flows, slot, Nanos(now), LASTS));
        assert_eq!(passed, [true, false, true, false, true]);
        assert_eq!(flows.enter(2, Nanos(200_001)), slot);
        assert!(states.passes(&mut flows, slot, Nanos(200_001), LASTS));
    }
}
