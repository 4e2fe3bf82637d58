//! Handling of received frames.

use super::table::{QueuePairState, Slot};
use super::{Event, Host};
use crate::packet::{Answer, Collected};
use crate::receiver::{Arrival, Outcome};
use crate::sender::Place;
use crate::settings::FlowId;
use core::net::IpAddr;
use units::{Bytes, Nanos, Priority};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Ecn, IpProtocol};
use wire::mac_control::Message;
use wire::roce::bth::Telemetry;
use wire::roce::direct_int::Content;
use wire::roce::extended::Aeth;
use wire::roce::{self, Head, Opcode, bth, icrc};
use wire::tcp::Flags;
use wire::{int, ipv4, ipv6, pfc, tcp, udp};

/// A RoCEv2 packet.
pub(super) struct Packet<'a> {
    pub source: IpAddr,
    marked: bool,
    pub bth: bth::View<&'a [u8]>,
    /// Bytes between BTH and ICRC.
    payload: u64,
}

impl<'a> Packet<'a> {
    /// The packet in a datagram of `length` bytes, whose payload begins with `bth`.
    #[inline]
    fn new(source: IpAddr, marked: bool, length: usize, bth: &'a [u8]) -> Option<Self> {
        let bth = bth::View::parse(bth).ok().filter(|bth| bth.transport_version() == 0)?;
        let payload = length.checked_sub(udp::HEADER_LEN + bth::HEADER_LEN + icrc::LEN)?;
        Some(Packet { source, marked, bth, payload: payload as u64 })
    }
}

impl Host {
    /// Handles a received frame of `length` bytes without FCS, of which `headers` are the first. Counts
    /// frames that are malformed or for other stations. The ICRC is not verified: there is no payload to
    /// compute it from, and the FCS covers damage on the way.
    pub fn ingress(&mut self, now: Nanos, headers: &[u8], length: Bytes) {
        self.now = now;
        if self.take(now, headers, length).is_none() {
            self.counters.strays += 1;
        }
    }

    fn take(&mut self, now: Nanos, headers: &[u8], length: Bytes) -> Option<()> {
        let frame = ethernet::View::parse(headers).ok()?;
        if frame.ether_type() == EtherType::MAC_CONTROL && frame.destination() == MacAddress::MAC_CONTROL {
            return match Message::parse(frame.into_payload()).ok()? {
                Message::Pfc(message) => {
                    self.take_pause(now, &message);
                    Some(())
                }
                Message::Pause(_) | Message::Other(_) => None,
            };
        }
        if frame.destination() != self.settings.station.mac {
            return None;
        }
        let (ether_type, payload) = (frame.ether_type(), frame.into_payload());
        let on_wire = usize::try_from(length.0).ok()?.checked_sub(ethernet::HEADER_LEN)?;
        let packet = match ether_type {
            EtherType::IPV4 => self.read_v4(payload, on_wire),
            EtherType::IPV6 => self.read_v6(payload, on_wire),
            _ => return None,
        };
        let Some(packet) = packet else {
            return self.take_segment(now, payload, on_wire);
        };
        let Some(slot) = self.table.find(packet.bth.destination_qp()) else {
            return self.take_message(now, &packet);
        };
        match packet.bth.opcode() {
            Opcode::CNP => self.take_notification(now, slot, &packet),
            Opcode::DIRECT_INT => self.take_direct_int(now, slot, &packet),
            Opcode::RC_ACKNOWLEDGE => self.take_answer(now, slot, &packet),
            Opcode::RC_SEND_FIRST | Opcode::RC_SEND_MIDDLE | Opcode::RC_SEND_LAST | Opcode::RC_SEND_ONLY => {
                self.take_data(now, slot, &packet)
            }
            _ => None,
        }
    }

    /// The RoCEv2 packet in an IPv4 packet to this host.
    #[inline]
    fn read_v4<'a>(&self, packet: &'a [u8], on_wire: usize) -> Option<Packet<'a>> {
        let head = Head::parse(packet)?;
        if self.settings.station.address != IpAddr::V4(head.destination()) {
            return None;
        }
        let ip = ipv4::View::parse_head(packet, on_wire).ok()?;
        let udp = udp::View::parse_head(ip.into_payload(), ip.total_len() - ip.header_len()).ok()?;
        let (source, marked) = (IpAddr::V4(head.source()), ip.ecn() == Ecn::Ce);
        Packet::new(source, marked, udp.length(), head.into_bth())
    }

    /// The RoCEv2 packet in an IPv6 packet to this host, without extension headers.
    #[inline]
    fn read_v6<'a>(&self, packet: &'a [u8], on_wire: usize) -> Option<Packet<'a>> {
        let ip = ipv6::View::parse_head(packet, on_wire).ok()?;
        let is_mine = self.settings.station.address == IpAddr::V6(ip.destination());
        if !is_mine || ip.next_header() != IpProtocol::UDP {
            return None;
        }
        let udp = udp::View::parse_head(ip.into_payload(), ip.total_len() - ipv6::HEADER_LEN).ok()?;
        if udp.destination_port() != roce::UDP_PORT {
            return None;
        }
        let (source, marked) = (IpAddr::V6(ip.source()), ip.ecn() == Ecn::Ce);
        Packet::new(source, marked, udp.length(), udp.into_payload())
    }

    fn take_pause(&mut self, now: Nanos, message: &pfc::View<&[u8]>) {
        self.counters.pauses_received += 1;
        for priority in message.enabled().intersection(self.settings.lossless).iter() {
            if let Some(quanta) = message.time(priority) {
                self.nic.pause(priority, now + quanta.interval_at(self.settings.rate));
            }
        }
    }

    fn take_notification(&mut self, now: Nanos, slot: Slot, packet: &Packet<'_>) -> Option<()> {
        let sender = self.table.sender(slot).filter(|sender| sender.peer() == packet.source)?;
        self.counters.cnps_received += 1;
        sender.on_cnp(now);
        self.wake(now, slot);
        Some(())
    }

    /// Takes a direct INT. One that its flow does not use is a stray.
    fn take_direct_int(&mut self, now: Nanos, slot: Slot, packet: &Packet<'_>) -> Option<()> {
        let sender = self.table.sender(slot).filter(|sender| sender.peer() == packet.source)?;
        let payload = packet.bth.into_payload();
        let end = usize::try_from(packet.payload).unwrap_or(usize::MAX).min(payload.len());
        let content = Content::parse(payload.get(..end)?).ok()?;
        if !sender.on_direct_int(now, &content) {
            return None;
        }
        self.counters.direct_ints_received += 1;
        self.wake(now, slot);
        Some(())
    }

    fn take_answer(&mut self, now: Nanos, slot: Slot, packet: &Packet<'_>) -> Option<()> {
        let sender = self.table.sender(slot).filter(|sender| sender.peer() == packet.source)?;
        let payload = packet.bth.into_payload();
        let aeth = Aeth::parse(payload).ok()?;
        let answer = Answer::parse(packet.bth.psn(), aeth)?;
        let end = usize::try_from(packet.payload).unwrap_or(usize::MAX).min(payload.len());
        let telemetry = match packet.bth.telemetry() {
            Telemetry::Returned(format) => payload.get(Aeth::LEN..end).map(|bytes| (bytes, format)),
            Telemetry::None | Telemetry::Collected(_) => None,
        };
        let telemetry = telemetry.and_then(|(bytes, format)| int::View::parse(bytes, format).ok());
        if sender.on_answer(now, answer, telemetry) {
            self.finish(slot);
        } else {
            self.wake(now, slot);
        }
        Some(())
    }

    /// Ends a flow that is fully acknowledged.
    fn finish(&mut self, slot: Slot) {
        let Some(sender) = self.table.sender(slot) else { return };
        let (flow, retransmitted) = (sender.flow, sender.retransmitted);
        self.manager.forget(flow);
        // A sender in the transmission order keeps its slot until its turn, so that its entry cannot refer to
        // another queue pair. A kept slot is needed again at once.
        let is_listed = sender.place != Place::None;
        if is_listed && self.table.keeps(slot) {
            self.nic.forget(slot);
        }
        if !is_listed || self.table.keeps(slot) {
            self.table.release(slot);
        }
        if self.flows.remove(&flow).is_some() {
            self.sending -= 1;
            self.events.push_back(Event::Acknowledged { flow, retransmitted });
        }
    }

    fn take_data(&mut self, now: Nanos, slot: Slot, packet: &Packet<'_>) -> Option<()> {
        let Some(QueuePairState::Receiver(receiver)) = self.table.state_mut(slot) else { return None };
        if receiver.peer() != packet.source {
            return None;
        }
        let format = match packet.bth.telemetry() {
            Telemetry::Collected(format) => Some(format),
            Telemetry::None | Telemetry::Returned(_) => None,
        };
        let around = u64::from(packet.bth.pad_count()) + format.map_or(0, |format| format.bytes() as u64);
        let arrival = Arrival {
            opcode: packet.bth.opcode(),
            psn: packet.bth.psn(),
            ack_requested: packet.bth.ack_requested(),
            payload: packet.payload.saturating_sub(around),
            telemetry: format.and_then(|format| Collected::new(format, packet.bth.into_payload())),
        };
        self.counters.data_received += 1;
        if packet.marked {
            self.counters.marked += 1;
            if let Some(interval) = self.settings.cnp_interval
                && let Some(frame) = receiver.on_mark(now, interval)
            {
                self.counters.cnps_sent += 1;
                self.nic.push_control(receiver.priority, frame);
            }
        }
        let (flow, priority) = (receiver.flow, receiver.priority);
        let outcome = receiver.on_packet(&arrival, self.nic.control(priority));
        self.act_on(flow, priority, &outcome);
        Some(())
    }

    /// Counts the answer and reports events.
    #[inline]
    fn act_on(&mut self, flow: FlowId, priority: Priority, outcome: &Outcome) {
        if outcome.answered {
            self.counters.naks_sent += u64::from(outcome.negative);
            self.nic.note_control(priority);
        }
        if let Some(bytes) = outcome.delivered {
            match self.events.back_mut() {
                Some(Event::Delivered { flow: last, bytes: so_far }) if *last == flow => *so_far = bytes,
                _ => self.events.push_back(Event::Delivered { flow, bytes }),
            }
        }
        if outcome.complete {
            self.events.push_back(Event::Received { flow });
        }
    }

    /// Handles a TCP segment. Connections have no handshake, so SYN and RST segments are strays.
    fn take_segment(&mut self, now: Nanos, packet: &[u8], on_wire: usize) -> Option<()> {
        let (source, segment, segment_len) = self.read_segment(packet, on_wire)?;
        let payload = segment_len.checked_sub(segment.header_len())? as u64;
        let flags = segment.flags();
        if flags.contains(Flags::SYN) || flags.contains(Flags::RST) || !flags.contains(Flags::ACK) {
            return None;
        }
        let remote_port = Some(segment.source_port());
        let slot = self.table.find_port(segment.destination_port())?;
        match self.table.state_mut(slot)? {
            QueuePairState::Sender(sender)
                if (sender.peer(), sender.remote_port()) == (source, remote_port) =>
            {
                match sender.on_acknowledgement(now, segment.acknowledgement())? {
                    true => self.finish(slot),
                    false => self.wake(now, slot),
                }
            }
            QueuePairState::Receiver(receiver)
                if (receiver.peer(), receiver.remote_port()) == (source, remote_port) =>
            {
                let (flow, priority) = (receiver.flow, receiver.priority);
                let (control, last) = (self.nic.control(priority), flags.contains(Flags::FIN));
                let outcome = receiver.on_segment(segment.sequence(), payload, last, control)?;
                self.counters.data_received += 1;
                self.act_on(flow, priority, &outcome);
            }
            _ => return None,
        }
        Some(())
    }

    /// The sender, the segment and its length in an IP packet to this host.
    fn read_segment<'a>(
        &self,
        packet: &'a [u8],
        on_wire: usize,
    ) -> Option<(IpAddr, tcp::View<&'a [u8]>, usize)> {
        let (source, destination, protocol, payload, length) = match self.settings.station.address {
            IpAddr::V4(_) => {
                let ip = ipv4::View::parse_head(packet, on_wire).ok().filter(|ip| !ip.is_fragment())?;
                let length = ip.total_len() - ip.header_len();
                let (source, destination) = (IpAddr::V4(ip.source()), IpAddr::V4(ip.destination()));
                (source, destination, ip.protocol(), ip.into_payload(), length)
            }
            IpAddr::V6(_) => {
                let ip = ipv6::View::parse_head(packet, on_wire).ok()?;
                let length = ip.total_len() - ipv6::HEADER_LEN;
                let (source, destination) = (IpAddr::V6(ip.source()), IpAddr::V6(ip.destination()));
                (source, destination, ip.next_header(), ip.into_payload(), length)
            }
        };
        let is_mine = destination == self.settings.station.address && protocol == IpProtocol::TCP;
        let segment = tcp::View::parse(payload).ok().filter(|_| is_mine)?;
        Some((source, segment, length))
    }
}
