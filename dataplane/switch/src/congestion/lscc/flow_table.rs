//! The flow table: who sends to whom, and what the rate limiter counts for each (LSCC, table I).
//!
//! It is bounded, and its memory is reserved when it is made and touched only as it fills. An index of
//! one word per bucket leads to the flows by linear probing; a word has the flow's slot and some bits of its
//! hash, so that a lookup costs two cache misses, the word and the flow's line, which a burst overlaps by
//! [`FlowTable::peek`]. Flows that have been idle for too long go as new ones come: each insertion looks at a few
//! slots from a hand that moves round, and nothing is ever done for an idle flow otherwise.

mod entry;
#[cfg(test)]
mod tests;

pub(crate) use entry::{Cold, Flags, Hot, Link, Progress, Slot, Tag, Tick};

use super::packet::{FlowKey, Hosts};
use core::hash::{BuildHasher, Hasher};
use foldhash::fast::FixedState;
use units::{Interval, Nanos};
use wire::roce::{Psn, QueuePair};

/// Slots that an insertion looks at.
const GLANCE: u32 = 2;
/// Slots that an insertion into a full table looks at.
const SEARCH: u32 = 16;

/// What happened to flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Entered.
    pub inserted: u64,
    /// Forgotten to make room, though not idle for long.
    pub evicted: u64,
    /// Forgotten after they had been idle for longer than the ageing time.
    pub aged: u64,
}

/// The flows.
pub(crate) struct FlowTable {
    /// Per bucket zero, or bits of the hash above the slot plus one.
    index: Vec<u32>,
    hot: Vec<Hot>,
    cold: Vec<Cold>,
    capacity: u32,
    /// The bits of an index word that are the slot's.
    slot_mask: u32,
    /// Slots that were given back, chained by `next`.
    free: Link,
    live: u32,
    hand: u32,
    /// In ticks.
    ageing: u32,
    state: FixedState,
    counters: FlowCounters,
}

impl FlowTable {
    /// Room for `capacity` flows, one at least, which are forgotten when idle for `ageing`. The same
    /// `seed` gives the same order of everything.
    pub fn new(capacity: u32, ageing: Interval, seed: u64) -> Self {
        let capacity = capacity.clamp(1, u32::MAX >> 2);
        let slots = capacity as usize;
        Self {
            index: vec![0; (2 * slots).next_power_of_two()],
            hot: Vec::with_capacity(slots),
            cold: Vec::with_capacity(slots),
            capacity,
            slot_mask: u32::MAX >> capacity.leading_zeros(),
            free: Link::NONE,
            live: 0,
            hand: 0,
            ageing: u32::try_from(ageing.0 >> Tick::SHIFT).unwrap_or(u32::MAX),
            state: FixedState::with_seed(seed),
            counters: FlowCounters::default(),
        }
    }

    /// How many flows are known.
    pub const fn len(&self) -> u32 {
        self.live
    }

    /// What happened to flows so far.
    pub const fn counters(&self) -> FlowCounters {
        self.counters
    }

    /// What the other calls want to know of a key.
    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        let mut hasher = self.hasher(&key.hosts);
        hasher.write_u32(key.qp.number());
        hasher.finish()
    }

    /// The hash of a direction between two hosts.
    pub fn hash_hosts(&self, hosts: &Hosts) -> u64 {
        self.hasher(hosts).finish()
    }

    #[inline]
    fn hasher(&self, hosts: &Hosts) -> impl Hasher {
        let mut hasher = self.state.build_hasher();
        hasher.write_u128(hosts.source.number());
        hasher.write_u128(hosts.destination.number());
        hasher
    }

    /// Loads the index word where the search for `hash` starts. Called for a whole burst first, it lets the
    /// cache misses of the burst overlap.
    #[inline]
    pub fn peek(&self, hash: u64) -> u32 {
        self.index[self.home(hash)]
    }

    /// Loads the flow's line to which `word` leads, for the same reason, when the words of the burst are there.
    #[inline]
    pub fn peek_flow(&self, word: u32) -> u64 {
        let slot = (word & self.slot_mask).wrapping_sub(1);
        self.hot.get(slot as usize).map_or(0, |hot| hot.sent().0)
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    /// The bucket after `at`.
    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.index.len() - 1)
    }

    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !self.slot_mask
    }

    /// Where the flow `key` with this `hash` is.
    #[inline(always)]
    pub fn find(&self, hash: u64, key: &FlowKey) -> Option<Slot> {
        let tag = self.tag(hash);
        let mut at = self.home(hash);
        // Half of the buckets are empty, so this ends.
        loop {
            let word = self.index[at];
            if word == 0 {
                return None;
            }
            if word & !self.slot_mask == tag {
                let slot = Slot((word & self.slot_mask) - 1);
                if self.hot(slot).is_of(key) {
                    return Some(slot);
                }
            }
            at = self.after(at);
        }
    }

    /// Takes the next data packet of a flow that is as everybody expects, or one that was sent before and tells
    /// nothing new; `None` where it is anything else, or does not come from an origin with this `digest`.
    #[inline(always)]
    pub fn go_on(&mut self, hash: u64, key: &FlowKey, digest: u32, now: Nanos, psn: Psn) -> Option<Slot> {
        let (slot, ageing) = (self.find(hash, key)?, self.ageing);
        if !self.hot(slot).comes_from(digest) {
            return None;
        }
        let usual = self.hot_mut(slot).goes_on(psn, Tick::of(now), ageing);
        (usual || self.repeats(slot, psn, Tick::of(now))).then_some(slot)
    }

    /// Takes a data packet that lies behind the last one and ahead of the first one of a half-flow that is not
    /// bound, and says whether it was one: a sender that has lost a packet goes back to it, and sends all again
    /// that followed.
    #[inline(never)]
    fn repeats(&mut self, slot: Slot, psn: Psn, now: Tick) -> bool {
        let (hot, first) = (&self.hot[slot.index()], self.cold[slot.index()].first);
        let again = hot.source().is_none()
            && hot.progress.has_settled_before(psn)
            && psn.distance_from(first) > 0
            && now.since(hot.last_seen) <= self.ageing;
        if again {
            self.hot_mut(slot).last_seen = now;
        }
        again
    }

    /// As [`FlowTable::find`]; enters the flow, where it is not there or has been idle for too long, and says
    /// whether it did. `gone` is called with each flow that goes, while it is still there.
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
        self.sweep(tick, &mut remove);
        self.counters.inserted += 1;
        self.live += 1;
        let slot = self.take_slot(Hot::new(*key, tick));
        let mut at = self.home(hash);
        while self.index[at] != 0 {
            at = self.after(at);
        }
        self.index[at] = self.tag(hash) | (slot.0 + 1);
        slot
    }

    /// Frees what has aged of the next few slots; where the table is full and none has, the idlest of them.
    fn sweep(&mut self, now: Tick, remove: &mut impl FnMut(&mut Self, Slot)) {
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
        if self.live == self.capacity
            && let Some((_, slot)) = idlest
        {
            self.counters.evicted += 1;
            remove(self, slot);
        }
    }

    fn take_slot(&mut self, hot: Hot) -> Slot {
        if let Some(slot) = self.free.get() {
            self.free = self.cold(slot).next;
            *self.hot_mut(slot) = hot;
            *self.cold_mut(slot) = Cold::NEW;
            return slot;
        }
        // Not reached at capacity: the sweep has left a free slot.
        let slot = Slot(self.hot.len() as u32);
        self.hot.push(hot);
        self.cold.push(Cold::NEW);
        slot
    }

    /// Forgets a flow.
    fn remove(&mut self, slot: Slot) {
        let hash = self.hash(&self.hot(slot).key());
        let mut hole = self.home(hash);
        while self.index[hole] & self.slot_mask != slot.0 + 1 {
            hole = self.after(hole);
        }
        // What stands behind it and would be found only across it moves up.
        let mask = self.index.len() - 1;
        let mut at = self.after(hole);
        while self.index[at] != 0 {
            let moved = Slot((self.index[at] & self.slot_mask) - 1);
            let home = self.home(self.hash(&self.hot(moved).key()));
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.index[hole] = self.index[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.index[hole] = 0;
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

    /// For how many ticks a flow has been idle. The halves of a pair age together: as long as there is data one way,
    /// who gets the CNPs must be known.
    fn idle(&self, slot: Slot, now: Tick) -> u32 {
        let own = now.since(self.hot(slot).last_seen);
        self.partner(slot).map_or(own, |partner| own.min(now.since(self.hot(partner).last_seen)))
    }

    /// What every packet of a flow needs.
    #[inline]
    pub fn hot(&self, slot: Slot) -> &Hot {
        &self.hot[slot.index()]
    }

    /// What every packet of a flow needs, to be changed.
    #[inline]
    pub fn hot_mut(&mut self, slot: Slot) -> &mut Hot {
        &mut self.hot[slot.index()]
    }

    /// The rest of a flow.
    #[inline]
    pub fn cold(&self, slot: Slot) -> &Cold {
        &self.cold[slot.index()]
    }

    /// The rest of a flow, to be changed.
    #[inline]
    pub fn cold_mut(&mut self, slot: Slot) -> &mut Cold {
        &mut self.cold[slot.index()]
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
