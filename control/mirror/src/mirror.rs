//! The routes and neighbours of a kernel, and the routes that follow from it.

use crate::netlink::{Change, HOPS_MAX, Hops, Message, Path};
use core::net::IpAddr;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use switch::{LearnedRoute, Neighbour};
use units::PortId;
use wire::ethernet::MacAddress;

/// The most routes, and the most next hop objects: 10,000, and those to the networks of ports and bundles.
pub const ROUTES_MAX: usize = 10_240;
/// The most neighbours.
pub const NEIGHBOURS_MAX: usize = 4_096;

/// The interface of a port in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Its name.
    pub name: String,
    /// Its port; of a bundle, the first member.
    pub port: PortId,
    /// Whether neighbours that the kernel has found by itself are taken, or permanent ones only.
    pub learns: bool,
}

/// A table of the kernel with more entries than a gateway takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// More than [`ROUTES_MAX`] routes in the main table.
    Routes,
    /// More than [`NEIGHBOURS_MAX`] neighbours on the interfaces of the gateway.
    Neighbours,
    /// More than [`ROUTES_MAX`] next hop objects.
    NextHops,
}

/// A mirror of the routes and neighbours of a kernel, of bounded size.
#[derive(Debug)]
pub struct Mirror {
    taps: Vec<Tap>,
    /// By the number of the link, the place of its interface, while it is up.
    links: BTreeMap<u32, usize>,
    objects: BTreeMap<u32, Hops>,
    neighbours: BTreeMap<(u32, IpAddr), (MacAddress, bool)>,
    routes: BTreeMap<(IpNet, u32), Hops>,
    /// The keys of `routes` of which the kernel has had several routes.
    several: BTreeSet<(IpNet, u32)>,
    beyond: Option<Beyond>,
    changed: bool,
    /// Whether the kernel may know other things, because messages were lost or it drops routes without one.
    stale: bool,
    /// Whether it has seen all dumps.
    is_whole: bool,
}

impl Mirror {
    /// A mirror that knows nothing yet.
    pub fn new(taps: Vec<Tap>) -> Self {
        Self {
            taps,
            links: BTreeMap::new(),
            objects: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            routes: BTreeMap::new(),
            several: BTreeSet::new(),
            beyond: None,
            changed: true,
            stale: true,
            is_whole: false,
        }
    }

    /// Forgets everything, before all is dumped again.
    pub fn clear(&mut self) {
        *self = Self { stale: false, ..Self::new(core::mem::take(&mut self.taps)) };
    }

    /// Notes that it has seen all dumps, in the order of [`crate::netlink::Dump::ALL`].
    pub fn complete(&mut self) {
        self.is_whole = true;
    }

    /// Whether everything has to be dumped again.
    pub fn is_stale(&self) -> bool {
        self.stale || self.beyond.is_some()
    }

    /// Whether [`Mirror::table`] may be another than at the last call of this.
    pub fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// Takes a message.
    pub fn see(&mut self, message: Message) {
        let (outcome, what) = match message {
            Message::Done(_) => return,
            Message::Lost => return self.stale = true,
            Message::Link { index, name, is_up } => return self.see_link(index, &name, is_up),
            Message::Neighbour { link, .. } if !self.links.contains_key(&link) => return,
            Message::Neighbour { link, address, station } => {
                let key = (link, address);
                (set(&mut self.neighbours, key, station, NEIGHBOURS_MAX), Beyond::Neighbours)
            }
            Message::NextHop { id, hop } => (set(&mut self.objects, id, hop, ROUTES_MAX), Beyond::NextHops),
            Message::Route { prefix, metric, hops, change } => {
                let hops = self.changed_route((prefix, metric), hops, change);
                (set(&mut self.routes, (prefix, metric), hops, ROUTES_MAX), Beyond::Routes)
            }
        };
        match outcome {
            Some(changed) => self.changed |= changed,
            None => self.beyond = Some(what),
        }
    }

    /// Where the route of this key leads after a change.
    fn changed_route(&mut self, key: (IpNet, u32), hops: Hops, change: Change) -> Option<Hops> {
        let known = self.routes.get(&key);
        match change {
            Change::Gone => {
                let is_one_of_several = self.several.remove(&key);
                // Another one may count now.
                self.stale |= is_one_of_several;
                let stays =
                    is_one_of_several && key.0.addr().is_ipv4() && known.is_some_and(|it| *it != hops);
                return if stays { known.cloned() } else { self.left(&key, &hops) };
            }
            Change::First | Change::Behind if known.is_some_and(|known| *known != hops) => {
                self.several.insert(key);
            }
            _ => {}
        }
        Some(known.filter(|_| change == Change::Behind).cloned().unwrap_or(hops))
    }

    /// Of an IPv6 route with several next hops, the kernel deletes one by one.
    fn left(&self, route: &(IpNet, u32), gone: &Hops) -> Option<Hops> {
        let (IpNet::V6(_), Some(Hops::Links(known)), Hops::Links(gone)) =
            (route.0, self.routes.get(route), gone)
        else {
            return None;
        };
        let left: Vec<_> = known.iter().filter(|hop| !gone.contains(hop)).copied().collect();
        (!left.is_empty()).then_some(Hops::Links(left))
    }

    fn see_link(&mut self, index: u32, name: &str, is_up: bool) {
        let tap = self.taps.iter().position(|tap| tap.name == name).filter(|_| is_up);
        let before = match tap {
            Some(tap) => self.links.insert(index, tap),
            None => self.links.remove(&index),
        };
        if before != tap {
            self.changed = true;
            // The kernel drops the IPv4 routes of a link that goes down without a message, and tells the neighbours of one that
            // comes up before the link itself.
            self.stale |= self.is_whole || before.is_some();
        }
    }

    /// The routes for the switch, in the order of prefixes, each once: routes through interfaces of the gateway, and
    /// routes to neighbours. A neighbour is a destination only where the kernel looks for its address: where the longest
    /// match leads to it over its link. Elsewhere its address is a claim, and serves as a next hop alone.
    ///
    /// # Errors
    /// [`Beyond`]: the kernel has more than that, so the table before has to do.
    pub fn table(&self) -> Result<Vec<LearnedRoute>, Beyond> {
        if let Some(beyond) = self.beyond {
            return Err(beyond);
        }
        let mut best = BTreeMap::new();
        for ((prefix, _), hops) in &self.routes {
            // The lowest metric comes first.
            best.entry(*prefix).or_insert_with(|| self.paths(hops));
        }
        let stations = |(prefix, paths): (&IpNet, &Option<Vec<Path>>)| {
            // Without a gateway, a route to one address leads to its neighbour.
            let host = Some(prefix.addr()).filter(|_| prefix.prefix_len() == prefix.max_prefix_len());
            let station = |(link, gateway): &Path| Some(self.neighbour(*link, gateway.or(host)?)?.0);
            Some((*prefix, paths.as_ref()?.iter().filter_map(station).collect()))
        };
        let mut table: BTreeMap<IpNet, Vec<Neighbour>> = best.iter().filter_map(stations).collect();
        let lengths: BTreeSet<_> = best.keys().map(IpNet::prefix_len).collect();
        let is_on_link = |link: u32, address: IpAddr| {
            let of = |length: &u8| best.get(&IpNet::new(address, *length).ok()?.trunc());
            let longest = lengths.iter().rev().find_map(of);
            longest.and_then(Option::as_ref).is_some_and(|paths| paths.contains(&(link, None)))
        };
        for wants_permanent in [true, false] {
            for (link, address) in self.neighbours.keys() {
                // Those of a link alone are no destinations.
                let is_local = matches!(address, IpAddr::V6(it) if it.segments()[0] & 0xffc0 == 0xfe80);
                if let Some((hop, is_permanent)) = self.neighbour(*link, *address)
                    && is_permanent == wants_permanent
                    && !is_local
                    && is_on_link(*link, *address)
                {
                    table.entry((*address).into()).or_insert_with(|| vec![hop]);
                }
            }
        }
        Ok(table.into_iter().map(|(prefix, hops)| LearnedRoute { prefix, hops }).collect())
    }

    /// A neighbour that is taken, and whether it is permanent.
    fn neighbour(&self, link: u32, address: IpAddr) -> Option<(Neighbour, bool)> {
        let tap = &self.taps[*self.links.get(&link)?];
        let (mac, is_permanent) = *self.neighbours.get(&(link, address))?;
        (tap.learns || is_permanent).then_some((Neighbour { address, mac, port: tap.port }, is_permanent))
    }

    /// The paths of a route through interfaces of the gateway; `None` if it leads through others alone.
    fn paths(&self, hops: &Hops) -> Option<Vec<Path>> {
        let objects = |ids: &[u32]| ids.iter().filter_map(|id| self.objects.get(id)).collect::<Vec<_>>();
        let all = match hops {
            // A group has no groups as members.
            Hops::Objects(ids) => objects(ids)
                .into_iter()
                .flat_map(|object| match object {
                    Hops::Objects(ids) => objects(ids),
                    one => vec![one],
                })
                .collect(),
            one => vec![one],
        };
        if all.iter().any(|hops| matches!(hops, Hops::Nowhere)) {
            return Some(Vec::new());
        }
        let paths = all.into_iter().flat_map(|hops| match hops {
            Hops::Links(paths) => &paths[..],
            _ => &[],
        });
        let paths = paths.filter(|(link, _)| self.links.contains_key(link)).take(HOPS_MAX).copied();
        Some(paths.collect::<Vec<_>>()).filter(|paths| !paths.is_empty())
    }
}

/// Sets or removes an entry. Returns whether that changed anything; `None` if there are as many as may be.
fn set<K: Ord, V: PartialEq>(
    entries: &mut BTreeMap<K, V>,
    key: K,
    value: Option<V>,
    most: usize,
) -> Option<bool> {
    let Some(value) = value else { return Some(entries.remove(&key).is_some()) };
    if entries.len() >= most && !entries.contains_key(&key) {
        return None;
    }
    let changed = entries.get(&key) != Some(&value);
    entries.insert(key, value);
    Some(changed)
}

#[cfg(test)]
mod tests;
