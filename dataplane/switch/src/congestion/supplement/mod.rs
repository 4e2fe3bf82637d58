//! Supplemental CNPs, and thinning of CNPs (Nendica report "Intelligent Lossless Data Center Networks", "Improving
//! Congestion Notification").
//!
//! A receiver sends a CNP only when a marked packet arrives. If many flows share a congested queue, the packets of each
//! are far apart, and its sender raises its rate between two CNPs. The switch follows the marked packets that leave
//! the port, and the CNPs that come back. While the queue is severely congested, it sends the CNP that is missing when
//! neither came for as long as the sender's timer.
//!
//! The report leaves open:
//!
//! - the length of a severely congested queue: a setting;
//! - how long a flow without packets is told to slow down: a setting, as a flow that has stopped needs no CNP;
//! - the CNP of the receiver that comes just after the one that the switch made in its place. It does not pass, so the
//!   sender never gets two within its timer because the switch made one.
//!
//! Packets count when they leave, marked here or before: what leaves is what the receiver answers.

pub(crate) mod figures;
mod settings;
mod states;
mod timing_wheel;

pub use settings::{Settings, SupplementError};

use super::scheme::Scheme;
use crate::descriptor::Descriptor;
use crate::flows::cnp::{CnpBuilder, ReturnPath};
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Flows, Origin, Slot};
use crate::program::PortSettings;
use serde::{Deserialize, Serialize};
use states::FlowStates;
use timing_wheel::TimingWheel;
use units::{Bytes, Nanos, PortId, QueueId, QueueSet};

/// The most flows handled in one call, so that many of them do not hold up the port.
const HANDLED_PER_CALL: usize = 64;
/// The most flows that a scheme looks at when it ends, so that many of them do not hold up the reload.
const LOOKED_AT_LAST: usize = 1_024;

/// Counters of supplemental CNPs and thinning on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupplementCounters {
    /// Packets of known flows that left with a congestion mark.
    pub marked: u64,
    /// CNPs that the switch made.
    pub supplemented: u64,
    /// CNPs that were missing and could not be made: the sender's queue pair is unknown, or there is no way to it.
    pub not_notified: u64,
    /// Flows that the table or a reload had forgotten by the time when a CNP to them may have been missing.
    pub forgotten: u64,
    /// CNPs of receivers whose flow was known, and that were passed on.
    pub passed: u64,
    /// CNPs of receivers whose flow was unknown. They were passed on.
    pub unknown: u64,
    /// CNPs of receivers that were not passed on.
    pub suppressed: u64,
}

/// Supplemental CNPs and thinning of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Supplement {
    settings: Settings,
    states: FlowStates,
    /// Flows whose packets were marked, by the time when a CNP may be missing.
    wheel: TimingWheel,
    /// Whether the next notification waits until a port has room.
    blocked: bool,
    cnps: CnpBuilder,
    pub counters: SupplementCounters,
}

impl Supplement {
    /// The state for a flow table of `capacity`.
    pub fn new(settings: &Settings, capacity: u32) -> Self {
        Self {
            settings: *settings,
            states: FlowStates::new(capacity),
            wheel: TimingWheel::new(capacity, settings.increase_timer),
            blocked: false,
            cnps: CnpBuilder::default(),
            counters: SupplementCounters::default(),
        }
    }

    /// The length from which a queue is severely congested, if CNPs are supplemented at all.
    #[inline]
    pub const fn threshold(&self) -> Option<Bytes> {
        self.settings.threshold
    }

    /// Takes a marked packet that leaves the port from `queue`.
    pub fn depart(
        &mut self,
        now: Nanos,
        queue: QueueId,
        descriptor: &Descriptor,
        headers: &[u8],
        flows: &mut Flows,
    ) {
        let Some((slot, source_port)) = flows.find_outgoing(descriptor, headers) else { return };
        self.counters.marked += 1;
        if let Some(way) = ReturnPath::of(headers, source_port) {
            self.mark(now, queue, slot, way, flows);
        }
    }

    /// Notes that a marked packet of a flow, with this way back to its sender, has left.
    fn mark(&mut self, now: Nanos, queue: QueueId, slot: Slot, way: ReturnPath, flows: &mut Flows) {
        flows.keep(slot, way);
        if !self.wheel.has(slot) {
            self.wheel.add(now, slot, now + self.settings.increase_timer);
        } else if !FlowStates::follows(flows, slot) {
            // The flow takes the place of another one, which had its slot.
            self.counters.forgotten += 1;
        }
        self.states.mark(flows, slot, now, queue);
    }

    /// Makes the CNP to a flow if it is missing. Returns the time to look at the flow again; `None` if it is left alone until
    /// its next marked packet: it is no longer congested, or its queue not severely, or there is no way to its sender. So
    /// the work is bounded by marked packets and by the CNPs that links take, whatever the number of flows.
    fn handle(
        &mut self,
        now: Nanos,
        slot: Slot,
        severe: QueueSet,
        flows: &mut Flows,
        send: &mut dyn FnMut(PortId, Notification) -> Offer,
    ) -> Option<Nanos> {
        let Self { settings, states, .. } = self;
        if !FlowStates::follows(flows, slot) {
            self.counters.forgotten += 1;
            return None;
        }
        let (marked, queue) = states.congested(flows, slot, now, settings.mark_lasts)?;
        let awaited = marked + settings.increase_timer;
        let missing_from = awaited.max(states.may_supplement_from(flows, slot, settings));
        if missing_from > now {
            return Some(missing_from);
        }
        if !severe.contains(queue) {
            return None;
        }
        let as_configured = settings.notifier.class();
        let offer = match self.cnps.build(flows, slot, as_configured) {
            Some((port, cnp)) => send(port, cnp),
            None => Offer::Unreachable,
        };
        match offer {
            Offer::Taken => {
                self.counters.supplemented += 1;
                states.supplemented(flows, slot, now);
                Some(now + settings.increase_timer)
            }
            Offer::Unreachable => {
                self.counters.not_notified += 1;
                None
            }
            Offer::Full => {
                self.blocked = true;
                Some(now)
            }
        }
    }
}

impl Scheme for Supplement {
    fn is_on(&self, port: &PortSettings) -> bool {
        port.notifiers.supplement.is_some()
    }

    fn configure(&mut self, spare: &mut Self, exchanged: bool) {
        if exchanged {
            core::mem::swap(&mut self.states, &mut spare.states);
        }
        if exchanged || spare.settings.increase_timer != self.settings.increase_timer {
            self.counters.forgotten += self.wheel.listed();
            core::mem::swap(&mut self.wheel, &mut spare.wheel);
            self.blocked = false;
        }
        self.settings = spare.settings;
    }

    /// A CNP counts only if it comes from where the receiver's responses come from, if any have come. Any other one may be
    /// forged, and its sender may discard it.
    fn receive_cnp(&mut self, now: Nanos, flow: Option<Slot>, flows: &mut Flows, origin: Origin) -> bool {
        let Some(slot) = flow.filter(|slot| flows.may_be_receiver(*slot, origin)) else {
            self.counters.unknown += 1;
            return true;
        };
        let passes = self.states.passes(flows, slot, now, &self.settings);
        self.counters.passed += u64::from(passes);
        self.counters.suppressed += u64::from(!passes);
        passes
    }

    #[inline]
    fn deadline(&self) -> Nanos {
        if self.blocked { Nanos::NEVER } else { self.wheel.deadline() }
    }

    #[inline]
    fn is_blocked(&self) -> bool {
        self.blocked
    }

    fn waiting(&self) -> u64 {
        self.wheel.listed()
    }

    fn notify(
        &mut self,
        now: Nanos,
        severe: QueueSet,
        flows: &mut Flows,
        send: &mut dyn FnMut(PortId, Notification) -> Offer,
    ) {
        self.blocked = false;
        for _ in 0..HANDLED_PER_CALL {
            let Some(slot) = self.wheel.take(now) else { break };
            if let Some(due) = self.handle(now, slot, severe, flows, send) {
                self.wheel.add(now, slot, due);
            }
            if self.blocked {
                break;
            }
        }
    }

    /// The CNPs that are missing by now, to flows of the queues in `severe`, are lost. The number is exact for up to
    /// [`LOOKED_AT_LAST`] flows; of more, it is the largest that is possible.
    fn lose(
        &mut self,
        now: Nanos,
        severe: QueueSet,
        flows: &mut Flows,
        is_reachable: &mut dyn FnMut(PortId, Notification) -> bool,
    ) -> u64 {
        let mut lost = 0;
        let mut count = |port, cnp| match is_reachable(port, cnp) {
            true => {
                lost += 1;
                Offer::Full
            }
            false => Offer::Unreachable,
        };
        for _ in 0..LOOKED_AT_LAST {
            let Some(slot) = self.wheel.take(Nanos::NEVER) else { break };
            self.handle(now, slot, severe, flows, &mut count);
        }
        let others = if severe.is_empty() { 0 } else { self.wheel.listed() };
        lost + others
    }
}

#[cfg(test)]
mod tests;
