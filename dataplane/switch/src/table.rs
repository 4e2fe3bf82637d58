//! A set-associative index: from the hash of a key to the slot where its entry is kept.
//!
//! Each hash belongs to one set of [`WAYS`] places, and an entry stands in its set or nowhere. So no look-up, no
//! insertion and no removal looks at more than [`WAYS`] places, whatever anybody has entered. Where a set is full, one
//! of its entries must go first, and whoever owns the entries says which. Within a set, entries are found by linear
//! probing from a way that the hash gives: in a table that is half full, most stand in the first place.
//!
//! Half of the places are empty where all slots are taken, so a set of 16 has 8 entries on average. With a hash that nobody
//! foresees, one insertion in some hundred finds a full set then, and hardly any in a table that is half full.

/// Places of a set: what fits a cache line.
pub(crate) const WAYS: usize = 16;
/// A word begins with the way at which the search for its hash begins.
const WAY_SHIFT: u32 = u32::BITS - WAYS.ilog2();

/// The index.
pub(crate) struct Index {
    /// Per place zero, or bits of the hash above the slot plus one.
    sets: Vec<[u32; WAYS]>,
    /// The bits of a word that are the slot's.
    slot_mask: u32,
}

impl Index {
    /// The most slots.
    pub const MOST_SLOTS: u32 = (1 << WAY_SHIFT) - 1;

    /// For slots below `slots`, 1 to [`Index::MOST_SLOTS`]. The memory is reserved, and touched as it fills.
    pub fn new(slots: u32) -> Self {
        debug_assert!((1..=Self::MOST_SLOTS).contains(&slots));
        let places = (2 * slots as usize).next_power_of_two();
        Self { sets: vec![[0; WAYS]; places.div_ceil(WAYS)], slot_mask: u32::MAX >> slots.leading_zeros() }
    }

    #[inline]
    fn set(&self, hash: u64) -> usize {
        hash as usize & (self.sets.len() - 1)
    }

    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !self.slot_mask
    }

    /// The slot of a word that is not zero.
    #[inline]
    fn slot(&self, word: u32) -> u32 {
        (word & self.slot_mask) - 1
    }

    /// The words at which a search for `hash` may look, in their order.
    #[inline(always)]
    fn probes(&self, hash: u64) -> impl Iterator<Item = u32> + use<'_> {
        let set = &self.sets[self.set(hash)];
        let first = first_way(self.tag(hash));
        (0..WAYS).map(move |step| set[(first + step) % WAYS])
    }

    /// The slot of the entry with this `hash` that `is` the one looked for.
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

    /// Loads the word where the search for `hash` begins. Called for a whole burst first, it lets the cache
    /// misses of the burst overlap.
    #[inline]
    pub fn peek(&self, hash: u64) -> u32 {
        self.sets[self.set(hash)][first_way(self.tag(hash))]
    }

    /// The slot to which a word of [`Index::peek`] leads, if to any.
    #[inline]
    pub fn slot_of(&self, word: u32) -> Option<u32> {
        (word & self.slot_mask).checked_sub(1)
    }

    /// The slots of all entries in the set of `hash`, where it has no empty place; otherwise none.
    #[inline]
    pub fn full_set(&self, hash: u64) -> impl Iterator<Item = u32> + use<'_> {
        let set = &self.sets[self.set(hash)];
        let words = if set.contains(&0) { &[][..] } else { &set[..] };
        words.iter().map(|word| self.slot(*word))
    }

    /// Enters `slot`, which is not in the index, if the set of `hash` has an empty place; says whether it has.
    pub fn insert(&mut self, hash: u64, slot: u32) -> bool {
        let (number, tag) = (self.set(hash), self.tag(hash));
        let set = &mut self.sets[number];
        let mut ways = (0..WAYS).map(|step| (first_way(tag) + step) % WAYS);
        let Some(empty) = ways.find(|way| set[*way] == 0) else { return false };
        set[empty] = tag | (slot + 1);
        true
    }

    /// Takes out `slot`, which is in the set of `hash`. Nothing happens where it is not.
    pub fn remove(&mut self, hash: u64, slot: u32) {
        let (number, mask) = (self.set(hash), self.slot_mask);
        let set = &mut self.sets[number];
        let Some(taken) = set.iter().position(|word| word & mask == slot + 1) else { return };
        // What stands behind it and would be found only across it moves up.
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

    /// How many words a search for `hash` looks at, where it finds nothing: no search looks at more.
    #[cfg(test)]
    pub fn count_probes(&self, hash: u64) -> usize {
        self.probes(hash).take_while(|word| *word != 0).count()
    }

    /// Bytes that are reserved.
    #[cfg(test)]
    pub fn reserved_bytes(&self) -> usize {
        self.sets.capacity() * size_of::<[u32; WAYS]>()
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
                prop_assert_eq!(index.sets.iter().flatten().filter(|word| **word != 0).count(), model.len());
            }
        }
    }

    #[test]
    fn a_peek_leads_to_the_entry_in_the_first_place() {
        let mut index = Index::new(8);
        assert_eq!(index.slot_of(index.peek(3)), None);
        assert!(index.insert(3, 5));
        assert_eq!(index.slot_of(index.peek(3)), Some(5));
    }
}
