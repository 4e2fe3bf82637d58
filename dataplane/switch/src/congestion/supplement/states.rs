//! The scheme's own table of flows, by the slots of the flow table.
//!
//! As with LSCC, an entry is valid only while its note stands in the flow's first line.

use super::Settings;
use crate::congestion::notes::{SUPPLEMENT_MARKED, SUPPLEMENT_OWN, SUPPLEMENT_TOLD};
use crate::flows::{Flows, Slot};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, QueueId};

/// Times of each flow, whose memory is touched on first use. Times are in nanoseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FlowStates {
    /// The time when a marked packet left last.
    marked: Vec<u64>,
    /// The queue that it left.
    queues: Vec<u8>,
    /// The time of the last CNP to its sender.
    told: Vec<u64>,
}

impl FlowStates {
    /// Entries for slots below `capacity`.
    pub fn new(capacity: u32) -> Self {
        let slots = capacity as usize;
        Self { marked: vec![0; slots], queues: vec![0; slots], told: vec![0; slots] }
    }

    /// Notes a marked packet of a flow, which leaves `queue`.
    pub fn mark(&mut self, flows: &mut Flows, slot: Slot, now: Nanos, queue: QueueId) {
        self.marked[slot.index()] = now.0;
        self.queues[slot.index()] = queue.number();
        flows.hot_mut(slot).notes.set(SUPPLEMENT_MARKED, true);
    }

    /// Whether the flow in `slot` had a marked packet that is not forgotten: false for a slot that is empty or has another
    /// flow by now.
    pub fn follows(flows: &Flows, slot: Slot) -> bool {
        flows.hot(slot).notes.has(SUPPLEMENT_MARKED)
    }

    /// The time of the last marked packet of a flow, and the queue that it left; `None` if that was `lasts` ago, which is
    /// then forgotten.
    pub fn congested(
        &self,
        flows: &mut Flows,
        slot: Slot,
        now: Nanos,
        lasts: Interval,
    ) -> Option<(Nanos, QueueId)> {
        let notes = &mut flows.hot_mut(slot).notes;
        let marked = Nanos(self.marked[slot.index()]);
        let congested = notes.has(SUPPLEMENT_MARKED) && now.since(marked) < lasts;
        notes.set(SUPPLEMENT_MARKED, congested);
        congested.then(|| (marked, QueueId::from_low_bits(self.queues[slot.index()])))
    }

    /// The time from which the next CNP of the switch may follow the last CNP to a flow.
    pub fn may_supplement_from(&self, flows: &Flows, slot: Slot, settings: &Settings) -> Nanos {
        match flows.hot(slot).notes.has(SUPPLEMENT_TOLD) {
            true => Nanos(self.told[slot.index()]) + settings.increase_timer,
            false => Nanos::ZERO,
        }
    }

    /// Notes a CNP to a flow that the switch made.
    pub fn supplemented(&mut self, flows: &mut Flows, slot: Slot, now: Nanos) {
        self.tell(flows, slot, now, true);
    }

    /// Whether a CNP of the receiver that comes `now` passes. It does not within the timer after one that the switch made
    /// in its place, nor within the interval of thinning after any other.
    pub fn passes(&mut self, flows: &mut Flows, slot: Slot, now: Nanos, settings: &Settings) -> bool {
        let notes = flows.hot(slot).notes;
        let least = match (notes.has(SUPPLEMENT_TOLD), notes.has(SUPPLEMENT_OWN)) {
            (false, _) => Interval::ZERO,
            (true, true) => settings.increase_timer,
            (true, false) => settings.thinning.unwrap_or(Interval::ZERO),
        };
        let passes = now.since(Nanos(self.told[slot.index()])) >= least;
        if passes {
            self.tell(flows, slot, now, false);
        }
        passes
    }

    fn tell(&mut self, flows: &mut Flows, slot: Slot, now: Nanos, own: bool) {
        self.told[slot.index()] = now.0;
        let notes = &mut flows.hot_mut(slot).notes;
        notes.set(SUPPLEMENT_TOLD, true);
        notes.set(SUPPLEMENT_OWN, own);
    }
}
