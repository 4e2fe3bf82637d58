//! Grant frames between the two ends of a link, in both directions.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::frame::{ControlFrame, Frame, Transmitter};
use crate::program::PortSettings;
use crate::reason::{Consumed, DropReason};
use units::{Nanos, PortId};
use wire::grants;

impl<F: Frame> Fabric<F> {
    /// Consumes a grant frame, valid or not.
    #[cold]
    pub(super) fn receive_grants(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        let egress = &mut self.egress[port.index()];
        let outgoing = egress.outgoing();
        let Some(upstream) = &mut egress.gate.upstream else {
            self.refuse(port, settings, DropReason::ForeignGrants, frame.length());
            return;
        };
        let payload = frame.headers().get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        // A frame for one VLAN of the link says nothing about the link.
        let message = grants::Message::parse(payload).ok().filter(|_| descriptor.pcp.is_none());
        let Some(message) = message else {
            self.refuse(port, settings, DropReason::MalformedControl, frame.length());
            return;
        };
        if !upstream.understands(&message) {
            self.refuse(port, settings, DropReason::ForeignGrants, frame.length());
            return;
        }
        let ingress = &mut self.ingress[port.index()];
        if upstream.receive(now, &message, ingress.scheme.session(), &outgoing) {
            ingress.hear(now, &message, &self.ledger, &self.pools);
        }
        ingress.counters.consumed[Consumed::Grants.index()].count(frame.length());
    }

    /// Sends the message of the port's flow control, once the link is free.
    #[inline(always)]
    pub(super) fn send_grants(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        if self.ingress[port.index()].scheme.has_message()
            && self.egress[port.index()].gate.link_opens_at() <= now
        {
            self.send_grants_now(now, port, out);
        }
    }

    #[inline(never)]
    fn send_grants_now(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let ingress = &mut self.ingress[port.index()];
        let outgoing = self.egress[port.index()].outgoing();
        let Some(message) = ingress.scheme.take_message(&outgoing) else { return };
        let mut control = ControlFrame::zeroed(message.frame_len() as u8);
        if message.emit(ingress.mac, control.bytes_mut()).is_ok() {
            let start = self.egress[port.index()].send_control(now, control.length());
            out.control(start, &control);
        }
    }
}
