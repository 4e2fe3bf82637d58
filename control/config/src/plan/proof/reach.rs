//! What a run has not put to the test.

use units::Bytes;

use super::run::Run;
use crate::plan::request::Scheme;

/// A figure of the plan that a run may never come to. Its bound is then neither kept nor broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// The headroom on the long link.
    Headroom,
    /// The pause of the long link.
    PauseLong,
    /// The pause of the data center.
    PauseLocal,
}

impl Unreached {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Headroom, Self::PauseLong, Self::PauseLocal];

    /// Its name, as the page of a proof has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headroom => "headroom",
            Self::PauseLong => "pause_long",
            Self::PauseLocal => "pause_local",
        }
    }

    /// Why no run comes to it with `scheme`; `None` where a run could.
    pub const fn by_design(self, scheme: Scheme) -> Option<&'static str> {
        match (self, scheme) {
            (Self::Headroom, Scheme::Bifrost | Scheme::BifrostX | Scheme::PortGrants) => {
                Some("grants end below XOFF")
            }
            (Self::Headroom, Scheme::Cbfc) => Some("credits end below XOFF"),
            (Self::Headroom, Scheme::Relay) => {
                Some("a round trip fits below XOFF; the headroom is for lost pauses")
            }
            (Self::PauseLong, Scheme::Cbfc) => Some("credits are no pauses"),
            (Self::PauseLong | Self::PauseLocal, Scheme::Relay) => {
                Some("a relay passes on the pauses of the far side; its own are for lost ones")
            }
            _ => None,
        }
    }
}

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
