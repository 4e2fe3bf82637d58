//! The rate limiting module of HPCC*, which sends direct INT instead of direct CNPs (section III-D).
//!
//! A data packet that collects telemetry goes out to the long link. The telemetry so far, one hop more for the
//! pseudo-queue and the advertised rate go to its sender, and the telemetry of the packet begins anew. So the
//! acknowledgement returns the load of the rest of the path, and no link counts twice.
//!
//! Differences from the paper:
//!
//! - A flow gets one direct INT in an interval, not one for each packet. All of its packets in the interval begin
//!   anew all the same: a sender that is told of two different paths in turn would learn neither.
//! - A packet keeps its telemetry where no direct INT replaces it: the sender's queue pair is unknown, the other end
//!   advertises no rate, the packet has passed more than four hops, or too many direct INTs wait.

use super::pseudo_queue::PseudoQueue;
use crate::congestion::int::telemetry;
use crate::congestion::notes::LSCC_DIRECT_INT;
use crate::flows::cnp::{CnpBuilder, ReturnPath};
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Crossing, Flows, Slot};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{BitRate, Interval, Nanos, PortId, Priority};
use wire::int::{self, Hop, LinkRate};
use wire::ip::Dscp;
use wire::roce::direct_int::{Content, Frame};

/// The direct INTs that can wait for the end of a turn. A burst makes fewer, and a port may have several in a turn.
const CAPACITY: usize = 256;
/// The most of them handled in one call, so that they do not hold up the port.
const SENT_PER_CALL: usize = 64;

/// Counters of the direct INTs of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectIntCounters {
    /// Direct INTs that were sent.
    pub sent: u64,
    /// Packets whose telemetry began anew, because a direct INT has it or one of the last interval does.
    pub replaced: u64,
    /// Packets that kept their telemetry although the sender was due for a direct INT.
    pub kept: u64,
    /// Direct INTs that were made and not sent: the port to the sender was full, there is no way, or a
    /// reload turned them off.
    pub lost: u64,
}

/// The state of the pseudo-queue as it joins it.
#[derive(Clone, Copy)]
pub(super) struct State<'a> {
    pub queue: &'a PseudoQueue,
    /// B: the rate in force.
    pub advertised: BitRate,
}

/// The parts that a direct INT is made with.
pub(super) struct Maker<'a> {
    pub cnps: &'a mut CnpBuilder,
    /// DSCP, and PCP to a tagged flow.
    pub as_configured: (Dscp, Priority),
    pub counters: &'a mut DirectIntCounters,
}

/// The direct INTs of one port.
#[derive(Serialize, Deserialize)]
pub(super) struct DirectInt {
    interval: Interval,
    /// The rate of the port.
    link: LinkRate,
    /// The time of the last direct INT of each flow, in nanoseconds, by its slot. It is valid while the flow has
    /// the note.
    last: Vec<u64>,
    waiting: VecDeque<(PortId, Frame)>,
}

impl DirectInt {
    /// For a port of `link` with slots below `capacity`.
    pub fn new(interval: Interval, link: LinkRate, capacity: u32) -> Self {
        Self { interval, link, last: vec![0; capacity as usize], waiting: VecDeque::with_capacity(CAPACITY) }
    }

    /// Takes the settings of `spare`, and its entries if the table of flows was `exchanged`.
    pub fn configure(&mut self, spare: &mut Self, exchanged: bool) {
        (self.interval, self.link) = (spare.interval, spare.link);
        if exchanged {
            self.exchange_entries(spare);
        }
    }

    /// Takes the entries of `other`, and leaves it its own.
    pub fn exchange_entries(&mut self, other: &mut Self) {
        core::mem::swap(&mut self.last, &mut other.last);
    }

    /// Takes a data packet of the flow in `slot`, with this UDP source port. Returns whether it collects telemetry: its sender then
    /// gets direct INT and nothing else.
    pub fn take(
        &mut self,
        frame: Crossing<'_>,
        (slot, source_port): (Slot, u16),
        state: Option<State<'_>>,
        flows: &mut Flows,
        mut maker: Maker<'_>,
        headers: &mut [u8],
    ) -> bool {
        let Some((offset, format)) = telemetry(headers) else { return false };
        // Without a rate there is nothing to tell.
        let Some(state) = state else { return true };
        let told = flows.hot(slot).notes.has(LSCC_DIRECT_INT)
            && frame.now.since(Nanos(self.last[slot.index()])) < self.interval
            && flows.is_from(slot, frame.origin(headers));
        let replaced = told
            || self.make(frame, (slot, source_port), state, flows, &mut maker, (headers, offset)).is_some();
        if replaced {
            maker.counters.replaced += 1;
            int::clear(headers.get_mut(offset..).unwrap_or_default(), format);
        } else {
            maker.counters.kept += 1;
        }
        true
    }

    /// Makes the direct INT of a packet whose telemetry is at `offset`.
    fn make(
        &mut self,
        frame: Crossing<'_>,
        (slot, source_port): (Slot, u16),
        State { queue, advertised }: State<'_>,
        flows: &mut Flows,
        maker: &mut Maker<'_>,
        (headers, offset): (&[u8], usize),
    ) -> Option<()> {
        flows.source_of(slot)?;
        if self.waiting.len() == CAPACITY || !flows.is_from(slot, frame.origin(headers)) {
            return None;
        }
        // The format for eight hops has the same bytes up to the fifth.
        let collected = headers.get(offset..)?.first_chunk()?;
        let hop = Hop::new(self.link, frame.now, queue.left().0, queue.bytes().0);
        let content = Content::new(collected, hop, advertised)?;
        flows.keep(slot, ReturnPath::of(headers, source_port)?);
        let (port, way) = maker.cnps.frame(flows, slot, maker.as_configured)?;
        self.waiting.push_back((port, Frame { way, content }));
        self.last[slot.index()] = frame.now.0;
        flows.hot_mut(slot).notes.set(LSCC_DIRECT_INT, true);
        Some(())
    }

    /// Whether some wait.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The number of direct INTs that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Gives out direct INTs that wait. One that finds its port full is dropped: the next one of its flow has newer figures,
    /// and others need not wait for that port.
    pub fn send(
        &mut self,
        counters: &mut DirectIntCounters,
        send: &mut dyn FnMut(PortId, Notification) -> Offer,
    ) {
        for _ in 0..SENT_PER_CALL {
            let Some((port, frame)) = self.waiting.pop_front() else { break };
            match send(port, Notification::Int(frame)) {
                Offer::Taken => counters.sent += 1,
                Offer::Full | Offer::Unreachable => counters.lost += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests;
