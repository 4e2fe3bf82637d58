//! Drops by reason, from the counters that count them anyway.

use super::PortHalf;
use crate::ledger::Volume;
use crate::reason::{DropReason, PerReason};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, Priority};

/// The least time between two events of one half of a port, priority and reason.
const REPEAT: Interval = Interval::from_secs(1);
/// The least time between two looks at one half of a port: reading all of its counters takes longer than a frame.
const LOOK: Interval = Interval::from_millis(10);

/// Totals of one reason.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Told {
    volume: Volume,
    at: Option<Nanos>,
}

/// The drops of one half of a port that events have told of, by priority.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DropWatch {
    half: PortHalf,
    next_look: Nanos,
    told: Box<[PerReason<Told>; Priority::COUNT]>,
}

/// Frames dropped since the last event of the same priority and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreshDrops {
    pub half: PortHalf,
    pub priority: Priority,
    pub reason: DropReason,
    pub volume: Volume,
}

impl DropWatch {
    /// Nothing was told.
    pub fn new(half: PortHalf) -> Self {
        Self { half, next_look: Nanos::ZERO, told: Box::default() }
    }

    /// Lets the next look be at once, and tell all that it finds.
    pub fn hurry(&mut self) {
        self.next_look = Nanos::ZERO;
        self.told.iter_mut().flat_map(|it| it.iter_mut()).for_each(|told| told.at = None);
    }

    /// Whether it may look at `now`. If so, not again for [`LOOK`].
    pub fn takes_look(&mut self, now: Nanos) -> bool {
        let due = self.next_look <= now;
        if due {
            self.next_look = now + LOOK;
        }
        due
    }

    /// Reads the `totals` of `priority` at `now`. Calls `report` for those that have grown: at once for the first drop, and
    /// then once in [`REPEAT`] with their sum. Returns whether some are to be told later.
    pub fn look(
        &mut self,
        now: Nanos,
        priority: Priority,
        totals: &[Volume; DropReason::COUNT],
        mut report: impl FnMut(FreshDrops),
    ) -> bool {
        let mut is_behind = false;
        let told = self.told[priority.index()].iter_mut();
        for ((told, total), reason) in told.zip(totals).zip(DropReason::ALL) {
            let is_early = |at: Nanos| now < at + REPEAT;
            if total.frames == told.volume.frames {
                continue;
            }
            if told.at.is_some_and(is_early) {
                is_behind = true;
                continue;
            }
            let volume = *total - told.volume;
            *told = Told { volume: *total, at: Some(now) };
            report(FreshDrops { half: self.half, priority, reason, volume });
        }
        is_behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    #[test]
    fn the_first_drop_is_told_at_once_and_a_flood_of_others_once_a_second_with_its_sum() {
        let mut watch = DropWatch::new(PortHalf::Ingress);
        let mut totals = [Volume::ZERO; DropReason::COUNT];
        let priority = Priority::from_low_bits(5);
        let mut told = Vec::new();
        for millisecond in 0..2_500 {
            for _ in 0..10 {
                totals[DropReason::NoRoute.index()].count(Bytes(100));
            }
            let now = Nanos(millisecond * 1_000_000);
            watch.look(now, priority, &totals, |dropped| {
                assert_eq!((dropped.priority, dropped.reason), (priority, DropReason::NoRoute));
                told.push((millisecond, dropped.volume.frames));
            });
        }
        assert_eq!(told, [(0, 10), (1_000, 10_000), (2_000, 10_000)]);
    }
}
