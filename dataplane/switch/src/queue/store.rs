//! One store of waiting frames for all queues of a shard.
//!
//! While few frames wait, each stays in the memory in which it came. Beyond that, short ones are [packed](Packed) and
//! long ones stay, as their memory is well used. Both leave in the order in which they came.

use super::Queued;
use super::chains::{Chain, Chains, SEGMENT};
use super::packed::Packed;
use crate::frame::Frame;
use crate::program::Packing;
use units::{Bytes, Nanos};

/// The frames of all queues.
pub(crate) struct Store<F> {
    whole: Chains<Queued<F>>,
    chunks: Chains<F>,
    /// How many frames wait in memory of their own.
    held: usize,
    packing: Option<Packing>,
    /// Frames on their way out of a chunk; empty between two calls.
    unpacked: Vec<Queued<F>>,
}

/// One queue.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    whole: Chain,
    packed: Packed,
    /// Packed frames behind the last whole one.
    behind: u32,
}

impl Fifo {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.packed.frames() == 0
    }

    /// How many frames wait.
    #[inline]
    pub fn length(&self) -> usize {
        self.whole.length() + self.packed.frames() as usize
    }
}

/// What is known of the first frame of a queue without taking it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// When it was queued.
    pub since: Nanos,
    length: u16,
}

impl Front {
    pub fn length(self) -> Bytes {
        Bytes(u64::from(self.length))
    }
}

impl<F: Frame> Store<F> {
    /// A store for `queues` queues. With `packing` nothing is allocated later.
    pub fn new(packing: Option<Packing>, queues: usize) -> Self {
        let frames = packing.map_or(0, |packing| packing.frames);
        Self {
            whole: Chains::new(frames, queues),
            chunks: Chains::new(packing.map_or(0, |_| frames), queues),
            held: 0,
            packing,
            unpacked: Vec::with_capacity(SEGMENT),
        }
    }

    /// Adds a frame at the end of `fifo`.
    #[inline(always)]
    pub fn push(&mut self, fifo: &mut Fifo, queued: Queued<F>) {
        match self.packing {
            Some(packing) if self.held >= packing.whole => self.push_crowded(fifo, packing, queued),
            _ => self.keep(fifo, queued),
        }
    }

    #[inline(always)]
    fn keep(&mut self, fifo: &mut Fifo, mut queued: Queued<F>) {
        queued.behind = core::mem::take(&mut fifo.behind);
        self.held += 1;
        self.whole.push(&mut fifo.whole, queued);
    }

    /// As [`Store::push`], where as many frames wait in memory of their own as may. Short queues go on as they were.
    #[cold]
    fn push_crowded(&mut self, fifo: &mut Fifo, packing: Packing, queued: Queued<F>) {
        if queued.length() >= packing.below || fifo.whole.length() < SEGMENT {
            return self.keep(fifo, queued);
        }
        match fifo.packed.push(&mut self.chunks, queued) {
            Ok(()) => fifo.behind += 1,
            Err(queued) => self.keep(fifo, queued),
        }
    }

    /// The frame at the head of `fifo`.
    #[inline]
    pub fn front(&self, fifo: &Fifo) -> Option<Front> {
        match self.whole.front(&fifo.whole) {
            Some(Queued { since, length, behind: 0, .. }) => Some(Front { since: *since, length: *length }),
            _ => fifo
                .packed
                .front(&self.chunks)
                .map(|label| Front { since: label.since, length: label.length }),
        }
    }

    /// Takes the frame at the head of `fifo`; `None` where there is none, or it is packed and there is no memory to
    /// unpack it into.
    #[inline]
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Queued<F>> {
        if fifo.packed.frames() > 0 {
            self.unpack(fifo);
            if self.whole.front(&fifo.whole)?.behind > 0 {
                return None;
            }
        }
        let first = self.whole.pop(&mut fifo.whole)?;
        self.held -= 1;
        Some(first)
    }

    /// Shows the frames of `fifo` to `take`, from its head on, until it says that it has not taken one
    /// out of its slot, or there is no memory to unpack one into. Where frames are packed behind those at the head, it
    /// may end before either, after one frame at least.
    #[inline(always)]
    pub fn pop_while(&mut self, fifo: &mut Fifo, take: impl FnMut(&mut Option<Queued<F>>) -> bool) {
        let most = if fifo.packed.frames() > 0 { self.ready(fifo) } else { usize::MAX };
        let before = fifo.whole.length();
        self.whole.pop_while(&mut fifo.whole, most, take);
        self.held -= before - fifo.whole.length();
    }

    /// How many frames at the head of `fifo` are known to have no packed ones between them, some of which are unpacked
    /// for that; none where there is no memory to.
    #[inline(never)]
    fn ready(&mut self, fifo: &mut Fifo) -> usize {
        let unpacked = self.unpack(fifo);
        let is_next = self.whole.front(&fifo.whole).is_some_and(|first| first.behind == 0);
        unpacked.max(usize::from(is_next))
    }

    /// Unpacks frames at the head of `fifo`, if those at its head are packed, as far as there is memory for them. Returns
    /// how many.
    fn unpack(&mut self, fifo: &mut Fifo) -> usize {
        let most = self.whole.room_in_front(&fifo.whole).min(SEGMENT);
        let Self { whole, chunks, unpacked, held, .. } = self;
        let behind = match whole.front_mut(&fifo.whole) {
            Some(first) => &mut first.behind,
            None => &mut fifo.behind,
        };
        let wanted = most.min(*behind as usize);
        unpacked.extend((0..wanted).map_while(|_| fifo.packed.pop(chunks)));
        let count = unpacked.len();
        *behind -= count as u32;
        *held += count;
        whole.push_front(&mut fifo.whole, unpacked.drain(..));
        count
    }
}

#[cfg(test)]
mod tests;
