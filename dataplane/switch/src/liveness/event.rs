//! The changes that liveness tells.

use serde::{Deserialize, Serialize};
use units::Nanos;
use wire::grants::hello::Place;

units::named! {
    /// What a link is for.
    #[derive(Default, Hash)]
    LinkState [serde, ALL, about] {
        /// It carries data.
        Up = "up",
        /// It has failed a moment ago, and its data waits.
        Held = "held",
        /// It has failed.
        Out = "out" default,
        /// It lives again, and has to go on living.
        Proving = "proving",
        /// An operator of this end or of the other one takes it out of use.
        Drained = "drained",
    }
}

units::named! {
    /// Why a link stopped to be up.
    #[derive(Hash)]
    DownCause [serde, ALL, about] {
        /// There is no carrier.
        NoCarrier = "no_carrier",
        /// No hello came for the detection time.
        DetectionExpired = "detection_expired",
        /// No hello came for the detection time, but those of another link: a cable is crossed, or leads back.
        CrossedCable = "crossed_cable",
        /// The other end does not hear this one, or has restarted.
        PeerDown = "peer_down",
        /// An operator drains the other end.
        PeerDrained = "peer_drained",
        /// An operator drains this end.
        Drained = "drained",
        /// The key, the place or the proof was configured anew.
        Reconfigured = "reconfigured",
    }
}

/// A change, and when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivenessEvent {
    /// When it happened.
    pub at: Nanos,
    /// The change.
    pub change: LinkChange,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkChange {
    /// Its state.
    State {
        /// The state before.
        from: LinkState,
        /// The state from now on.
        to: LinkState,
        /// Why it stopped to be up, if it does not live.
        cause: Option<DownCause>,
    },
    /// It is up, and yet data frames to this end were lost.
    Lost {
        /// How many, since the last such change: one a second is told.
        frames: u64,
    },
    /// A hello of another link, or of this gateway. One a second is told.
    Crossed {
        /// The end that sent it.
        place: Place,
    },
}
