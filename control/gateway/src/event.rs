//! Events for the control thread.

use crate::socket::{CaptureRequest, CaptureSession, EventsRequest, Request, Response, Subscription};
use config::Gateway;
use mirror::Beyond;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use switch::{LearnedRoute, Program};
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
    /// The kernel path cannot follow the kernel, for this reason.
    KernelRefused(String),
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
    /// The programs with its routes, each with the gateway that had it before; or only those gateways, until [`Self::make`].
    pub made: Vec<(Gateway, Option<Arc<Program>>)>,
    /// To the thread that makes programs.
    pub maker: Sender<KernelTable>,
    /// Dropped when it has taken effect.
    pub done: Sender<()>,
}

impl KernelTable {
    /// Makes the programs. It takes long, so not in the control thread.
    pub fn make(&mut self) {
        let Ok(routes) = &self.table else { return };
        let gateways: Vec<_> = self.made.drain(..).map(|(gateway, _)| gateway).collect();
        for gateway in gateways {
            let is_same = |(made, _): &&(Gateway, _)| made.program.settings() == gateway.program.settings();
            let same = self.made.iter().find(is_same).and_then(|(_, program)| program.clone());
            let program = same.unwrap_or_else(|| gateway.with_learned(routes).program);
            self.made.push((gateway, Some(program)));
        }
    }

    /// The program that was made for the gateway with the program `before`.
    pub fn program_for(&self, before: &Arc<Program>) -> Option<Arc<Program>> {
        self.made.iter().find(|(gateway, _)| Arc::ptr_eq(&gateway.program, before))?.1.clone()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_equal_settings_are_made_once_and_known_by_those_before() {
        let port = |name| format!("[[port]]\nname = \"{name}\"\nrate = \"1G\"\n");
        let text = format!("[kernel]\n[forwarding]\nmode = \"route\"\n{}{}", port("a"), port("b"));
        let gateway = config::parse(&text, "gw.toml").expect("it is valid");
        let again = gateway.program.with_settings(gateway.program.settings().clone());
        let equal = Gateway { program: Arc::new(again.expect("its settings hold")), ..gateway.clone() };
        let route = LearnedRoute { prefix: "10.9.0.0/16".parse().expect("a prefix"), hops: Vec::new() };
        let ((maker, _), (done, _)) = (channel(), channel());
        let made = vec![(gateway.clone(), None), (equal.clone(), None)];
        let mut table = KernelTable { table: Ok(Arc::new([route])), made, maker, done };
        assert!(table.program_for(&gateway.program).is_none());
        table.make();
        let [one, other] = [&gateway, &equal].map(|it| table.program_for(&it.program).expect("it was made"));
        assert!(Arc::ptr_eq(&one, &other) && table.program_for(&one).is_none());
        assert!(one.settings().forwarding.kernel_path().is_some_and(|it| it.learned.len() == 1));
    }
}
