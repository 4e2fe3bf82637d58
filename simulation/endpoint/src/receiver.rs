//! The receiving end of a flow.

use crate::packet::{
    AckSegmentTemplate, AckTemplate, Answer, Collected, Format, Path, ReturningTemplate, ShortFrame,
};
use crate::settings::{Connection, FlowId, HostSettings};
use crate::transport::{ReceiveTransport, Response};
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Interval, Nanos, Priority};
use wire::ip::Dscp;
use wire::roce::{Opcode, Psn};
use wire::tcp::SequenceNumber;

/// The fields of a data packet that a receiver uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub opcode: Opcode,
    pub psn: Psn,
    pub ack_requested: bool,
    /// Bytes of the message.
    pub payload: u64,
    /// The collected telemetry.
    pub telemetry: Option<Collected<'a>>,
}

/// The template of its answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Template {
    Plain(AckTemplate),
    Returning(ReturningTemplate),
    Tcp(AckSegmentTemplate),
}

/// The maximum distance of a segment from the expected one: twice the maximum in flight.
const AHEAD_MAX: u64 = 1 << 18;

/// The outcome of a data packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// The number of bytes received without a gap, if it increased.
    pub delivered: Option<u64>,
    /// Whether the message is now complete.
    pub complete: bool,
    /// Whether an answer was added to the control frames.
    pub answered: bool,
    /// Whether the answer is negative.
    pub negative: bool,
}

/// The receiving end of a flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Receiver {
    pub flow: FlowId,
    /// The priority of acknowledgements and notifications.
    pub priority: Priority,
    first_psn: Psn,
    transport: ReceiveTransport,
    template: Template,
    path: Path,
    dscp: Dscp,
    /// Bytes per packet, except the last.
    size: u64,
    /// Whether such a packet has arrived, so that `size` is the sender's.
    sized: bool,
    /// The last packet and its bytes, once it has arrived.
    last: Option<(u64, u64)>,
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
            template: match Format::of(settings) {
                Format::Roce => Template::Plain(AckTemplate::new(&path, dscp)),
                Format::Collecting(_) => Template::Returning(ReturningTemplate::new(&path, dscp)),
                Format::Tcp => {
                    let (local, first_psn) = (connection.local, connection.first_psn);
                    Template::Tcp(AckSegmentTemplate::new(&path, local, first_psn, dscp))
                }
            },
            path,
            dscp,
            size: settings.mtu.max(1).into(),
            sized: false,
            last: None,
            complete: false,
            notified: None,
        }
    }

    /// The address of the sender.
    #[inline]
    pub fn peer(&self) -> IpAddr {
        self.path.peer()
    }

    /// Handles a data packet; adds its answer to `control`.
    #[inline]
    pub fn on_packet(&mut self, arrival: &Arrival<'_>, control: &mut VecDeque<ShortFrame>) -> Outcome {
        let expected = self.transport.expected();
        let distance = arrival.psn.distance_from(self.first_psn.advanced_by(expected as u32));
        let Some(packet) = expected.checked_add_signed(distance.into()) else {
            return Outcome::default();
        };
        let last = matches!(arrival.opcode, Opcode::RC_SEND_LAST | Opcode::RC_SEND_ONLY);
        if !(last || self.fits(arrival.payload)) {
            return Outcome::default();
        }
        let (response, mut outcome) = self.receive(packet, last, arrival.payload, arrival.ack_requested);
        let Some(response) = response else { return outcome };
        let (answer, messages) = (self.answer(response), u32::from(self.complete));
        outcome.negative = !matches!(response, Response::Acknowledge { .. });
        match &self.template {
            Template::Plain(template) => control.push_back(template.frame(answer, messages)),
            Template::Returning(template) => {
                let telemetry = arrival.telemetry.unwrap_or(Collected::EMPTY);
                control.push_back(template.frame(answer, messages, telemetry));
            }
            Template::Tcp(_) => return outcome,
        }
        outcome.answered = true;
        outcome
    }

    /// Whether a packet other than the last may have `payload` bytes: they all have the same size.
    #[inline]
    fn fits(&mut self, payload: u64) -> bool {
        if !self.sized {
            (self.size, self.sized) = (payload, true);
        }
        payload == self.size
    }

    /// Handles a TCP segment at `sequence` with `payload` bytes. `None` if it is not part of this message,
    /// which senders cut at multiples of the MTU.
    pub fn on_segment(
        &mut self,
        sequence: SequenceNumber,
        payload: u64,
        last: bool,
        control: &mut VecDeque<ShortFrame>,
    ) -> Option<Outcome> {
        let Template::Tcp(template) = &self.template else { return None };
        let expected = self.transport.expected();
        let offset = template.offset_of(sequence, expected.checked_mul(self.size)?)?;
        let packet = offset / self.size;
        let whole = offset.is_multiple_of(self.size) && (last || payload == self.size);
        if !whole || payload > self.size || packet > expected + AHEAD_MAX {
            return None;
        }
        let (_, mut outcome) = self.receive(packet, last, payload, true);
        if let Template::Tcp(template) = &self.template {
            control.push_back(template.frame(self.bytes() + u64::from(self.complete)));
            outcome.answered = true;
        }
        Some(outcome)
    }

    /// Handles `packet` with `payload` bytes; returns the answer and the outcome.
    #[inline]
    fn receive(
        &mut self,
        packet: u64,
        last: bool,
        payload: u64,
        ack_requested: bool,
    ) -> (Option<Response>, Outcome) {
        let before = self.transport.expected();
        let response = self.transport.on_packet(packet, ack_requested);
        if last && self.last.is_none() {
            self.last = Some((packet, payload));
        }
        let mut outcome = Outcome::default();
        if self.transport.expected() > before && !self.complete {
            self.complete = self.last.is_some_and(|(last, _)| last < self.transport.expected());
            outcome.delivered = Some(self.bytes());
            outcome.complete = self.complete;
        }
        (response, outcome)
    }

    /// The number of bytes received without a gap.
    fn bytes(&self) -> u64 {
        match self.last {
            Some((last, payload)) if self.complete => last.saturating_mul(self.size).saturating_add(payload),
            _ => self.transport.expected().saturating_mul(self.size),
        }
    }

    /// The TCP port of the far end; `None` without TCP.
    #[inline]
    pub fn remote_port(&self) -> Option<u16> {
        match &self.template {
            Template::Tcp(template) => Some(template.remote_port()),
            Template::Plain(_) | Template::Returning(_) => None,
        }
    }

    fn answer(&self, response: Response) -> Answer {
        let psn = |packet: u64| self.first_psn.advanced_by(packet as u32);
        match response {
            Response::Acknowledge { before } => Answer::Acknowledge(psn(before.wrapping_sub(1))),
            Response::SequenceError { expected } => Answer::SequenceError(psn(expected)),
            Response::Selective { expected, arrived } => Answer::Selective(psn(expected), psn(arrived)),
        }
    }

    /// Handles a packet with a congestion mark; returns a notification unless one was sent within `interval`.
    #[inline]
    pub fn on_mark(&mut self, now: Nanos, interval: Interval) -> Option<ShortFrame> {
        if self.notified.is_some_and(|last| now < last + interval) {
            return None;
        }
        self.notified = Some(now);
        Some(self.path.notification(self.dscp))
    }
}
