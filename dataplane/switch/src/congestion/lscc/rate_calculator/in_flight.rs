//! The dynamic feedback list: the rates that were advertised to the other end and have not taken effect here yet.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Interval;

/// One rate that was advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Advertised {
    /// `Ra`: the bottleneck rate less the advertised one, in bits per second.
    adjustment: i64,
    /// The time for which it was the latest.
    lasted: u64,
}

/// The adjustments of the last round trip, oldest first. Their durations always add up to the round trip: of the
/// oldest, only the part is kept that has not taken effect.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InFlight {
    list: VecDeque<Advertised>,
    /// Sum over the list of adjustment times duration, in bits per second times nanoseconds.
    sum: i128,
}

impl InFlight {
    /// A list of up to `entries`, for a port that has advertised nothing: arrivals are assumed to equal departures.
    pub fn new(entries: usize, round_trip: Interval) -> Self {
        // At least one entry, even without any round trip.
        let mut list = VecDeque::with_capacity(entries.max(1));
        list.push_back(Advertised { adjustment: 0, lasted: round_trip.0 });
        Self { list, sum: 0 }
    }

    /// Fills the list as if this had been the latest adjustment for a round trip.
    pub fn fill(&mut self, adjustment: i64) {
        let lasted = self.list.drain(..).map(|it| it.lasted).sum();
        self.list.push_back(Advertised { adjustment, lasted });
        self.sum = weight(adjustment, lasted);
    }

    /// `Ra_sent T`, in bits per second times nanoseconds: the adjustments in flight.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// Adds an adjustment that was the latest for `lasted`, and removes as much time from the oldest.
    pub fn push(&mut self, adjustment: i64, lasted: Interval) {
        let mut excess = lasted.0;
        while let Some(oldest) = self.list.front_mut() {
            let taken = oldest.lasted.min(excess);
            self.sum -= weight(oldest.adjustment, taken);
            oldest.lasted -= taken;
            excess -= taken;
            if oldest.lasted > 0 {
                break;
            }
            self.list.pop_front();
        }
        // The part beyond the excess lasted longer than a round trip.
        let lasted = lasted.0 - excess;
        if lasted > 0 {
            self.sum += weight(adjustment, lasted);
            self.list.push_back(Advertised { adjustment, lasted });
        }
    }

    /// The adjustments and their durations, oldest first.
    #[cfg(test)]
    pub fn entries(&self) -> Vec<(i64, Interval)> {
        self.list.iter().map(|it| (it.adjustment, Interval(it.lasted))).collect()
    }
}

fn weight(adjustment: i64, lasted: u64) -> i128 {
    i128::from(adjustment) * i128::from(lasted)
}
