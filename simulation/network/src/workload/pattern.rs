//! Flows between fixed pairs, once or repeatedly.

use super::drawn::Drawn;
use super::random::Random;
use super::sizes::Sizes;
use crate::network::NodeId;
use std::sync::Arc;
use units::{Interval, Nanos};

/// Flows between fixed pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The senders and their receivers.
    pub pairs: Pairing,
    /// The sizes of the flows.
    pub sizes: Sizes,
    /// Number of flows of each pair that start at once.
    pub flows: u32,
    /// The instant at which the flows of the first pair start.
    pub start: Nanos,
    /// Time from the start of one pair to that of the next.
    pub stagger: Interval,
    /// The instant from which no flow starts, and at which flows without end stop.
    pub stop: Option<Nanos>,
    /// Duration of a flow without end.
    pub on: Option<Interval>,
    /// The repetition; `None` for a pattern that happens once.
    pub again: Option<Again>,
    /// Whether each flow with a length starts again whenever it has ended, as [`Pattern::stop`] permits.
    pub is_closed_loop: bool,
}

/// The repetition of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// Time from one start to the next.
    pub every: Interval,
    /// Number of starts in all; `None` for no limit.
    pub times: Option<u64>,
}

/// The senders and their receivers.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairing {
    /// The listed pairs.
    Given(Vec<(NodeId, NodeId)>),
    /// Each of these hosts sends to one of them and receives from one, never itself: a cycle drawn from the
    /// seed.
    Permutation(Vec<NodeId>),
}

impl Pairing {
    /// Pairs each of `sources` with each of `destinations` other than itself.
    pub fn all(sources: &[NodeId], destinations: &[NodeId]) -> Self {
        let to_all = |&source: &NodeId| destinations.iter().map(move |&destination| (source, destination));
        let pairs = sources.iter().flat_map(to_all).filter(|(source, destination)| source != destination);
        Self::Given(pairs.collect())
    }

    /// Pairs the first of `sources` with the first of `destinations`, and so on; the shorter list repeats.
    /// Pairs of a host with itself are left out.
    pub fn in_order(sources: &[NodeId], destinations: &[NodeId]) -> Self {
        let pairs = sources.iter().copied().cycle().zip(destinations.iter().copied().cycle());
        let pairs = pairs.take(sources.len().max(destinations.len()));
        Self::Given(pairs.filter(|(source, destination)| source != destination).collect())
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Given(pairs) => pairs.is_empty(),
            Self::Permutation(hosts) => hosts.len() < 2,
        }
    }

    fn drawn(&self, random: &mut Random) -> Vec<(NodeId, NodeId)> {
        match self {
            Self::Given(pairs) => pairs.clone(),
            Self::Permutation(hosts) => {
                // Each host sends to the next in a random order: a single cycle, so no host sends to itself.
                let mut order = hosts.clone();
                random.shuffle(&mut order);
                let next = order.iter().cycle().skip(1);
                let mut pairs: Vec<_> = order.iter().copied().zip(next.copied()).collect();
                pairs.sort_unstable();
                pairs
            }
        }
    }
}

/// The flows of one pair.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    pattern: Arc<Pattern>,
    source: NodeId,
    destination: NodeId,
    random: Random,
    /// The start of the next flow, and how many flows of that start have been drawn.
    at: Nanos,
    drawn: u32,
    /// Starts so far.
    rounds: u64,
}

impl Repeated {
    /// A stream for each pair.
    pub fn all(pattern: &Arc<Pattern>, seed: u64, part: u64) -> Vec<Self> {
        let first = part << 32;
        let pairs = pattern.pairs.drawn(&mut Random::new(seed, first));
        let stream = |(index, (source, destination)): (usize, _)| Self {
            pattern: pattern.clone(),
            source,
            destination,
            random: Random::new(seed, first + 1 + index as u64),
            at: pattern.start + pattern.stagger * index as u64,
            drawn: 0,
            rounds: 0,
        };
        pairs.into_iter().enumerate().map(stream).collect()
    }

    pub fn next_start(&self) -> Option<Nanos> {
        let over = match self.pattern.again {
            None => self.rounds > 0,
            Some(Again { times, .. }) => times.is_some_and(|times| self.rounds >= times),
        };
        let late = self.pattern.stop.is_some_and(|stop| self.at >= stop) || self.at == Nanos::NEVER;
        (!over && !late && self.pattern.flows > 0).then_some(self.at)
    }

    pub fn draw(&mut self) -> Drawn {
        let bytes = self.pattern.sizes.draw(&mut self.random);
        let off = self.pattern.on.map(|on| self.at + on);
        let stop = off.into_iter().chain(self.pattern.stop).min().filter(|_| bytes.is_none());
        self.drawn += 1;
        if self.drawn == self.pattern.flows {
            self.drawn = 0;
            self.rounds += 1;
            self.at = self.pattern.again.map_or(Nanos::NEVER, |again| self.at + again.every);
        }
        let again_until = self.pattern.is_closed_loop.then_some(self.pattern.stop.unwrap_or(Nanos::NEVER));
        Drawn { source: self.source, destination: self.destination, bytes, stop, again_until, priority: None }
    }
}
