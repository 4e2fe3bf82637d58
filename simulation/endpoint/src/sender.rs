//! The sending end of a flow: a message in packets, over one queue pair.

use crate::control::{Acknowledgement, Controller, Returned};
use crate::pacer::Pacer;
use crate::packet::{Answer, DataPacket, DataTemplate, Format, Path, SegmentTemplate};
use crate::settings::{Connection, FlowId, HostSettings};
use crate::transport::{Response, SendTransport};
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Interval, Nanos, Priority, WireBytes};
use wire::roce::direct_int::Content;
use wire::roce::{Opcode, Psn, QueuePair};
use wire::tcp::SequenceNumber;

/// The state of a flow at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// The rate at which it may send, including preamble and gap.
    pub rate: BitRate,
    /// Bytes of the message that may be in flight; `None` if unlimited.
    pub window: Option<u64>,
    /// Bytes of the message that were sent at least once.
    pub sent: u64,
    /// Bytes of the message that were acknowledged.
    pub acknowledged: u64,
}

/// A message, by its packets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Message {
    /// Bytes per packet, except the last.
    mtu: u16,
    /// The number of packets; an unreachable number if endless.
    packets: u64,
    /// Bytes in the last packet.
    last: u16,
}

impl Message {
    fn new(length: Option<u64>, mtu: u16) -> Self {
        let size = u64::from(mtu.max(1));
        match length {
            Some(length) => {
                let packets = length.div_ceil(size).max(1);
                Self { mtu, packets, last: (length - (packets - 1) * size) as u16 }
            }
            None => Self { mtu, packets: u64::MAX, last: mtu },
        }
    }

    fn payload(&self, packet: u64) -> u16 {
        if packet + 1 == self.packets { self.last } else { self.mtu }
    }

    fn opcode(&self, packet: u64) -> Opcode {
        match (packet == 0, packet + 1 == self.packets) {
            (true, true) => Opcode::RC_SEND_ONLY,
            (true, false) => Opcode::RC_SEND_FIRST,
            (false, true) => Opcode::RC_SEND_LAST,
            (false, false) => Opcode::RC_SEND_MIDDLE,
        }
    }

    /// The number of whole packets in the first `bytes` of the message, whose end counts as one more byte;
    /// `None` if they end within a packet.
    fn packets_before(&self, bytes: u64) -> Option<u64> {
        let size = u64::from(self.mtu.max(1));
        let end = self
            .packets
            .checked_sub(1)?
            .checked_mul(size)
            .and_then(|before| before.checked_add(u64::from(self.last) + 1));
        if Some(bytes) == end {
            return Some(self.packets);
        }
        (bytes.is_multiple_of(size) && bytes / size < self.packets).then_some(bytes / size)
    }

    /// Bytes in the packets before this one.
    fn bytes_before(&self, packet: u64) -> u64 {
        let whole = packet.min(self.packets - 1);
        whole * u64::from(self.mtu) + if packet == self.packets { u64::from(self.last) } else { 0 }
    }
}

/// The place of a queue pair in the transmission order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// None: it has nothing to send or may not send.
    None,
    /// In the round robin, or paced.
    Listed,
}

/// A packet that is about to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    packet: u64,
    /// Its stored length.
    pub length: Bytes,
    /// Whether it is a retransmission.
    pub again: bool,
    /// Whether it is the last of the message.
    pub is_last: bool,
}

/// The header template of its packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Template {
    Roce(DataTemplate),
    Tcp(SegmentTemplate),
}

/// The sending end of a flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sender {
    pub flow: FlowId,
    pub priority: Priority,
    pub place: Place,
    /// Whether its connection is established, so that it may send.
    pub is_open: bool,
    /// The queue pair of the receiver.
    pub remote: QueuePair,
    /// Its scheduled alarm; never if there is none.
    pub alarm: Nanos,
    pub retransmitted: u64,
    message: Message,
    first_psn: Psn,
    template: Template,
    transport: SendTransport,
    controller: Controller,
    pacer: Pacer,
    line: BitRate,
    /// Packets that requested an acknowledgement, with their start, oldest first. Only used if the controller
    /// measures round trips.
    asked: VecDeque<(u64, Nanos)>,
}

impl Sender {
    /// A sender on a host that already sends `others` flows.
    pub fn new(connection: &Connection, path: Path, settings: &HostSettings, others: u32) -> Self {
        let (priority, first_psn) = (connection.priority, connection.first_psn);
        let dscp = settings.dscp[priority.index()];
        let mut sender = Self {
            flow: connection.flow,
            priority,
            place: Place::None,
            is_open: !settings.manages_connections(),
            remote: connection.remote,
            alarm: Nanos::NEVER,
            retransmitted: 0,
            message: Message::new(connection.length, settings.mtu),
            first_psn,
            template: match Format::of(settings) {
                Format::Tcp => Template::Tcp(SegmentTemplate::new(path, connection.local, first_psn, dscp)),
                format => Template::Roce(DataTemplate::new(path, dscp, format)),
            },
            transport: SendTransport::new(&settings.transport),
            controller: Controller::new(settings, others),
            pacer: Pacer::new(settings.rate),
            line: settings.rate,
            asked: VecDeque::new(),
        };
        // Writes the headers that depend on the length once, for a full packet.
        let _ = sender.write(0);
        sender
    }

    /// Writes the headers of `packet`; returns its stored length.
    #[inline]
    fn write(&mut self, packet: u64) -> Bytes {
        let (ack_requested, payload) = (self.requests_ack(packet), self.message.payload(packet));
        match &mut self.template {
            Template::Roce(template) => template.write(&DataPacket {
                opcode: self.message.opcode(packet),
                psn: self.first_psn.advanced_by(packet as u32),
                ack_requested,
                payload,
            }),
            Template::Tcp(template) => {
                let last = packet + 1 == self.message.packets;
                template.write(self.message.bytes_before(packet), payload, last)
            }
        }
    }

    fn requests_ack(&self, packet: u64) -> bool {
        packet + 1 == self.message.packets || self.transport.requests_ack(packet)
    }

    /// Whether it may send a packet, regardless of pacing.
    #[inline]
    pub fn may_send(&self) -> bool {
        let within = self.controller.window().is_none_or(|window| self.bytes_in_flight() < window);
        self.is_open
            && (within || self.transport.replaces_lost())
            && self.transport.next_packet(self.message.packets).is_some()
    }

    fn bytes_in_flight(&self) -> u64 {
        self.transport.in_flight() * u64::from(self.message.mtu)
    }

    /// The earliest start of its next packet.
    #[inline]
    pub fn due(&self) -> Nanos {
        self.pacer.due()
    }

    /// Writes its next packet to [`Sender::headers`].
    #[inline]
    pub fn prepare(&mut self) -> Option<Departure> {
        if !self.may_send() {
            return None;
        }
        let packet = self.transport.next_packet(self.message.packets)?;
        let length = self.write(packet);
        let is_last = packet + 1 == self.message.packets;
        Some(Departure { packet, length, again: packet < self.transport.sent(), is_last })
    }

    #[inline]
    pub fn headers(&self) -> &[u8] {
        match &self.template {
            Template::Roce(template) => template.bytes(),
            Template::Tcp(template) => template.bytes(),
        }
    }

    /// Notes that the prepared packet starts at `start`.
    #[inline]
    pub fn depart(&mut self, start: Nanos, departure: Departure) {
        if let Some(rate) = self.controller.rate(start) {
            self.pacer.sent(start, WireBytes::of_frame(departure.length), rate);
        }
        self.transport.on_sent(start, departure.packet);
        self.controller.on_sent(start, departure.length);
        if departure.again {
            self.retransmitted += 1;
        }
        if self.controller.measures_round_trips() {
            self.note_departure(start, departure);
        }
    }

    fn note_departure(&mut self, start: Nanos, departure: Departure) {
        if departure.again {
            // An acknowledgement could be for either transmission (Karn's rule).
            self.asked.retain(|(packet, _)| *packet < departure.packet);
        } else if self.requests_ack(departure.packet) {
            self.asked.push_back((departure.packet, start));
        }
    }

    /// Handles an answer with `telemetry`. Returns whether everything is acknowledged.
    #[inline]
    pub fn on_answer(&mut self, now: Nanos, answer: Answer, telemetry: Option<Returned<'_>>) -> bool {
        let acknowledged = self.transport.acknowledged();
        let reference = self.first_psn.advanced_by(acknowledged as u32);
        let packet = |psn: Psn| acknowledged.checked_add_signed(psn.distance_from(reference).into());
        let response = match answer {
            Answer::Acknowledge(psn) => {
                packet(psn).map(|packet| Response::Acknowledge { before: packet + 1 })
            }
            Answer::SequenceError(psn) => packet(psn).map(|expected| Response::SequenceError { expected }),
            Answer::Selective(psn, arrived) => match (packet(psn), packet(arrived)) {
                (Some(expected), Some(arrived)) => Some(Response::Selective { expected, arrived }),
                _ => None,
            },
        };
        response.is_some_and(|response| self.on_response(now, response, telemetry))
    }

    /// Handles a TCP acknowledgement. Returns whether everything is acknowledged; `None` if it is not for
    /// this message.
    pub fn on_acknowledgement(&mut self, now: Nanos, acknowledgement: SequenceNumber) -> Option<bool> {
        let Template::Tcp(template) = &self.template else { return None };
        let near = self.message.bytes_before(self.transport.acknowledged());
        let before = self.message.packets_before(template.bytes_before(acknowledgement, near)?)?;
        Some(self.on_response(now, Response::Acknowledge { before }, None))
    }

    #[inline]
    fn on_response(&mut self, now: Nanos, response: Response, telemetry: Option<Returned<'_>>) -> bool {
        let acknowledged = self.transport.acknowledged();
        let newly = self.transport.on_response(now, response);
        if newly > 0 {
            self.notify(now, acknowledged, telemetry);
        }
        self.transport.acknowledged() == self.message.packets
    }

    /// Notifies the controller that packets from `from` on were acknowledged.
    fn notify(&mut self, now: Nanos, from: u64, telemetry: Option<Returned<'_>>) {
        let before = self.transport.acknowledged();
        let acknowledged = self.message.bytes_before(before);
        let acknowledgement = Acknowledgement {
            acknowledged,
            newly: acknowledged - self.message.bytes_before(from),
            sent: self.message.bytes_before(self.transport.sent()),
            round_trip: self.round_trip(now, before),
            telemetry,
        };
        self.controller.on_acknowledgement(now, &acknowledgement);
    }

    fn round_trip(&mut self, now: Nanos, before: u64) -> Option<Interval> {
        let mut found = None;
        while let Some((packet, start)) = self.asked.front().copied().filter(|(packet, _)| *packet < before) {
            found = (packet + 1 == before).then(|| now.since(start));
            self.asked.pop_front();
        }
        found
    }

    /// Handles a direct INT. Returns whether its congestion control understands it.
    pub fn on_direct_int(&mut self, now: Nanos, content: &Content) -> bool {
        self.controller.on_direct_int(now, content)
    }

    /// Handles a congestion notification.
    pub fn on_cnp(&mut self, now: Nanos) {
        self.controller.on_cnp(now);
    }

    /// The instant at which to call [`Sender::on_alarm`].
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.transport.deadline()
    }

    /// Handles its current or an earlier deadline. Returns whether the retransmission timer expired.
    pub fn on_alarm(&mut self, now: Nanos) -> bool {
        let timeout = self.transport.deadline() <= now;
        if timeout {
            self.transport.on_timeout(now);
        }
        timeout
    }

    /// Ends an endless message with one more packet, because no sent packet is marked as the last.
    pub fn stop(&mut self) {
        if self.message.packets == u64::MAX {
            self.message.packets = self.transport.sent() + 1;
        }
    }

    /// Its state at `now`.
    pub fn state(&self, now: Nanos) -> FlowState {
        FlowState {
            rate: self.controller.clone().rate(now).unwrap_or(self.line),
            window: self
                .controller
                .window()
                .or_else(|| Some(self.transport.window()?.saturating_mul(self.message.mtu.into()))),
            sent: self.message.bytes_before(self.transport.sent()),
            acknowledged: self.message.bytes_before(self.transport.acknowledged()),
        }
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.transport.acknowledged() == self.message.packets
    }

    /// The address of the receiver.
    #[inline]
    pub fn peer(&self) -> IpAddr {
        match &self.template {
            Template::Roce(template) => template.peer(),
            Template::Tcp(template) => template.peer(),
        }
    }

    /// The TCP port of the receiver; `None` without TCP.
    pub fn remote_port(&self) -> Option<u16> {
        match &self.template {
            Template::Roce(_) => None,
            Template::Tcp(template) => Some(template.remote_port()),
        }
    }
}
