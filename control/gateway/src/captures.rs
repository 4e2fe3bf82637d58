//! Captures of frames: which ports have one, and what a client may ask for.

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;

use config::Gateway;
use units::{PortId, Priority};
use wire::roce::QueuePair;
use worker::{CaptureFilter, FrameClass, TapReader, tap};

use crate::crew::Crew;
use crate::event::Event;
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
    /// By port, the number of its capture.
    at: Vec<Option<u64>>,
    next: u64,
    /// Given to each capture, to tell its end.
    events: Sender<Event>,
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
        let buffers = (MEMORY_BYTES / ports.len() / request.snap_bytes.max(1)).clamp(1, BUFFERS_MAX);
        let filters: Vec<_> =
            ports.iter().map(|port| filter(&request, gateway, *port)).collect::<Result<_, _>>()?;
        let number = self.next;
        self.next += 1;
        let mut readers: Vec<TapReader> = Vec::new();
        for (port, filter) in ports.iter().zip(filters) {
            let (tap, reader) = tap(filter, buffers, request.snap_bytes);
            self.at[port.index()] = Some(number);
            readers.push(reader);
            if !crew.capture(*port, Some(tap)) {
                self.end(number, crew);
                let name = &gateway.program.port(*port).name;
                return Err(Response::Busy(format!("the worker of port {name} is stalled")));
            }
        }
        let events = self.events.clone();
        let end = move || {
            // A gateway that ends takes its captures along.
            let _ = events.send(Event::EndCapture(number));
        };
        Ok(CaptureSession { readers, request, end: Box::new(end) })
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
        let ongoing: BTreeSet<_> = self.at.iter().flatten().collect();
        if ongoing.len() >= CAPTURES_MAX {
            return Err(Response::Busy(format!("{CAPTURES_MAX} captures go on already")));
        }
        if !(1..=PORTS_MAX).contains(&request.ports.len()) {
            return refuse(format!("a capture takes 1 to {PORTS_MAX} ports"));
        }
        let mut ports = Vec::new();
        for name in &request.ports {
            let found = (0..).map(PortId).zip(gateway.port_names()).find(|(_, known)| known == name);
            let Some((port, _)) = found else { return refuse(format!("there is no port {name}")) };
            if ports.contains(&port) {
                return refuse(format!("port {name} is named twice"));
            }
            if self.at[port.index()].is_some() {
                return Err(Response::Busy(format!("somebody captures port {name} already")));
            }
            ports.push(port);
        }
        Ok(ports)
    }

    /// Ends the capture with this number. Its memory is freed here.
    pub fn end(&mut self, number: u64, crew: &mut Crew) {
        for (port, at) in (0..).map(PortId).zip(&mut self.at) {
            if *at == Some(number) {
                *at = None;
                crew.capture(port, None);
            }
        }
    }
}

/// The filter at `port`.
fn filter(request: &CaptureRequest, gateway: &Gateway, port: PortId) -> Result<CaptureFilter, Response> {
    let refuse = |why: String| Response::InvalidRequest(why);
    let priority =
        |number: &u8| Priority::new(*number).map_err(|_| refuse(format!("there is no priority {number}")));
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
