//! The queue pair that sends a flow: pairs of half-flows, how they are bound, watched and ended.
//!
//! The connection manager's messages contain it ([`cm`]); otherwise the PSNs of responses identify it
//! ([`correlation`]).

mod chains;
mod changes;
mod cm;
mod correlation;

pub use changes::{FlowChange, FlowChangeKind};
pub(super) use cm::Envelope;
pub(super) use correlation::{Response, end_silence};

use super::packet::{FlowKey, Hosts, Origin};
use super::role::Kind;
use super::table::{Flags, FlowTable, Progress, Slot, Tag, Tick};
use crate::program::FlowSettings;
use chains::Chains;
use changes::Changes;
use cm::{Event, Requests};
use correlation::{Finding, Windows};
use serde::{Deserialize, Serialize};
use units::Nanos;
use wire::roce::cm::Message;
use wire::roce::{Psn, QueuePair};

/// Events of the search for senders' queue pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolverCounters {
    /// Pairs that the connection manager's messages bound.
    pub resolved_by_cm: u64,
    /// Pairs that were bound because responses repeat the PSNs of requests.
    pub resolved_by_psn: u64,
    /// Pairs taken apart because PSNs went back or leapt ahead: a queue pair may have been used again.
    pub suspended: u64,
    /// Pairs taken apart because a response was about a request that was never sent.
    pub contradicted: u64,
    /// Responses that could answer several flows.
    pub ambiguous: u64,
    /// Pairs that the connection manager's messages ended.
    pub ended: u64,
}

/// Half-flows that carry data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFlows {
    /// Half-flows whose sender's queue pair is known.
    pub resolved: u32,
    /// Half-flows whose sender's queue pair is unknown.
    pub unresolved: u32,
}

/// The position of a packet in a sequence of PSNs.
#[derive(Clone, Copy, Debug)]
pub(super) enum PsnPosition {
    /// A request with this PSN.
    Request(Psn),
    /// A response that repeats the PSN of a request.
    Response(Response),
    /// No position.
    Unnumbered,
}

/// The search for the other halves of half-flows.
#[derive(Serialize, Deserialize)]
pub(super) struct Resolver {
    chains: Chains,
    windows: Windows,
    requests: Requests,
    changes: Changes,
    pub counters: ResolverCounters,
    pub data: DataFlows,
}

impl Resolver {
    pub fn new(settings: &FlowSettings) -> Self {
        Self {
            chains: Chains::new(),
            windows: Windows::new(settings),
            requests: Requests::new(),
            changes: Changes::new(),
            counters: ResolverCounters::default(),
            data: DataFlows::default(),
        }
    }

    /// Adapts to a new rate or round trip of the port. The state stays.
    pub fn configure(&mut self, settings: &FlowSettings) {
        self.windows = Windows::new(settings);
    }

    /// Takes a request, which takes at most `packets` PSNs.
    #[inline]
    pub fn request(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos, psn: Psn, packets: u32) {
        let progress = &mut table.hot_mut(slot).progress;
        if packets <= 1 && progress.expects(psn) {
            progress.advance(psn, packets);
        } else {
            self.unusual_request(table, slot, now, psn, packets);
        }
    }

    #[inline(never)]
    fn unusual_request(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos, psn: Psn, packets: u32) {
        let progress = table.hot(slot).progress;
        if !progress.has_requests() {
            begin(table, slot, psn, packets);
            match table.partner(slot) {
                None => self.settle(table, slot, now),
                Some(_) if table.cold(slot).flags.has(Flags::MANAGED) => {}
                // Until now, only the other half sent requests.
                Some(_) => self.suspend(table, slot, now),
            }
            return;
        }
        let doubtful = self.doubts_request(table, slot, psn);
        let after_read = self.ends_reads(table, slot);
        let doubtful = doubtful || after_read;
        let from_the_start = after_read || table.cold(slot).first.distance_from(psn) >= 0;
        let continues = correlation::widen(self.windows, table, slot, psn, packets);
        match table.partner(slot) {
            None if continues && !from_the_start => self.settle(table, slot, now),
            None => {
                // Half-flows that were excluded may be candidates now.
                if !continues {
                    begin(table, slot, psn, packets);
                }
                self.chains.rejoin(table, slot, now);
            }
            Some(partner) => {
                if !continues {
                    begin(table, slot, psn, packets);
                }
                if doubtful && !table.cold(partner).flags.has(Flags::MANAGED) {
                    self.suspend(table, slot, now);
                }
            }
        }
    }

    /// Takes an RDMA READ request, as [`Resolver::request`], where the resolver sees all of them and only a sample of
    /// the others.
    pub fn read(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos, psn: Psn, packets: u32) {
        self.request(table, slot, now, psn, packets);
        table.cold_mut(slot).flags.set(Flags::AFTER_READ, true);
        table.hot_mut(slot).progress.set_settled(false);
    }

    /// Whether the last request was a READ, and the resolver sees a sample: then this one may be of another life.
    fn ends_reads(&self, table: &mut FlowTable, slot: Slot) -> bool {
        let flags = &mut table.cold_mut(slot).flags;
        let after_read = flags.has(Flags::AFTER_READ);
        flags.set(Flags::AFTER_READ, false);
        if after_read && (flags.has(Flags::CHAINED) || table.partner(slot).is_some()) {
            table.settle(slot);
        }
        after_read
    }

    /// Whether a request with this PSN on a bound half-flow may come from a queue pair in another life: it leaps,
    /// or does not wait for a response of this pair.
    fn doubts_request(&self, table: &FlowTable, slot: Slot, psn: Psn) -> bool {
        let Some(partner) = table.partner(slot) else { return false };
        let (progress, other) = (table.hot(slot).progress, table.cold(partner));
        let ahead = psn.distance_from(progress.last());
        // Without any response to those that went by here, it must not repeat a PSN.
        let first = table.cold(slot).first;
        let waits = match other.flags.has(Flags::ANSWERED) && other.answered.distance_from(first) >= 0 {
            true => {
                let most = self.windows.jump + progress.tail();
                (1..=most as i32).contains(&psn.distance_from(other.answered))
            }
            false => ahead > 0,
        };
        let leaps = ahead > (Progress::GAP + progress.tail()) as i32;
        leaps || !waits || !correlation::continues(self.windows, progress, psn)
    }

    /// Takes a response.
    #[inline]
    pub fn response(&mut self, table: &mut FlowTable, slot: Slot, response: Response) {
        match table.partner(slot) {
            Some(partner) => self.watch(table, slot, partner, response),
            None => self.look(table, slot, response),
        }
    }

    /// Checks a response on a bound half-flow.
    #[inline]
    fn watch(&mut self, table: &mut FlowTable, slot: Slot, partner: Slot, response: Response) {
        let managed = table.cold(slot).flags.has(Flags::MANAGED);
        let (contradicts, doubtful) = self.doubts_response(table, slot, partner, &response);
        let cold = table.cold_mut(slot);
        cold.answered = response.acknowledged;
        cold.flags.set(Flags::ANSWERED, true);
        if contradicts {
            self.contradict(table, slot, partner, response.now);
        } else if !managed && doubtful {
            self.suspend(table, slot, response.now);
        }
    }

    /// Whether a response on a bound half-flow is about a request that was never sent, and whether it is about one
    /// that is not in flight.
    #[inline]
    fn doubts_response(
        &self,
        table: &FlowTable,
        slot: Slot,
        partner: Slot,
        response: &Response,
    ) -> (bool, bool) {
        let (progress, cold) = (table.hot(partner).progress, table.cold(slot));
        let behind =
            cold.flags.has(Flags::ANSWERED) && response.acknowledged.distance_from(cold.answered) < 0;
        let late = progress.last().distance_from(response.psn) > self.windows.jump as i32;
        let contradicts = progress.has_requests() && response.psn.distance_from(progress.reach()) > 0;
        (contradicts, behind || late || !progress.has_requests())
    }

    /// Whether a packet that is not shown to the resolver, on a half-flow that PSNs have bound, may come from a queue
    /// pair in another life.
    pub fn doubts(&self, table: &FlowTable, slot: Slot, now: Nanos, kind: Kind, psn: Psn) -> bool {
        let Some(partner) = table.partner(slot) else { return false };
        if table.cold(slot).flags.has(Flags::MANAGED) {
            return false;
        }
        match kind {
            Kind::Request => {
                let after_read = table.cold(slot).flags.has(Flags::AFTER_READ);
                let requested = table.hot(slot).progress.has_requests();
                after_read || !requested || self.doubts_request(table, slot, psn)
            }
            Kind::Response => {
                let response = Response { now, psn, acknowledged: psn, before: Tick::of(now) };
                self.doubts_response(table, slot, partner, &response) != (false, false)
            }
            Kind::Unacknowledged | Kind::Other => false,
        }
    }

    /// Whether to accept a packet from another origin than those before it. Nothing must have come from the former
    /// origin for about a second, and on a bound half-flow the packet must continue where the others ended.
    /// Stations move, and routes change; but a forger sends beside the true sender.
    pub fn follows(&self, table: &FlowTable, slot: Slot, now: Nanos, position: PsnPosition) -> bool {
        if Tick::of(now).since(table.hot(slot).last_seen) <= Tick::QUIET {
            return false;
        }
        let Some(partner) = table.partner(slot) else { return true };
        match position {
            PsnPosition::Request(psn) if table.hot(slot).progress.has_requests() => {
                !self.doubts_request(table, slot, psn)
            }
            PsnPosition::Response(response) => {
                self.doubts_response(table, slot, partner, &response) == (false, false)
            }
            PsnPosition::Request(_) | PsnPosition::Unnumbered => table.cold(slot).flags.has(Flags::MANAGED),
        }
    }

    #[inline(never)]
    fn look(&mut self, table: &mut FlowTable, slot: Slot, response: Response) {
        if !self.windows.pairs {
            return;
        }
        self.settle(table, slot, response.now);
        let cold = table.cold_mut(slot);
        if !cold.flags.has(Flags::CHAINED) {
            self.counters.ambiguous += 1;
            return;
        }
        if cold.flags.has(Flags::ENDED) {
            if chains::is_recent(response.now, cold.joined) {
                // It may still be about the ended connection.
                correlation::note(self.windows, table, slot, response);
                return;
            }
            cold.flags.set(Flags::ENDED, false);
        }
        match correlation::look(self.windows, &mut self.chains, table, slot, response) {
            Finding::Nothing => {}
            Finding::Ambiguous => self.counters.ambiguous += 1,
            Finding::Bound(other) => {
                self.bind(table, slot, other, response.now);
                self.changes.note(table, other, Some(slot), FlowChangeKind::LearnedByPsn, response.now);
                self.counters.resolved_by_psn += 1;
            }
        }
    }

    /// Puts a half-flow that is not bound into its chain.
    fn settle(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        if table.partner(slot).is_none() {
            self.chains.join(table, slot, now);
        }
    }

    /// Ignores a packet of another origin. From then on, unknown requests on its half-flow may exist, so earlier
    /// conclusions about it are dropped, and none are drawn. A pair stays bound, but the packet may come from a third
    /// queue pair, so the half-flow counts as missing from its chain until the response has come.
    pub fn pass_over(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        if table.partner(slot).is_some() {
            let hosts = table.hot(slot).key().hosts;
            self.chains.leave_gap(table, &hosts, now);
        }
        let flags = &mut table.cold_mut(slot).flags;
        if flags.has(Flags::STRANGERS) {
            return;
        }
        flags.set(Flags::STRANGERS, true);
        if table.partner(slot).is_none() {
            self.chains.rejoin(table, slot, now);
        }
    }

    /// Takes a message of the connection manager.
    pub fn take(&mut self, table: &mut FlowTable, envelope: &Envelope, message: &Message) {
        if let Some(event) = self.requests.take(envelope, message, |hosts| table.hash_hosts(hosts)) {
            self.manage(table, envelope.now, envelope.origin, event);
        }
    }

    fn manage(&mut self, table: &mut FlowTable, now: Nanos, origin: Origin, event: Event) {
        match event {
            Event::Bind { hosts, source, destination } => {
                let [forth, back] = [(hosts, destination), (hosts.reversed(), source)];
                // The queue pairs of management make no flow.
                if forth.1 <= QueuePair::GENERAL_SERVICES || back.1 <= QueuePair::GENERAL_SERVICES {
                    return;
                }
                let forth = self.enter(table, now, forth);
                // In a table of one, the second takes the first one's place.
                let back = self.enter(table, now, back);
                if forth != back {
                    self.bind_managed(table, forth, back, now);
                }
            }
            Event::End { hosts, destination } => {
                let key = FlowKey { hosts, qp: destination };
                let Some(slot) = table.find(table.hash(&key), &key) else { return };
                match table.cold(slot).origin().is_none_or(|known| known == origin) {
                    true => self.end(table, slot, now),
                    false => distrust(table, slot),
                }
            }
            Event::Contradict { hosts, source, destination } => {
                let key = FlowKey { hosts, qp: destination };
                if let Some(slot) = table.find(table.hash(&key), &key)
                    && table.hot(slot).source() == Some(source)
                {
                    self.end(table, slot, now);
                }
            }
        }
    }

    fn enter(&mut self, table: &mut FlowTable, now: Nanos, (hosts, qp): (Hosts, QueuePair)) -> Slot {
        let key = FlowKey { hosts, qp };
        let hash = table.hash(&key);
        let (slot, _) = table.find_or_insert(hash, &key, now, |table, slot| self.release(table, slot, now));
        table.hot_mut(slot).last_seen = Tick::of(now);
        slot
    }

    fn bind_managed(&mut self, table: &mut FlowTable, forth: Slot, back: Slot, now: Nanos) {
        if table.partner(forth) != Some(back) {
            for half in [forth, back] {
                if let Some(former) = self.unbind(table, half) {
                    self.settle_if_seen(table, former, now);
                }
                forget(table, half);
            }
            self.bind(table, forth, back, now);
            self.changes.note(table, forth, Some(back), FlowChangeKind::LearnedByCm, now);
            self.counters.resolved_by_cm += 1;
        }
        for half in [forth, back] {
            let flags = &mut table.cold_mut(half).flags;
            flags.set(Flags::MANAGED, true);
            flags.set(Flags::ENDED, false);
        }
    }

    /// Ends a connection, bound or not.
    fn end(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        let partner = self.unbind(table, slot);
        self.counters.ended += u64::from(partner.is_some());
        if partner.is_some() {
            self.changes.note(table, slot, partner, FlowChangeKind::Ended, now);
        }
        if partner.is_none() {
            self.depart(table, slot, now);
        }
        for half in [Some(slot), partner].into_iter().flatten() {
            forget(table, half);
            let cold = table.cold_mut(half);
            cold.flags.set(Flags::ENDED, true);
            cold.joined = chains::stamp(now);
        }
    }

    /// A half-flow that is not bound leaves its chain. A response to what has gone by on it may yet come, on a
    /// half-flow that is not known.
    fn depart(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        let hot = table.hot(slot);
        let heard = hot.progress.has_requests() || table.cold(slot).flags.has(Flags::STRANGERS);
        if heard && Tick::of(now).since(hot.last_seen) <= Tick::QUIET {
            let hosts = hot.key().hosts;
            self.chains.leave_gap(table, &hosts, now);
        }
        self.chains.leave(table, slot);
    }

    fn bind(&mut self, table: &mut FlowTable, one: Slot, other: Slot, now: Nanos) {
        for half in [one, other] {
            if table.cold(half).flags.has(Flags::STRANGERS) {
                let hosts = table.hot(half).key().hosts;
                self.chains.leave_gap(table, &hosts, now);
            }
            self.chains.leave(table, half);
            let moved = u32::from(table.hot(half).progress.has_data());
            (self.data.resolved, self.data.unresolved) =
                (self.data.resolved + moved, self.data.unresolved - moved);
            table.settle(half);
            let flags = &mut table.cold_mut(half).flags;
            flags.set(Flags::ENDED, false);
            flags.set(Flags::STRANGERS, false);
        }
        table.pair(one, other);
    }

    /// Takes a pair apart, if it is one. Returns the other half.
    fn unbind(&mut self, table: &mut FlowTable, slot: Slot) -> Option<Slot> {
        let partner = table.part(slot)?;
        for half in [slot, partner] {
            let moved = u32::from(table.hot(half).progress.has_data());
            (self.data.resolved, self.data.unresolved) =
                (self.data.resolved - moved, self.data.unresolved + moved);
            table.hot_mut(half).progress.set_settled(false);
            table.cold_mut(half).flags.set(Flags::MANAGED, false);
        }
        Some(partner)
    }

    /// Suspends a pair whose queue pair may have been used again: neither half gets a CNP until it is resolved
    /// anew.
    #[cold]
    fn suspend(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        if let Some(partner) = self.unbind(table, slot) {
            self.counters.suspended += 1;
            self.changes.note(table, slot, Some(partner), FlowChangeKind::Suspended, now);
            self.settle_if_seen(table, slot, now);
            self.settle_if_seen(table, partner, now);
        }
    }

    /// Takes a pair apart because a response on `slot` is about a request that was not sent on `partner`.
    #[cold]
    fn contradict(&mut self, table: &mut FlowTable, slot: Slot, partner: Slot, now: Nanos) {
        self.unbind(table, slot);
        self.counters.contradicted += 1;
        self.changes.note(table, partner, Some(slot), FlowChangeKind::Contradicted, now);
        self.settle_if_seen(table, slot, now);
        self.settle_if_seen(table, partner, now);
        let other = table.cold(partner);
        // It may be about an ignored packet.
        if other.flags.has(Flags::CHAINED) && !other.flags.has(Flags::STRANGERS) {
            self.chains.exclude(table, slot, 1 << other.ordinal);
        }
    }

    /// Makes the history of a half-flow count for the others as soon as it is no longer bound.
    fn settle_if_seen(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        let flags = table.cold(slot).flags;
        let seen = flags.has(Flags::ANSWERED) || flags.has(Flags::STRANGERS);
        if seen || table.hot(slot).progress.has_requests() {
            self.settle(table, slot, now);
        }
    }

    /// Releases a flow that leaves the table.
    pub fn release(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        match self.unbind(table, slot) {
            None => self.depart(table, slot, now),
            Some(partner) => {
                self.changes.note(table, slot, Some(partner), FlowChangeKind::Displaced, now);
                self.settle_if_seen(table, partner, now);
                // It may come back, but none of the present half-flows is it.
                let hosts = table.hot(slot).key().hosts;
                let ordinals = self.chains.ordinals(table, &hosts);
                self.chains.exclude(table, partner, ordinals);
            }
        }
        self.data.unresolved -= u32::from(table.hot(slot).progress.has_data());
    }

    /// Notes that a half-flow goes on from another origin, which may be another sender. What went by from the former
    /// one is too old to be answered, and may have been forged so that the numbers of the true sender go on from it.
    /// So it is forgotten, with what followed from it: a pair stays only if the connection manager made it.
    pub fn note_move(&mut self, table: &mut FlowTable, slot: Slot, now: Nanos) {
        forget_numbers(table, slot);
        if !table.cold(slot).flags.has(Flags::MANAGED) {
            self.suspend(table, slot, now);
        }
        let is_chained = table.cold(slot).flags.has(Flags::CHAINED);
        if is_chained || table.partner(slot).is_some() {
            table.settle(slot);
        }
        if is_chained {
            self.chains.rejoin(table, slot, now);
        }
        self.changes.note(table, slot, table.partner(slot), FlowChangeKind::Moved, now);
    }

    /// Gives all changes since the last call to `take`, and returns the number of those that found no room.
    pub fn take_changes(&mut self, take: impl FnMut(FlowChange)) -> u64 {
        self.changes.take(take)
    }

    /// Counts a half-flow as one that carries data.
    #[inline]
    pub fn carries_data(&mut self, table: &mut FlowTable, slot: Slot) {
        let hot = table.hot_mut(slot);
        if !hot.progress.has_data() {
            hot.progress.set_data();
            match hot.source() {
                Some(_) => self.data.resolved += 1,
                None => self.data.unresolved += 1,
            }
        }
    }
}

/// Notes the first request, or the first of another sequence of PSNs.
fn begin(table: &mut FlowTable, slot: Slot, psn: Psn, packets: u32) {
    table.hot_mut(slot).progress.advance(psn, packets);
    table.cold_mut(slot).first = psn;
}

/// Forgets the history of a half-flow, and its origin.
fn forget(table: &mut FlowTable, slot: Slot) {
    forget_numbers(table, slot);
    let flags = &mut table.cold_mut(slot).flags;
    for flag in [Flags::PINNED, Flags::STRANGERS] {
        flags.set(flag, false);
    }
}

/// Forgets which requests and responses went by on a half-flow.
fn forget_numbers(table: &mut FlowTable, slot: Slot) {
    table.hot_mut(slot).progress.forget();
    let flags = &mut table.cold_mut(slot).flags;
    for flag in [Flags::ANSWERED, Flags::AFTER_READ] {
        flags.set(flag, false);
    }
}

/// Takes an unproven message that the connection manager has ended a pair. If it is true, the PSNs of the next
/// users of the queue pairs will show it, or their origin.
fn distrust(table: &mut FlowTable, slot: Slot) {
    let Some(partner) = table.partner(slot) else { return };
    for half in [slot, partner] {
        let flags = &mut table.cold_mut(half).flags;
        flags.set(Flags::MANAGED, false);
        flags.set(Flags::ENDED, true);
    }
}

/// Accepts packets of `origin` alone from now on.
pub(super) fn pin(table: &mut FlowTable, slot: Slot, origin: Origin) {
    table.hot_mut(slot).set_origin(origin);
    let cold = table.cold_mut(slot);
    (cold.source, cold.ingress) = (origin.mac(), origin.port());
    cold.tag = Tag::new((origin.vlan() != 0).then_some(origin.vlan()));
    cold.flags.set(Flags::PINNED, true);
}
