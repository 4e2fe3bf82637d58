//! The senders behind the ports of this shard: reads their frames, and sends them notifications.

use super::arrival::Arrival;
use super::{Fabric, SendersByPort};
use crate::congestion::scheme::Scheme;
use crate::congestion::senders::{Disposition, Refusal, Senders, SlowQueue};
use crate::congestion::{RateAdvertiser, RateLimiter};
use crate::egress::EgressPort;
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Crossing, Flows, Slot, Way};
use crate::forwarding::Verdict;
use crate::frame::{Frame, Transmitter};
use crate::ledger::Volume;
use crate::program::{PortSettings, Program};
use crate::reason::{Consumed, DropReason};
use units::{Bytes, Nanos, PortId, QueueId, QueueSet};

/// The most calls that empty the schemes of a port which a reload turns off, so that the turn stays short.
const LAST_CALLS: usize = 8;

impl<F: Frame> Fabric<F> {
    /// Gives the senders of each port of this shard the settings of `spare`. A port that starts to notify senders takes its
    /// state from there; a port that stops leaves its state there.
    pub(super) fn configure_senders(&mut self, spare: &mut SendersByPort) {
        for port in self.owned.iter() {
            if self.head(port) == port {
                // Those of `spare` are there.
                self.meet_senders(port);
            }
            match (&mut self.senders[port.index()], &mut spare[port.index()]) {
                (Some(senders), Some(spare)) => senders.configure(spare),
                (senders, spare) => core::mem::swap(senders, spare),
            }
            if let (Some(senders), Some(lane)) = (&mut self.senders[port.index()], &self.lane) {
                senders.divide(lane.home());
            }
        }
        self.notifying = self.owned.iter().filter(|port| self.holder(*port).is_some()).collect();
    }

    /// The port that stands for `port` in forwarding: the first member of its bundle, or itself.
    pub(in crate::shard) fn head(&self, port: PortId) -> PortId {
        self.bundles.as_ref().map_or(port, |bundles| bundles.head(port))
    }

    /// The port at which the senders behind `port` are: itself, or a member of its bundle that has used them since.
    fn holder(&self, port: PortId) -> Option<PortId> {
        if self.senders[port.index()].is_some() {
            return Some(port);
        }
        let serves = |member: &PortId| {
            self.senders[member.index()].as_ref().is_some_and(|it| it.limiter_of(port).is_some())
        };
        self.bundles.as_ref()?.members(port).iter().find(serves)
    }

    /// The flows of `port`. Those of a bundle are its first member's.
    pub(in crate::shard) fn flows(&self, port: PortId) -> Option<&Flows> {
        let (holder, head) = (self.holder(port)?, self.head(port));
        let senders = self.senders[holder.index()].as_ref()?;
        let is_own = holder == port && senders.limiter_of(head).is_none();
        (is_own || head == port).then_some(&senders.flows)
    }

    /// The limiter of `port`, wherever the senders behind it are.
    #[inline(never)]
    pub(in crate::shard) fn limiter(&self, port: PortId) -> Option<&RateLimiter> {
        match &self.senders[port.index()] {
            Some(senders) => senders.limiter.as_ref(),
            None => self.senders[self.holder(port)?.index()].as_ref()?.limiter_of(port),
        }
    }

    /// Brings the senders of a bundle to its member `port`, if they are at another one.
    #[inline(always)]
    pub(super) fn meet_senders(&mut self, port: PortId) {
        if self.senders[port.index()].is_none() {
            self.fetch_senders(port);
        }
    }

    #[cold]
    #[inline(never)]
    fn fetch_senders(&mut self, port: PortId) {
        let Some(holder) = self.holder(port) else { return };
        let mut senders = self.senders[holder.index()].take();
        senders.iter_mut().for_each(|it| it.move_to(holder, port));
        self.senders[port.index()] = senders;
    }

    /// Lets the notifications leave that wait in schemes which `new` turns off, as far as the ports to their senders have
    /// room, and counts the others.
    pub(super) fn empty_schemes(&mut self, now: Nanos, old: &Program, new: &Program) {
        for port in self.notifying.iter() {
            self.meet_senders(port);
            let settings = new.port(port);
            for _ in 0..LAST_CALLS {
                let Some(senders) = self.senders[port.index()].as_ref() else { break };
                if !senders.may_wait(settings) || senders.deadline() > now {
                    break;
                }
                self.notify(now, port, old);
            }
            let Some(senders) = &mut self.senders[port.index()] else { continue };
            let severe = severe(senders, &self.egress[port.index()]);
            let is_reachable = |ingress, cnp| sender(old, port, ingress, cnp).is_some();
            let lost = senders.lose(now, settings, severe, is_reachable);
            self.ingress[port.index()].counters.lost_notifications += lost;
        }
    }

    /// Prefetches the flows of `burst`, which came in at `port`.
    pub(super) fn look_ahead(&mut self, port: PortId, burst: &[F]) {
        // Frames from a port without such a scheme may leave through any port with one; usually there is only one.
        let (concerned, way) = match self.notifying.contains(port) {
            true => (Some(port), Way::In),
            false => (self.notifying.iter().next(), Way::Out),
        };
        if let Some(senders) = concerned.and_then(|port| self.senders[port.index()].as_mut()) {
            senders.look_ahead(way, burst.iter().map(Frame::headers));
        } else if self.bundles.is_some() {
            self.look_ahead_elsewhere(concerned, way, burst);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_ahead_elsewhere(&mut self, concerned: Option<PortId>, way: Way, burst: &[F]) {
        let holder = concerned.and_then(|port| self.holder(port));
        if let Some(senders) = holder.and_then(|port| self.senders[port.index()].as_mut()) {
            senders.look_ahead(way, burst.iter().map(Frame::headers));
        }
    }

    /// Shows the schemes of `egress` a frame that goes out through it.
    #[inline(never)]
    pub(super) fn show_senders(&mut self, egress: PortId, arrival: Arrival, frame: &mut F) {
        let Arrival { now, port, queue, length, descriptor, .. } = arrival;
        // By its queue: a copy of a flooded lossless frame is charged to another priority.
        let priority = self.egress[egress.index()].gate.pauses.priority(queue);
        let limited = self.ingress[egress.index()].lossless().contains(priority);
        self.meet_senders(egress);
        if let Some(senders) = &mut self.senders[egress.index()] {
            senders.send(Crossing::new(now, port, length, limited, &descriptor), frame.headers_mut());
        }
    }

    /// Takes a frame that came in from a long link.
    #[inline(never)]
    pub(super) fn receive_from_far(
        &mut self,
        frame: Crossing<'_>,
        settings: &PortSettings,
        headers: &[u8],
        length: Bytes,
    ) -> Disposition {
        let port = frame.port;
        self.meet_senders(port);
        let Some(senders) = &mut self.senders[port.index()] else { return Disposition::Forward };
        match senders.receive(frame, headers) {
            Ok(disposition) => disposition,
            Err(refusal) => {
                self.count_refusal(port, settings, refusal, length);
                Disposition::Consumed
            }
        }
    }

    /// Counts a frame from a long link that ends here.
    pub(super) fn count_refusal(
        &mut self,
        port: PortId,
        settings: &PortSettings,
        refusal: Refusal,
        length: Bytes,
    ) {
        match refusal {
            Refusal::SuppressedCnp => {
                let consumed = &mut self.ingress[port.index()].counters.consumed;
                consumed[Consumed::SuppressedCnp.index()].count(length);
            }
            Refusal::ForeignDirectInt => self.refuse(port, settings, DropReason::ForeignDirectInt, length),
        }
    }

    /// Whether a scheme may hold up frames that come in through `port`.
    pub(super) fn may_hold_up(&self, port: PortId) -> bool {
        self.senders[port.index()].as_ref().is_some_and(|it| it.may_slow())
    }

    /// The queue of a frame from the long link of `port` that may have to go slowly, and otherwise waits in the usual one of
    /// `arrival`.
    #[cold]
    pub(super) fn slowly(&mut self, slot: Slot, verdict: Verdict, arrival: Arrival) -> QueueId {
        let Arrival { now, port, priority, queue: usual, .. } = arrival;
        let Verdict::Forward(egress) = verdict else { return usual };
        let to = &mut self.egress[egress.index()];
        // A frame that bounced stays in the queue of its isolated priority.
        let may_change = usual == priority.into();
        let slow = to.slow_queue(priority).filter(|_| may_change);
        let (Some((slow, entered)), Some(senders)) = (slow, &mut self.senders[port.index()]) else {
            return usual;
        };
        let Volume { frames: waiting, bytes } = to.queue(slow).waiting();
        let queue = SlowQueue { port: egress, priority, entered, waiting, bytes };
        let Some(slowly) = senders.slow(now, slot, &queue) else { return usual };
        to.slow_down(priority, slowly.until, slowly.enters);
        slow
    }

    /// The next instant at which a scheme that notifies senders has something to do at `port`.
    #[inline(always)]
    pub(super) fn senders_deadline(&self, port: PortId) -> Nanos {
        if self.egress[port.index()].notifications.is_empty() && !self.notifying.contains(port) {
            return Nanos::NEVER;
        }
        self.notified_until(port)
    }

    #[inline(never)]
    fn notified_until(&self, port: PortId) -> Nanos {
        let egress = &self.egress[port.index()];
        let waits = !egress.notifications.is_empty();
        let advertiser = self.ingress[port.index()].advertiser.as_ref();
        let waits = waits || advertiser.is_some_and(RateAdvertiser::has_message);
        let control = if waits { egress.gate.link_opens_at() } else { Nanos::NEVER };
        let interval = advertiser.map_or(Nanos::NEVER, RateAdvertiser::deadline);
        control.min(interval).min(self.schemes_deadline(port))
    }

    /// As [`Fabric::senders_deadline`], for schemes alone.
    #[inline(always)]
    fn schemes_deadline(&self, port: PortId) -> Nanos {
        match &self.senders[port.index()] {
            Some(senders) => senders.deadline(),
            None if self.bundles.is_some() => self.limiter(port).map_or(Nanos::NEVER, Scheme::deadline),
            None => Nanos::NEVER,
        }
    }

    /// Runs the schemes of `port` that notify senders, as far as something is due.
    #[inline(always)]
    pub(super) fn run_senders(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        if self.senders_deadline(port) <= now {
            self.run_senders_now(now, port, program, out);
        }
    }

    #[inline(never)]
    fn run_senders_now(
        &mut self,
        now: Nanos,
        port: PortId,
        program: &Program,
        out: &mut impl Transmitter<F>,
    ) {
        self.end_rate_interval(now, port);
        self.send_feedback(now, port, out);
        if self.schemes_deadline(port) <= now {
            self.notify(now, port, program);
        }
        self.send_notifications(now, port, out);
        self.unblock(now, program);
    }

    /// Lets the schemes of `port` make the notifications that are due.
    pub(super) fn notify(&mut self, now: Nanos, port: PortId, program: &Program) {
        self.meet_senders(port);
        let Self { senders, egress, .. } = self;
        let Some(senders) = &mut senders[port.index()] else { return };
        let severe = severe(senders, &egress[port.index()]);
        senders.notify(now, severe, |ingress, notification| {
            let Some((port, notification)) = sender(program, port, ingress, notification) else {
                return Offer::Unreachable;
            };
            let taken = egress[port.index()].notifications.push(notification);
            if taken { Offer::Taken } else { Offer::Full }
        });
    }

    /// Sends waiting notifications through `port`, as far as the link is free.
    pub(super) fn send_notifications(&mut self, now: Nanos, port: PortId, out: &mut impl Transmitter<F>) {
        let egress = &mut self.egress[port.index()];
        while egress.gate.link_opens_at() <= now
            && let Some(notification) = egress.notifications.pop()
        {
            if let Some(frame) = notification.frame() {
                let start = egress.send_control(now, frame.length());
                out.control(start, frame.bytes());
            }
        }
    }

    /// Resumes schemes that waited for room.
    pub(super) fn unblock(&mut self, now: Nanos, program: &Program) {
        for port in self.notifying.iter() {
            let is_blocked = match &self.senders[port.index()] {
                Some(senders) => senders.is_blocked(),
                None => self.bundles.is_some() && self.limiter(port).is_some_and(Scheme::is_blocked),
            };
            if is_blocked {
                self.notify(now, port, program);
            }
        }
    }
}

/// A transmitter that shows the senders of a port what leaves one of its queues.
pub(super) struct Watched<'a, T> {
    pub now: Nanos,
    pub queue: QueueId,
    pub senders: &'a mut Senders,
    pub out: &'a mut T,
}

impl<F: Frame, T: Transmitter<F>> Transmitter<F> for Watched<'_, T> {
    fn room(&self) -> usize {
        self.out.room()
    }

    fn frame(&mut self, start: Nanos, frame: F) {
        self.senders.depart(self.now, self.queue, frame.headers(), frame.length());
        self.out.frame(start, frame);
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        self.out.control(start, frame);
    }
}

/// The queues of `egress` that are severely congested for a scheme of `senders`.
fn severe(senders: &Senders, egress: &EgressPort) -> QueueSet {
    senders.severe_from().map_or(QueueSet::EMPTY, |from| egress.at_least(from))
}

/// The port through which `notification`, made at the long `port`, reaches its sender, who is behind `ingress`. No one is
/// notified across the long link: a host behind it has not sent through this end.
fn sender(
    program: &Program,
    port: PortId,
    ingress: PortId,
    notification: Notification,
) -> Option<(PortId, Notification)> {
    let head = |port| program.settings().head(port);
    routed(program, ingress, notification).filter(|(to, _)| head(*to) != head(port))
}

/// Returns the egress port of a notification and the notification as it leaves. Where the gateway routes, its route
/// is looked up like any other, because observed frames already carry the addresses of the next link.
fn routed(program: &Program, port: PortId, notification: Notification) -> Option<(PortId, Notification)> {
    let Some(table) = program.forwarding().routes() else { return Some((port, notification)) };
    let (port, destination) = table.toward(notification.receiver(), port)?;
    Some((port, notification.readdressed(program.port(port).mac, destination)))
}
