//! The receiving end of a flow.

use crate::packet::{AckTemplate, Answer, Path, ShortFrame};
use crate::settings::{Connection, FlowId, HostSettings};
use crate::transport::{ReceiveTransport, Response};
use core::net::Ipv4Addr;
use units::{Interval, Nanos, Priority};
use wire::ip::Dscp;
use wire::roce::{Opcode, Psn};

/// A data packet, as far as a receiver looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub opcode: Opcode,
    pub psn: Psn,
    pub ack_requested: bool,
    /// Bytes of the message.
    pub payload: u64,
}

/// What came of a data packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// All bytes that are there without a gap, where they have become more.
    pub delivered: Option<u64>,
    /// Whether the message is now complete.
    pub complete: bool,
    /// What is to be answered.
    pub answer: Option<ShortFrame>,
    /// Whether the answer is negative.
    pub negative: bool,
}

/// The receiving end of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub flow: FlowId,
    /// Of acknowledgements and notifications.
    pub priority: Priority,
    first_psn: Psn,
    transport: ReceiveTransport,
    template: AckTemplate,
    path: Path,
    dscp: Dscp,
    bytes: u64,
    complete: bool,
    notified: Option<Nanos>,
}

impl Receiver {
    pub fn new(connection: &Connection, path: Path, settings: &HostSettings) -> Self {
        let priority = settings.control_priority.unwrap_or(connection.priority);
        let dscp = settings.dscp[priority.index()];
        Self {
            flow: connection.flow,
            priority,
            first_psn: connection.first_psn,
            transport: ReceiveTransport::new(&settings.transport),
            template: AckTemplate::new(&path, dscp),
            path,
            dscp,
            bytes: 0,
            complete: false,
            notified: None,
        }
    }

    /// Who sends.
    #[inline]
    pub fn peer(&self) -> Ipv4Addr {
        self.path.peer
    }

    /// A data packet came.
    #[inline]
    pub fn on_packet(&mut self, arrival: &Arrival) -> Outcome {
        let expected = self.transport.expected();
        let distance = arrival.psn.distance_from(self.first_psn.advanced_by(expected as u32));
        let Some(packet) = expected.checked_add_signed(distance.into()) else {
            return Outcome::default();
        };
        let reception = self.transport.on_packet(packet, arrival.ack_requested);
        let mut outcome = Outcome::default();
        if reception.in_order && !self.complete {
            self.bytes += arrival.payload;
            self.complete = matches!(arrival.opcode, Opcode::RC_SEND_LAST | Opcode::RC_SEND_ONLY);
            outcome.delivered = Some(self.bytes);
            outcome.complete = self.complete;
        }
        if let Some(response) = reception.answer {
            outcome.answer = Some(self.template.frame(self.answer(response), u32::from(self.complete)));
            outcome.negative = matches!(response, Response::SequenceError { .. });
        }
        outcome
    }

    fn answer(&self, response: Response) -> Answer {
        let psn = |packet: u64| self.first_psn.advanced_by(packet as u32);
        match response {
            Response::Acknowledge { before } => Answer::Acknowledge(psn(before.wrapping_sub(1))),
            Response::SequenceError { expected } => Answer::SequenceError(psn(expected)),
        }
    }

    /// A packet with a congestion mark came: the notification, where none was sent within `interval`.
    #[inline]
    pub fn on_mark(&mut self, now: Nanos, interval: Interval) -> Option<ShortFrame> {
        if self.notified.is_some_and(|last| now < last + interval) {
            return None;
        }
        self.notified = Some(now);
        Some(self.path.notification(self.dscp))
    }
}
