//! Bundles: links to one neighbour that are one port to forwarding.
//!
//! Forwarding knows the first member, and a last step draws the member for a frame. That draw never changes: if a member
//! fails, its egress half sends into its siblings instead of its device, in order ([`failover`]). So frames of a flow pass
//! one queue all the time, flows of the other members stay where they are, and no table is exchanged.

pub(crate) mod failover;
pub(crate) mod figures;

pub use failover::{BundleReport, MemberState};

use crate::descriptor::Descriptor;
use crate::forwarding::{Verdict, flow_hash};
use crate::program::Settings;
use core::hash::BuildHasher;
use foldhash::fast::FixedState;
use units::{Interval, PortId, PortSet};

/// The places that the member with the highest rate has in a draw.
const PLACES: u64 = 16;

/// The entries that each of several next hops of a route has where one of them is a bundle. Two to four equal members, six and
/// eight get as many of them each.
const SLOTS: u64 = 48;

/// The bundles of a program.
pub(crate) struct Bundles {
    /// By port.
    ports: Vec<Member>,
    /// In the order of their first members.
    bundles: Vec<Bundle>,
    hash: FixedState,
}

/// A port, in a bundle or not.
#[derive(Clone, Copy)]
struct Member {
    /// The first member of its bundle, or itself.
    head: PortId,
    /// The index of its bundle.
    bundle: Option<usize>,
    /// The least and the most time that a frame takes on its link.
    least: Interval,
    most: Interval,
}

struct Bundle {
    members: PortSet,
    /// The places of each member, by its rate.
    places: Vec<(PortId, u64)>,
    /// Those of all members.
    all: u64,
}

impl Bundles {
    /// The bundles of `settings`, which must be valid; `None` if they have none.
    pub fn new(settings: &Settings) -> Option<Self> {
        let ports = || (0..settings.ports.len() as u16).map(PortId);
        let is_head =
            |port: &PortId| settings.ports[port.index()].bundle.as_ref().is_some_and(|it| it.head == *port);
        let heads: Vec<PortId> = ports().filter(is_head).collect();
        let member = |port: PortId| {
            let own = settings.ports[port.index()].bundle.as_ref();
            let (delay, jitter) = own.map(|it| (it.delay, it.jitter)).unwrap_or_default();
            let bundle = own.and_then(|it| heads.iter().position(|head| *head == it.head));
            Member { head: settings.head(port), bundle, least: delay, most: delay + jitter }
        };
        (!heads.is_empty()).then(|| Self {
            ports: ports().map(member).collect(),
            bundles: heads.iter().map(|head| Bundle::new(settings, *head)).collect(),
            hash: FixedState::with_seed(settings.seed),
        })
    }

    /// The port that stands for `port` in forwarding.
    #[inline]
    pub fn head(&self, port: PortId) -> PortId {
        self.ports[port.index()].head
    }

    /// All members of the bundle of `port`; none if it is in no bundle.
    pub fn members(&self, port: PortId) -> PortSet {
        self.bundle(port).map_or(PortSet::EMPTY, |bundle| bundle.members)
    }

    /// `port` as next hops of a route: the members of its bundle, each as often as its rate asks for, or the port itself. With
    /// other next hops beside it (`is_one_of_many`), these are [`SLOTS`] in any case, so that all have the same share.
    pub fn next_hops(&self, port: PortId, is_one_of_many: bool) -> Vec<PortId> {
        let (all, places) = match self.bundle(port) {
            Some(bundle) => (bundle.all, &bundle.places[..]),
            None => (1, &[(port, 1)][..]),
        };
        let slots = if is_one_of_many { SLOTS } else { all };
        // Each member has the slots from its first place to that of the next.
        let mut before = 0;
        let each = places.iter().flat_map(|(member, places)| {
            let first = before * slots / all;
            before += places;
            (first..before * slots / all).map(|_| *member)
        });
        each.collect()
    }

    fn bundle(&self, port: PortId) -> Option<&Bundle> {
        self.ports[port.index()].bundle.map(|index| &self.bundles[index])
    }

    /// Replaces the first member of a bundle in `verdict` by the member for the flow of the frame.
    #[inline]
    pub fn spread(&self, verdict: Verdict, descriptor: &Descriptor, headers: &[u8]) -> Verdict {
        match verdict {
            Verdict::Forward(egress) => Verdict::Forward(self.member(egress, descriptor, headers)),
            other => other,
        }
    }

    /// The member of the bundle of `port` for the flow of a frame, by rates; the port itself if it is in none.
    #[inline]
    pub fn member(&self, port: PortId, descriptor: &Descriptor, headers: &[u8]) -> PortId {
        let Some(bundle) = self.bundle(port) else { return port };
        let flow = flow_hash(&self.hash, descriptor, headers);
        let mut place = ((u128::from(flow) * u128::from(bundle.all)) >> 64) as u64;
        for (member, places) in &bundle.places {
            if place < *places {
                return *member;
            }
            place -= places;
        }
        port
    }

    /// The sibling among `usable` to which frames of a flow move from `port`; `None` if there is none. It is another one only
    /// if a sibling becomes usable or is no longer (rendezvous hashing: Thaler and Ravishankar, "Using name-based mappings to
    /// increase hit rates", 1998).
    pub fn sibling(
        &self,
        port: PortId,
        usable: PortSet,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Option<PortId> {
        let flow = flow_hash(&self.hash, descriptor, headers);
        let score = |member: PortId, place: u64| self.hash.hash_one((flow, member.0, place));
        let places = self.bundle(port)?.places.iter().filter(|(it, _)| *it != port && usable.contains(*it));
        let best = places.map(|(it, places)| ((0..*places).map(|place| score(*it, place)).max(), *it));
        best.max().map(|(_, sibling)| sibling)
    }

    /// The time after a departure through `before` from which a frame that departs through `after` does not overtake it.
    pub fn lead(&self, before: PortId, after: PortId) -> Interval {
        self.ports[before.index()].most - self.ports[after.index()].least
    }
}

impl Bundle {
    fn new(settings: &Settings, head: PortId) -> Self {
        let members = settings.members(head);
        let rate = |member: PortId| settings.ports[member.index()].rate.bits_per_second();
        let highest = members.iter().map(rate).max().unwrap_or(1);
        let places = |member: PortId| {
            let places = u128::from(rate(member) * PLACES).div_ceil(u128::from(highest));
            (member, places as u64)
        };
        let places: Vec<_> = members.iter().map(places).collect();
        Self { members, all: places.iter().map(|(_, places)| places).sum(), places }
    }
}

#[cfg(test)]
mod tests;
