//! What an emulated link is like.

use units::{BitRate, Interval};

/// A link that is emulated behind a port, for what leaves through it. Probabilities are 0 to 1; what is
/// beyond counts as the nearer end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulationSettings {
    /// From end to end, one way.
    pub delay: Interval,
    /// At which frames leave that had to wait for the device behind the link.
    pub rate: BitRate,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that it is delivered twice. The copy comes right behind it.
    pub duplicate: f64,
    /// Probability that it is held back, with its copy if it has one.
    pub reorder: f64,
    /// For how long, on top of the delay.
    pub reorder_by: Interval,
    /// Whether control frames are lost, delivered twice and held back like data. Delayed they always are.
    pub control: bool,
    /// Of all this.
    pub seed: u64,
}

impl EmulationSettings {
    /// Whether frames are held back.
    pub(super) fn reorders(&self) -> bool {
        self.reorder > 0.0
    }
}
