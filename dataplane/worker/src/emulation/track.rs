//! The frames on the link, in order of arrival.

use std::collections::VecDeque;
use units::{Bytes, Nanos};

/// The arrival of a frame. Of two at the same instant, the one put on the link first is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    pub due: Nanos,
    pub order: u64,
}

impl Arrival {
    /// Later than any frame.
    pub const NEVER: Self = Self { due: Nanos::NEVER, order: u64::MAX };

    /// After all frames that arrive by `now`, and before all others.
    pub const fn behind(now: Nanos) -> Self {
        Self { due: now, order: u64::MAX }
    }
}

/// A frame on the link.
struct Passenger<T> {
    arrival: Arrival,
    frame: T,
}

/// Frames of one kind.
///
/// All frames held back have the same additional delay, so they arrive in order too. Two queues whose heads
/// are compared replace a heap.
pub(super) struct Track<T> {
    on_time: VecDeque<Passenger<T>>,
    held_back: VecDeque<Passenger<T>>,
    /// The maximum number of frames in both queues together.
    capacity: usize,
}

impl<T> Track<T> {
    /// Allocates room for `capacity` frames. If `reorders`, any of them may be held back.
    pub fn new(capacity: usize, reorders: bool) -> Self {
        Self {
            on_time: VecDeque::with_capacity(capacity),
            held_back: VecDeque::with_capacity(if reorders { capacity } else { 0 }),
            capacity,
        }
    }

    /// The memory that [`Track::new`] allocates.
    pub fn memory(capacity: usize, reorders: bool) -> Bytes {
        let queues = 1 + u64::from(reorders);
        Bytes((capacity as u64).saturating_mul(queues * size_of::<Passenger<T>>() as u64))
    }

    /// Frames on the link.
    #[inline]
    pub fn length(&self) -> usize {
        self.on_time.len() + self.held_back.len()
    }

    /// The number of frames that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.capacity - self.length()
    }

    /// Puts a frame on the link. There must be room, and no frame with the same `held_back` may arrive later.
    #[inline]
    pub fn push(&mut self, arrival: Arrival, held_back: bool, frame: T) {
        debug_assert!(self.room() > 0, "a queue that grows would allocate");
        let queue = if held_back { &mut self.held_back } else { &mut self.on_time };
        queue.push_back(Passenger { arrival, frame });
    }

    /// The arrival of the next frame.
    #[inline]
    pub fn next(&self) -> Arrival {
        head(&self.on_time).min(head(&self.held_back))
    }

    /// Takes the next frame off the link, if it arrives before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: Arrival) -> Option<(Arrival, T)> {
        let overtaken = head(&self.held_back) < head(&self.on_time);
        let queue = if overtaken { &mut self.held_back } else { &mut self.on_time };
        let passenger = queue.pop_front_if(|passenger| passenger.arrival < end)?;
        Some((passenger.arrival, passenger.frame))
    }
}

#[inline]
fn head<T>(queue: &VecDeque<Passenger<T>>) -> Arrival {
    queue.front().map_or(Arrival::NEVER, |passenger| passenger.arrival)
}
