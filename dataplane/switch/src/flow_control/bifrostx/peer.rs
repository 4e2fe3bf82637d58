//! The other end of a link, by its messages.

use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::grants::slot::{Head, Kind};

/// The time after which a peer that sends nothing is no longer heard.
pub(in crate::flow_control) const SILENCE: Interval = Interval::from_secs(1);

/// The time after which an idle port, or one without a peer, sends its last message again.
pub(in crate::flow_control) const REPEAT: Interval = Interval::from_millis(10);

/// The peer of a port.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Peer {
    heard_at: Option<Nanos>,
    /// Whether it follows the grants of this port, as its last message said.
    says_so: bool,
    /// Whether its last two messages said so. One forged message ends the pauses for no one.
    follows: bool,
    /// Whether its last message limits this port.
    grants: bool,
}

impl Peer {
    /// Notes a message. Returns whether it changes what this port has to say.
    pub fn hear(&mut self, now: Nanos, message: &Head) -> bool {
        let before = (self.is_heard(now), self.follows, self.grants);
        let said_so = core::mem::replace(&mut self.says_so, message.follows);
        (self.heard_at, self.follows) = (Some(now), message.follows && said_so && before.0);
        self.grants = message.kind != Kind::Pauses;
        before != (true, self.follows, self.grants)
    }

    /// Whether a message came within the last second.
    pub fn is_heard(&self, now: Nanos) -> bool {
        self.heard_at.is_some_and(|at| now < at + SILENCE)
    }

    /// Whether it follows the grants of this port.
    pub fn follows(&self, now: Nanos) -> bool {
        self.follows && self.is_heard(now)
    }

    /// Whether this port follows its grants.
    pub fn is_followed(&self, now: Nanos) -> bool {
        self.grants && self.is_heard(now)
    }
}
