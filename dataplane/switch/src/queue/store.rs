//! One bounded store of descriptors for all queues of a shard.
//!
//! A queue is a chain of segments of [`SEGMENT`] descriptors, so that neighbours in the queue are
//! neighbours in memory, an empty queue costs nothing, and any queue can take the whole store.
//! Nothing is allocated after construction: the memory is reserved as address space and touched
//! only where a queue has grown.

use super::Queued;

/// Descriptors in a segment.
const SEGMENT: usize = 32;
/// "No segment."
const NONE: u32 = u32::MAX;

/// Neighbours in a queue.
type Segment<F> = [Option<Queued<F>>; SEGMENT];

/// The segments, and the list of those that are free.
pub(crate) struct Store<F> {
    segments: Vec<Segment<F>>,
    next: Vec<u32>,
    free: u32,
    /// Segments that may still be added.
    unused: usize,
}

/// One queue: its chain of segments, and how far its ends are into them.
#[derive(Debug)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
    head_offset: u32,
    tail_offset: u32,
    length: usize,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, head_offset: 0, tail_offset: 0, length: 0 }
    }
}

impl Fifo {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether it has a segment, and so room without asking the store for one.
    #[inline]
    pub fn has_segment(&self) -> bool {
        self.tail != NONE
    }

    /// How many frames wait.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }
}

impl<F> Store<F> {
    /// Room for `descriptors` frames in `queues` queues: each queue can leave one segment partly
    /// used at either end.
    pub fn new(descriptors: usize, queues: usize) -> Self {
        let segments = descriptors.div_ceil(SEGMENT) + 2 * queues;
        Self {
            segments: Vec::with_capacity(segments),
            next: Vec::with_capacity(segments),
            free: NONE,
            unused: segments,
        }
    }

    /// Adds a frame at the end of `fifo`; gives it back where no segment is left.
    #[inline(always)]
    pub fn push(&mut self, fifo: &mut Fifo, queued: Queued<F>) -> Result<(), Queued<F>> {
        match self.slot(fifo) {
            Some(slot) => *slot = Some(queued),
            None => return Err(queued),
        }
        Ok(())
    }

    /// A place at the end of `fifo`, which is for the caller to fill; `None` where no segment is left.
    #[inline(always)]
    pub fn slot(&mut self, fifo: &mut Fifo) -> Option<&mut Option<Queued<F>>> {
        if !self.make_room(fifo) {
            return None;
        }
        let place = fifo.tail_offset as usize % SEGMENT;
        fifo.tail_offset += 1;
        fifo.length += 1;
        Some(&mut self.segments[fifo.tail as usize][place])
    }

    /// Sees to it that the last segment of `fifo` has room for a frame; false where no segment is left.
    #[inline(always)]
    fn make_room(&mut self, fifo: &mut Fifo) -> bool {
        if fifo.tail != NONE && (fifo.tail_offset as usize) < SEGMENT {
            return true;
        }
        let Some(segment) = self.take_segment() else { return false };
        match fifo.tail {
            NONE => (fifo.head, fifo.head_offset) = (segment, 0),
            tail => self.next[tail as usize] = segment,
        }
        (fifo.tail, fifo.tail_offset) = (segment, 0);
        true
    }

    /// The frame at the head of `fifo`.
    #[inline]
    pub fn front(&self, fifo: &Fifo) -> Option<&Queued<F>> {
        if fifo.is_empty() {
            return None;
        }
        self.segments[fifo.head as usize][fifo.head_offset as usize % SEGMENT].as_ref()
    }

    /// Takes the frame at the head of `fifo`.
    #[inline]
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Queued<F>> {
        if fifo.is_empty() {
            return None;
        }
        let first = self.segments[fifo.head as usize][fifo.head_offset as usize % SEGMENT].take();
        self.leave(fifo, 1);
        first
    }

    /// Moves the head of `fifo` on over `taken` places of its segment.
    #[inline(always)]
    fn leave(&mut self, fifo: &mut Fifo, taken: usize) {
        fifo.head_offset += taken as u32;
        fifo.length -= taken;
        if fifo.length == 0 {
            // An empty queue keeps its last segment and starts at its beginning again: a queue
            // that never builds up stays within one warm segment.
            (fifo.head_offset, fifo.tail_offset) = (0, 0);
        } else if fifo.head_offset as usize == SEGMENT {
            self.release_head(fifo);
        }
    }

    /// Shows the frames of `fifo` to `take`, from its head on, until it says that it has not taken one
    /// out of its slot.
    #[inline(always)]
    pub fn pop_while(&mut self, fifo: &mut Fifo, mut take: impl FnMut(&mut Option<Queued<F>>) -> bool) {
        while !fifo.is_empty() {
            let waiting = &mut self.segments[fifo.head as usize][fifo.head_offset as usize % SEGMENT..];
            let neighbours = waiting.len().min(fifo.length);
            let all = waiting[..neighbours].iter_mut();
            let taken = all.map(&mut take).take_while(|taken| *taken).count();
            self.leave(fifo, taken);
            if taken < neighbours {
                return;
            }
        }
    }

    #[inline(never)]
    fn release_head(&mut self, fifo: &mut Fifo) {
        let segment = fifo.head;
        (fifo.head, fifo.head_offset) = (self.next[segment as usize], 0);
        self.next[segment as usize] = self.free;
        self.free = segment;
    }

    #[inline(never)]
    fn take_segment(&mut self) -> Option<u32> {
        if self.free != NONE {
            let segment = self.free;
            self.free = self.next[segment as usize];
            self.next[segment as usize] = NONE;
            return Some(segment);
        }
        self.unused = self.unused.checked_sub(1)?;
        let segment = self.next.len() as u32;
        self.next.push(NONE);
        self.segments.push([const { None }; SEGMENT]);
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use units::{Nanos, PortId};

    fn queued(number: u32) -> Queued<u32> {
        Queued {
            frame: number,
            since: Nanos::ZERO,
            length: number,
            ingress: PortId(0),
            ip_offset: 0,
            lossless: false,
        }
    }

    proptest! {
        #[test]
        fn queues_in_one_store_behave_as_queues_of_their_own(
            steps in proptest::collection::vec((0..3_usize, any::<bool>()), 0..2_000)
        ) {
            let mut store = Store::new(2_000, 3);
            let mut fifos = [Fifo::default(), Fifo::default(), Fifo::default()];
            let mut model: [VecDeque<u32>; 3] = Default::default();
            for (number, (queue, push)) in (0_u32..).zip(steps) {
                if push {
                    prop_assert!(store.push(&mut fifos[queue], queued(number)).is_ok());
                    model[queue].push_back(number);
                } else {
                    prop_assert_eq!(store.front(&fifos[queue]).map(|it| it.frame), model[queue].front().copied());
                    store.pop_while(&mut fifos[queue], |_| false);
                    prop_assert_eq!(store.pop(&mut fifos[queue]).map(|it| it.frame), model[queue].pop_front());
                }
                prop_assert_eq!(fifos[queue].length(), model[queue].len());
            }
        }
    }

    proptest! {
        #[test]
        fn frames_that_leave_together_leave_as_they_came(
            steps in proptest::collection::vec((0..80_u32, any::<bool>()), 0..100)
        ) {
            let (mut store, mut fifo, mut model) = (Store::new(1_000, 1), Fifo::default(), VecDeque::new());
            let mut next = 0;
            for (frames, push) in steps {
                if push {
                    for number in next..next + frames {
                        let taken = store.push(&mut fifo, queued(number)).is_ok();
                        prop_assert!(taken || fifo.length() >= 1_000, "only a full store refuses");
                        model.extend(taken.then_some(number));
                    }
                    next += frames;
                } else {
                    let mut popped = Vec::new();
                    store.pop_while(&mut fifo, |slot| {
                        let wanted = popped.len() < frames as usize;
                        popped.extend(if wanted { slot.take() } else { None });
                        wanted
                    });
                    let expected: Vec<_> = model.drain(..model.len().min(frames as usize)).collect();
                    prop_assert!(popped.iter().map(|it| it.frame).eq(expected));
                }
                prop_assert_eq!(fifo.length(), model.len());
            }
        }
    }

    #[test]
    fn a_store_takes_what_it_was_made_for_and_gives_back_what_it_cannot_take() {
        let mut store = Store::new(64, 2);
        let (mut full, mut other) = (Fifo::default(), Fifo::default());
        for number in 0..64 {
            assert!(store.push(&mut full, queued(number)).is_ok());
        }
        let mut beyond = 0;
        while store.push(&mut full, queued(beyond)).is_ok() {
            beyond += 1;
        }
        assert_eq!(beyond, 4 * SEGMENT as u32, "the segments kept for partly used ends");
        assert_eq!(store.push(&mut other, queued(7)).unwrap_err().frame, 7);
        assert_eq!(store.pop(&mut full).unwrap().frame, 0);
    }

    #[test]
    fn a_store_never_grows_its_memory() {
        let mut store = Store::new(1_000, 1);
        let reserved = (store.segments.capacity(), store.next.capacity());
        let mut fifo = Fifo::default();
        while store.push(&mut fifo, queued(0)).is_ok() {}
        assert_eq!((store.segments.capacity(), store.next.capacity()), reserved);
    }
}
