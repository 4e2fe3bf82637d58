//! A model of the rings for the model checker: two positions with the memory ordering of `rtrb`.
//!
//! An item lies in a lock that the checker does not see, so the lock orders nothing. Ordering comes only from
//! releasing one end's position and acquiring it at the other, as in `rtrb`. Each slot has a stamp with its
//! owner, accessed with relaxed ordering. If an end could reach a slot before the other end's access to it is
//! visible, the checker finds a stale stamp.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

struct Slot<T> {
    /// The number of times the slot was filled and emptied.
    stamp: AtomicUsize,
    item: Mutex<Option<T>>,
}

struct Ring<T> {
    slots: Vec<Slot<T>>,
    /// The number of items taken; written by the consumer.
    head: AtomicUsize,
    /// The number of items given; written by the producer.
    tail: AtomicUsize,
}

impl<T> Ring<T> {
    /// The slot of the item with number `position`.
    fn slot(&self, position: usize) -> &Slot<T> {
        &self.slots[position % self.slots.len()]
    }

    /// The number of times that slot was filled before.
    fn rounds(&self, position: usize) -> usize {
        position / self.slots.len()
    }
}

/// The producing end.
pub(crate) struct Producer<T> {
    ring: Arc<Ring<T>>,
    tail: usize,
    /// The consumer's position when last read.
    seen_head: usize,
}

/// The consuming end.
pub(crate) struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: usize,
    /// The producer's position when last read.
    seen_tail: usize,
}

/// A ring for `capacity` items.
pub(crate) fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let slot = || Slot { stamp: AtomicUsize::new(0), item: Mutex::new(None) };
    let ring = Arc::new(Ring {
        slots: (0..capacity).map(|_| slot()).collect(),
        head: AtomicUsize::new(0),
        tail: AtomicUsize::new(0),
    });
    (Producer { ring: ring.clone(), tail: 0, seen_head: 0 }, Consumer { ring, head: 0, seen_tail: 0 })
}

impl<T> Producer<T> {
    fn room_for(&mut self, wanted: usize) -> usize {
        let capacity = self.ring.slots.len();
        if self.tail + wanted > self.seen_head + capacity {
            self.seen_head = self.ring.head.load(Ordering::Acquire);
        }
        wanted.min(self.seen_head + capacity - self.tail)
    }

    /// Adds an item, or returns it if there is no room.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.room_for(1) == 0 {
            return Err(item);
        }
        self.fill(0, item);
        self.publish(1);
        Ok(())
    }

    /// Moves as many items as fit from the front of `items`.
    pub fn append(&mut self, items: &mut Vec<T>) {
        let room = self.room_for(items.len());
        for (offset, item) in items.drain(..room).enumerate() {
            self.fill(offset, item);
        }
        self.publish(room);
    }

    /// Whether there is no room.
    pub fn is_full(&mut self) -> bool {
        self.room_for(1) == 0
    }

    fn fill(&self, offset: usize, item: T) {
        let position = self.tail + offset;
        let (slot, rounds) = (self.ring.slot(position), self.ring.rounds(position));
        assert_eq!(slot.stamp.load(Ordering::Relaxed), 2 * rounds, "the slot is not seen to be empty");
        slot.stamp.store(2 * rounds + 1, Ordering::Relaxed);
        let before = slot.item.lock().expect("no one panics with it").replace(item);
        assert!(before.is_none(), "an item is overwritten");
    }

    fn publish(&mut self, items: usize) {
        self.tail += items;
        self.ring.tail.store(self.tail, Ordering::Release);
    }
}

impl<T> Consumer<T> {
    fn items_up_to(&mut self, most: usize) -> usize {
        if most > self.seen_tail - self.head {
            self.seen_tail = self.ring.tail.load(Ordering::Acquire);
        }
        most.min(self.seen_tail - self.head)
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<T> {
        let items = self.items_up_to(1);
        let item = (items > 0).then(|| self.empty(0))?;
        self.publish(1);
        Some(item)
    }

    /// Moves the oldest items, at most `most`, to the end of `into`.
    pub fn take(&mut self, most: usize, into: &mut Vec<T>) {
        let items = self.items_up_to(most);
        into.extend((0..items).map(|offset| self.empty(offset)));
        if items > 0 {
            self.publish(items);
        }
    }

    fn empty(&self, offset: usize) -> T {
        let position = self.head + offset;
        let (slot, rounds) = (self.ring.slot(position), self.ring.rounds(position));
        assert_eq!(slot.stamp.load(Ordering::Relaxed), 2 * rounds + 1, "the item is not seen to be there");
        slot.stamp.store(2 * rounds + 2, Ordering::Relaxed);
        slot.item.lock().expect("no one panics with it").take().expect("the stamp says so")
    }

    fn publish(&mut self, items: usize) {
        self.head += items;
        self.ring.head.store(self.head, Ordering::Release);
    }
}
