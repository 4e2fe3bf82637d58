//! LSCC between the two ends of a long link: rates and challenges in both directions, and the deadlines of ports.

use super::Fabric;
use crate::congestion::lscc::{RateAdvertiser, Response};
use crate::descriptor::Descriptor;
use crate::frame::{ControlFrame, Frame, Transmitter};
use crate::program::{PortSettings, Program};
use crate::reason::{Consumed, DropReason};
use units::{Nanos, PortId};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::rate_feedback;

/// Whether a frame is for the other end of a link with LSCC.
#[inline]
fn is_rate_feedback(descriptor: &Descriptor, headers: &[u8]) -> bool {
    descriptor.ether_type == EtherType::IPV4
        && ethernet::View::parse(headers)
            .is_ok_and(|it| it.destination() == MacAddress::NEAREST_NON_TPMR_BRIDGE)
}

impl<F: Frame> Fabric<F> {
    /// Takes a frame that came in while some port has LSCC. Returns whether it is to be forwarded.
    #[inline(always)]
    pub(super) fn receive_with_lscc(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) -> bool {
        if is_rate_feedback(descriptor, frame.headers()) {
            self.receive_feedback(now, port, settings, descriptor, frame);
            return false;
        }
        !self.limited.contains(port) || self.receive_from_far(now, port, descriptor, frame)
    }

    /// Consumes a feedback message, valid or not.
    #[cold]
    fn receive_feedback(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        let Some(senders) = &mut self.senders[port.index()] else {
            self.refuse(port, settings, DropReason::ForeignFeedback, frame.length());
            return;
        };
        let packet = frame.headers().get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        let response = senders.limiter.receive_feedback(now, packet);
        let ingress = &mut self.ingress[port.index()];
        match (response, &mut ingress.advertiser) {
            (Response::Challenge(nonce), Some(advertiser)) => advertiser.challenge(nonce),
            (Response::Answer(nonce), Some(advertiser)) => advertiser.answer(now, nonce),
            _ => {}
        }
        let consumed = &mut ingress.counters.consumed;
        consumed[Consumed::RateFeedback.index()].count(frame.length());
    }

    /// The next instant at which LSCC has something to do at `port`.
    #[inline(always)]
    pub(super) fn lscc_deadline(&self, port: PortId) -> Nanos {
        if self.egress[port.index()].notifications.is_empty() && !self.limited.contains(port) {
            return Nanos::NEVER;
        }
        self.limited_until(port)
    }

    #[inline(never)]
    fn limited_until(&self, port: PortId) -> Nanos {
        let egress = &self.egress[port.index()];
        let waits = !egress.notifications.is_empty();
        let advertiser = self.ingress[port.index()].advertiser.as_ref();
        let waits = waits || advertiser.is_some_and(RateAdvertiser::has_message);
        let control = if waits { egress.gate.link_opens_at() } else { Nanos::NEVER };
        let interval = advertiser.map_or(Nanos::NEVER, RateAdvertiser::deadline);
        let limiter = self.senders[port.index()].as_ref().map_or(Nanos::NEVER, |it| it.limiter.deadline());
        control.min(interval).min(limiter)
    }

    /// Runs LSCC at `port`, as far as something is due.
    #[inline(always)]
    pub(super) fn run_lscc(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        if self.lscc_deadline(port) <= now {
            self.run_lscc_now(now, port, program, out);
        }
    }

    #[inline(never)]
    fn run_lscc_now(&mut self, now: Nanos, port: PortId, program: &Program, out: &mut impl Transmitter<F>) {
        self.end_rate_interval(now, port);
        self.send_feedback(now, port, out);
        if self.senders[port.index()].as_ref().is_some_and(|it| it.limiter.deadline() <= now) {
            self.notify(now, port, program);
        }
        self.send_notifications(now, port, out);
        self.unblock(now, program);
    }

    /// Calculates a rate if an interval has ended.
    fn end_rate_interval(&mut self, now: Nanos, port: PortId) {
        let ingress = &mut self.ingress[port.index()];
        let lossless = ingress.lossless();
        if let Some(advertiser) = &mut ingress.advertiser
            && advertiser.deadline() <= now
        {
            let departed = lossless.iter().map(|priority| self.ledger.sent_from(port, priority));
            let queue = lossless.iter().map(|priority| self.ledger.ingress_queue(port, priority));
            advertiser.end_interval(now, queue.sum(), departed.sum());
        }
    }

    /// Sends waiting messages to the other end once the link is free: a challenge, then the latest rate.
    fn send_feedback(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let egress = &mut self.egress[port.index()];
        if egress.gate.link_opens_at() > now {
            return;
        }
        let ingress = &mut self.ingress[port.index()];
        let message = ingress.advertiser.as_mut().and_then(|it| it.take_message(now, ingress.mac));
        let Some(message) = message else { return };
        let mut control = ControlFrame::zeroed(rate_feedback::FRAME_LEN as u8);
        if message.emit(control.bytes_mut()) {
            let start = egress.send_control(now, control.length());
            out.control(start, &control);
        }
    }
}
