//! LSCC at its ports: what goes out to the long link, what comes in from it, and what is told.

use super::ingress::Arrival;
use super::{Fabric, Handoff, Limiters};
use crate::congestion::lscc::{Offer, Outgoing, RateAnnouncer, Response, Way};
use crate::descriptor::Descriptor;
use crate::forwarding::Forwarding;
use crate::frame::{ControlFrame, Frame, Transmitter};
use crate::program::{PortSettings, Program};
use crate::queue::Queued;
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Nanos, PortId, Priority, WireBytes};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::rate_feedback;
use wire::roce::cnp;

/// CNPs that are given to another shard at once.
const HANDED_OVER_AT_ONCE: u64 = 16;

/// Whether a frame is for the other end of a link with LSCC.
#[inline]
fn is_rate_feedback(descriptor: &Descriptor, headers: &[u8]) -> bool {
    descriptor.ether_type == EtherType::IPV4
        && ethernet::View::parse(headers)
            .is_ok_and(|it| it.destination() == MacAddress::NEAREST_NON_TPMR_BRIDGE)
}

impl<F: Frame> Fabric<F> {
    /// Gives each port of this shard that has LSCC its rate limiting module, or takes what it needs out of one of
    /// `spare`, which are made for `program`; what is no longer needed is there afterwards.
    pub(super) fn configure_limiters(&mut self, program: &Program, spare: &mut Limiters) {
        for port in self.owned.iter() {
            let settings = program.port(port);
            match (&settings.lscc, &mut self.limiters[port.index()], &mut spare[port.index()]) {
                (Some(lscc), Some(limiter), Some(spare)) => limiter.configure(lscc, settings.rate, spare),
                (_, limiter, spare) => core::mem::swap(limiter, spare),
            }
            match settings.lscc {
                Some(_) => self.limited.insert(port),
                None => self.limited.remove(port),
            }
        }
    }

    /// Loads what will be looked up of `burst`, which came in at `port`.
    pub(super) fn look_ahead(&self, port: PortId, burst: &[F]) {
        // From a port without LSCC they may go out through any; usually there is one.
        let (concerned, way) = match self.limited.contains(port) {
            true => (Some(port), Way::In),
            false => (self.limited.iter().next(), Way::Out),
        };
        let limiter = concerned.and_then(|port| self.limiters[port.index()].as_ref());
        if let Some(limiter) = limiter {
            limiter.look_ahead(way, burst.iter().map(Frame::headers));
        }
    }

    /// The same of what another shard has admitted.
    pub(super) fn look_ahead_handed_over(&self, handoffs: &[Handoff<F>]) {
        // Where no port looks at them now, they are left where they are: they may wait for long.
        let limiter = self.limited.iter().next().and_then(|port| self.limiters[port.index()].as_ref());
        if let Some(limiter) = limiter {
            let frames = handoffs.iter().filter_map(Handoff::frame);
            limiter.look_ahead(Way::Out, frames.map(|(_, frame)| frame.headers()));
        }
    }

    /// A frame goes out through a port with LSCC.
    #[inline]
    pub(super) fn limit(&mut self, egress: PortId, arrival: Arrival<'_>, frame: &mut F) {
        let Arrival { now, port, priority, length, descriptor } = arrival;
        let limited = self.ingress[egress.index()].lossless().contains(priority);
        if let Some(limiter) = &mut self.limiters[egress.index()] {
            limiter.send(now, Outgoing { port, length, limited }, descriptor, frame.headers_mut());
        }
    }

    /// The same for a frame that another shard has admitted.
    pub(super) fn limit_handed_over(&mut self, egress: PortId, priority: Priority, queued: &mut Queued<F>) {
        if self.limited.contains(egress)
            && let Some(descriptor) = Descriptor::parse(queued.frame.headers(), queued.length())
        {
            let (now, port, length) = (queued.since, queued.ingress, queued.length());
            let arrival = Arrival { now, port, priority, length, descriptor: &descriptor };
            self.limit(egress, arrival, &mut queued.frame);
        }
    }

    /// A frame came in where some port has LSCC. Returns whether it goes on.
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

    /// A frame came in from a long link. Returns whether it goes on.
    #[inline(never)]
    fn receive_from_far(&mut self, now: Nanos, port: PortId, descriptor: &Descriptor, frame: &F) -> bool {
        let limiter = &mut self.limiters[port.index()];
        let passes = limiter.as_mut().is_none_or(|it| it.receive(now, port, descriptor, frame.headers()));
        if !passes {
            let consumed = &mut self.ingress[port.index()].counters.consumed;
            consumed[Consumed::SuppressedCnp.index()].count(frame.length());
        }
        passes
    }

    /// A feedback message ends here, whatever it says.
    #[cold]
    fn receive_feedback(
        &mut self,
        now: Nanos,
        port: PortId,
        settings: &PortSettings,
        descriptor: &Descriptor,
        frame: &F,
    ) {
        let Some(limiter) = &mut self.limiters[port.index()] else {
            self.refuse(port, settings, DropReason::ForeignFeedback, frame.length());
            return;
        };
        let packet = frame.headers().get(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        let response = limiter.receive_feedback(now, packet);
        let ingress = &mut self.ingress[port.index()];
        match (response, &mut ingress.announcer) {
            (Response::Challenge(nonce), Some(announcer)) => announcer.challenge(nonce),
            (Response::Answer(nonce), Some(announcer)) => announcer.answer(now, nonce),
            _ => {}
        }
        let consumed = &mut ingress.counters.consumed;
        consumed[Consumed::RateFeedback.index()].count(frame.length());
    }

    /// When LSCC wants to be called at `port`.
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
        let announcer = self.ingress[port.index()].announcer.as_ref();
        let waits = waits || announcer.is_some_and(RateAnnouncer::has_message);
        let control = if waits { egress.gate.link_opens_at() } else { Nanos::NEVER };
        let interval = announcer.map_or(Nanos::NEVER, RateAnnouncer::deadline);
        let limiter = self.limiters[port.index()].as_ref().map_or(Nanos::NEVER, |it| it.deadline());
        control.min(interval).min(limiter)
    }

    /// Does what is due of LSCC at `port`.
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
        if self.limiters[port.index()].as_ref().is_some_and(|it| it.deadline() <= now) {
            self.notify(now, port, program);
        }
        self.send_notifications(now, port, out);
        self.unblock(now, program);
    }

    /// Calculates a rate, if an interval has ended.
    fn end_rate_interval(&mut self, now: Nanos, port: PortId) {
        let ingress = &mut self.ingress[port.index()];
        let lossless = ingress.lossless();
        if let Some(announcer) = &mut ingress.announcer
            && announcer.deadline() <= now
        {
            let departed = lossless.iter().map(|priority| self.ledger.sent_from(port, priority));
            let queue = lossless.iter().map(|priority| self.ledger.ingress_queue(port, priority));
            announcer.end_interval(now, queue.sum(), departed.sum());
        }
    }

    /// Sends the other end what waits for it, once the link is free: a challenge, then the rate that was
    /// calculated last.
    fn send_feedback(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let egress = &mut self.egress[port.index()];
        if egress.gate.link_opens_at() > now {
            return;
        }
        let ingress = &mut self.ingress[port.index()];
        let message = ingress.announcer.as_mut().and_then(|it| it.take_message(now, ingress.mac));
        let Some(message) = message else { return };
        let mut control = ControlFrame::zeroed(rate_feedback::FRAME_LEN as u8);
        if message.emit(control.bytes_mut()) {
            let start = egress.send_control(now, control.length());
            out.control(start, &control);
        }
    }

    /// Has the limiter of `port` make the CNPs that are due.
    fn notify(&mut self, now: Nanos, port: PortId, program: &Program) {
        let Self { limiters, egress, ways_out, owners, owned, .. } = self;
        let Some(limiter) = &mut limiters[port.index()] else { return };
        let mut handed_over = 0;
        limiter.notify(now, |ingress, frame| {
            // Nobody behind the long link is notified across it: who is there has not sent through this end.
            let sender = routed(program, ingress, frame).filter(|(to, _)| *to != port);
            let Some((port, frame)) = sender else { return Offer::Unreachable };
            if owned.contains(port) {
                let taken = egress[port.index()].notifications.push(frame);
                return if taken { Offer::Taken } else { Offer::Full { until: Nanos::NEVER } };
            }
            // What the other shard has room for is not known here. So it is given what its port can send
            // meanwhile.
            let way = &mut ways_out[owners[port.index()].index()];
            if handed_over == HANDED_OVER_AT_ONCE || !way.notify(port, frame) {
                let length = WireBytes::of_frame(frame_length(&frame));
                let each = program.port(port).rate.serialization().time_of(length);
                return Offer::Full { until: now + each * HANDED_OVER_AT_ONCE };
            }
            handed_over += 1;
            Offer::Taken
        });
    }

    /// Sends the CNPs that wait at `port`, as far as the link is free.
    fn send_notifications(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let egress = &mut self.egress[port.index()];
        while egress.gate.link_opens_at() <= now
            && let Some(frame) = egress.notifications.pop()
        {
            let mut control = ControlFrame::zeroed(frame.length() as u8);
            if frame.emit(control.bytes_mut()).is_ok() {
                let start = egress.send_control(now, control.length());
                out.control(start, &control);
            }
        }
    }

    /// Limiters that waited for room go on.
    fn unblock(&mut self, now: Nanos, program: &Program) {
        for port in self.limited.iter() {
            if self.limiters[port.index()].as_ref().is_some_and(|it| it.is_blocked()) {
                self.notify(now, port, program);
            }
        }
    }
}

/// A CNP as it leaves. Where the gateway routes, the way to the sender is looked up like any other: its
/// frames have the addresses of the next link already when they are seen.
fn routed(program: &Program, port: PortId, frame: cnp::Frame) -> Option<(PortId, cnp::Frame)> {
    let Forwarding::Route(table) = program.forwarding() else { return Some((port, frame)) };
    let sender = match frame.addresses {
        cnp::Addresses::V4 { destination, .. } => destination.into(),
        cnp::Addresses::V6 { destination, .. } => destination.into(),
    };
    let (port, destination_mac) = table.toward(sender, port)?;
    Some((port, cnp::Frame { destination_mac, source_mac: program.port(port).mac, ..frame }))
}

fn frame_length(frame: &cnp::Frame) -> Bytes {
    Bytes(frame.length() as u64)
}
