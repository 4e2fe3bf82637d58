//! The rate limiting module: algorithm 2, at the end of the link that sends.
//!
//! What goes out to the long link fills a pseudo-queue, which drains at the rate that the other end
//! asks for. While it is above its reference, each interval ends with one direct CNP to every flow
//! that sent in it and is flagged or young. A flow is flagged by a CNP from the far side, or by a
//! congestion mark on its packets, which is then taken off: the sender is told here, and sooner.
//!
//! Where the paper is followed and where not:
//!
//! - Line 4 walks the whole flow table. Here flows enter a list when they send and are eligible, so
//!   that a flow which is idle, or neither flagged nor young, costs nothing.
//! - Line 7 resets the flags every T, all at once. Here each flag lasts for T.
//! - Line 18 takes every mark off. Here a mark stays where no CNP takes its place: the sender's queue
//!   pair is not known, the other end asks for no rate, or the pseudo-queue is short.
//! - A flow whose sender's queue pair is not known is marked instead, once per interval, however old it
//!   is: nobody can flag it. So is each packet of a flow that comes from elsewhere than those before it: whoever sent it is
//!   told by the receiver, and no CNP goes astray.

use super::advice::{Advice, Response};
use super::flow_table::{self, Hot, Slot};
use super::packet::{Hosts, Origin, Packet, Way};
use super::pseudo_queue::PseudoQueue;
use super::resolver::{Flows, ROLES, Sighting};
use crate::descriptor::{Descriptor, Network};
use crate::hash::HashKey;
use crate::program::{Lscc, RateLimiting};
use core::net::Ipv6Addr;
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};
use wire::ethernet;
use wire::ip::Ecn;
use wire::roce::{QueuePair, cnp};
use wire::vlan::{self, Tag};
use wire::{ipv4, ipv6};

/// The number of no interval.
const NOT_LISTED: u32 = 0;
/// No flag.
const NOT_FLAGGED: u32 = 0;
/// The unit of time of a flag, as a power of two of nanoseconds.
const FLAG_SHIFT: u32 = 10;
/// TTL of direct CNPs.
const TTL: u8 = 64;
/// A table of so many flows is likely to be in the cache.
const LARGE_TABLE: u32 = 1 << 14;
/// Frames that are looked up ahead together.
const LOOK_AHEAD: usize = 32;
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
    pub not_told: u64,
    /// Congestion marks taken off.
    pub marks_removed: u64,
    /// CNPs from the far side whose flow is known, and was flagged.
    pub far_cnps: u64,
    /// CNPs from the far side whose flow is not known.
    pub far_cnps_unknown: u64,
    /// CNPs from the far side that were not passed on.
    pub far_cnps_thinned: u64,
    /// Intervals that ended with the pseudo-queue above its reference.
    pub congested_intervals: u64,
}

/// What becomes of a CNP that is offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Taken,
    /// There is no room. There may be at this instant; where it is never, who has room calls.
    Full {
        until: Nanos,
    },
    /// There is no way to the sender.
    Unreachable,
}

/// A frame on its way to the long link.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing {
    /// Where it came in.
    pub port: PortId,
    pub length: Bytes,
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
    advice: Advice,
    queue: PseudoQueue,
    /// When traffic moved the pseudo-queue on last, and the rate that held then.
    advanced: Option<(Nanos, Option<BitRate>)>,
    flows: Flows,
    list: List,
    /// The list of the last interval, as far as it has not been worked off.
    due: List,
    /// When the running interval ends; never while no flow is listed.
    ends: Nanos,
    /// Until when a port has no room for the next notification, if that is so.
    blocked: Option<Nanos>,
    identification: u16,
    counters: LimiterCounters,
}

/// `settings` in which a flow is long while its bytes are still counted.
fn counted(settings: &RateLimiting) -> RateLimiting {
    RateLimiting { long_flow: settings.long_flow.min(Hot::MOST_SENT), ..*settings }
}

impl RateLimiter {
    pub fn new(settings: &Lscc, rate: BitRate, key: HashKey, seed: u64) -> Self {
        Self {
            settings: counted(&settings.limiting),
            flag_lasts: settings.interval,
            most: rate,
            advice: Advice::new(settings, seed),
            queue: PseudoQueue::new(settings.limiting.reference),
            advanced: None,
            flows: Flows::new(settings, rate, key),
            list: List::new(NOT_LISTED + 2),
            due: List::new(NOT_LISTED + 1),
            ends: Nanos::NEVER,
            blocked: None,
            identification: 0,
            counters: LimiterCounters::default(),
        }
    }

    /// New settings. The flows stay; where their table has another size or ageing, that of `spare`, which is made for
    /// these settings and has seen nothing, takes its place, and the old one goes there.
    pub fn configure(&mut self, settings: &Lscc, rate: BitRate, spare: &mut Self) {
        self.advice.configure(settings);
        let (old, new) = (&self.settings, &settings.limiting);
        if (new.flows, new.ageing) != (old.flows, old.ageing) {
            core::mem::swap(&mut self.flows, &mut spare.flows);
            core::mem::swap(&mut self.list, &mut spare.list);
            core::mem::swap(&mut self.due, &mut spare.due);
            (self.ends, self.blocked) = (Nanos::NEVER, None);
        }
        self.flows.configure(settings, rate);
        self.advanced = None;
        self.queue.configure(settings.limiting.reference);
        self.settings = counted(&settings.limiting);
        (self.flag_lasts, self.most) = (settings.interval, rate);
    }

    /// Loads what will be looked up of the frames of a burst that cross this `way`, before they are taken one by one, so that the
    /// cache misses of a large table overlap.
    #[inline]
    pub fn look_ahead<'a>(&self, way: Way, frames: impl Iterator<Item = &'a [u8]>) {
        if self.flows.len() < LARGE_TABLE {
            return;
        }
        let mut keys = frames.filter_map(|headers| Packet::usual_key(way, headers));
        loop {
            let mut words = [0_u32; LOOK_AHEAD];
            let looked_up = words.iter_mut().zip(keys.by_ref());
            let found = looked_up.map(|(word, key)| *word = self.flows.peek(self.flows.hash(&key))).count();
            if found == 0 {
                return;
            }
            let flows = words[..found].iter().map(|word| self.flows.peek_flow(*word));
            core::hint::black_box(flows.fold(0, |sum, sent| sum ^ sent));
        }
    }

    /// A frame goes out to the long link (algorithm 2, ReceivePacket).
    #[inline]
    pub fn send(&mut self, now: Nanos, outgoing: Outgoing, descriptor: &Descriptor, headers: &mut [u8]) {
        let wire_bytes = WireBytes::of_frame(outgoing.length);
        let rate = match self.advanced {
            // The frames of a burst come at one instant.
            Some((at, rate)) if at == now => rate,
            _ => self.advance(now),
        };
        if outgoing.limited {
            self.queue.arrive(wire_bytes);
        }
        let Some(packet) = &Packet::parse(Way::Out, outgoing.port, descriptor, headers) else { return };
        let hash = self.flows.hash(&packet.key);
        let (source_port, data) = (packet.source_port, ROLES[usize::from(packet.bth.opcode().0)].data);
        let (slot, origin) = match self.flows.observe(now, hash, packet) {
            Sighting::Of(slot) => (slot, packet.origin),
            Sighting::Stranger if data && rate.is_some() && outgoing.limited => {
                return self.mark_instead(descriptor, headers);
            }
            Sighting::Stranger | Sighting::NoFlow => return,
        };
        if !data {
            return;
        }
        let flow = self.flows.hot_mut(slot);
        flow.count(wire_bytes);
        if rate.is_none() || !outgoing.limited {
            return;
        }
        if descriptor.ecn() == Ecn::Ce {
            self.receive_mark(now, slot, descriptor, headers);
        }
        let flow = self.flows.hot(slot);
        let eligible = flow.sent() < self.settings.long_flow
            || flow.source().is_none()
            || self.is_flagged(flow.flagged, now);
        if eligible && flow.listed != self.list.interval && !self.is_due(flow.listed) {
            self.list(now, slot, origin, source_port, descriptor, headers);
        }
    }

    /// A mark flags the flow (lines 16 to 18). It is taken off where the sender is told.
    #[cold]
    fn receive_mark(&mut self, now: Nanos, slot: Slot, descriptor: &Descriptor, headers: &mut [u8]) {
        self.flows.hot_mut(slot).flagged = flag(now);
        if self.flows.source_of(slot).is_some() && self.queue.bytes() > self.settings.reference {
            set_ecn(descriptor, headers, Ecn::Ect0);
            self.counters.marks_removed += 1;
        }
    }

    /// Whether a flag is less than T old.
    #[inline]
    fn is_flagged(&self, flagged: u32, now: Nanos) -> bool {
        flagged != NOT_FLAGGED && u64::from(flag(now).wrapping_sub(flagged)) << FLAG_SHIFT < self.flag_lasts.0
    }

    /// Whether the CNP to a flow is still to be made: it waits for that one.
    #[inline]
    fn is_due(&self, listed: u32) -> bool {
        listed == self.due.interval && !self.due.slots.is_empty()
    }

    /// Puts a flow on the list of the running interval, with what a CNP to its sender needs.
    fn list(
        &mut self,
        now: Nanos,
        slot: Slot,
        origin: Origin,
        source_port: u16,
        descriptor: &Descriptor,
        headers: &mut [u8],
    ) {
        // The digest of another one may be the same.
        if self.flows.cold(slot).origin() != Some(origin) {
            return self.mark_instead(descriptor, headers);
        }
        self.flows.hot_mut(slot).listed = self.list.interval;
        self.list.begun = true;
        self.begin_interval(now);
        let tags = vlan::Stack::parse(&*headers).map(|stack| (stack.outer, stack.inner));
        // A CNP has room for one tag; behind two it would not arrive.
        let Ok((outer, None)) = tags else { return self.mark_instead(descriptor, headers) };
        if self.flows.source_of(slot).is_none() {
            return self.mark_instead(descriptor, headers);
        }
        if self.list.slots.len() == LIST {
            self.counters.not_told += 1;
            return;
        }
        let Ok(link) = ethernet::View::parse(&*headers) else { return };
        let cold = self.flows.cold_mut(slot);
        cold.tag = flow_table::Tag::new(outer.map(Tag::tci));
        (cold.destination, cold.source_port) = (link.destination(), source_port);
        self.list.slots.push(slot);
    }

    /// The sender cannot be told directly: its packet tells the receiver, who will tell it.
    #[cold]
    fn mark_instead(&mut self, descriptor: &Descriptor, headers: &mut [u8]) {
        if self.queue.bytes() <= self.settings.reference {
            return;
        }
        match descriptor.ecn() {
            Ecn::NotEct => self.counters.not_told += 1,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                set_ecn(descriptor, headers, Ecn::Ce);
                self.counters.marked_instead += 1;
            }
        }
    }

    /// A frame came in from the long link, behind `port`. Returns whether it goes on.
    #[inline]
    pub fn receive(&mut self, now: Nanos, port: PortId, descriptor: &Descriptor, headers: &[u8]) -> bool {
        let Some(packet) = &Packet::parse(Way::In, port, descriptor, headers) else { return true };
        if packet.bth.opcode().is_cnp() {
            return self.receive_cnp(now, packet);
        }
        let hash = self.flows.hash(&packet.key);
        self.flows.observe(now, hash, packet);
        true
    }

    /// A CNP from the far side flags its flow (lines 12 and 13), and is passed on unless another one
    /// was just before.
    fn receive_cnp(&mut self, now: Nanos, packet: &Packet<'_>) -> bool {
        let Some(slot) = self.flows.flow_notified(packet) else {
            self.counters.far_cnps_unknown += 1;
            return true;
        };
        self.counters.far_cnps += 1;
        self.flows.hot_mut(slot).flagged = flag(now);
        let Some(interval) = self.settings.far_cnp_interval else { return true };
        let passed = &mut self.flows.cold_mut(slot).far_cnp;
        if *passed != Nanos::ZERO && now.since(*passed) < interval {
            self.counters.far_cnps_thinned += 1;
            return false;
        }
        // Zero is never.
        *passed = now.max(Nanos(1));
        true
    }

    /// A feedback message came in. Returns what is to be sent to the other end.
    pub fn receive_feedback(&mut self, now: Nanos, packet: &[u8]) -> Response {
        let rate = self.advice.rate(now, self.most);
        self.queue.drain(now, rate);
        self.advanced = None;
        self.advice.receive(now, packet)
    }

    /// Moves the pseudo-queue on to `now`, as traffic arrives. Returns the rate that holds.
    #[inline(never)]
    fn advance(&mut self, now: Nanos) -> Option<BitRate> {
        self.advice.note_traffic(now);
        let rate = self.advice.rate(now, self.most);
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
    pub fn notify(&mut self, now: Nanos, mut send: impl FnMut(PortId, cnp::Frame) -> Offer) {
        if self.due.slots.is_empty() && self.ends <= now {
            self.end_interval(now);
        }
        self.blocked = None;
        for _ in 0..NOTIFIED_PER_CALL {
            let Some(&slot) = self.due.slots.last() else { break };
            // A slot that was given to another flow since is not in the list any more.
            if self.flows.hot(slot).listed == self.due.interval {
                if let Some(frame) = self.notification(slot) {
                    match send(self.flows.cold(slot).ingress, frame) {
                        Offer::Taken => self.counters.direct_cnps += 1,
                        Offer::Unreachable => self.counters.not_told += 1,
                        Offer::Full { until } => {
                            self.blocked = Some(until);
                            return;
                        }
                    }
                }
                self.flows.hot_mut(slot).listed = NOT_LISTED;
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
        let rate = self.advice.rate(now, self.most);
        self.queue.drain(now, rate);
        let next = self.list.interval.wrapping_add(1).max(NOT_LISTED + 1);
        if self.queue.bytes() > self.settings.reference {
            self.counters.congested_intervals += 1;
            core::mem::swap(&mut self.list, &mut self.due);
        }
        self.list.slots.clear();
        (self.list.interval, self.list.begun) = (next, false);
    }

    /// The CNP to the sender of a flow, in the name of its receiver.
    fn notification(&mut self, slot: Slot) -> Option<cnp::Frame> {
        let destination_qp: QueuePair = self.flows.source_of(slot)?;
        let (hosts, cold) = (self.flows.hot(slot).key().hosts, self.flows.cold(slot));
        let priority = self.settings.cnp_priority;
        self.identification = self.identification.wrapping_add(1);
        Some(cnp::Frame {
            destination_mac: cold.source,
            source_mac: cold.destination,
            tag: cold.tag.tci().map(|tci| Tag { priority, ..Tag::from_tci(tci) }),
            addresses: addresses(hosts.reversed(), self.identification),
            dscp: self.settings.cnp_dscp,
            ecn: Ecn::Ect0,
            ttl: TTL,
            source_port: cold.source_port,
            destination_qp,
        })
    }

    pub fn counters(&self) -> &LimiterCounters {
        &self.counters
    }

    pub fn advice(&self) -> &Advice {
        &self.advice
    }

    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// What is in the pseudo-queue, as of the last frame or interval, and the most that was.
    pub fn pseudo_queue(&self) -> (WireBytes, WireBytes) {
        (self.queue.bytes(), self.queue.longest())
    }
}

/// A flag that was set at `now`: in units of 2^10 ns, which wrap after 73 minutes.
#[inline]
fn flag(now: Nanos) -> u32 {
    ((now.0 >> FLAG_SHIFT) as u32).max(NOT_FLAGGED + 1)
}

fn addresses(hosts: Hosts, identification: u16) -> cnp::Addresses {
    let (source, destination) = (Ipv6Addr::from(hosts.source), Ipv6Addr::from(hosts.destination));
    match (source.to_ipv4_mapped(), destination.to_ipv4_mapped()) {
        (Some(source), Some(destination)) => cnp::Addresses::V4 { source, destination, identification },
        _ => cnp::Addresses::V6 { source, destination, flow_label: 0 },
    }
}

/// Sets the ECN bits of the packet of which `descriptor` is. No ICRC covers them.
fn set_ecn(descriptor: &Descriptor, headers: &mut [u8], ecn: Ecn) {
    let packet = headers.get_mut(usize::from(descriptor.payload_offset)..).unwrap_or_default();
    match descriptor.network {
        Network::Ipv4 => {
            if let Ok(mut ip) = ipv4::View::parse_head(packet, usize::MAX) {
                ip.set_ecn(ecn);
            }
        }
        Network::Ipv6 => {
            if let Ok(mut ip) = ipv6::View::parse_head(packet, usize::MAX) {
                ip.set_ecn(ecn);
            }
        }
        Network::Other { .. } => {}
    }
}
