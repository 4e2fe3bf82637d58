//! The upstream side of a port: what its peer granted, as a part of the port's gate.

use super::choice::FlowControl;
use super::{bifrostx, cbfc, port_grants};
use crate::program::PortSettings;
use crate::service::Outgoing;
use serde::{Deserialize, Serialize};
use units::{Nanos, Priority, PrioritySet, QueueId, QueueSet, WireBytes};
use wire::grants::Message;

/// The upstream side of one port: what limits it beside pauses. It is a part of the port's gate.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "the gate has it in a box")]
pub(crate) enum Upstream {
    BifrostX(bifrostx::Upstream),
    Cbfc(cbfc::Upstream),
    PortGrants(port_grants::Upstream),
}

impl Upstream {
    /// The upstream side of a port with these settings; `None` if pauses alone limit it.
    pub fn new(settings: &PortSettings) -> Option<Box<Self>> {
        let (rate, lossless, queues) = (settings.rate, settings.lossless(), priorities(settings));
        let upstream = match settings.flow_control {
            FlowControl::BifrostX(slots) => Self::BifrostX(bifrostx::Upstream::new(&slots, rate, lossless)),
            FlowControl::Cbfc(cbfc) => Self::Cbfc(cbfc::Upstream::new(cbfc, settings.max_frame, lossless)),
            FlowControl::PortGrants(it) => {
                Self::PortGrants(port_grants::Upstream::new(&it, rate, lossless, queues))
            }
            _ => return None,
        };
        Some(Box::new(upstream))
    }

    /// Applies new settings. Returns whether it takes them over; if not, the port needs another one.
    pub fn configure(&mut self, settings: &PortSettings) -> bool {
        let (rate, lossless) = (settings.rate, settings.lossless());
        match (self, settings.flow_control) {
            (Self::BifrostX(it), FlowControl::BifrostX(slots)) => it.configure(&slots, rate, lossless),
            (Self::Cbfc(it), FlowControl::Cbfc(cbfc)) => it.configure(cbfc, settings.max_frame, lossless),
            (Self::PortGrants(it), FlowControl::PortGrants(new)) => {
                return it.configure(&new, rate, lossless, priorities(settings));
            }
            _ => return false,
        }
        true
    }

    /// The queues that may not send at `now`. `queues_of` returns those of some priorities.
    #[inline]
    pub fn closed(&mut self, now: Nanos, queues_of: impl FnOnce(PrioritySet) -> QueueSet) -> QueueSet {
        match self {
            Self::BifrostX(it) => queues_of(it.closed(now)),
            Self::Cbfc(it) => queues_of(it.closed()),
            Self::PortGrants(it) => it.closed(now),
        }
    }

    /// Whether `queue`, of `priority`, may not send; and the time at which it will if no message comes.
    #[inline]
    pub fn closed_until(&self, queue: QueueId, priority: Priority) -> Option<Nanos> {
        let (closed, until) = match self {
            Self::BifrostX(it) => {
                let (closed, until) = it.closed_until();
                (closed.contains(priority), until)
            }
            Self::Cbfc(it) => (it.closed().contains(priority), Nanos::NEVER),
            Self::PortGrants(it) => return it.closed_until(queue),
        };
        closed.then_some(until)
    }

    /// Charges a frame of `queue`, of `priority`, that leaves at `now`.
    #[inline]
    pub fn spend(&mut self, now: Nanos, queue: QueueId, priority: Priority, bytes: WireBytes) {
        match self {
            Self::BifrostX(it) => it.spend(now, priority, bytes),
            Self::Cbfc(it) => it.spend(priority, bytes),
            Self::PortGrants(it) => it.spend(now, queue, bytes),
        }
    }

    /// The port grants that steer frames to queues of far ports, if any do.
    #[inline]
    pub fn steering(&self) -> Option<&port_grants::Upstream> {
        if let Self::PortGrants(it) = self { Some(it).filter(|it| it.steers()) } else { None }
    }

    /// Notes the queues that hold frames, at a time when none is on its way to a queue.
    #[inline]
    pub fn note_waiting(&mut self, waiting: QueueSet) {
        if let Self::PortGrants(it) = self {
            it.note_waiting(waiting);
        }
    }

    /// Whether `message` has the format of the scheme, and its counter.
    pub fn understands(&self, message: &Message) -> bool {
        match (self, message) {
            (Self::BifrostX(_), Message::Slot(_)) => true,
            (Self::Cbfc(it), Message::Credit(credit)) => it.counts_as(credit),
            (Self::PortGrants(_), Message::FarPort(_) | Message::Behind(_)) => true,
            _ => false,
        }
    }

    /// Takes a message to a port in `session`. Returns whether its scheme is to hear it: it is new, and in the format
    /// of the scheme.
    pub fn receive(&mut self, now: Nanos, message: &Message, session: u32, outgoing: &Outgoing) -> bool {
        match (self, message) {
            (Self::BifrostX(it), Message::Slot(slot)) => it.receive(now, slot, outgoing.waiting),
            (Self::Cbfc(it), Message::Credit(credit)) => it.receive(now, credit, session, &outgoing.sent),
            (Self::PortGrants(it), Message::FarPort(grants)) => it.receive(now, grants),
            (Self::PortGrants(it), Message::Behind(page)) => {
                it.take_page(page, &outgoing.in_first);
                false
            }
            _ => false,
        }
    }
}

/// The priorities of the queues of a port.
fn priorities(settings: &PortSettings) -> impl Iterator<Item = Priority> + Clone {
    settings.queues.iter().map(|queue| queue.priority)
}
