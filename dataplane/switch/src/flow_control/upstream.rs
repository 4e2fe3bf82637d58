//! The upstream side of a scheme: a port that sends what the other end of its link grants.
//!
//! It is a part of the port's gate. A scheme that speaks by pauses alone has none.

use super::{FlowControl, Sequence, bifrostx, cbfc};
use crate::program::PortSettings;
use units::{Nanos, Priority, PrioritySet, WireBytes};
use wire::grants::Message;

/// What a scheme may see of the egress half of its port, on the wire, by priority.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outgoing {
    /// Bytes that wait.
    pub waiting: [WireBytes; Priority::COUNT],
    /// All bytes sent so far.
    pub sent: [WireBytes; Priority::COUNT],
}

/// The upstream side of one port.
#[derive(Debug)]
pub(crate) enum Upstream {
    BifrostX(bifrostx::Upstream),
    Cbfc(cbfc::Upstream),
}

/// What it has counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UpstreamCounters {
    BifrostX(bifrostx::UpstreamCounters),
    Cbfc(Sequence),
}

impl Upstream {
    /// The upstream side of a port with `settings`; `None` if pauses alone limit it.
    pub fn new(settings: &PortSettings) -> Option<Box<Self>> {
        let upstream = match settings.flow_control {
            FlowControl::Pfc | FlowControl::Bifrost(_) => return None,
            FlowControl::BifrostX(slots) => Self::BifrostX(bifrostx::Upstream::new(&slots, settings.rate)),
            FlowControl::Cbfc(cbfc) => {
                Self::Cbfc(cbfc::Upstream::new(cbfc, settings.max_frame, settings.lossless()))
            }
        };
        Some(Box::new(upstream))
    }

    /// Applies new settings. Returns whether it takes them over; if not, the port needs another one.
    pub fn configure(&mut self, settings: &PortSettings) -> bool {
        match (self, settings.flow_control) {
            (Self::BifrostX(it), FlowControl::BifrostX(slots)) => it.configure(&slots, settings.rate),
            (Self::Cbfc(it), FlowControl::Cbfc(cbfc)) => {
                it.configure(cbfc, settings.max_frame, settings.lossless());
            }
            _ => return false,
        }
        true
    }

    /// The priorities that may not send at `now`.
    #[inline]
    pub fn closed(&mut self, now: Nanos) -> PrioritySet {
        match self {
            Self::BifrostX(it) => it.closed(now),
            Self::Cbfc(it) => it.closed(),
        }
    }

    /// The priorities that may not send, and the time at which they will if no message comes.
    #[inline]
    pub fn closed_until(&self) -> (PrioritySet, Nanos) {
        match self {
            Self::BifrostX(it) => it.closed_until(),
            Self::Cbfc(it) => (it.closed(), Nanos::NEVER),
        }
    }

    /// Whether `priority`, which was open at the last query, still is.
    #[inline]
    pub fn may_send(&self, priority: Priority) -> bool {
        !self.closed_until().0.contains(priority)
    }

    /// Charges a frame of `priority` that leaves at `now`.
    #[inline]
    pub fn spend(&mut self, now: Nanos, priority: Priority, bytes: WireBytes) {
        match self {
            Self::BifrostX(it) => it.spend(now, priority, bytes),
            Self::Cbfc(it) => it.spend(priority, bytes),
        }
    }

    /// Takes a message to a port in `session`. Returns whether its scheme is to hear it: it is new, and in the format
    /// of the scheme.
    pub fn receive(&mut self, now: Nanos, message: &Message, session: u32, outgoing: &Outgoing) -> bool {
        match (self, message) {
            (Self::BifrostX(it), Message::Slot(slot)) => it.receive(now, slot, outgoing.waiting),
            (Self::Cbfc(it), Message::Credit(credit)) => it.receive(credit, session, &outgoing.sent),
            _ => false,
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> UpstreamCounters {
        match self {
            Self::BifrostX(it) => UpstreamCounters::BifrostX(it.counters),
            Self::Cbfc(it) => UpstreamCounters::Cbfc(it.numbers()),
        }
    }
}
