//! The rate limiting module: algorithm 2, at the end of the link that sends.
//!
//! What goes out to the long link fills a pseudo-queue, which drains at the rate that the other end
//! advertises. While it is above its reference, each interval ends with one direct CNP to every flow
//! that sent in it and is flagged or young. A flow is flagged by a CNP from the far side, or by a
//! congestion mark on its packets, which is then taken off: the sender is told here, and sooner.
//!
//! Where the paper is followed and where not:
//!
//! - Line 4 walks the whole flow table. Here flows enter a list when they send and are eligible, so
//!   that a flow which is idle, or neither flagged nor young, costs nothing.
//! - Line 7 resets the flags every T, all at once. Here each flag lasts for T.
//! - Line 18 takes every mark off. Here a mark stays where no CNP takes its place: the sender's queue
//!   pair is not known, the other end advertises no rate, or the pseudo-queue is short.
//! - A flow whose sender's queue pair is not known is marked instead, once per interval, however old it
//!   is: nobody can flag it. So is each packet of a flow that comes from elsewhere than those before it: its receiver
//!   tells its sender, and no CNP goes astray.

use super::advertised_rate::{AdvertisedRate, Response};
use super::flow_states::FlowStates;
use super::pseudo_queue::PseudoQueue;
use crate::congestion::mark::set_ecn;
use crate::descriptor::Descriptor;
use crate::flows::cnp::{CnpBuilder, WayBack};
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Flows, Hot, Origin, Seen, Sighting, Slot};
use crate::program::{Lscc, RateLimiting};
use units::{BitRate, Interval, Nanos, PortId, WireBytes};
use wire::ip::Ecn;

/// The number of no interval.
const NOT_LISTED: u32 = 0;
/// Flows that can be listed in one interval. In 50 us, 200G carry less than 16,000 frames.
const LIST: usize = 1 << 16;
/// Listed flows that are looked at in one call, so that a long list does not hold up the port.
const NOTIFIED_PER_CALL: usize = 64;

/// What the rate limiting module of a port has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimiterCounters {
    /// Direct CNPs that were made.
    pub direct_cnps: u64,
    /// Packets that were marked because a direct CNP was due and the sender's queue pair was not
    /// known.
    pub marked_instead: u64,
    /// Direct CNPs that were due and neither made nor replaced by a mark: the queue pair was not known
    /// and the packet does not understand ECN.
    pub not_notified: u64,
    /// Congestion marks taken off.
    pub marks_removed: u64,
    /// CNPs from the far side whose flow is known, and was flagged.
    pub far_cnps: u64,
    /// CNPs from the far side whose flow is not known.
    pub far_cnps_unknown: u64,
    /// CNPs from the far side that were not passed on.
    pub far_cnps_suppressed: u64,
    /// Intervals that ended with the pseudo-queue above its reference.
    pub congested_intervals: u64,
}

/// A frame on its way to the long link.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing {
    /// Where it came in.
    pub port: PortId,
    pub length: WireBytes,
    /// Whether its priority is one that the rate is about.
    pub limited: bool,
}

/// The flows that sent in an interval and are to hear of congestion.
#[derive(Debug)]
struct List {
    slots: Vec<Slot>,
    /// The number of the interval, by which a flow knows that it was looked at.
    interval: u32,
    /// Whether any flow was.
    begun: bool,
}

impl List {
    fn new(interval: u32) -> Self {
        Self { slots: Vec::with_capacity(LIST), interval, begun: false }
    }
}

/// The rate limiting module of one port.
pub(crate) struct RateLimiter {
    settings: RateLimiting,
    /// T: how long a flag lasts.
    flag_lasts: Interval,
    /// The rate at which a limit is none.
    most: BitRate,
    advertised: AdvertisedRate,
    queue: PseudoQueue,
    /// When traffic moved the pseudo-queue on last, and the rate that held then.
    advanced: Option<(Nanos, Option<BitRate>)>,
    states: FlowStates,
    list: List,
    /// The list of the last interval, as far as it has not been worked off.
    due: List,
    /// When the running interval ends; never while no flow is listed.
    ends: Nanos,
    /// Until when a port has no room for the next notification, if that is so.
    blocked: Option<Nanos>,
    cnps: CnpBuilder,
    counters: LimiterCounters,
}

/// `settings` in which a flow is long while its bytes are still counted.
fn counted(settings: &RateLimiting) -> RateLimiting {
    RateLimiting { long_flow: settings.long_flow.min(Hot::MOST_SENT), ..*settings }
}

impl RateLimiter {
    /// For a port of `rate`; `seed` goes into its nonces.
    pub fn new(settings: &Lscc, rate: BitRate, seed: u64) -> Self {
        let RateLimiting { reference, flows, .. } = settings.limiting;
        Self {
            settings: counted(&settings.limiting),
            flag_lasts: settings.interval,
            most: rate,
            advertised: AdvertisedRate::new(settings, seed),
            queue: PseudoQueue::new(reference),
            advanced: None,
            states: FlowStates::new(flows),
            list: List::new(NOT_LISTED + 2),
            due: List::new(NOT_LISTED + 1),
            ends: Nanos::NEVER,
            blocked: None,
            cnps: CnpBuilder::default(),
            counters: LimiterCounters::default(),
        }
    }

    /// New settings.
    pub fn configure(&mut self, settings: &Lscc, rate: BitRate) {
        self.advertised.configure(settings);
        self.advanced = None;
        self.queue.configure(settings.limiting.reference);
        self.settings = counted(&settings.limiting);
        (self.flag_lasts, self.most) = (settings.interval, rate);
    }

    /// Another table of flows is in force. The entries of `spare`, which are empty, take the place of those for the slots of
    /// the former one.
    pub fn exchange_flows(&mut self, spare: &mut Self) {
        core::mem::swap(&mut self.states, &mut spare.states);
        core::mem::swap(&mut self.list, &mut spare.list);
        core::mem::swap(&mut self.due, &mut spare.due);
        (self.ends, self.blocked) = (Nanos::NEVER, None);
    }

    /// Loads the entry of a flow at which [`RateLimiter::send`] will look.
    #[inline]
    pub fn peek(&self, slot: Slot, hot: &Hot) -> u64 {
        self.states.peek(slot, hot)
    }

    /// A frame goes out to the long link, [seen](Flows::see) before (algorithm 2, ReceivePacket).
    #[inline]
    pub fn send(
        &mut self,
        now: Nanos,
        outgoing: Outgoing,
        seen: Seen,
        flows: &mut Flows,
        descriptor: &Descriptor,
        headers: &mut [u8],
    ) {
        let rate = match self.advanced {
            // The frames of a burst come at one instant.
            Some((at, rate)) if at == now => rate,
            _ => self.advance(now),
        };
        if !outgoing.limited {
            return;
        }
        self.queue.arrive(outgoing.length);
        if rate.is_none() || !seen.data {
            return;
        }
        let slot = match seen.sighting {
            Sighting::Of(slot) => slot,
            Sighting::Stranger => return self.mark_instead(descriptor, headers),
            Sighting::Notification(_) | Sighting::NoFlow => return,
        };
        if descriptor.ecn() == Ecn::Ce {
            self.receive_mark(now, slot, flows, descriptor, headers);
        }
        let Hot { round, .. } = *flows.hot(slot);
        if round != self.list.interval && self.is_eligible(now, slot, flows) && !self.is_due(round) {
            let from = (outgoing.port, seen.source_port);
            self.list(now, slot, from, flows, descriptor, headers);
        }
    }

    /// Whether the sender of a flow is to hear of congestion: the flow is young, or flagged, or nobody can flag it.
    #[inline]
    fn is_eligible(&self, now: Nanos, slot: Slot, flows: &mut Flows) -> bool {
        let flow = flows.hot(slot);
        flow.sent() < self.settings.long_flow
            || flow.source().is_none()
            || self.states.is_flagged(flows, slot, now, self.flag_lasts)
    }

    /// A mark flags the flow (lines 16 to 18). It is taken off where the sender is told.
    #[cold]
    fn receive_mark(
        &mut self,
        now: Nanos,
        slot: Slot,
        flows: &mut Flows,
        descriptor: &Descriptor,
        headers: &mut [u8],
    ) {
        self.states.flag(flows, slot, now);
        if flows.source_of(slot).is_some() && self.queue.bytes() > self.settings.reference {
            set_ecn(headers, descriptor.payload_offset, Ecn::Ect0);
            self.counters.marks_removed += 1;
        }
    }

    /// Whether the CNP to a flow is still to be made: it waits for that one.
    #[inline]
    fn is_due(&self, round: u32) -> bool {
        round == self.due.interval && !self.due.slots.is_empty()
    }

    /// Puts a flow on the list of the running interval, with what a CNP to its sender needs.
    fn list(
        &mut self,
        now: Nanos,
        slot: Slot,
        (port, source_port): (PortId, u16),
        flows: &mut Flows,
        descriptor: &Descriptor,
        headers: &mut [u8],
    ) {
        if !flows.is_from(slot, Origin::of(port, descriptor, headers)) {
            return self.mark_instead(descriptor, headers);
        }
        flows.hot_mut(slot).round = self.list.interval;
        self.list.begun = true;
        self.begin_interval(now);
        let way = WayBack::of(headers, source_port).filter(|_| flows.source_of(slot).is_some());
        let Some(way) = way else { return self.mark_instead(descriptor, headers) };
        if self.list.slots.len() == LIST {
            self.counters.not_notified += 1;
            return;
        }
        flows.keep(slot, way);
        self.list.slots.push(slot);
    }

    /// The sender cannot be told directly: its packet tells the receiver, who will tell it.
    #[cold]
    fn mark_instead(&mut self, descriptor: &Descriptor, headers: &mut [u8]) {
        if self.queue.bytes() <= self.settings.reference {
            return;
        }
        match descriptor.ecn() {
            Ecn::NotEct => self.counters.not_notified += 1,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                set_ecn(headers, descriptor.payload_offset, Ecn::Ce);
                self.counters.marked_instead += 1;
            }
        }
    }

    /// A frame came in from the long link, and was seen as `sighting`. Returns whether it goes on.
    #[inline]
    pub fn receive(&mut self, now: Nanos, sighting: Sighting, flows: &mut Flows) -> bool {
        match sighting {
            Sighting::Notification(flow) => self.receive_cnp(now, flow, flows),
            _ => true,
        }
    }

    /// A CNP from the far side flags its flow (lines 12 and 13), and is passed on unless another one
    /// was just before.
    fn receive_cnp(&mut self, now: Nanos, flow: Option<Slot>, flows: &mut Flows) -> bool {
        let Some(slot) = flow else {
            self.counters.far_cnps_unknown += 1;
            return true;
        };
        self.counters.far_cnps += 1;
        self.states.flag(flows, slot, now);
        let Some(interval) = self.settings.far_cnp_interval else { return true };
        let passes = self.states.passes(flows, slot, now, interval);
        self.counters.far_cnps_suppressed += u64::from(!passes);
        passes
    }

    /// A feedback message came in. Returns what is to be sent to the other end.
    pub fn receive_feedback(&mut self, now: Nanos, packet: &[u8]) -> Response {
        let rate = self.advertised.rate(now, self.most);
        self.queue.drain(now, rate);
        self.advanced = None;
        self.advertised.receive(now, packet)
    }

    /// Moves the pseudo-queue on to `now`, as traffic arrives. Returns the rate that holds.
    #[inline(never)]
    fn advance(&mut self, now: Nanos) -> Option<BitRate> {
        self.advertised.note_traffic(now);
        let rate = self.advertised.rate(now, self.most);
        self.queue.drain(now, rate);
        self.advanced = Some((now, rate));
        rate
    }

    /// When [`RateLimiter::notify`] wants to be called.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        match self.blocked {
            Some(until) => until,
            None if self.due.slots.is_empty() => self.ends,
            None => Nanos::ZERO,
        }
    }

    /// Whether notifications wait until a port that has room again calls [`RateLimiter::notify`].
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.blocked == Some(Nanos::NEVER)
    }

    /// Ends the interval, if it is due, and makes CNPs to flows on its list, as long as `send` takes
    /// them (algorithm 2, SendDirectCNP).
    pub fn notify(
        &mut self,
        now: Nanos,
        flows: &mut Flows,
        mut send: impl FnMut(PortId, Notification) -> Offer,
    ) {
        if self.due.slots.is_empty() && self.ends <= now {
            self.end_interval(now);
        }
        self.blocked = None;
        let as_configured = (self.settings.cnp_dscp, self.settings.cnp_priority);
        for _ in 0..NOTIFIED_PER_CALL {
            let Some(&slot) = self.due.slots.last() else { break };
            // A slot that was given to another flow since is not in the list any more.
            if flows.hot(slot).round == self.due.interval {
                if let Some((port, cnp)) = self.cnps.build(flows, slot, as_configured) {
                    match send(port, cnp) {
                        Offer::Taken => self.counters.direct_cnps += 1,
                        Offer::Unreachable => self.counters.not_notified += 1,
                        Offer::Full { until } => {
                            self.blocked = Some(until);
                            return;
                        }
                    }
                }
                flows.hot_mut(slot).round = NOT_LISTED;
            }
            self.due.slots.pop();
        }
        self.begin_interval(now);
    }

    /// Begins an interval if flows have sent. Counted from when the last list was worked off, two CNPs
    /// to one flow are an interval apart wherever it stood in the list.
    fn begin_interval(&mut self, now: Nanos) {
        if self.due.slots.is_empty() && self.ends == Nanos::NEVER && self.list.begun {
            self.ends = now + self.settings.cnp_interval;
        }
    }

    fn end_interval(&mut self, now: Nanos) {
        self.ends = Nanos::NEVER;
        let rate = self.advertised.rate(now, self.most);
        self.queue.drain(now, rate);
        let next = self.list.interval.wrapping_add(1).max(NOT_LISTED + 1);
        if self.queue.bytes() > self.settings.reference {
            self.counters.congested_intervals += 1;
            core::mem::swap(&mut self.list, &mut self.due);
        }
        self.list.slots.clear();
        (self.list.interval, self.list.begun) = (next, false);
    }

    pub fn counters(&self) -> &LimiterCounters {
        &self.counters
    }

    pub fn advertised(&self) -> &AdvertisedRate {
        &self.advertised
    }

    /// What is in the pseudo-queue, as of the last frame or interval, and the most that was.
    pub fn pseudo_queue(&self) -> (WireBytes, WireBytes) {
        (self.queue.bytes(), self.queue.longest())
    }
}
