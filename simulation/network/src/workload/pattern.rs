//! The same pairs, once or again and again.

use super::drawn::Drawn;
use super::random::Random;
use super::sizes::Sizes;
use crate::network::NodeId;
use std::sync::Arc;
use units::{Interval, Nanos};

/// Flows between fixed pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Who sends to whom.
    pub pairs: Pairing,
    /// How long flows are.
    pub sizes: Sizes,
    /// How many flows of each pair start at once.
    pub flows: u32,
    /// When those of the first pair start.
    pub start: Nanos,
    /// How much later those of the next pair start.
    pub stagger: Interval,
    /// When nothing starts any more, and flows without end are stopped.
    pub stop: Option<Nanos>,
    /// How long after its start a flow without end is stopped.
    pub on: Option<Interval>,
    /// Whether it happens again.
    pub again: Option<Again>,
}

/// How often something happens again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// How long after the start before it.
    pub every: Interval,
    /// How often in all; `None`: until it stops.
    pub times: Option<u64>,
}

/// Who sends to whom.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairing {
    /// As listed.
    Given(Vec<(NodeId, NodeId)>),
    /// Each of these hosts sends to one of them and receives from one, never itself: a cycle that the seed
    /// draws.
    Permutation(Vec<NodeId>),
}

impl Pairing {
    /// Every one of `sources` to every one of `destinations` but itself.
    pub fn all(sources: &[NodeId], destinations: &[NodeId]) -> Self {
        let to_all = |&source: &NodeId| destinations.iter().map(move |&destination| (source, destination));
        let pairs = sources.iter().flat_map(to_all).filter(|(source, destination)| source != destination);
        Self::Given(pairs.collect())
    }

    /// The first of `sources` to the first of `destinations`, and so on, each list from its beginning again
    /// where it is shorter.
    pub fn in_order(sources: &[NodeId], destinations: &[NodeId]) -> Self {
        let pairs = sources.iter().copied().cycle().zip(destinations.iter().copied().cycle());
        let pairs = pairs.take(sources.len().max(destinations.len()));
        Self::Given(pairs.filter(|(source, destination)| source != destination).collect())
    }

    /// Whether nobody sends.
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
                // In a random order, each to the next: one cycle, so nobody sends to himself.
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
    /// When the next flow starts, and how many of those that start then have been drawn.
    at: Nanos,
    drawn: u32,
    /// How often it has happened.
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
        Drawn { source: self.source, destination: self.destination, bytes, stop, priority: None }
    }
}
