//! What a run has not put to the test.

use units::{Bytes, Interval};

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
            _ => None,
        }
    }
}

impl Run {
    /// What the run has not come to.
    pub fn unreached(&self) -> impl Iterator<Item = Unreached> + '_ {
        Unreached::ALL.into_iter().filter(|figure| match figure {
            Unreached::Headroom => self.headroom.0 == Bytes::ZERO,
            Unreached::PauseLong => self.pause_long.0 == Interval::ZERO,
            Unreached::PauseLocal => self.pause_local.0 == Interval::ZERO,
        })
    }
}
