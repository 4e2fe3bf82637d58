//! A set-associative index: from the hash of a key to the slot of its entry.
//!
//! Each hash belongs to one set of [`WAYS`] places, and an entry is in its set or nowhere. So no look-up, insertion
//! or removal visits more than [`WAYS`] places, whatever the entries are. If a set is full, its user must remove
//! one of its entries first. Within a set, entries are found by linear probing from a way that the hash gives: in a
//! half-full table, most are in the first place.
//!
//! If all slots are taken, half of the places are empty, so a set of 16 has 8 entries on average. With an
//! unpredictable hash, about one insertion in a hundred then finds a full set, and hardly any in a half-full table.

use serde::{Deserialize, Serialize};

/// Places of a set: as many as fit a cache line.
pub(crate) const WAYS: usize = 16;
/// A word begins with the first way of the search for its hash.
const WAY_SHIFT: u32 = u32::BITS - WAYS.ilog2();

// No slot reaches the bits of the way.
const _: () = assert!(first_way(Index::MOST_SLOTS) == 0);

/// The places of a set, in one cache line: zero for an empty one, otherwise bits of the hash above the slot plus one.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[repr(align(64))]
struct Set([u32; WAYS]);

/// The index.
#[derive(Serialize, Deserialize)]
pub(crate) struct Index {
    sets: Vec<Set>,
    /// Mask of the slot in a word.
    slot_mask: u32,
}

impl Index {
    /// The largest number of slots.
    pub const MOST_SLOTS: u32 = (1 << WAY_SHIFT) - 1;

    /// An index for slots below `slots`, 1 to [`Index::MOST_SLOTS`], of 8 to 16 bytes for each. All of it is written now: the
    /// system gives memory that is zero already, and touched later, to plain integers alone, and not to aligned sets.
    pub fn new(slots: u32) -> Self {
        debug_assert!((1..=Self::MOST_SLOTS).contains(&slots));
        let places = (2 * slots as usize).next_power_of_two();
        Self {
            sets: vec![Set([0; WAYS]); places.div_ceil(WAYS)],
            slot_mask: u32::MAX >> slots.leading_zeros(),
        }
    }

    #[inline]
    fn set(&self, hash: u64) -> usize {
        hash as usize & (self.sets.len() - 1)
    }

    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !self.slot_mask
    }

    /// The words that a search for `hash` may visit, in order.
    #[inline(always)]
    fn probes(&self, hash: u64) -> impl Iterator<Item = u32> + use<'_> {
        let Set(set) = &self.sets[self.set(hash)];
        let first = first_way(self.tag(hash));
        (0..WAYS).map(move |step| set[(first + step) % WAYS])
    }

    /// The slot with this `hash` for which `is` returns true.
    #[inline(always)]
    pub fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = self.tag(hash);
        for word in self.probes(hash) {
            if word & !self.slot_mask == tag
                && let Some(slot) = self.slot_of(word)
                && is(slot)
            {
                return Some(slot);
            }
            if word == 0 {
                break;
            }
        }
        None
    }

    /// Prefetches the set of `hash`. Called for a whole burst first, it lets the cache misses of the burst overlap.
    #[inline]
    pub fn peek(&self, hash: u64) -> u32 {
        self.sets[self.set(hash)].0[0]
    }

    /// The slot in a word, if any.
    #[inline]
    fn slot_of(&self, word: u32) -> Option<u32> {
        (word & self.slot_mask).checked_sub(1)
    }

    /// The slots of all entries in the set of `hash` if it is full; otherwise none.
    #[inline]
    pub fn full_set(&self, hash: u64) -> impl Iterator<Item = u32> + use<'_> {
        let Set(set) = &self.sets[self.set(hash)];
        let words = if set.contains(&0) { &[][..] } else { &set[..] };
        words.iter().filter_map(|word| self.slot_of(*word))
    }

    /// Inserts `slot`, which must not be in the index, if the set of `hash` has an empty place. Returns whether it
    /// has.
    pub fn insert(&mut self, hash: u64, slot: u32) -> bool {
        let (number, tag) = (self.set(hash), self.tag(hash));
        let Set(set) = &mut self.sets[number];
        let mut ways = (0..WAYS).map(|step| (first_way(tag) + step) % WAYS);
        let Some(empty) = ways.find(|way| set[*way] == 0) else { return false };
        set[empty] = tag | (slot + 1);
        true
    }

    /// Removes `slot` from the set of `hash`, if it is there.
    pub fn remove(&mut self, hash: u64, slot: u32) {
        let (number, mask) = (self.set(hash), self.slot_mask);
        let Set(set) = &mut self.sets[number];
        let Some(taken) = set.iter().position(|word| word & mask == slot + 1) else { return };
        // An entry behind the hole that a search would no longer reach moves up.
        let mut hole = taken;
        for at in (1..WAYS).map(|step| (taken + step) % WAYS) {
            let word = set[at];
            if word == 0 {
                break;
            }
            if distance(first_way(word), at) >= distance(hole, at) {
                set[hole] = word;
                hole = at;
            }
        }
        set[hole] = 0;
    }

    /// The number of words visited by a search for `hash` without a match: no search visits more.
    #[cfg(test)]
    pub fn count_probes(&self, hash: u64) -> usize {
        self.probes(hash).take_while(|word| *word != 0).count()
    }

    /// Bytes of reserved memory.
    #[cfg(test)]
    pub fn reserved_bytes(&self) -> usize {
        self.sets.capacity() * size_of::<Set>()
    }
}

#[inline]
const fn first_way(word: u32) -> usize {
    (word >> WAY_SHIFT) as usize
}

/// Ways from `from` on to `to`, round the set.
const fn distance(from: usize, to: usize) -> usize {
    to.wrapping_sub(from) % WAYS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert {
            hash: u64,
        },
        /// The entry of this number, counted round those that there are.
        Remove(usize),
    }

    /// Hashes of a few sets, ways and tags, so that they meet.
    fn hash() -> impl Strategy<Value = u64> {
        (0..3_u64, 0..4_u64, 0..3_u64).prop_map(|(set, way, tag)| set | (way * 5) << 60 | tag << 50)
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => hash().prop_map(|hash| Step::Insert { hash }),
            2 => (0..64_usize).prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn an_index_finds_what_was_inserted_and_not_removed_and_refuses_only_where_a_set_is_full(
            steps in proptest::collection::vec(step(), 0..400),
        ) {
            let mut index = Index::new(200);
            let sets = index.sets.len() as u64;
            // The hash of each slot.
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Insert { hash } => {
                        let same_set = model.values().filter(|known| **known % sets == hash % sets).count();
                        let full: Vec<_> = index.full_set(hash).collect();
                        prop_assert_eq!(full.len(), if same_set == WAYS { WAYS } else { 0 });
                        prop_assert!(full.iter().all(|slot| model[slot] % sets == hash % sets));
                        let slot = (0..200).find(|slot| !model.contains_key(slot)).expect("three sets hold 48");
                        prop_assert_eq!(index.insert(hash, slot), same_set < WAYS);
                        if same_set < WAYS {
                            model.insert(slot, hash);
                        }
                    }
                    Step::Remove(number) if !model.is_empty() => {
                        let slot = *model.keys().nth(number % model.len()).expect("it is there");
                        index.remove(model.remove(&slot).expect("it is there"), slot);
                    }
                    Step::Remove(_) => index.remove(0, 7),
                }
                for (slot, hash) in &model {
                    prop_assert_eq!(index.find(*hash, |found| found == *slot), Some(*slot));
                    prop_assert!(index.count_probes(*hash) <= WAYS);
                }
                prop_assert_eq!(index.sets.iter().flat_map(|Set(set)| set).filter(|word| **word != 0).count(), model.len());
            }
        }
    }

    #[test]
    fn entries_of_a_set_are_found_at_once_if_their_ways_differ() {
        let mut index = Index::new(WAYS as u32);
        let hash = |way: u32| u64::from(way) << 60;
        for way in (0..WAYS as u32).step_by(2) {
            assert!(index.insert(hash(way), way));
        }
        let probes = (0..WAYS as u32).map(|way| index.count_probes(hash(way)));
        assert_eq!(probes.collect::<Vec<_>>(), [1, 0].repeat(WAYS / 2));
    }
}
