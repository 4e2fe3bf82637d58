//! The protocol of the control socket: one line of JSON each way.

use serde::{Deserialize, Serialize};
use telemetry::Snapshot;

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The complete state.
    Show,
    /// The complete state, and a restart of the cleared-on-read watermarks.
    ShowAndClear,
    /// A reload of the configuration file.
    Reload,
}

/// The response.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// To [`Request::Show`].
    Shown(Box<Snapshot>),
    /// To [`Request::Reload`]: the changes, one line each; empty if there are none.
    Reloaded(Vec<String>),
    /// To [`Request::Reload`]: nothing has changed; the reasons, one line each.
    Refused(Vec<String>),
    /// The gateway does not know the request.
    InvalidRequest(String),
    /// The connection limit is reached; nothing was done.
    Busy(String),
    /// There is no answer yet; the gateway may still carry out the request.
    Pending(String),
}
