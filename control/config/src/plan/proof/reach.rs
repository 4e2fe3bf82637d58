//! What a run has not put to the test.

use units::Bytes;

use super::run::Run;
use crate::plan::planned::Unreached;

impl Run {
    /// Whether the run came to `figure`: a pause must be longer than those of the far side itself.
    pub fn comes_to(&self, figure: Unreached) -> bool {
        match figure {
            Unreached::Headroom => self.headroom.0 > Bytes::ZERO,
            Unreached::PauseLong => self.pause_long.0 > self.received,
            Unreached::PauseLocal => self.pause_local.0 > self.received,
        }
    }
}
