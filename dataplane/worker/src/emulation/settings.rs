//! The settings of an emulated link.

use units::{BitRate, Interval};

/// An emulated link for the frames that leave a port. Probabilities are 0 to 1; values outside are clamped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulationSettings {
    /// The one-way propagation delay.
    pub delay: Interval,
    /// The rate at which delayed frames leave after waiting for the device.
    pub rate: BitRate,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that a frame is delivered twice. The copy follows directly.
    pub duplicate: f64,
    /// Probability that a frame is held back, with its copy if it has one.
    pub reorder: f64,
    /// The additional delay of frames held back.
    pub reorder_by: Interval,
    /// Whether control frames are lost, duplicated and held back like data. They are always delayed.
    pub control: bool,
    /// The seed of the generator.
    pub seed: u64,
}

impl EmulationSettings {
    /// Whether frames are held back.
    pub(super) fn reorders(&self) -> bool {
        self.reorder > 0.0
    }
}
