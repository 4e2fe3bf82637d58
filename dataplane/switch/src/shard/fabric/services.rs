//! The services of a port: their frames to the other end of the link, and from there.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::egress::EgressPort;
use crate::frame::{Frame, Transmitter};
use crate::ingress::IngressPort;
use crate::program::PortSettings;
use crate::reason::{Consumed, DropReason};
use crate::service::{FrameRoom, Service};
use units::{Bytes, Nanos, PauseQuanta, PortId, Priority, WireBytes};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::lldp::LONGEST_EMITTED;
use wire::mac_control::Message;
use wire::{grants, repair};

/// Whether a frame is for the other end of a link with LSCC.
#[inline]
pub(super) fn is_rate_feedback(descriptor: Descriptor, headers: &[u8]) -> bool {
    // One bit tells it from nearly all frames: its address is that of a group.
    headers.first().is_some_and(|first| first & 1 != 0)
        && descriptor.ether_type == EtherType::IPV4
        && ethernet::View::parse(headers)
            .is_ok_and(|it| it.destination() == MacAddress::NEAREST_NON_TPMR_BRIDGE)
}

/// The port through which a control frame came in.
#[derive(Clone, Copy)]
pub(super) struct Link<'a> {
    pub now: Nanos,
    pub port: PortId,
    pub settings: &'a PortSettings,
}

impl<F: Frame> Fabric<F> {
    /// Lets the link agents announce that their ports stop.
    #[cold]
    pub fn shut_down_agents(&mut self) {
        for port in self.owned.iter() {
            if let Some(agent) = &mut self.ingress[port.index()].agent {
                agent.shut_down();
                self.changed.insert(port);
            }
        }
    }

    /// Sends the frames of the services of `port` that are due. A flow control sends one in a call, so that data
    /// may go between its messages.
    pub(super) fn serve_link(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let IngressPort { mac, scheme, meter, agent, liveness, .. } = &mut self.ingress[port.index()];
        let egress = &mut self.egress[port.index()];
        let mut sends = |service: &mut dyn Service| send_next(now, *mac, service, egress, out);
        // A hello that is late can cost the link.
        if let Some(monitor) = liveness.as_deref_mut() {
            sends(monitor);
        }
        sends(scheme);
        while meter.as_deref_mut().is_some_and(|it| sends(it)) {}
        if let Some(agent) = agent.as_deref_mut() {
            sends(agent);
        }
    }

    /// Whether a control frame ends at a port: an LLDPDU only at one with a link agent, a frame with a shim only where the switch
    /// repairs. Others leave them to the ends of the forwarding.
    #[cold]
    pub(super) fn ends_here(&self, settings: &PortSettings, descriptor: &Descriptor) -> bool {
        match descriptor.ether_type {
            EtherType::LLDP => settings.link_agent.is_some(),
            repair::ETHER_TYPE => !self.repaired.is_empty(),
            _ => true,
        }
    }

    /// Consumes a PFC, PAUSE, grant or gPTP frame or an LLDPDU, valid or not, that came in at `at`. A lane obeys PFC itself, and
    /// leaves all else to the lead.
    pub(super) fn receive_control(
        &mut self,
        at: Nanos,
        entrance: Link<'_>,
        descriptor: &Descriptor,
        (headers, length): (&[u8], Bytes),
    ) {
        let Link { now, port, settings } = entrance;
        // A lane judges for itself what no one here takes.
        let is_for_lead = match descriptor.ether_type {
            EtherType::PTP => settings.link_delay.is_some(),
            EtherType::LLDP => true,
            _ => false,
        };
        if is_for_lead && self.post(entrance, headers, length) {
            return;
        }
        let Ok(ethernet) = ethernet::View::parse(headers) else {
            return self.refuse(port, settings, DropReason::MalformedControl, length);
        };
        self.changed.insert(port);
        let payload = headers.get(usize::from(descriptor.payload_offset)..);
        // A frame for one VLAN of the link says nothing about the link (IEEE 802.1AB-2016 clause 7.4, IEEE 802.1AS-2020
        // clause 11.3.3, IEEE 802.3 clause 31.4).
        let payload = payload.filter(|_| descriptor.pcp.is_none());
        let ingress = &mut self.ingress[port.index()];
        let taken = match (descriptor.ether_type, &mut ingress.meter, &mut ingress.agent) {
            (grants::ETHER_TYPE, ..) => self.receive_grants(now, port, payload),
            (EtherType::PTP, Some(meter), _) => {
                let frame_time = settings.rate.serialization().time_of(WireBytes::of_frame(length));
                meter.receive(at, frame_time, payload)
            }
            (EtherType::PTP, None, _) => Err(DropReason::ForeignPtp),
            // A port that repairs has taken its own shims off before.
            (repair::ETHER_TYPE, ..) => Err(DropReason::ForeignRepair),
            (EtherType::LLDP, _, Some(agent)) => {
                let heard = payload.map(|lldpdu| agent.receive(at, ethernet.source(), lldpdu));
                heard.and_then(Result::ok).map(|()| Consumed::Lldp).ok_or(DropReason::MalformedControl)
            }
            _ => {
                let is_ours = [MacAddress::MAC_CONTROL, settings.mac].contains(&ethernet.destination());
                let is_whole = length.0 >= ethernet::MIN_FRAME_LEN as u64;
                self.receive_pause(entrance, payload.filter(|_| is_ours && is_whole))
            }
        };
        match taken {
            Ok(consumed) => {
                self.ingress[port.index()].counters.consumed[consumed.index()].count(length);
            }
            Err(reason) => self.refuse(port, settings, reason, length),
        }
    }

    /// Takes the payload of a PFC or PAUSE frame for this end of the link.
    fn receive_pause(&mut self, entrance: Link<'_>, payload: Option<&[u8]>) -> Result<Consumed, DropReason> {
        let Link { now, port, settings } = entrance;
        let consumed = match payload.map(Message::parse) {
            Some(Ok(Message::Pfc(pfc))) => {
                for priority in pfc.enabled().iter() {
                    if self.egress[port.index()].gate.pauses.obeys(priority) {
                        self.pause(now, port, priority, pfc.time(priority).unwrap_or(PauseQuanta::ZERO));
                    }
                }
                Consumed::Pfc
            }
            Some(Ok(Message::Pause(pause))) => {
                if settings.pfc.obey_global_pause {
                    Priority::all().for_each(|priority| self.pause(now, port, priority, pause.time()));
                }
                Consumed::Pause
            }
            _ => return Err(DropReason::MalformedControl),
        };
        self.pass_on(now, port);
        Ok(consumed)
    }

    /// Takes the payload of a grant frame: a hello is for the monitor of the link; anything else the upstream side reads, and
    /// then the scheme.
    #[cold]
    fn receive_grants(
        &mut self,
        now: Nanos,
        port: PortId,
        payload: Option<&[u8]>,
    ) -> Result<Consumed, DropReason> {
        let has_monitor = self.ingress[port.index()].liveness.is_some();
        let is_read = has_monitor || self.repaired.contains(port);
        if !is_read && self.egress[port.index()].gate.upstream.is_none() {
            return Err(DropReason::ForeignGrants);
        }
        let message = payload.and_then(|it| grants::Message::parse(it).ok());
        let message = message.ok_or(DropReason::MalformedControl)?;
        if let grants::Message::Repair(status) = &message {
            let is_ours = self.hear_status(now, port, status);
            return if is_ours { Ok(Consumed::Grants) } else { Err(DropReason::ForeignRepair) };
        }
        if let grants::Message::Hello(hello) = &message
            && self.take_hello(now, port, hello)
        {
            return Ok(Consumed::Grants);
        }
        let egress = &mut self.egress[port.index()];
        let outgoing = egress.outgoing();
        let upstream = egress.gate.upstream.as_mut().ok_or(DropReason::ForeignGrants)?;
        if !upstream.understands(&message) {
            return Err(DropReason::ForeignGrants);
        }
        let ingress = &mut self.ingress[port.index()];
        if upstream.receive(now, &message, ingress.scheme.session(), &outgoing) {
            ingress.hear(now, &message, (&*self.ledger).into(), &self.pools);
        }
        Ok(Consumed::Grants)
    }
}

/// Sends the frame of `service` that is due, if the link is free. Returns whether it did.
pub(super) fn send_next<F>(
    now: Nanos,
    source: MacAddress,
    service: &mut dyn Service,
    egress: &mut EgressPort,
    out: &mut impl Transmitter<F>,
) -> bool {
    if service.frame_due() > now || egress.gate.link_opens_at() > now {
        return false;
    }
    let mut frame: FrameRoom = [0; LONGEST_EMITTED];
    let Some(length) = service.next_frame(now, source, &egress.outgoing(), &mut frame) else { return false };
    let start = egress.send_control(now, Bytes(length as u64));
    service.sent(start);
    out.control(start, &frame[..length]);
    true
}
