//! One store of waiting frames for all queues of a shard.
//!
//! While few frames wait, each stays in the memory in which it came. Beyond that, short frames are
//! [packed](Packed); long ones use their memory well and stay in it. All leave in their order of arrival.

use super::Queued;
use super::chains::{Added, Chain, Chains, SEGMENT};
use super::packed::Packed;
use crate::frame::Frame;
use crate::program::Packing;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cells, Nanos};

/// The frames of all queues.
#[derive(Serialize, Deserialize)]
pub(crate) struct Store<F> {
    whole: Chains<Queued<F>>,
    chunks: Chains<F>,
    stretches: Chains<Stretch>,
    /// The number of frames in memory of their own.
    held: usize,
    /// The number of such frames from which short ones are packed.
    crowded_from: usize,
    /// Frames shorter than this are packed; others stay in memory of their own.
    below: Bytes,
    /// Frames on their way out of a chunk; empty between two calls.
    unpacked: Vec<Queued<F>>,
}

/// One queue: whole frames, and behind them stretches of packed and whole ones.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fifo {
    whole: Chain,
    packed: Packed,
    stretches: Chain,
    /// Whole frames in front of the first packed one, where any is packed.
    ahead: usize,
}

/// Packed frames, and the whole ones behind them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stretch {
    packed: u32,
    whole: u32,
}

impl Fifo {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && !self.has_packed()
    }

    /// The number of frames.
    #[inline]
    pub fn length(&self) -> usize {
        self.whole.length() + self.packed.frames() as usize
    }

    /// Lends its frames to a run; [`Store::end_run`] returns them.
    #[inline]
    pub fn lend(&mut self) -> Lent {
        Lent(core::mem::take(&mut self.whole))
    }

    #[inline(always)]
    fn has_packed(&self) -> bool {
        self.packed.frames() > 0
    }
}

/// The frames of a queue, lent to a run that adds to them without a look-up of the queue per frame. Until they are
/// returned, the queue looks empty and must not be used.
#[derive(Debug, Default)]
pub(crate) struct Lent(Chain);

impl<F: Frame> Store<F> {
    /// A store for `queues` queues. With `packing`, it allocates nothing later.
    pub fn new(packing: Option<Packing>, queues: usize) -> Self {
        let frames = packing.map_or(0, |packing| packing.frames);
        let all_whole = Packing { whole: usize::MAX, below: Bytes::ZERO, frames };
        let Packing { whole, below, .. } = packing.unwrap_or(all_whole);
        Self {
            whole: Chains::new(frames, queues),
            chunks: Chains::new(frames, queues),
            stretches: Chains::new(frames, queues),
            held: 0,
            crowded_from: whole,
            below,
            unpacked: Vec::with_capacity(SEGMENT),
        }
    }

    /// Adds a frame at the end of `fifo`.
    #[inline]
    pub fn push(&mut self, fifo: &mut Fifo, queued: Queued<F>) {
        if self.held >= self.crowded_from || fifo.has_packed() {
            return self.push_crowded(fifo, queued);
        }
        self.held += 1;
        self.whole.push(&mut fifo.whole, queued);
    }

    /// Cells of frames that [`Store::push_of_run`] may add to `fifo`; none if they may have to be packed.
    #[inline]
    pub fn room_for_run(&self, fifo: &Fifo) -> Cells {
        /// The cost of the shortest frame.
        const LEAST: u64 = 2;
        match self.crowded_from.saturating_sub(self.held) {
            left if left >= SEGMENT && !fifo.has_packed() => Cells((left as u64).saturating_mul(LEAST)),
            _ => Cells::ZERO,
        }
    }

    /// Adds a frame at the end of a lent queue. There must be [room](Store::room_for_run) for it;
    /// [`Store::end_run`] counts it.
    #[inline(always)]
    pub fn push_of_run(&mut self, lent: &mut Lent, queued: Queued<F>) {
        self.whole.push(&mut lent.0, queued);
    }

    /// As [`Store::push_of_run`], for the frames that `next` gives. The run has begun already.
    #[inline(always)]
    pub fn push_run(&mut self, lent: &mut Lent, next: impl FnMut() -> Option<Queued<F>>) -> Added {
        self.whole.push_while(&mut lent.0, next)
    }

    /// Shows the frames that were [added](Store::push_run) to a run last to `look`, in their order.
    #[inline(always)]
    pub fn for_each_added(&mut self, added: Added, look: impl FnMut(&mut Queued<F>)) {
        self.whole.for_each_added(added, look);
    }

    /// Returns the lent frames to `fifo`, with `frames` more.
    #[inline]
    pub fn end_run(&mut self, fifo: &mut Fifo, lent: Lent, frames: u64) {
        fifo.whole = lent.0;
        self.held += frames as usize;
    }

    /// As [`Store::push`], once the limit of frames in memory of their own is reached or frames of `fifo` are
    /// packed. Short queues go on as before.
    #[cold]
    fn push_crowded(&mut self, fifo: &mut Fifo, queued: Queued<F>) {
        let is_crowded = self.held >= self.crowded_from && fifo.whole.length() >= SEGMENT;
        if !is_crowded || queued.length() >= self.below {
            return self.keep(fifo, queued);
        }
        match fifo.packed.push(&mut self.chunks, queued) {
            Err(queued) => self.keep(fifo, queued),
            Ok(()) => match self.stretches.back_mut(&fifo.stretches) {
                Some(last) if last.whole == 0 => last.packed += 1,
                _ => {
                    if fifo.stretches.is_empty() {
                        fifo.ahead = fifo.whole.length();
                    }
                    self.stretches.push(&mut fifo.stretches, Stretch { packed: 1, whole: 0 });
                }
            },
        }
    }

    /// Adds a frame at the end of `fifo`, in memory of its own.
    fn keep(&mut self, fifo: &mut Fifo, queued: Queued<F>) {
        if let Some(last) = self.stretches.back_mut(&fifo.stretches) {
            last.whole += 1;
        }
        self.held += 1;
        self.whole.push(&mut fifo.whole, queued);
    }

    /// The time when the frame at the head of `fifo` was queued, and its length.
    #[inline]
    pub fn front(&self, fifo: &Fifo) -> Option<(Nanos, Bytes)> {
        if fifo.has_packed() && fifo.ahead == 0 {
            let label = fifo.packed.front(&self.chunks)?;
            return Some((label.since, label.length()));
        }
        self.whole.front(&fifo.whole).map(|first| (first.since, first.length()))
    }

    /// Takes the frame at the head of `fifo`; `None` if there is none, or it is packed and there is no memory to
    /// unpack it into.
    #[inline]
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Queued<F>> {
        if fifo.has_packed() {
            fifo.ahead = self.ready(fifo).checked_sub(1)?;
        }
        let first = self.whole.pop(&mut fifo.whole)?;
        self.held -= 1;
        Some(first)
    }

    /// Shows the frames of `fifo` to `take`, from the head on. Ends at the first frame that `take` leaves in its
    /// slot, or that finds no memory to be unpacked into. If packed frames follow the head, it may end earlier, but
    /// after at least one frame.
    #[inline(always)]
    pub fn pop_while(&mut self, fifo: &mut Fifo, take: impl FnMut(&mut Option<Queued<F>>) -> bool) {
        let most = if fifo.has_packed() { self.ready(fifo) } else { usize::MAX };
        let before = fifo.whole.length();
        self.whole.pop_while(&mut fifo.whole, most, take);
        let taken = before - fifo.whole.length();
        self.held -= taken;
        // This count is read only if there are packed frames.
        fifo.ahead = fifo.ahead.saturating_sub(taken);
    }

    /// The number of whole frames at the head of `fifo`, after unpacking some if needed; zero if there is no memory
    /// for that.
    #[inline(never)]
    fn ready(&mut self, fifo: &mut Fifo) -> usize {
        if fifo.ahead == 0 {
            self.unpack(fifo);
        }
        fifo.ahead
    }

    /// Unpacks the packed frames at the head of `fifo`, as far as there is memory for them.
    fn unpack(&mut self, fifo: &mut Fifo) {
        let most = self.whole.room_in_front(&fifo.whole).min(SEGMENT);
        let Self { whole, chunks, stretches, unpacked, held, .. } = self;
        let Some(stretch) = stretches.front_mut(&fifo.stretches) else { return };
        let wanted = most.min(stretch.packed as usize);
        unpacked.extend((0..wanted).map_while(|_| fifo.packed.pop(chunks)));
        let count = unpacked.len();
        stretch.packed -= count as u32;
        *held += count;
        fifo.ahead += count;
        whole.push_front(&mut fifo.whole, unpacked.drain(..));
        if stretch.packed == 0 {
            fifo.ahead += stretch.whole as usize;
            stretches.pop(&mut fifo.stretches);
        }
    }
}

#[cfg(test)]
mod tests;
