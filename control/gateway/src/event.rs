//! Events for the control thread.

use crate::socket::{CaptureRequest, CaptureSession, EventsRequest, Request, Response, Subscription};
use mirror::Beyond;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use switch::LearnedRoute;
use telemetry::Snapshot;

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
    /// The file of a reload has been read.
    ReloadRead,
    /// The kernel has other routes or neighbours.
    Kernel(KernelTable),
    /// The capture with this number has ended.
    EndCapture(u64),
}

/// The routes and neighbours of a kernel, or what it has too much of.
pub type Table = Result<Arc<[LearnedRoute]>, Beyond>;

/// A table of the kernel that is to take effect.
#[derive(Debug)]
pub struct KernelTable {
    /// The table.
    pub table: Table,
    /// Dropped when it has taken effect.
    pub _done: Sender<()>,
}

/// The state of the gateway, by its control thread; `None` if that ends, or does not answer within `patience`.
pub fn snapshot(events: &Sender<Event>, patience: Duration) -> Option<Box<Snapshot>> {
    let (answer, answered) = channel();
    events.send(Event::Request(Request::Show, answer)).ok()?;
    match answered.recv_timeout(patience) {
        Ok(Response::Shown(snapshot)) => Some(snapshot),
        _ => None,
    }
}
