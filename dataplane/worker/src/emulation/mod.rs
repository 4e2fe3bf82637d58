//! A long link in memory, so that one box is a long-haul testbed.
//!
//! A [`DelayLine`] stands between a port's egress and its device and holds what leaves for the time that
//! light would need. It reads no clock: it is given instants and says when it wants to be asked. The
//! switch gives it each frame with the instant at which its first bit is on the wire, and that first bit
//! comes to the far end exactly the delay later. Serialisation is not part of the delay: the device
//! behind the line sends the frame once more and adds its own, as it would behind a real fibre, so that
//! nothing is counted twice. A device without a wire (memif) adds none, with or without the line.
//! Control frames are delayed like data, so the order of a pause and the data around it, and the
//! distance between them, are the same at both ends.
//!
//! For experiments, a share of the frames is lost, delivered twice or held back. Which ones is drawn from
//! a seeded generator: the same seed and frames give the same.

mod impairments;
mod line;
mod settings;
#[cfg(test)]
mod tests;
mod track;

pub use line::{Capacity, DelayLine};
pub use settings::EmulationSettings;

use units::Interval;

/// What an emulated link has done. Control frames are counted with the others. At any time,
/// `delivered + lost + overflowed + in_flight = entered + duplicated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmulationCounters {
    /// Frames that were given to the link.
    pub entered: u64,
    /// Frames that are on the link now.
    pub in_flight: u64,
    /// Data frames among them.
    pub data_in_flight: u64,
    /// The most that were.
    pub most_in_flight: u64,
    /// Frames that arrived at the far end, copies included.
    pub delivered: u64,
    /// Frames that were lost on purpose.
    pub lost: u64,
    /// Frames that were put on the link twice on purpose. One for whose copy there was no memory or no
    /// room is none of them.
    pub duplicated: u64,
    /// Frames that were held back on purpose, so that later ones overtook them.
    pub reordered: u64,
    /// Frames for which there was no room: the line was made for fewer.
    pub overflowed: u64,
    /// The longest time by which a frame arrived too late: the worker was busy elsewhere, or the device
    /// behind the link was full.
    pub most_late: Interval,
}
