//! Flows that arrive at random, at a given load.

use super::drawn::Drawn;
use super::random::Random;
use super::sizes::Sizes;
use crate::network::NodeId;
use std::sync::Arc;
use units::{BitRate, Interval, Nanos};

/// A host that sends, and its site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    node: NodeId,
    site: usize,
    /// Its index among the destinations, if it is one.
    as_destination: Option<usize>,
}

/// Poisson arrivals: the times between starts are independent and exponentially distributed. Each host sends
/// in proportion to its rate, and its destinations are equally likely.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    sources: Vec<Member>,
    /// The share of flows that come from the sources up to and including each.
    shares: Vec<f64>,
    /// The destinations, sorted by site.
    destinations: Vec<NodeId>,
    /// The range of destinations at each site.
    sites: Vec<core::ops::Range<usize>>,
    /// The share of flows that leave their site; `None` if sites do not matter.
    inter: Option<f64>,
    sizes: Sizes,
    /// The mean time from one start to the next, in nanoseconds.
    gap: f64,
    start: Nanos,
    stop: Option<Nanos>,
}

/// The reason why no flows can arrive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PoissonError {
    /// There is no source or no destination.
    #[error("no source has another host as a destination")]
    NoPairs,
    /// A source has no destination.
    #[error("host number {} has no destination {place}", source_node.0)]
    Alone {
        /// Its number.
        source_node: NodeId,
        /// The place where it should have one.
        place: &'static str,
    },
    /// Flows without end arrive once, not at a load.
    #[error("flows without end cannot have a load")]
    Endless,
    /// The load is not above zero, or too high.
    #[error("the load must be above 0, and flows at least a picosecond apart")]
    Load,
    /// A load of links that no flow crosses.
    #[error("no flow crosses a long link, so load_of = \"long\" has no meaning")]
    NeverLeaves,
}

/// A host with its site and the rate of its link.
pub type Place = (NodeId, usize, BitRate);

/// The capacity that a load is a share of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadOf {
    /// The links of the sources.
    Hosts,
    /// This many bits per second of long links, in the direction that has the most flows.
    Long(f64),
}

impl Poisson {
    /// Flows of `sizes` from `sources` to `destinations`, between `start` and `stop`. `inter` is the share of
    /// them that leave their site, from 0 to 1; without it, all other destinations are equally likely. `load`
    /// is above 0 and counts the bytes of messages, not of headers.
    ///
    /// # Errors
    /// [`PoissonError`].
    pub fn new(
        sources: &[Place],
        destinations: &[Place],
        inter: Option<f64>,
        sizes: Sizes,
        (load, of): (f64, LoadOf),
        (start, stop): (Nanos, Option<Nanos>),
    ) -> Result<Self, PoissonError> {
        let mean = sizes.mean().ok_or(PoissonError::Endless)?;
        let mut sorted: Vec<_> = destinations.to_vec();
        sorted.sort_by_key(|(node, site, _)| (*site, *node));
        sorted.dedup();
        let all = sources.iter().chain(destinations);
        let count = all.map(|(_, site, _)| site + 1).max().ok_or(PoissonError::NoPairs)?;
        let range = |site| {
            let first = sorted.partition_point(|(_, it, _)| *it < site);
            first..sorted.partition_point(|(_, it, _)| *it <= site)
        };
        let sites = (0..count).map(range).collect();
        let destinations: Vec<NodeId> = sorted.iter().map(|(node, ..)| *node).collect();
        let total: f64 = sources.iter().map(|(.., rate)| rate.bits_per_second() as f64).sum();
        let mut shares = Vec::with_capacity(sources.len());
        let mut members = Vec::with_capacity(sources.len());
        let mut up_to = 0.0;
        for (node, site, rate) in sources {
            up_to += rate.bits_per_second() as f64 / total;
            shares.push(up_to);
            let as_destination = destinations.iter().position(|it| it == node);
            members.push(Member { node: *node, site: *site, as_destination });
        }
        let mut poisson =
            Self { sources: members, shares, destinations, sites, inter, sizes, gap: 0.0, start, stop };
        poisson.check()?;
        let capacity = match of {
            LoadOf::Hosts => total,
            LoadOf::Long(bits) => {
                let leaving = poisson.leaving();
                if leaving <= 0.0 {
                    return Err(PoissonError::NeverLeaves);
                }
                bits / leaving
            }
        };
        poisson.gap = 8e9 * mean / (load * capacity);
        if load > 0.0 && poisson.gap.is_finite() && poisson.gap >= 1e-3 {
            Ok(poisson)
        } else {
            Err(PoissonError::Load)
        }
    }

    fn check(&self) -> Result<(), PoissonError> {
        if self.sources.is_empty() || self.destinations.is_empty() {
            return Err(PoissonError::NoPairs);
        }
        for source in &self.sources {
            let (inside, outside) = self.choices(source);
            let (may_stay, may_leave) = match self.inter {
                Some(share) => (share < 1.0, share > 0.0),
                None => (false, false),
            };
            let place = match () {
                () if may_stay && inside == 0 => "at its own site",
                () if may_leave && outside == 0 => "at another site",
                () if inside + outside == 0 => "at all",
                () => continue,
            };
            return Err(PoissonError::Alone { source_node: source.node, place });
        }
        Ok(())
    }

    /// The number of destinations that a source has at its own site, and elsewhere.
    fn choices(&self, source: &Member) -> (usize, usize) {
        let here = self.sites[source.site].len();
        (here - usize::from(source.as_destination.is_some()), self.destinations.len() - here)
    }

    /// The share of all flows that leave the site with the most departing flows.
    fn leaving(&self) -> f64 {
        let mut leaving = vec![0.0; self.sites.len()];
        let mut before = 0.0;
        for (source, up_to) in self.sources.iter().zip(&self.shares) {
            let (inside, outside) = self.choices(source);
            let even = outside as f64 / (inside + outside).max(1) as f64;
            leaving[source.site] += (up_to - before) * self.inter.unwrap_or(even);
            before = *up_to;
        }
        leaving.into_iter().fold(0.0, f64::max)
    }

    /// Calls `visit` with the sources of each site, and with the destinations that they may have.
    pub(super) fn reach(&self, visit: &mut impl FnMut(&[NodeId], &[NodeId])) {
        for (site, here) in self.sites.iter().enumerate() {
            let sources: Vec<NodeId> =
                self.sources.iter().filter(|it| it.site == site).map(|it| it.node).collect();
            if self.inter != Some(1.0) {
                visit(&sources, &self.destinations[here.clone()]);
            }
            if self.inter != Some(0.0) {
                visit(&sources, &self.destinations[..here.start]);
                visit(&sources, &self.destinations[here.end..]);
            }
        }
    }

    fn pair(&self, random: &mut Random) -> (NodeId, NodeId) {
        let fraction = random.fraction();
        let index = self.shares.partition_point(|up_to| *up_to <= fraction).min(self.sources.len() - 1);
        let source = &self.sources[index];
        let here = &self.sites[source.site];
        let (inside, outside) = self.choices(source);
        let leaves = self.inter.map(|share| random.fraction() < share);
        let chosen = match leaves {
            // Skips the source itself.
            Some(false) => skip(here.start + random.below(inside), source.as_destination, 1),
            Some(true) => skip(random.below(outside), Some(here.start), here.len()),
            None => skip(random.below(inside + outside), source.as_destination, 1),
        };
        (source.node, self.destinations[chosen])
    }
}

/// The index of choice number `index`, where the `width` entries from `gap` on are no choices.
fn skip(index: usize, gap: Option<usize>, width: usize) -> usize {
    index + if gap.is_some_and(|gap| index >= gap) { width } else { 0 }
}

/// A stream of Poisson arrivals.
#[derive(Clone, Debug)]
pub(super) struct Arriving {
    poisson: Arc<Poisson>,
    random: Random,
    /// The next start in whole nanoseconds, and the fraction of one, so that rounding loses nothing.
    at: Nanos,
    fraction: f64,
}

impl Arriving {
    pub fn new(poisson: &Arc<Poisson>, seed: u64, part: u64) -> Self {
        let mut arriving = Self {
            poisson: poisson.clone(),
            random: Random::new(seed, part << 32),
            at: poisson.start,
            fraction: 0.0,
        };
        arriving.wait();
        arriving
    }

    fn wait(&mut self) {
        let exact = self.fraction + self.random.exponential() * self.poisson.gap;
        let whole = exact.floor();
        (self.at, self.fraction) = (self.at + Interval(whole as u64), exact - whole);
    }

    pub fn next_start(&self) -> Option<Nanos> {
        let over = self.poisson.stop.is_some_and(|stop| self.at >= stop) || self.at == Nanos::NEVER;
        (!over).then_some(self.at)
    }

    pub fn draw(&mut self) -> Drawn {
        let (source, destination) = self.poisson.pair(&mut self.random);
        let bytes = self.poisson.sizes.draw(&mut self.random);
        self.wait();
        Drawn { source, destination, bytes, stop: None, again_until: None, priority: None }
    }
}
