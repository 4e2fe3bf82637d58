//! What goes over the control socket: one line of JSON each way, then the end.

use serde::{Deserialize, Serialize};
use telemetry::Snapshot;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// All that there is to see.
    Show,
    /// All that there is to see, and the cleared-on-read watermarks start again.
    ShowAndClear,
    /// The configuration file is read again, and put in force where it can be.
    Reload,
}

/// What it gets.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// To [`Request::Show`].
    Shown(Box<Snapshot>),
    /// To [`Request::Reload`]: what is different now, a line each; none where nothing is.
    Reloaded(Vec<String>),
    /// To [`Request::Reload`]: nothing has changed, and why, a line each.
    Refused(Vec<String>),
    /// The request is not one that the gateway knows.
    InvalidRequest(String),
    /// Nothing was done: as many clients as allowed are connected.
    Busy(String),
    /// There is no answer yet. What was asked for may still be done.
    Pending(String),
}
