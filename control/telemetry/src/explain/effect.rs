//! Effects at a port, and their causes.

use crate::health::Cause;
use crate::period::PortPeriod;
use report::Name;
use serde::Serialize;

/// The behaviour of a port, and its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The port.
    pub port: String,
    /// The time that it covers.
    pub over_ns: u64,
    /// The finding of `show roce` that comes first, about the port and those for which its frames wait; `None` without any.
    pub cause: Option<Cause>,
    /// The chains in a sentence each, from what happens here to its end on this gateway.
    pub because: Vec<String>,
    /// The effects, priority by priority, with their causes.
    pub effects: Vec<Effect>,
}

/// Something that happens, and its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// `pauses_peer`, `holds`, `threshold`, `waits`, `link_down`, `paused_by_peer`, `stormed`, `late_worker`, `sends`, `marks`,
    /// `drops`, `scheme`, `pfc_not_passed`, or the name of the rule that names the cause of drops.
    pub kind: Name,
    /// The port at which it happens.
    pub port: String,
    /// The priority; `None` where the whole port is meant.
    pub priority: Option<u8>,
    /// The effect, with figures.
    pub text: String,
    /// Its causes, the weightiest first.
    pub causes: Vec<Self>,
}

impl Effect {
    /// Whether one of its causes is of this kind.
    pub(super) fn has_cause(&self, kind: &str) -> bool {
        self.causes.iter().any(|it| it.kind == kind)
    }
}

/// The effects at `port`.
pub fn effect(
    kind: &'static str,
    port: PortPeriod<'_>,
    priority: Option<u8>,
    text: String,
    causes: Vec<Effect>,
) -> Effect {
    Effect { kind: kind.into(), port: port.name().into(), priority, text, causes }
}
