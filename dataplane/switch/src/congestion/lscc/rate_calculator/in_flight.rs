//! The dynamic feedback list: what was advertised to the other end and has not arrived from there yet.

use std::collections::VecDeque;
use units::Interval;

/// One rate that was advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Advertised {
    /// `Ra`: how far the bottleneck rate was above it, in bits per second.
    adjustment: i64,
    /// How long it was the latest.
    lasted: u64,
}

/// The adjustments of the last round trip, oldest first. However long each of them lasted, together
/// they cover just that: of the oldest only the rest is kept that has not taken effect.
#[derive(Debug)]
pub(super) struct InFlight {
    list: VecDeque<Advertised>,
    /// Sum over the list of adjustment times duration, in bits per second times nanoseconds.
    sum: i128,
}

impl InFlight {
    /// A list of up to `entries`, for a port that has advertised nothing: what comes in is taken to be as
    /// much as leaves.
    pub fn new(entries: usize, round_trip: Interval) -> Self {
        // At least that one, where there is no round trip at all.
        let mut list = VecDeque::with_capacity(entries.max(1));
        list.push_back(Advertised { adjustment: 0, lasted: round_trip.0 });
        Self { list, sum: 0 }
    }

    /// As if the latest adjustment had been this one for a round trip.
    pub fn fill(&mut self, adjustment: i64) {
        let lasted = self.list.drain(..).map(|it| it.lasted).sum();
        self.list.push_back(Advertised { adjustment, lasted });
        self.sum = weight(adjustment, lasted);
    }

    /// `Ra_sent T`, in bits per second times nanoseconds: what is in flight of adjustments.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// Adds an adjustment that was the latest for so long, and takes as much off the oldest.
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
        // What is left of the excess lasted longer than a round trip.
        let lasted = lasted.0 - excess;
        if lasted > 0 {
            self.sum += weight(adjustment, lasted);
            self.list.push_back(Advertised { adjustment, lasted });
        }
    }

    /// Adjustments and how long they lasted, oldest first.
    #[cfg(test)]
    pub fn entries(&self) -> Vec<(i64, Interval)> {
        self.list.iter().map(|it| (it.adjustment, Interval(it.lasted))).collect()
    }
}

fn weight(adjustment: i64, lasted: u64) -> i128 {
    i128::from(adjustment) * i128::from(lasted)
}
