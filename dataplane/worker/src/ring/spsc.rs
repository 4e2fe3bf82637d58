//! The rings of production builds.

use rtrb::chunks::ChunkError;

/// The producing end.
pub(crate) struct Producer<T>(rtrb::Producer<T>);

/// The consuming end.
pub(crate) struct Consumer<T>(rtrb::Consumer<T>);

/// A ring for `capacity` items.
pub(crate) fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    (Producer(producer), Consumer(consumer))
}

impl<T> Producer<T> {
    /// Adds an item, or returns it if there is no room.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        self.0.push(item).map_err(|rtrb::PushError::Full(item)| item)
    }

    /// Moves as many items as fit from the front of `items`.
    #[inline]
    pub fn append(&mut self, items: &mut Vec<T>) {
        let room = match self.0.write_chunk_uninit(items.len()) {
            Ok(_) => items.len(),
            Err(ChunkError::TooFewSlots(room)) => room,
        };
        if let Ok(chunk) = self.0.write_chunk_uninit(room) {
            chunk.fill_from_iter(items.drain(..room));
        }
    }

    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }
}

impl<T> Consumer<T> {
    /// Takes the oldest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop().ok()
    }

    /// Moves the oldest items, at most `most`, to the end of `into`.
    #[inline]
    pub fn take(&mut self, most: usize, into: &mut Vec<T>) {
        let items = self.0.slots().min(most);
        if let Ok(chunk) = self.0.read_chunk(items) {
            into.extend(chunk);
        }
    }
}
