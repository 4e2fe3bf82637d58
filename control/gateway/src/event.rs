//! What the control thread hears of.

use crate::socket::{Request, Response};
use std::sync::mpsc::Sender;

/// Something that the control thread is to do.
#[derive(Debug)]
pub enum Event {
    /// SIGHUP: read the configuration again.
    Hangup,
    /// SIGTERM or SIGINT: drain and end.
    Terminate,
    /// A client of the control socket, or of the metrics, asks.
    Request(Request, Sender<Response>),
}
