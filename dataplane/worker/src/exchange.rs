//! The exchange of frames between cores.
//!
//! Each pair of workers has a ring in each direction. A ring is short, so that it stays in the caches of its
//! two cores. If it is full because the other core is behind, frames wait in their shard, in order and
//! charged to the ledger ([`switch::Shard::outbox`]).

use crate::ring::{Consumer, Producer, ring};
use switch::{Handoff, ShardId};

/// Handoffs in a ring: a few microseconds of minimum frames at 100G.
pub(crate) const RING: usize = 1_024;
/// The maximum number of handoffs taken from one ring in one turn. The limit keeps other ports from waiting.
pub(crate) const TAKEN_AT_ONCE: usize = 8 * crate::BURST;

/// The number of handoffs to take from each other worker in one turn, if none of them has more than `ports` ports:
/// twice what such a worker receives in a turn, at most [`TAKEN_AT_ONCE`]. If frames may be `copied` to several ports,
/// it is as many, since each received one can be several handoffs.
///
/// More would let the other worker have several turns during one of this worker, receive a burst in each
/// of them, and so be even further ahead. Its frames would then wait, while this worker's ports would be
/// polled rarely. With less than twice, a backlog would never end.
pub(crate) fn taken_at_once(ports: usize, copied: bool) -> usize {
    if copied { TAKEN_AT_ONCE } else { (2 * crate::BURST * ports.max(1)).min(TAKEN_AT_ONCE) }
}

/// One worker's ends of the rings to and from all others.
pub struct Exchange<F> {
    peers: Vec<Peer<F>>,
}

/// The ends of the two rings shared with one other worker.
pub(crate) struct Peer<F> {
    shard: ShardId,
    outgoing: Producer<Handoff<F>>,
    incoming: Consumer<Handoff<F>>,
}

/// The rings between the workers of `shards` shards: one exchange per shard, in order of shard numbers.
pub fn exchanges<F>(shards: u16) -> Vec<Exchange<F>> {
    exchanges_of(RING, shards)
}

pub(crate) fn exchanges_of<F>(capacity: usize, shards: u16) -> Vec<Exchange<F>> {
    let mut exchanges: Vec<_> = (0..shards).map(|_| Exchange { peers: Vec::new() }).collect();
    for (one, other) in (0..shards).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let (to_other, from_one) = ring(capacity);
        let (to_one, from_other) = ring(capacity);
        exchanges[usize::from(one)].peers.push(Peer::new(other, to_other, from_other));
        exchanges[usize::from(other)].peers.push(Peer::new(one, to_one, from_one));
    }
    exchanges
}

impl<F> Exchange<F> {
    /// The exchange of a single worker.
    pub fn alone() -> Self {
        Self { peers: Vec::new() }
    }

    /// Whether there is no other worker.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.peers.is_empty()
    }

    /// All other workers.
    #[inline]
    pub(crate) fn peers(&mut self) -> impl Iterator<Item = &mut Peer<F>> {
        self.peers.iter_mut()
    }
}

impl<F> Peer<F> {
    fn new(shard: u16, outgoing: Producer<Handoff<F>>, incoming: Consumer<Handoff<F>>) -> Self {
        Self { shard: ShardId(shard), outgoing, incoming }
    }

    /// The shard of the other worker.
    #[inline]
    pub fn shard(&self) -> ShardId {
        self.shard
    }

    /// Gives the other worker as much of `outbox` as the ring takes.
    #[inline]
    pub fn give(&mut self, outbox: &mut Vec<Handoff<F>>) {
        if !outbox.is_empty() {
            self.outgoing.append(outbox);
        }
    }

    /// Appends the other worker's handoffs to `arrivals`, at most `most`.
    #[inline]
    pub fn take(&mut self, most: usize, arrivals: &mut Vec<Handoff<F>>) {
        self.incoming.take(most, arrivals);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::BURST;

    #[test]
    fn a_turn_takes_over_twice_what_another_worker_receives_in_one_and_more_where_frames_are_copied() {
        let bursts = |copied| [0, 1, 2, 3, 4, 5, 64].map(|ports| taken_at_once(ports, copied) / BURST);
        assert_eq!(bursts(false), [2, 2, 4, 6, 8, 8, 8]);
        assert_eq!(bursts(true), [8; 7]);
    }
}
