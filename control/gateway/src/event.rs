//! Events for the control thread.

use crate::socket::{Request, Response};
use std::sync::mpsc::Sender;

/// An event for the control thread.
#[derive(Debug)]
pub enum Event {
    /// SIGHUP: reload the configuration.
    Hangup,
    /// SIGTERM or SIGINT: drain and end.
    Terminate,
    /// A request of a client of the control socket or of the metrics.
    Request(Request, Sender<Response>),
}
