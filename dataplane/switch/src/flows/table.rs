//! The flow table: an entry for each flow, by its key and by its slot (LSCC, table I).
//!
//! It is bounded, and its memory is reserved when it is made. The index is written then, 8 to 16 bytes a flow, and the
//! rest is touched only as it fills, unless the allocator touches it beforehand.
//!
//! A set-associative [`Index`] of one word per place leads to the flows. A word has the flow's slot and some bits of
//! its hash, so that a look-up costs two cache misses, the set and the flow's line; a burst overlaps them by
//! [`FlowTable::peek`] and [`FlowTable::peek_flow`]. Flows that have been idle for too long are removed as new ones
//! come: each insertion checks a few slots from a hand that moves round, and an idle flow costs nothing otherwise. If
//! the set of a new flow is full, the idlest of the set makes room. So no packet costs more than a visit of some 40
//! places and slots; and as the hash is keyed, no sender can choose flows that share a set.

mod entry;
#[cfg(test)]
mod tests;

pub(crate) use entry::{Cold, Flags, Hot, Link, Note, Progress, Slot, Tag, Tick};

use super::packet::{FlowKey, Hosts};
use crate::hash::{HashKey, KeyedHash};
use crate::table::Index;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, WireBytes};
use wire::roce::{Psn, QueuePair};

/// Slots that an insertion checks.
const GLANCE: u32 = 2;
/// Slots that an insertion into a full table checks.
const SEARCH: u32 = 16;

/// Events of the flow table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounters {
    /// Flows entered.
    pub entered: u64,
    /// Flows forgotten to make room, though not idle for long.
    pub evicted: u64,
    /// Flows forgotten after they had been idle for longer than the ageing time.
    pub aged: u64,
    /// Packets of hosts that belong to another lane: their flows are not entered.
    pub strays: u64,
}

/// The flows.
#[derive(Serialize, Deserialize)]
pub(crate) struct FlowTable {
    index: Index,
    hot: Vec<Hot>,
    cold: Vec<Cold>,
    capacity: u32,
    /// Free slots, chained by `next`.
    free: Link,
    live: u32,
    hand: u32,
    /// The ageing time, in ticks.
    ageing: u32,
    keyed: KeyedHash,
    pub(super) counters: FlowCounters,
}

impl FlowTable {
    /// Room for `capacity` flows, at least one, which are forgotten when idle for `ageing`. The same `key` gives
    /// the same order of everything.
    pub fn new(capacity: u32, ageing: Interval, key: impl Into<HashKey>) -> Self {
        let capacity = capacity.clamp(1, Index::MOST_SLOTS);
        let slots = capacity as usize;
        Self {
            index: Index::new(capacity),
            hot: Vec::with_capacity(slots),
            cold: Vec::with_capacity(slots),
            capacity,
            free: Link::NONE,
            live: 0,
            hand: 0,
            ageing: u32::try_from(ageing.0 >> Tick::SHIFT).unwrap_or(u32::MAX),
            keyed: KeyedHash::new(key.into()),
            counters: FlowCounters::default(),
        }
    }

    /// The number of flows.
    pub const fn len(&self) -> u32 {
        self.live
    }

    /// Events so far.
    pub const fn counters(&self) -> FlowCounters {
        self.counters
    }

    /// The hash of a key, for the other calls.
    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        key.hash(&self.keyed)
    }

    /// The hash of a direction between two hosts.
    pub fn hash_hosts(&self, hosts: &Hosts) -> u64 {
        hosts.hash(&self.keyed)
    }

    /// See [`Index::peek`].
    #[inline]
    pub fn peek(&self, hash: u64) -> u32 {
        self.index.peek(hash)
    }

    /// The slot at which the flow with this `hash` is, if it is in the table: some bits of the hash agree.
    #[inline(always)]
    pub fn guess(&self, hash: u64) -> Link {
        self.index.find(hash, |_| true).map_or(Link::NONE, |slot| Link::to(Slot(slot)))
    }

    /// Prefetches the line of the flow at a guessed slot, once the sets of the burst are loaded.
    #[inline]
    pub fn peek_flow(&self, guess: Link) -> Option<(Slot, &Hot)> {
        let slot = guess.get()?;
        Some((slot, self.hot.get(slot.index())?))
    }

    /// The slot of the flow `key` with this `hash`.
    #[inline(always)]
    pub fn find(&self, hash: u64, key: &FlowKey) -> Option<Slot> {
        self.index.find(hash, |slot| self.hot(Slot(slot)).is_of(key)).map(Slot)
    }

    /// The slot of the flow `key`, if the guess is right.
    #[inline(always)]
    pub fn find_at(&self, guess: Link, key: &FlowKey) -> Option<Slot> {
        let hot = self.hot.get(guess.index())?;
        hot.is_of(key).then_some(Slot(guess.index() as u32))
    }

    /// Takes the next expected data packet of a flow, or a repeated one without news, and counts these `bytes` of it,
    /// and as many for each packet that was left out, up to `most` in all. Returns whether it was one: no other
    /// packet is, and none from an origin without this `digest`.
    #[inline(always)]
    pub fn go_on(
        &mut self,
        slot: Slot,
        digest: u32,
        now: Nanos,
        psn: Psn,
        (bytes, most): (WireBytes, u32),
    ) -> bool {
        let hot = &mut self.hot[slot.index()];
        if !hot.comes_from(digest) {
            return false;
        }
        let step = psn.distance_from(hot.progress.last()) as u32;
        let usual = hot.goes_on(psn, Tick::of(now), self.ageing);
        if usual {
            hot.count(if most == 1 { bytes } else { WireBytes(bytes.0 * u64::from(step.min(most))) });
        }
        usual || self.repeats(slot, psn, bytes, Tick::of(now))
    }

    /// Takes a data packet from which nothing is learnt, if it is simply a later one of a flow, and counts these
    /// `bytes` of it. Returns whether it was one: none is from an origin without this `digest`, or ends a silence.
    #[inline(always)]
    pub fn go_by(&mut self, slot: Slot, digest: u32, now: Nanos, psn: Psn, bytes: WireBytes) -> bool {
        let (hot, now) = (&mut self.hot[slot.index()], Tick::of(now));
        let is_managed = || self.cold[slot.index()].flags.has(Flags::MANAGED);
        let known = hot.comes_from(digest)
            && now.is_within(self.ageing.min(Tick::QUIET), hot.last_seen)
            && (hot.progress.is_soon(psn) || hot.source().is_none() || is_managed());
        if known {
            hot.last_seen = now;
            hot.count(bytes);
        }
        known
    }

    /// Takes a data packet between the first and the last one of a half-flow that is not bound. Returns whether it
    /// was one: a sender that has lost a packet goes back to it, and repeats all packets after it.
    #[inline(never)]
    fn repeats(&mut self, slot: Slot, psn: Psn, bytes: WireBytes, now: Tick) -> bool {
        let (hot, first) = (&mut self.hot[slot.index()], self.cold[slot.index()].first);
        let again = hot.source().is_none()
            && hot.progress.has_settled_before(psn)
            && psn.distance_from(first) > 0
            && now.since(hot.last_seen) <= self.ageing;
        if again {
            hot.last_seen = now;
            hot.count(bytes);
        }
        again
    }

    /// As [`FlowTable::find`], but enters a flow that is missing or has been idle for too long. Returns whether it
    /// did. Calls `gone` with each flow that is removed, while it is still there.
    #[inline]
    pub fn find_or_insert(
        &mut self,
        hash: u64,
        key: &FlowKey,
        now: Nanos,
        gone: impl FnMut(&mut Self, Slot),
    ) -> (Slot, bool) {
        match self.find(hash, key) {
            Some(slot) if !self.has_aged(slot, Tick::of(now)) => (slot, false),
            found => (self.insert(hash, key, now, found, gone), true),
        }
    }

    #[inline(never)]
    fn insert(
        &mut self,
        hash: u64,
        key: &FlowKey,
        now: Nanos,
        aged: Option<Slot>,
        mut gone: impl FnMut(&mut Self, Slot),
    ) -> Slot {
        let tick = Tick::of(now);
        let mut remove = |table: &mut Self, slot| {
            gone(table, slot);
            table.remove(slot);
        };
        if let Some(slot) = aged {
            self.counters.aged += 1;
            remove(self, slot);
        }
        let idlest = self.sweep(tick, &mut remove);
        let crowded = self.idlest_of_full_set(hash, tick);
        // The slot freed last is reused first: a caller that enters two flows and gets one slot can tell.
        if let Some(slot) = crowded.or(idlest.filter(|_| self.live == self.capacity)) {
            self.counters.evicted += 1;
            remove(self, slot);
        }
        self.counters.entered += 1;
        self.live += 1;
        let slot = self.take_slot(Hot::new(*key, tick));
        let entered = self.index.insert(hash, slot.0);
        debug_assert!(entered, "its set has room");
        slot
    }

    /// Frees aged flows among the next few slots, and more of them if the table is full. Returns the idlest of the
    /// others.
    fn sweep(&mut self, now: Tick, remove: &mut impl FnMut(&mut Self, Slot)) -> Option<Slot> {
        let full = self.live == self.capacity;
        let mut idlest: Option<(u32, Slot)> = None;
        for _ in 0..if full { SEARCH } else { GLANCE }.min(self.hot.len() as u32) {
            let slot = Slot(if (self.hand as usize) < self.hot.len() { self.hand } else { 0 });
            self.hand = slot.0 + 1;
            if self.hot(slot).is_vacant() {
                continue;
            }
            let idle = self.idle(slot, now);
            if idle > self.ageing {
                self.counters.aged += 1;
                remove(self, slot);
            } else if idlest.is_none_or(|(longest, _)| idle > longest) {
                idlest = Some((idle, slot));
            }
        }
        idlest.map(|(_, slot)| slot)
    }

    /// The idlest flow in the set of `hash`, if the set is full.
    fn idlest_of_full_set(&self, hash: u64, now: Tick) -> Option<Slot> {
        self.index.full_set(hash).map(Slot).max_by_key(|slot| self.idle(*slot, now))
    }

    fn take_slot(&mut self, hot: Hot) -> Slot {
        if let Some(slot) = self.free.get() {
            self.free = self.cold(slot).next;
            *self.hot_mut(slot) = hot;
            *self.cold_mut(slot) = Cold::NEW;
            return slot;
        }
        // Not reached at capacity, because the sweep has left a free slot.
        let slot = Slot(self.hot.len() as u32);
        self.hot.push(hot);
        self.cold.push(Cold::NEW);
        slot
    }

    /// Forgets a flow.
    fn remove(&mut self, slot: Slot) {
        let hash = self.hash(&self.hot(slot).key());
        self.index.remove(hash, slot.0);
        self.live -= 1;
        self.hot_mut(slot).vacate();
        let free = self.free;
        self.cold_mut(slot).next = free;
        self.free = Link::to(slot);
    }

    /// Whether a flow has been idle for longer than the ageing time.
    #[inline]
    pub fn has_aged(&self, slot: Slot, now: Tick) -> bool {
        now.since(self.hot(slot).last_seen) > self.ageing && self.idle(slot, now) > self.ageing
    }

    /// Ticks for which a flow has been idle. The halves of a pair age together: as long as there is data one way,
    /// the receiver of CNPs must be known.
    fn idle(&self, slot: Slot, now: Tick) -> u32 {
        let own = now.since(self.hot(slot).last_seen);
        self.partner(slot).map_or(own, |partner| own.min(now.since(self.hot(partner).last_seen)))
    }

    /// The part of a flow that every packet needs.
    #[inline]
    pub fn hot(&self, slot: Slot) -> &Hot {
        &self.hot[slot.index()]
    }

    /// As [`FlowTable::hot`], mutably.
    #[inline]
    pub fn hot_mut(&mut self, slot: Slot) -> &mut Hot {
        &mut self.hot[slot.index()]
    }

    /// The rest of a flow.
    #[inline]
    pub fn cold(&self, slot: Slot) -> &Cold {
        &self.cold[slot.index()]
    }

    /// As [`FlowTable::cold`], mutably.
    #[inline]
    pub fn cold_mut(&mut self, slot: Slot) -> &mut Cold {
        &mut self.cold[slot.index()]
    }

    /// Notes that a flow has joined its chain or is bound.
    pub fn settle(&mut self, slot: Slot) {
        let after_read = self.cold(slot).flags.has(Flags::AFTER_READ);
        self.hot_mut(slot).progress.set_settled(!after_read);
    }

    /// The other half of a flow that is bound.
    #[inline]
    pub fn partner(&self, slot: Slot) -> Option<Slot> {
        self.hot(slot).source().and_then(|_| self.cold(slot).other.get())
    }

    /// Makes two half-flows the halves of a pair.
    pub fn pair(&mut self, one: Slot, other: Slot) {
        for (half, partner) in [(one, other), (other, one)] {
            let source: QueuePair = self.hot(partner).key().qp;
            self.hot_mut(half).set_source(Some(source));
            self.cold_mut(half).other = Link::to(partner);
        }
    }

    /// Ends a pair; returns the other half.
    pub fn part(&mut self, slot: Slot) -> Option<Slot> {
        let partner = self.partner(slot)?;
        for half in [slot, partner] {
            self.hot_mut(half).set_source(None);
            self.cold_mut(half).other = Link::NONE;
        }
        Some(partner)
    }
}
