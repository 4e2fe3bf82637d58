//! Queues of slots, any number of them in one piece of memory.
//!
//! A queue is a chain of segments of [`SEGMENT`] slots, so that neighbours in the queue are neighbours in memory,
//! an empty queue costs nothing, and any queue can use the whole memory. The memory is reserved as address space,
//! and touched only where a queue has grown, unless the allocator touches it beforehand. Nothing is allocated after construction, as long as the queues hold no
//! more items than construction allowed for.

use serde::{Deserialize, Serialize};

/// Slots in a segment.
pub(crate) const SEGMENT: usize = 32;
/// Index that stands for no segment.
const NONE: u32 = u32::MAX;

/// Neighbours in a queue.
type Segment<T> = [Option<T>; SEGMENT];

/// The segments, and the list of those that are free.
#[derive(Serialize, Deserialize)]
pub(super) struct Chains<T> {
    segments: Vec<Segment<T>>,
    next: Vec<u32>,
    free: u32,
}

/// One queue: its chain of segments, and the offsets of its ends in them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Chain {
    head: u32,
    tail: u32,
    head_offset: u32,
    tail_offset: u32,
    length: usize,
}

/// Items that were added to a chain together: the place of the first one, and their number.
#[derive(Clone, Copy)]
pub(crate) struct Added {
    segment: u32,
    offset: u32,
    items: usize,
}

impl Added {
    /// The number of items.
    #[inline]
    pub fn items(&self) -> usize {
        self.items
    }
}

impl Default for Chain {
    fn default() -> Self {
        // An empty chain has no room, so that the first item takes a segment.
        Self { head: NONE, tail: NONE, head_offset: 0, tail_offset: SEGMENT as u32, length: 0 }
    }
}

impl Chain {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The number of items.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }
}

impl<T> Chains<T> {
    /// Memory for `items` in `queues` queues. It allows for a segment partly used at either end of each queue, and
    /// one more in front.
    pub fn new(items: usize, queues: usize) -> Self {
        let segments = items.div_ceil(SEGMENT) + 3 * queues;
        Self { segments: Vec::with_capacity(segments), next: Vec::with_capacity(segments), free: NONE }
    }

    /// Adds an item at the end of `chain`.
    #[inline(always)]
    pub fn push(&mut self, chain: &mut Chain, item: T) {
        if chain.tail_offset as usize == SEGMENT {
            self.extend(chain);
        }
        let place = chain.tail_offset as usize % SEGMENT;
        chain.tail_offset += 1;
        chain.length += 1;
        // The slot is empty, so there is nothing to drop.
        core::mem::forget(self.segments[chain.tail as usize][place].replace(item));
    }

    /// Adds the items that `next` gives at the end of `chain`, which has had items before.
    #[inline(always)]
    pub fn push_while(&mut self, chain: &mut Chain, mut next: impl FnMut() -> Option<T>) -> Added {
        let (segment, offset) = (chain.tail, chain.tail_offset);
        let mut slots = self.segments[chain.tail as usize][chain.tail_offset as usize..].iter_mut();
        let mut pushed = 0;
        while let Some(item) = next() {
            let slot = match slots.next() {
                Some(slot) => slot,
                None => {
                    self.extend(chain);
                    let [first, rest @ ..] = &mut self.segments[chain.tail as usize];
                    slots = rest.iter_mut();
                    first
                }
            };
            // The slot is empty, so there is nothing to drop.
            core::mem::forget(slot.replace(item));
            pushed += 1;
        }
        chain.tail_offset = (SEGMENT - slots.len()) as u32;
        chain.length += pushed;
        Added { segment, offset, items: pushed }
    }

    /// Shows the items that were [added](Chains::push_while) last to `look`, in their order.
    #[inline(always)]
    pub fn for_each_added(&mut self, added: Added, mut look: impl FnMut(&mut T)) {
        let Added { mut segment, offset, items: mut left } = added;
        let mut first = offset as usize;
        while left > 0 {
            let slots = self.segments[segment as usize][first..].iter_mut().take(left);
            left -= slots.len();
            slots.flatten().for_each(&mut look);
            (segment, first) = (self.next[segment as usize], 0);
        }
    }

    /// Adds a segment at the end of `chain`.
    #[inline(never)]
    fn extend(&mut self, chain: &mut Chain) {
        let segment = self.take_segment();
        match chain.tail {
            NONE => (chain.head, chain.head_offset) = (segment, 0),
            tail => self.next[tail as usize] = segment,
        }
        (chain.tail, chain.tail_offset) = (segment, 0);
    }

    /// The most items that [`Chains::push_front`] can put in front of `chain`, at least one.
    pub fn room_in_front(&self, chain: &Chain) -> usize {
        if chain.is_empty() || chain.head_offset == 0 { SEGMENT } else { chain.head_offset as usize }
    }

    /// Puts `items` in front of `chain`, in their order. There must be [room](Chains::room_in_front) for all of
    /// them.
    pub fn push_front(&mut self, chain: &mut Chain, items: impl ExactSizeIterator<Item = T>) {
        if chain.is_empty() {
            return items.for_each(|item| self.push(chain, item));
        }
        if items.len() == 0 {
            // An empty segment in front would hide the items behind it.
            return;
        }
        if chain.head_offset == 0 {
            let segment = self.take_segment();
            self.next[segment as usize] = chain.head;
            (chain.head, chain.head_offset) = (segment, SEGMENT as u32);
        }
        chain.head_offset -= items.len() as u32;
        chain.length += items.len();
        let slots = self.segments[chain.head as usize][chain.head_offset as usize..].iter_mut();
        slots.zip(items).for_each(|(slot, item)| *slot = Some(item));
    }

    /// The item at the head of `chain`. Slots outside of a chain are empty, and so is the head of an empty one.
    #[inline]
    pub fn front(&self, chain: &Chain) -> Option<&T> {
        self.segments.get(chain.head as usize)?[chain.head_offset as usize % SEGMENT].as_ref()
    }

    /// As [`Chains::front`], mutably.
    pub fn front_mut(&mut self, chain: &Chain) -> Option<&mut T> {
        self.segments.get_mut(chain.head as usize)?[chain.head_offset as usize % SEGMENT].as_mut()
    }

    /// The second item of `chain`.
    pub fn second(&self, chain: &Chain) -> Option<&T> {
        if chain.length < 2 {
            return None;
        }
        let (segment, offset) = match chain.head_offset as usize + 1 {
            SEGMENT => (self.next[chain.head as usize], 0),
            offset => (chain.head, offset),
        };
        self.segments[segment as usize][offset].as_ref()
    }

    /// The item at the end of `chain`.
    pub fn back_mut(&mut self, chain: &Chain) -> Option<&mut T> {
        if chain.is_empty() {
            return None;
        }
        self.segments[chain.tail as usize][(chain.tail_offset as usize - 1) % SEGMENT].as_mut()
    }

    /// Removes the item at the head of `chain`.
    #[inline]
    pub fn pop(&mut self, chain: &mut Chain) -> Option<T> {
        if chain.is_empty() {
            return None;
        }
        let first = self.segments[chain.head as usize][chain.head_offset as usize % SEGMENT].take();
        self.leave(chain, 1);
        first
    }

    /// Advances the head of `chain` by `taken` slots of its segment.
    #[inline(always)]
    fn leave(&mut self, chain: &mut Chain, taken: usize) {
        chain.head_offset += taken as u32;
        chain.length -= taken;
        if chain.length == 0 {
            // An empty queue keeps its last segment and restarts at its beginning: a queue that never builds up
            // stays within one warm segment.
            (chain.head_offset, chain.tail_offset) = (0, 0);
        } else if chain.head_offset as usize == SEGMENT {
            self.release_head(chain);
        }
    }

    /// Shows up to `most` items of `chain` to `take`, from the head on. Ends at the first item that `take` leaves
    /// in its slot.
    #[inline(always)]
    pub fn pop_while(
        &mut self,
        chain: &mut Chain,
        most: usize,
        mut take: impl FnMut(&mut Option<T>) -> bool,
    ) {
        let end = chain.length.saturating_sub(most);
        while chain.length > end {
            let waiting = &mut self.segments[chain.head as usize][chain.head_offset as usize % SEGMENT..];
            let neighbours = waiting.len().min(chain.length - end);
            let mut slots = waiting[..neighbours].iter_mut();
            while let Some(slot) = slots.next() {
                if !take(slot) {
                    let taken = neighbours - slots.len() - 1;
                    return self.leave(chain, taken);
                }
            }
            self.leave(chain, neighbours);
        }
    }

    #[inline(never)]
    fn release_head(&mut self, chain: &mut Chain) {
        let segment = chain.head;
        (chain.head, chain.head_offset) = (self.next[segment as usize], 0);
        self.next[segment as usize] = self.free;
        self.free = segment;
    }

    #[inline(never)]
    fn take_segment(&mut self) -> u32 {
        if self.free != NONE {
            let segment = self.free;
            self.free = self.next[segment as usize];
            self.next[segment as usize] = NONE;
            return segment;
        }
        let segment = self.next.len() as u32;
        self.next.push(NONE);
        self.segments.push([const { None }; SEGMENT]);
        segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Clone, Debug)]
    enum Step {
        Push(usize),
        PushWhile(usize),
        PushFront(usize),
        Pop(usize),
        PopWhile(usize),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let few = 0..3 * SEGMENT;
        prop_oneof![
            few.clone().prop_map(Step::Push),
            few.clone().prop_map(Step::PushWhile),
            few.clone().prop_map(Step::PushFront),
            few.clone().prop_map(Step::Pop),
            few.prop_map(Step::PopWhile),
        ]
    }

    /// A queue beside its model.
    #[derive(Default)]
    struct Pair {
        chain: Chain,
        model: VecDeque<u32>,
    }

    impl Pair {
        fn follow(&mut self, step: &Step, chains: &mut Chains<u32>, numbers: &mut core::ops::RangeFrom<u32>) {
            let Self { chain, model } = self;
            match *step {
                Step::Push(items) => numbers.take(items).for_each(|number| {
                    chains.push(chain, number);
                    model.push_back(number);
                }),
                Step::PushWhile(items) => {
                    let mut items = numbers.take(items + 1);
                    items.next().into_iter().for_each(|first| {
                        chains.push(chain, first);
                        model.push_back(first);
                    });
                    chains.push_while(chain, || items.next().inspect(|number| model.push_back(*number)));
                }
                Step::PushFront(items) => {
                    let items: Vec<_> = numbers.take(items.min(chains.room_in_front(chain))).collect();
                    items.iter().rev().for_each(|number| model.push_front(*number));
                    chains.push_front(chain, items.into_iter());
                }
                Step::Pop(items) => {
                    (0..items).for_each(|_| assert_eq!(chains.pop(chain), model.pop_front()));
                }
                Step::PopWhile(items) => {
                    let mut popped = Vec::new();
                    // Half of them by the bound, half by what `take` says.
                    let most = if items % 2 == 0 { items } else { usize::MAX };
                    chains.pop_while(chain, most, |slot| {
                        let wanted = popped.len() < items;
                        popped.extend(if wanted { slot.take() } else { None });
                        wanted
                    });
                    assert_eq!(popped, model.drain(..model.len().min(items)).collect::<Vec<_>>());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn queues_in_one_piece_of_memory_behave_as_queues_of_their_own(
            steps in proptest::collection::vec((0..3_usize, any_step()), 0..200)
        ) {
            let (mut chains, mut numbers) = (Chains::new(100, 3), 0..);
            let mut pairs = [Pair::default(), Pair::default(), Pair::default()];
            for (queue, step) in steps {
                pairs[queue].follow(&step, &mut chains, &mut numbers);
                let Pair { chain, model } = &pairs[queue];
                prop_assert_eq!(chain.length(), model.len());
                prop_assert_eq!((chains.front(chain), chains.second(chain)), (model.front(), model.get(1)));
                prop_assert_eq!(chains.back_mut(chain).copied(), model.back().copied());
            }
        }
    }

    #[test]
    fn a_queue_has_room_in_front_up_to_the_start_of_its_segment_or_for_a_whole_one() {
        let (mut chains, mut chain) = (Chains::new(100, 1), Chain::default());
        let mut room = vec![chains.room_in_front(&chain)];
        (0..40).for_each(|item| chains.push(&mut chain, item));
        for popped in [0, 5, 26, 1, 1] {
            (0..popped).for_each(|_| assert!(chains.pop(&mut chain).is_some()));
            room.push(chains.room_in_front(&chain));
        }
        assert_eq!(room, [32, 32, 5, 31, 32, 1]);
    }

    #[test]
    fn nothing_put_in_front_of_a_queue_leaves_it_as_it_was() {
        let (mut chains, mut chain) = (Chains::new(100, 1), Chain::default());
        chains.push(&mut chain, 7);
        chains.push_front(&mut chain, core::iter::empty());
        assert_eq!((chains.front(&chain), chain.length()), (Some(&7), 1));
        assert_eq!(chains.pop(&mut chain), Some(7));
    }

    #[test]
    fn memory_never_grows_beyond_what_was_said() {
        let (mut chains, mut long, mut short) = (Chains::new(1_000, 2), Chain::default(), Chain::default());
        let reserved = (chains.segments.capacity(), chains.next.capacity());
        for round in 0..10 {
            (0..999).for_each(|item| chains.push(&mut long, item));
            chains.push(&mut short, round);
            chains.pop(&mut short);
            chains.push_front(&mut long, core::iter::once(round));
            while chains.pop(&mut long).is_some() {}
        }
        assert_eq!((chains.segments.capacity(), chains.next.capacity()), reserved);
    }
}
