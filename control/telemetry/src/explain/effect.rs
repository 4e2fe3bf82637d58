//! What happens, and its causes.

use crate::period::PortPeriod;
use report::Name;
use serde::Serialize;

/// What a port does and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The port.
    pub port: String,
    /// The time that it covers.
    pub over_ns: u64,
    /// The chains in a sentence each, from what happens here to its end on this gateway.
    pub because: Vec<String>,
    /// What happens, priority by priority, with its causes.
    pub effects: Vec<Effect>,
}

/// Something that happens, and its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// `pauses_peer`, `holds`, `threshold`, `waits`, `link_down`, `paused_by_peer`, `stormed`, `sends`, `marks`, `drops` or `scheme`.
    pub kind: Name,
    /// The port at which it happens.
    pub port: String,
    /// The priority; `None` where the whole port is meant.
    pub priority: Option<u8>,
    /// What happens, with figures.
    pub text: String,
    /// What causes it, the weightiest first.
    pub causes: Vec<Self>,
}

/// What happens at `port`.
pub fn effect(
    kind: &'static str,
    port: PortPeriod<'_>,
    priority: Option<u8>,
    text: String,
    causes: Vec<Effect>,
) -> Effect {
    Effect { kind: kind.into(), port: port.name().into(), priority, text, causes }
}
