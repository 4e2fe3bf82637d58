//! A long link emulated in memory, which turns one machine into a long-haul testbed.
//!
//! A [`DelayLine`] sits between a port's egress and its device and holds frames for the propagation delay. It
//! reads no clock: callers pass instants, and it returns its next deadline. The switch gives it each frame
//! with the instant at which its first bit is on the wire, and that bit reaches the far end exactly the delay
//! later. The delay excludes serialisation: the device after the line sends the frame again and adds its own,
//! as it would after a real fibre, so nothing is counted twice. A device without a wire (memif) adds none,
//! with or without the line. Control frames are delayed like data, so pauses keep their order and distance
//! relative to the data around them.
//!
//! For experiments, a share of the frames is lost, delivered twice or held back. A seeded generator draws
//! which, so the same seed and frames give the same result.

mod impairments;
mod line;
mod settings;
#[cfg(test)]
mod tests;
mod track;

pub use line::{Capacity, DelayLine};
pub use settings::EmulationSettings;

use units::Interval;

/// The counters of an emulated link. Control frames count like data frames. At any time, `delivered + lost +
/// overflowed + in_flight = entered + duplicated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmulationCounters {
    /// Frames given to the link.
    pub entered: u64,
    /// Frames on the link now.
    pub in_flight: u64,
    /// Data frames among them.
    pub data_in_flight: u64,
    /// The maximum of `in_flight`.
    pub peak_in_flight: u64,
    /// Frames that arrived at the far end, including copies.
    pub delivered: u64,
    /// Frames lost on purpose.
    pub lost: u64,
    /// Frames duplicated on purpose, if there was memory and room for the copy.
    pub duplicated: u64,
    /// Frames held back on purpose, so that later ones overtook them.
    pub reordered: u64,
    /// Frames that exceeded the capacity of the line.
    pub overflowed: u64,
    /// The largest lateness of a frame: the worker was busy elsewhere, or the device was full.
    pub max_lateness: Interval,
}

impl EmulationCounters {
    /// Adds those of the line of another lane. The peak of both is at most the sum of their peaks.
    pub(crate) fn add_lane(&mut self, lane: &Self) {
        let Self {
            entered,
            in_flight,
            data_in_flight,
            peak_in_flight,
            delivered,
            lost,
            duplicated,
            reordered,
            overflowed,
            max_lateness,
        } = lane;
        self.entered += entered;
        self.in_flight += in_flight;
        self.data_in_flight += data_in_flight;
        self.peak_in_flight += peak_in_flight;
        self.delivered += delivered;
        self.lost += lost;
        self.duplicated += duplicated;
        self.reordered += reordered;
        self.overflowed += overflowed;
        self.max_lateness = self.max_lateness.max(*max_lateness);
    }
}
