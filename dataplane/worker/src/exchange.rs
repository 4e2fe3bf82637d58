//! Frames on their way between cores.
//!
//! Each pair of workers has a ring in each direction. A ring is short, so that it stays in the caches of
//! its two cores; where it is full, because the other core is behind, frames wait in a backlog of the core
//! that has them, in order. They are charged to the ledger all the while, so the buffer fills, and
//! senders are paused, before the backlog is: it has room for as many frames as the switch can hold.
//!
//! Nobody pauses for lossy frames. So that a core which stands still does not fill the buffer with them, they
//! have their own limit ([`LOSSY_BACKLOG`]), beyond which the switch drops them before they are admitted.
//! Lossless ones are dropped only where the backlog is full: where frames are so short that the buffer has
//! room for more of them than it has descriptors.

use crate::ring::{Consumer, Producer, ring};
use std::collections::VecDeque;
use switch::{Handoff, HandoffRoom, ShardId};

/// Handoffs in a ring: a few microseconds of minimum frames at 100G.
pub(crate) const RING: usize = 1_024;
/// Handoffs in a backlog beyond which lossy frames are dropped: 5 ms of 1,500-byte frames at 10G. Where the
/// whole backlog has room for less than twice as many, half of it.
pub(crate) const LOSSY_BACKLOG: usize = 4 * RING;
/// Handoffs taken from one ring in one turn: other ports wait for theirs.
pub(crate) const TAKEN_AT_ONCE: usize = 8 * crate::BURST;

/// One worker's ends of the rings to and from all others.
pub struct Exchange<F> {
    peers: Vec<Peer<F>>,
}

/// The ends of the two rings shared with one other worker.
pub(crate) struct Peer<F> {
    shard: ShardId,
    outgoing: Producer<Handoff<F>>,
    incoming: Consumer<Handoff<F>>,
    /// What found the ring full; never more than `most`.
    backlog: VecDeque<Handoff<F>>,
    /// For how many handoffs there is room in the backlog.
    most: usize,
    /// How many frames ever did.
    held_back: u64,
}

/// Rings among the workers of `shards` shards, for a switch that can hold `frames` frames at once
/// (`BufferSettings::descriptors`). One exchange for each shard, in the order of their numbers.
pub fn exchanges<F>(shards: u16, frames: usize) -> Vec<Exchange<F>> {
    exchanges_of(RING, shards, frames)
}

pub(crate) fn exchanges_of<F>(capacity: usize, shards: u16, frames: usize) -> Vec<Exchange<F>> {
    let mut exchanges: Vec<_> = (0..shards).map(|_| Exchange { peers: Vec::new() }).collect();
    for (one, other) in (0..shards).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let (to_other, from_one) = ring(capacity);
        let (to_one, from_other) = ring(capacity);
        exchanges[usize::from(one)].peers.push(Peer::new(other, to_other, from_other, frames));
        exchanges[usize::from(other)].peers.push(Peer::new(one, to_one, from_one, frames));
    }
    exchanges
}

impl<F> Exchange<F> {
    /// Of a worker that is alone.
    pub fn alone() -> Self {
        Self { peers: Vec::new() }
    }

    /// Whether there is no other worker.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.peers.is_empty()
    }

    /// All others.
    #[inline]
    pub(crate) fn peers(&mut self) -> impl Iterator<Item = &mut Peer<F>> {
        self.peers.iter_mut()
    }

    /// Frames that found a ring full and had to wait.
    pub(crate) fn held_back(&self) -> u64 {
        self.peers.iter().map(|peer| peer.held_back).sum()
    }
}

impl<F> Peer<F> {
    fn new(
        shard: u16,
        outgoing: Producer<Handoff<F>>,
        incoming: Consumer<Handoff<F>>,
        frames: usize,
    ) -> Self {
        let backlog = VecDeque::with_capacity(frames);
        Self { shard: ShardId(shard), outgoing, incoming, backlog, most: frames, held_back: 0 }
    }

    /// The shard of the other worker.
    #[inline]
    pub fn shard(&self) -> ShardId {
        self.shard
    }

    /// Gives the other worker what waits, and what is in `outbox`, as far as the ring takes it. Keeps the
    /// rest, and leaves `outbox` empty. Returns whether [`Peer::room`] may be another one now.
    #[inline]
    pub fn give(&mut self, outbox: &mut Vec<Handoff<F>>) -> bool {
        if self.backlog.is_empty() {
            if outbox.is_empty() {
                return false;
            }
            self.outgoing.append(outbox);
            if outbox.is_empty() {
                return false;
            }
        }
        self.hold_back(outbox);
        true
    }

    /// How far the outbox may fill before [`Peer::give`] is called next.
    pub fn room(&self) -> HandoffRoom {
        let left = |most: usize| most.saturating_sub(self.backlog.len());
        HandoffRoom { lossless: left(self.most), lossy: left(LOSSY_BACKLOG.min(self.most / 2)) }
    }

    /// Notifications are not held back: the next interval makes another, and a core that stands still
    /// would be sent one after the other.
    #[cold]
    fn hold_back(&mut self, outbox: &mut Vec<Handoff<F>>) {
        let before = self.backlog.len();
        self.backlog.extend(outbox.drain(..).filter(Handoff::carries_frame));
        self.held_back += (self.backlog.len() - before) as u64;
        while let Some(first) = self.backlog.pop_front() {
            if let Err(first) = self.outgoing.push(first) {
                self.backlog.push_front(first);
                return;
            }
        }
    }

    /// Takes what the other worker gave to the end of `arrivals`.
    #[inline]
    pub fn take(&mut self, arrivals: &mut Vec<Handoff<F>>) {
        self.incoming.take(TAKEN_AT_ONCE, arrivals);
    }
}
