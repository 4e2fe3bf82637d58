//! Events for the control thread.

use crate::socket::{CaptureRequest, CaptureSession, EventsRequest, Request, Response, Subscription};
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
    /// A client wants events. The answer is a stream of them, or a refusal.
    Subscribe(EventsRequest, Sender<Result<Subscription, Response>>),
    /// A client wants copies of frames. The answer is a capture, or a refusal.
    Capture(CaptureRequest, Sender<Result<CaptureSession, Response>>),
    /// The capture with this number has ended.
    EndCapture(u64),
}
