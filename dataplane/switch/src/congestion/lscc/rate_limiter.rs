//! The rate limiting module: algorithm 2, at the sending end of the link.
//!
//! Traffic to the long link fills a pseudo-queue, which drains at the rate that the other end advertises. While it
//! is above its reference, each interval ends with one direct CNP to every flow that sent in it and is flagged or
//! young. A flow is flagged by a CNP from the far side, or by a congestion mark on its packets. The mark is then
//! removed, because the direct CNP reaches the sender sooner.
//!
//! Differences from the paper:
//!
//! - Line 4 walks the whole flow table. Here flows enter a list when they send and are eligible, so that a flow
//!   which is idle, or neither flagged nor young, costs nothing.
//! - Line 7 resets all flags at once every T. Here each flag lasts for T.
//! - Line 18 removes every mark. Here a mark stays if no CNP replaces it: the sender's queue pair is unknown, the
//!   other end advertises no rate, or the pseudo-queue is short.
//! - While the pseudo-queue is far below its reference, nothing is listed, and most packets are not looked up. An
//!   interval begins with a packet that is listed, so one that ends above the reference is listed from its start.
//! - A flow whose sender's queue pair is unknown is marked instead, once per interval and at any age, because
//!   nothing can flag it. So is each packet of a flow that comes from elsewhere than those before it: its receiver
//!   notifies its sender, and no CNP goes astray.

use super::advertised_rate::{AdvertisedRate, Response};
use super::direct_int::{self, DirectInt, DirectIntCounters};
use super::flow_states::FlowStates;
use super::pseudo_queue::PseudoQueue;
use super::settings::{Lscc, RateLimiting};
use crate::congestion::mark::set_ecn;
use crate::congestion::scheme::Scheme;
use crate::descriptor::Descriptor;
use crate::flows::cnp::{CnpBuilder, ReturnPath};
use crate::flows::notifications::{Notification, Offer};
use crate::flows::{Crossing, Flows, Hot, Origin, Seen, Sighting, Slot};
use crate::lanes::Pace;
use crate::program::PortSettings;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, PortId, QueueSet, WireBytes};
use wire::int::LinkRate;
use wire::ip::Ecn;

/// The number that stands for no interval.
const NOT_LISTED: u32 = 0;
/// Flows that can be listed in one interval. In 50 us, 200G carry less than 16,000 frames.
const LIST: usize = 1 << 16;
/// The most listed flows handled in one call, so that a long list does not hold up the port.
const NOTIFIED_PER_CALL: usize = 64;

/// Counters of the rate limiting module of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimiterCounters {
    /// Direct CNPs that were made.
    pub direct_cnps: u64,
    /// Packets that were marked because a direct CNP was due and the sender's queue pair was unknown.
    pub marked_instead: u64,
    /// Direct CNPs that were due, but were neither made nor replaced by a mark: the queue pair was unknown and the
    /// packet does not understand ECN, there was no way to the sender, or the table or a reload had forgotten its flow.
    pub not_notified: u64,
    /// Congestion marks that were removed.
    pub marks_removed: u64,
    /// CNPs from the far side whose flow was known, and was flagged.
    pub far_cnps: u64,
    /// CNPs from the far side whose flow was unknown.
    pub far_cnps_unknown: u64,
    /// CNPs from the far side that were not passed on.
    pub far_cnps_suppressed: u64,
    /// Intervals that ended with the pseudo-queue above its reference.
    pub congested_intervals: u64,
    /// Direct INT, where it replaces direct CNPs.
    pub direct_int: DirectIntCounters,
}

/// The flows that sent in an interval and are to be notified.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    slots: Vec<Slot>,
    /// The number of the interval, which marks the flows that were handled in it.
    interval: u32,
    /// Whether any flow was handled.
    begun: bool,
}

impl List {
    fn new(interval: u32) -> Self {
        Self { slots: Vec::with_capacity(LIST), interval, begun: false }
    }
}

/// The rate limiting module of one port.
#[derive(Serialize, Deserialize)]
pub(crate) struct RateLimiter {
    settings: RateLimiting,
    /// T: the time for which a flag lasts.
    flag_lasts: Interval,
    /// The rate from which a limit has no effect.
    most: BitRate,
    advertised: AdvertisedRate,
    /// On a lane that does not lead, the rate that the lead has in force.
    led: Option<Option<BitRate>>,
    queue: PseudoQueue,
    /// The time when traffic last advanced the pseudo-queue, and the rate in force then.
    advanced: Option<(Nanos, Option<BitRate>)>,
    /// Whether flows are listed: a rate is in force, and CNPs may be near.
    awake: bool,
    /// The length of the pseudo-queue above which that is so, where the others are not looked up: one that fills
    /// at most as quickly as the link could carry passes the reference an interval later.
    wakes_above: WireBytes,
    states: FlowStates,
    list: List,
    /// The list of the last interval: the part still to be notified.
    due: List,
    /// The end of the running interval; never while no flow is listed.
    ends: Nanos,
    /// Whether the next notification waits until a port has room.
    blocked: bool,
    cnps: CnpBuilder,
    /// HPCC*: instead of direct CNPs.
    direct_int: Option<DirectInt>,
    pub counters: LimiterCounters,
}

fn wakes_above(settings: &RateLimiting, rate: BitRate) -> WireBytes {
    WireBytes(settings.reference.0.saturating_sub(rate.bytes_in(settings.cnp_interval)))
}

/// `settings` with the length of a long flow within the range of counted bytes.
fn counted(settings: &RateLimiting) -> RateLimiting {
    RateLimiting { long_flow: settings.long_flow.map(|it| it.min(Hot::MOST_SENT)), ..*settings }
}

impl RateLimiter {
    /// The limiter of a port of `rate`, with `capacity` flows; `seed` goes into its nonces.
    pub fn new(settings: &Lscc, capacity: u32, rate: BitRate, seed: u64) -> Self {
        // A rate without a code was refused with the program.
        let direct_int = settings.limiting.direct_int.zip(LinkRate::of(rate));
        Self {
            settings: counted(&settings.limiting),
            flag_lasts: settings.interval,
            most: rate,
            advertised: AdvertisedRate::new(settings, seed),
            led: None,
            queue: PseudoQueue::new(settings.limiting.limit),
            advanced: None,
            awake: false,
            wakes_above: wakes_above(&settings.limiting, rate),
            states: FlowStates::new(capacity),
            list: List::new(NOT_LISTED + 2),
            due: List::new(NOT_LISTED + 1),
            ends: Nanos::NEVER,
            blocked: false,
            cnps: CnpBuilder::default(),
            direct_int: direct_int.map(|(interval, link)| DirectInt::new(interval, link, capacity)),
            counters: LimiterCounters::default(),
        }
    }

    /// Lets the limiter of `other`, another link of its bundle, take its place, and takes that one. The entries of flows stay in
    /// their place: they belong to all links. `flows` are looked up for as long as the pseudo-queue of this link may need it.
    pub fn exchange(&mut self, other: &mut Self, flows: &mut Flows) {
        if let (true, Some((at, Some(rate)))) = (self.awake, self.advanced) {
            let above = WireBytes(self.queue.bytes().0.saturating_sub(self.wakes_above.0));
            flows.keep_watch(at + rate.serialization().time_of(above));
        }
        core::mem::swap(self, other);
        core::mem::swap(&mut self.states, &mut other.states);
        if let (Some(direct_int), Some(other)) = (&mut self.direct_int, &mut other.direct_int) {
            direct_int.exchange_entries(other);
        }
    }

    /// The number of flows that are to be notified, now or if the pseudo-queue is as long at the end of the interval.
    fn to_notify(&self) -> u64 {
        let congested = self.queue.bytes() > self.settings.reference;
        let listed = if congested { self.list.slots.len() } else { 0 };
        (self.due.slots.len() + listed) as u64
    }

    /// Prefetches the entry of a flow that [`RateLimiter::send`] will read.
    #[inline]
    pub fn peek(&self, slot: Slot, hot: &Hot) -> u64 {
        self.states.peek(slot, hot)
    }

    /// Shows a packet of the flow in `slot` to direct INT. Returns whether its sender gets direct INT and no direct
    /// CNP.
    fn replaces_cnps(
        &mut self,
        frame: Crossing<'_>,
        from: (Slot, u16),
        rate: Option<BitRate>,
        flows: &mut Flows,
        headers: &mut [u8],
    ) -> bool {
        let state = rate.map(|advertised| direct_int::State { queue: &self.queue, advertised });
        let Some(direct_int) = &mut self.direct_int else { return false };
        let maker = direct_int::Maker {
            cnps: &mut self.cnps,
            as_configured: (self.settings.cnp_dscp, self.settings.cnp_priority),
            counters: &mut self.counters.direct_int,
        };
        direct_int.take(frame, from, state, flows, maker, headers)
    }

    /// Whether the sender of a flow is to be notified: the flow is young, flagged, or cannot be flagged.
    #[inline(always)]
    fn is_eligible(&self, now: Nanos, slot: Slot, flows: &mut Flows) -> bool {
        let flow = flows.hot(slot);
        self.settings.long_flow.is_none_or(|long| flow.sent() < long)
            || flow.source().is_none()
            || self.states.is_flagged(flows, slot, now, self.flag_lasts)
    }

    /// Flags the flow of a marked packet (lines 16 to 18), and removes the mark if the sender is notified.
    #[cold]
    fn receive_mark(&mut self, frame: Crossing<'_>, slot: Slot, flows: &mut Flows, headers: &mut [u8]) {
        self.states.flag(flows, slot, frame.now);
        // While it is not awake, the flow is not listed.
        let congested = self.awake && self.queue.bytes() > self.settings.reference;
        if congested && flows.source_of(slot).is_some() {
            set_ecn(headers, frame.descriptor.payload_offset, Ecn::Ect0);
            self.counters.marks_removed += 1;
        }
    }

    /// Whether the CNP of the last interval to a flow is still to be made.
    #[inline]
    fn is_due(&self, round: u32) -> bool {
        round == self.due.interval && !self.due.slots.is_empty()
    }

    /// Puts a flow on the list of the running interval, with the data for a CNP to its sender.
    fn list(
        &mut self,
        frame: Crossing<'_>,
        (slot, source_port): (Slot, u16),
        flows: &mut Flows,
        headers: &mut [u8],
    ) {
        if !flows.is_from(slot, frame.origin(headers)) {
            return self.mark_instead(frame.descriptor, headers);
        }
        flows.hot_mut(slot).round = self.list.interval;
        self.list.begun = true;
        self.begin_interval(frame.now);
        let way = ReturnPath::of(headers, source_port).filter(|_| flows.source_of(slot).is_some());
        let Some(way) = way else { return self.mark_instead(frame.descriptor, headers) };
        if self.list.slots.len() == LIST {
            self.counters.not_notified += 1;
            return;
        }
        flows.keep(slot, way);
        self.list.slots.push(slot);
    }

    /// Marks the packet of a sender that cannot be notified directly: its receiver will notify it.
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

    /// Takes a feedback message. Returns the message to send to the other end.
    pub fn receive_feedback(&mut self, now: Nanos, packet: &[u8]) -> Response {
        self.drain(now);
        self.advanced = None;
        self.advertised.receive(now, packet)
    }

    /// Drains the pseudo-queue until `now` at the rate in force, and returns that.
    fn drain(&mut self, now: Nanos) -> Option<BitRate> {
        let rate = self.led.unwrap_or_else(|| self.advertised.rate(now, self.most));
        self.queue.drain(now, rate);
        rate
    }

    /// The rate in force at `now` and the length of the pseudo-queue, with `bytes` that other lanes have taken: the lead tells
    /// them.
    pub fn lead(&mut self, now: Nanos, bytes: WireBytes, flows: &mut Flows) -> Pace {
        let rate = match bytes {
            WireBytes(0) => self.drain(now),
            _ => self.advance(now, flows),
        };
        self.queue.add(bytes);
        Pace { rate, queue: self.queue.bytes() }
    }

    /// All bytes that have gone out here so far and to which the rate applies.
    pub fn limited(&self) -> WireBytes {
        self.queue.arrived()
    }

    /// Goes by what the lead has told.
    pub fn follow(&mut self, now: Nanos, pace: Pace) {
        self.led = Some(pace.rate);
        self.drain(now);
        self.queue.set(pace.queue);
        self.advanced = None;
    }

    /// Advances the pseudo-queue to `now`, as traffic arrives, and wakes or lets go of `flows`. Returns the rate in
    /// force.
    #[inline(never)]
    fn advance(&mut self, now: Nanos, flows: &mut Flows) -> Option<BitRate> {
        self.advertised.note_traffic(now);
        let rate = self.drain(now);
        self.awake = rate.is_some() && (!flows.samples() || self.queue.bytes() > self.wakes_above);
        flows.watch(now, self.awake);
        self.advanced = Some((now, rate));
        rate
    }

    /// The rate in force as a frame goes out `now`.
    #[inline(always)]
    fn rate(&mut self, now: Nanos, flows: &mut Flows) -> Option<BitRate> {
        match self.advanced {
            // The frames of a burst share one instant.
            Some((at, rate)) if at == now => rate,
            _ => self.advance(now, flows),
        }
    }

    /// Whether the flow of a frame that goes out is looked up, also if the resolver learns nothing from it.
    #[inline(always)]
    pub fn looks(&mut self, frame: Crossing<'_>, flows: &mut Flows) -> bool {
        let rate = self.rate(frame.now, flows);
        flows.is_watched(frame.now) || frame.limited && rate.is_some() && frame.descriptor.ecn() == Ecn::Ce
    }

    /// Lets the pseudo-queue decide whether `flows` are looked up as frames go out `now`.
    pub fn look_at_queue(&mut self, now: Nanos, flows: &mut Flows) {
        self.rate(now, flows);
    }

    /// Takes the bytes of frames that go out, to which a rate applies, and which are not looked up.
    #[inline(always)]
    pub fn pass(&mut self, bytes: WireBytes) {
        self.queue.arrive(bytes);
    }

    /// Begins an interval if flows have sent. It counts from the end of work on the last list, so that two CNPs to
    /// one flow are an interval apart, whatever its position in the list.
    fn begin_interval(&mut self, now: Nanos) {
        if self.due.slots.is_empty() && self.ends == Nanos::NEVER && self.list.begun {
            self.ends = now + self.settings.cnp_interval;
        }
    }

    fn end_interval(&mut self, now: Nanos) {
        self.ends = Nanos::NEVER;
        self.drain(now);
        let next = self.list.interval.wrapping_add(1).max(NOT_LISTED + 1);
        if self.queue.bytes() > self.settings.reference {
            self.counters.congested_intervals += 1;
            core::mem::swap(&mut self.list, &mut self.due);
        }
        self.list.slots.clear();
        (self.list.interval, self.list.begun) = (next, false);
    }

    pub fn advertised(&self) -> &AdvertisedRate {
        &self.advertised
    }

    /// The length of the pseudo-queue, as of the last frame or interval, and its greatest length.
    pub fn pseudo_queue(&self) -> (WireBytes, WireBytes) {
        (self.queue.bytes(), self.queue.longest())
    }

    /// Algorithm 2, ReceivePacket.
    #[inline(always)]
    pub fn send(&mut self, frame: Crossing<'_>, seen: Seen, flows: &mut Flows, headers: &mut [u8]) {
        let Crossing { now, descriptor, .. } = frame;
        let rate = self.rate(now, flows);
        if !frame.limited {
            return;
        }
        self.queue.arrive(frame.length);
        if !seen.data {
            return;
        }
        if self.direct_int.is_some()
            && let Sighting::Of(slot) = seen.sighting
            && self.replaces_cnps(frame, (slot, seen.source_port), rate, flows, headers)
        {
            return;
        }
        if rate.is_none() {
            return;
        }
        let slot = match seen.sighting {
            Sighting::Of(slot) => slot,
            Sighting::Stranger if self.awake => return self.mark_instead(descriptor, headers),
            Sighting::Stranger | Sighting::Notification(_) | Sighting::DirectInt | Sighting::NoFlow => return,
        };
        if descriptor.ecn() == Ecn::Ce {
            self.receive_mark(frame, slot, flows, headers);
        }
        if !self.awake {
            return;
        }
        let Hot { round, .. } = *flows.hot(slot);
        if round != self.list.interval && self.is_eligible(now, slot, flows) && !self.is_due(round) {
            self.list(frame, (slot, seen.source_port), flows, headers);
        }
    }
}

impl Scheme for RateLimiter {
    fn is_on(&self, port: &PortSettings) -> bool {
        port.notifiers.lscc.is_some()
    }

    /// Flows that were to be notified are lost with their slots and counted, because marks may have been removed for
    /// them.
    fn configure(&mut self, spare: &mut Self, exchanged: bool) {
        if exchanged {
            self.counters.not_notified += self.to_notify();
            core::mem::swap(&mut self.states, &mut spare.states);
            core::mem::swap(&mut self.list, &mut spare.list);
            core::mem::swap(&mut self.due, &mut spare.due);
            (self.ends, self.blocked) = (Nanos::NEVER, false);
        }
        match (&mut self.direct_int, &mut spare.direct_int) {
            (Some(direct_int), Some(spare)) => direct_int.configure(spare, exchanged),
            (direct_int, spare) => {
                self.counters.direct_int.lost += direct_int.as_ref().map_or(0, DirectInt::waiting);
                core::mem::swap(direct_int, spare);
            }
        }
        self.advertised.configure(&spare.advertised);
        self.advanced = None;
        self.queue.configure(spare.settings.limit);
        (self.settings, self.flag_lasts, self.most) = (spare.settings, spare.flag_lasts, spare.most);
        self.wakes_above = spare.wakes_above;
    }

    /// Flags the flow of the CNP (lines 12 and 13). A CNP that does not come from the receiver counts for nothing,
    /// because its sender may discard it.
    fn receive_cnp(&mut self, now: Nanos, flow: Option<Slot>, flows: &mut Flows, origin: Origin) -> bool {
        let Some(slot) = flow.filter(|slot| flows.may_be_receiver(*slot, origin)) else {
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

    /// `false` where the limiter makes all direct INT that its senders may get.
    fn takes_direct_int(&self) -> bool {
        self.direct_int.is_none()
    }

    #[inline]
    fn deadline(&self) -> Nanos {
        let ints_wait = self.direct_int.as_ref().is_some_and(DirectInt::waits);
        match self.blocked {
            true => Nanos::NEVER,
            false if self.due.slots.is_empty() && !ints_wait => self.ends,
            false => Nanos::ZERO,
        }
    }

    #[inline]
    fn is_blocked(&self) -> bool {
        self.blocked
    }

    fn waiting(&self) -> u64 {
        self.to_notify() + self.direct_int.as_ref().map_or(0, DirectInt::waiting)
    }

    /// Ends the interval if it is due, and makes CNPs to flows on its list (algorithm 2, SendDirectCNP).
    fn notify(
        &mut self,
        now: Nanos,
        _: QueueSet,
        flows: &mut Flows,
        send: &mut dyn FnMut(PortId, Notification) -> Offer,
    ) {
        if self.due.slots.is_empty() && self.ends <= now {
            self.end_interval(now);
        }
        self.blocked = false;
        if let Some(direct_int) = &mut self.direct_int {
            direct_int.send(&mut self.counters.direct_int, send);
        }
        let as_configured = (self.settings.cnp_dscp, self.settings.cnp_priority);
        for _ in 0..NOTIFIED_PER_CALL {
            let Some(&slot) = self.due.slots.last() else { break };
            // A slot that now belongs to another flow or to none is no longer in the list.
            let is_listed = flows.hot(slot).round == self.due.interval;
            let cnp = is_listed.then(|| self.cnps.build(flows, slot, as_configured)).flatten();
            match cnp.map_or(Offer::Unreachable, |(port, cnp)| send(port, cnp)) {
                Offer::Taken => self.counters.direct_cnps += 1,
                Offer::Unreachable => self.counters.not_notified += 1,
                Offer::Full => {
                    self.blocked = true;
                    return;
                }
            }
            if is_listed {
                flows.hot_mut(slot).round = NOT_LISTED;
            }
            self.due.slots.pop();
        }
        self.begin_interval(now);
    }
}

#[cfg(test)]
mod tests;
