//! Captures of frames: which ports have one, and what a client may ask for.

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;

use config::Gateway;
use dpdk::ResidentMemory;
use units::PortId;
use wire::roce::QueuePair;
use worker::{CaptureFilter, FrameClass, TapReader, tap};

use crate::crew::{Crew, Told};
use crate::event::Event;
use crate::lookup;
use crate::socket::{CaptureClass, CaptureRequest, CaptureSession, Response};

/// The memory of the buffers of one capture, for all of its ports together.
const MEMORY_BYTES: usize = 8 << 20;
/// The most buffers of a port.
const BUFFERS_MAX: usize = 16_384;
/// The most captures at once. Fewer than connections, so that other clients are served.
const CAPTURES_MAX: usize = 4;
/// The most ports of one capture: their buffers are still hundreds of the longest frames.
const PORTS_MAX: usize = 8;

/// The captures that go on. A port has one at most.
pub struct Captures {
    /// By port, its capture.
    at: Vec<Option<Ongoing>>,
    next: u64,
    /// Given to each capture, to tell its end.
    events: Sender<Event>,
}

/// A capture at a port.
#[derive(Clone)]
struct Ongoing {
    /// The number of the capture.
    number: u64,
    /// Whether it has ended. Its port is taken until the worker was told so.
    ended: bool,
}

impl Captures {
    /// No captures at `ports` ports. Ends are told by `events`.
    pub fn new(ports: usize, events: Sender<Event>) -> Self {
        Self { at: vec![None; ports], next: 0, events }
    }

    /// Begins a capture.
    ///
    /// # Errors
    /// The refusal: a name that is not known, a limit, or a port that has a capture or whose worker is stalled.
    pub fn begin(
        &mut self,
        request: CaptureRequest,
        crew: &mut Crew,
        gateway: &Gateway,
    ) -> Result<CaptureSession, Response> {
        let ports = self.ports(&request, gateway)?;
        let workers: Vec<_> = ports.iter().map(|port| crew.count_of(*port)).collect();
        let taps = workers.iter().sum::<usize>().max(1);
        let buffers = (MEMORY_BYTES / taps / request.snap_bytes.max(1)).clamp(1, BUFFERS_MAX);
        let filters: Vec<_> =
            ports.iter().map(|port| filter(&request, gateway, *port)).collect::<Result<_, _>>()?;
        let stalled = |port: PortId| {
            let name = &gateway.program.port(port).name;
            Err(Response::Busy(format!("the worker of port {name} is stalled")))
        };
        if let Some(port) = ports.iter().find(|port| crew.owes_answers(**port)) {
            return stalled(*port);
        }
        let number = self.next;
        self.next += 1;
        let buffers_in_all = buffers * taps;
        let mut readers: Vec<Vec<TapReader>> = Vec::new();
        let mut taps = Vec::new();
        for ((port, filter), workers) in ports.iter().zip(filters).zip(workers) {
            let tap = |_| ResidentMemory::around(|| tap(filter.clone(), buffers, request.snap_bytes));
            let (of_port, its_readers): (Vec<_>, _) = (0..workers).map(tap).unzip();
            self.at[port.index()] = Some(Ongoing { number, ended: false });
            readers.push(its_readers);
            taps.push((*port, of_port.into_iter().map(Some).collect()));
        }
        let told = crew.capture(taps);
        if let Some((port, _)) = ports.iter().zip(told).find(|(_, told)| *told != Told::Done) {
            self.end(number, crew);
            return stalled(*port);
        }
        let events = self.events.clone();
        let end = move || {
            // A gateway that ends takes its captures along.
            let _ = events.send(Event::EndCapture(number));
        };
        Ok(CaptureSession { buffers: buffers_in_all, readers, request, end: Box::new(end) })
    }

    /// The ports of a request that is within its limits.
    fn ports(&self, request: &CaptureRequest, gateway: &Gateway) -> Result<Vec<PortId>, Response> {
        let refuse = |why| Err(Response::InvalidRequest(why));
        let CaptureRequest { snap_bytes, for_ns, .. } = request;
        if !(1..=CaptureRequest::LONGEST_SNAP).contains(snap_bytes) {
            return refuse(format!("a capture takes 1 to {} bytes of a frame", CaptureRequest::LONGEST_SNAP));
        }
        if !(1..=CaptureRequest::LONGEST_NS).contains(for_ns) {
            return refuse("a capture lasts up to an hour".into());
        }
        let ongoing: BTreeSet<_> = self.at.iter().flatten().map(|it| it.number).collect();
        if ongoing.len() >= CAPTURES_MAX {
            return Err(Response::Busy(format!("{CAPTURES_MAX} captures go on already")));
        }
        if !(1..=PORTS_MAX).contains(&request.ports.len()) {
            return refuse(format!("a capture takes 1 to {PORTS_MAX} ports"));
        }
        let mut ports = Vec::new();
        for name in &request.ports {
            let port = lookup::port(name, gateway.port_names())?;
            if ports.contains(&port) {
                return refuse(format!("port {name} is named twice"));
            }
            if self.at[port.index()].is_some() {
                return Err(Response::Busy(format!("someone captures port {name} already")));
            }
            ports.push(port);
        }
        Ok(ports)
    }

    /// Ends the capture with this number. Its memory is freed here, for a stalled worker when it resumes.
    pub fn end(&mut self, number: u64, crew: &mut Crew) {
        self.at.iter_mut().flatten().filter(|it| it.number == number).for_each(|it| it.ended = true);
        self.remove_ended(crew);
    }

    /// Removes captures that have ended from their ports, those of a full mailbox as soon as it has room.
    pub fn remove_ended(&mut self, crew: &mut Crew) {
        let places = (0..).map(PortId).zip(&self.at);
        let ended = places.filter(|(_, at)| at.as_ref().is_some_and(|it| it.ended));
        let ports: Vec<_> = ended.map(|(port, _)| port).collect();
        let none = |port: &PortId| (*port, (0..crew.count_of(*port)).map(|_| None).collect());
        let removed = ports.iter().map(none).collect();
        let told = crew.capture(removed);
        for (port, told) in ports.iter().zip(told) {
            if told != Told::No {
                self.at[port.index()] = None;
            }
        }
    }
}

/// The filter at `port`.
fn filter(request: &CaptureRequest, gateway: &Gateway, port: PortId) -> Result<CaptureFilter, Response> {
    let refuse = |why: String| Response::InvalidRequest(why);
    let priority = |number: &u8| lookup::priority(*number);
    let mut addresses = [None; 2];
    if request.addresses.len() > addresses.len() {
        return Err(refuse("a packet has two addresses".into()));
    }
    addresses.iter_mut().zip(&request.addresses).for_each(|(into, from)| *into = Some(*from));
    Ok(CaptureFilter {
        received: request.received,
        sent: request.sent,
        class: match request.class {
            CaptureClass::All => FrameClass::All,
            CaptureClass::Control => FrameClass::Control,
            CaptureClass::Marked => FrameClass::Marked,
        },
        priorities: request.priorities.iter().map(priority).collect::<Result<_, _>>()?,
        classification: gateway.program.port(port).classification.clone(),
        addresses,
        queue_pair: request.queue_pair.map(QueuePair::from_low_bits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::tests::{configured, crew};
    use core::time::Duration;
    use std::sync::mpsc::channel;

    fn request() -> CaptureRequest {
        CaptureRequest {
            ports: vec!["dc0".into()],
            received: true,
            sent: true,
            class: CaptureClass::All,
            priorities: Vec::new(),
            addresses: Vec::new(),
            queue_pair: None,
            snap_bytes: 100,
            for_ns: 1,
            frames_max: None,
            bytes_max: None,
        }
    }

    #[test]
    fn a_capture_that_ends_while_the_mailbox_is_full_is_removed_when_there_is_room() {
        let (one, _other, mut crew, _) = crew();
        crew.patience = Duration::from_secs(60);
        let (events, _ends) = channel();
        let mut captures = Captures::new(2, events);
        let session = captures.begin(request(), &mut crew, &configured("4MiB")).unwrap();
        one.stall();
        (0..100).for_each(|_| crew.clear_watermarks());
        captures.end(0, &mut crew);
        let again = captures.begin(request(), &mut crew, &configured("4MiB"));
        assert!(matches!(again, Err(Response::Busy(_))), "the worker has it still");
        one.go_on();
        while captures.at[0].is_some() {
            captures.remove_ended(&mut crew);
        }
        assert!(captures.begin(request(), &mut crew, &configured("4MiB")).is_ok());
        drop(session);
        crew.stop();
    }

    #[test]
    fn a_worker_that_owes_answers_gets_no_capture() {
        let (one, _other, mut crew, _) = crew();
        one.stall();
        crew.patience = Duration::from_millis(1);
        crew.inspect();
        let (events, _ends) = channel();
        let mut captures = Captures::new(2, events);
        // More often than its mailbox would have room for.
        for _ in 0..20 {
            let refused = captures.begin(request(), &mut crew, &configured("4MiB"));
            assert!(matches!(refused, Err(Response::Busy(_))));
        }
        assert!(captures.at.iter().all(Option::is_none), "no port is taken");
        one.go_on();
        crew.patience = Duration::from_secs(60);
        crew.stop();
    }
}
