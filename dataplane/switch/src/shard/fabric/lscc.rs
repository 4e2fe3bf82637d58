//! LSCC between the two ends of a long link: rates and challenges in both directions, and the deadlines of ports.

use super::services::{Link, is_rate_feedback};
use super::{Fabric, others};
use crate::congestion::lscc::Response;
use crate::congestion::senders::Disposition;
use crate::descriptor::Descriptor;
use crate::flow_control::Accounts;
use crate::flows::Crossing;
use crate::frame::{ControlFrame, Frame, Transmitter};
use crate::ledger::{Ledger, Volume};
use crate::program::PortSettings;
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Nanos, PortId, Priority};
use wire::rate_feedback;

impl<F: Frame> Fabric<F> {
    /// Takes a frame that came in while a scheme of some port notifies senders.
    #[inline(always)]
    pub(super) fn receive_with_senders(
        &mut self,
        frame: Crossing<'_>,
        settings: &PortSettings,
        headers: &[u8],
        length: Bytes,
    ) -> Disposition {
        if is_rate_feedback(*frame.descriptor, headers) {
            self.receive_feedback(frame, settings, headers, length);
            return Disposition::Consumed;
        }
        if !self.notifying.contains(frame.port) {
            return Disposition::Forward;
        }
        self.receive_from_far(frame, settings, headers, length)
    }

    /// Consumes a feedback message, valid or not.
    #[cold]
    fn receive_feedback(
        &mut self,
        frame: Crossing<'_>,
        settings: &PortSettings,
        headers: &[u8],
        length: Bytes,
    ) {
        let Crossing { now, port, descriptor, .. } = frame;
        let link = Link { now, port, settings };
        if settings.notifiers.lscc.is_none() || !self.post(link, headers, length) {
            self.take_feedback(link, descriptor, (headers, length));
        }
    }

    /// As [`Self::receive_feedback`], on a switch of one lane or at the lead.
    pub(super) fn take_feedback(
        &mut self,
        Link { now, port, settings }: Link<'_>,
        descriptor: &Descriptor,
        (headers, length): (&[u8], Bytes),
    ) {
        self.meet_senders(port);
        let Some(limiter) = self.senders[port.index()].as_mut().and_then(|it| it.limiter.as_mut()) else {
            self.refuse(port, settings, DropReason::ForeignFeedback, length);
            return;
        };
        let packet = headers.get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        let response = limiter.receive_feedback(now, packet);
        let ingress = &mut self.ingress[port.index()];
        match (response, &mut ingress.advertiser) {
            (Response::Challenge(nonce), Some(advertiser)) => advertiser.challenge(nonce),
            (Response::Answer(nonce), Some(advertiser)) => advertiser.answer(now, nonce),
            _ => {}
        }
        let consumed = &mut ingress.counters.consumed;
        consumed[Consumed::RateFeedback.index()].count(length);
    }

    /// Calculates a rate if an interval has ended.
    pub(super) fn end_rate_interval(&mut self, now: Nanos, port: PortId) {
        let Self { ingress, ledger, lane, .. } = self;
        let ingress = &mut ingress[port.index()];
        let (lossless, accounts) = (ingress.lossless(), Accounts { ledger, others: others(lane) });
        if let Some(advertiser) = &mut ingress.advertiser
            && advertiser.deadline() <= now
        {
            let sum = |of: &dyn Fn(&Ledger, Priority) -> Volume| -> Volume {
                lossless.iter().map(|priority| accounts.sum(|ledger| of(ledger, priority))).sum()
            };
            let departed = sum(&|ledger, priority| ledger.sent_from(port, priority));
            advertiser.end_interval(
                now,
                sum(&|ledger, priority| ledger.ingress_queue(port, priority)),
                departed,
            );
        }
    }

    /// Sends waiting messages to the other end once the link is free: a challenge, then the latest rate.
    pub(super) fn send_feedback(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
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
            out.control(start, control.bytes());
        }
    }
}
