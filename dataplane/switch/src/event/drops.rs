//! Drops by reason, from the counters that count them anyway.

use crate::ledger::Volume;
use crate::reason::{DropReason, PerReason};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, Priority};

/// The least time between two events of one half of a port, priority and reason.
const REPEAT: Interval = Interval::from_secs(1);
/// The least time between two looks at one half of a port: reading all of its counters takes longer than a frame.
const LOOK: Interval = Interval::from_millis(10);

/// The total of one reason in its last event.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Reported {
    volume: Volume,
    at: Option<Nanos>,
}

/// The drops of one half of a port that events have told of, by priority.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct DropWatch {
    next_look: Nanos,
    reported: Box<[PerReason<Reported>; Priority::COUNT]>,
}

impl DropWatch {
    /// Lets the next look be at once, and tell all that it finds.
    pub fn hurry(&mut self) {
        self.next_look = Nanos::ZERO;
        self.reported.iter_mut().flat_map(|it| it.iter_mut()).for_each(|reported| reported.at = None);
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
        mut report: impl FnMut(DropReason, Volume),
    ) -> bool {
        let mut is_behind = false;
        let reported = self.reported[priority.index()].iter_mut();
        for ((reported, total), reason) in reported.zip(totals).zip(DropReason::ALL) {
            let is_early = |at: Nanos| now < at + REPEAT;
            if total.frames == reported.volume.frames {
                continue;
            }
            if reported.at.is_some_and(is_early) {
                is_behind = true;
                continue;
            }
            let volume = *total - reported.volume;
            *reported = Reported { volume: *total, at: Some(now) };
            report(reason, volume);
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
        let mut watch = DropWatch::default();
        let mut totals = [Volume::ZERO; DropReason::COUNT];
        let priority = Priority::from_low_bits(5);
        let mut told = Vec::new();
        for millisecond in 0..2_500 {
            for _ in 0..10 {
                totals[DropReason::NoRoute.index()].count(Bytes(100));
            }
            let now = Nanos(millisecond * 1_000_000);
            watch.look(now, priority, &totals, |reason, volume| {
                assert_eq!(reason, DropReason::NoRoute);
                told.push((millisecond, volume.frames));
            });
        }
        assert_eq!(told, [(0, 10), (1_000, 10_000), (2_000, 10_000)]);
    }
}
