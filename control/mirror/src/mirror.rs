//! What is known of a kernel, and the routes that follow from it.

use crate::netlink::{Hops, Message};
use core::net::IpAddr;
use ipnet::IpNet;
use std::collections::BTreeMap;
use switch::{LearnedRoute, Neighbour};
use units::PortId;
use wire::ethernet::MacAddress;

/// The most routes, and the most next hop objects: 10,000, and those to the networks of 64 ports and bundles.
pub const ROUTES_MAX: usize = 10_240;
/// The most neighbours.
pub const NEIGHBOURS_MAX: usize = 4_096;
/// Next hops of a route, at most.
const HOPS_MAX: usize = 64;

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

/// What the kernel has more of than a gateway takes.
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
        match message {
            Message::Done | Message::Refused => {}
            Message::Lost => self.stale = true,
            Message::Link { index, name, is_up } => self.see_link(index, &name, is_up),
            Message::Neighbour { link, .. } if !self.links.contains_key(&link) => {}
            Message::Neighbour { link, address, station } => {
                let of = (NEIGHBOURS_MAX, Beyond::Neighbours);
                Self::set(
                    &mut self.neighbours,
                    (link, address),
                    station,
                    of,
                    (&mut self.changed, &mut self.beyond),
                );
            }
            Message::NextHop { id, hop } => {
                let of = (ROUTES_MAX, Beyond::NextHops);
                Self::set(&mut self.objects, id, hop, of, (&mut self.changed, &mut self.beyond));
            }
            Message::Route { prefix, metric, hops, is_gone } => {
                let hops = if is_gone { self.left(&(prefix, metric), &hops) } else { Some(hops) };
                let of = (ROUTES_MAX, Beyond::Routes);
                Self::set(
                    &mut self.routes,
                    (prefix, metric),
                    hops,
                    of,
                    (&mut self.changed, &mut self.beyond),
                );
            }
        }
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

    /// Sets or removes an entry, within bounds.
    fn set<K: Ord, V: PartialEq>(
        entries: &mut BTreeMap<K, V>,
        key: K,
        value: Option<V>,
        (most, what): (usize, Beyond),
        (changed, beyond): (&mut bool, &mut Option<Beyond>),
    ) {
        let Some(value) = value else {
            *changed |= entries.remove(&key).is_some();
            return;
        };
        if entries.len() >= most && !entries.contains_key(&key) {
            *beyond = Some(what);
            return;
        }
        if entries.get(&key) != Some(&value) {
            entries.insert(key, value);
            *changed = true;
        }
    }

    /// The routes for the switch: neighbours as routes to their addresses, then the routes through interfaces of the gateway.
    ///
    /// # Errors
    /// [`Beyond`]: the kernel has more than that, so the table before has to do.
    pub fn table(&self) -> Result<Vec<LearnedRoute>, Beyond> {
        if let Some(beyond) = self.beyond {
            return Err(beyond);
        }
        let of_neighbour = |(link, address): &(u32, IpAddr)| {
            // Those of a link alone are no destinations.
            let is_local = matches!(address, IpAddr::V6(it) if it.segments()[0] & 0xffc0 == 0xfe80);
            let hops = vec![self.neighbour(*link, *address).filter(|_| !is_local)?];
            Some(LearnedRoute { prefix: IpNet::from(*address), hops })
        };
        let mut table: Vec<_> = self.neighbours.keys().filter_map(of_neighbour).collect();
        let mut last = None;
        for ((prefix, _), hops) in &self.routes {
            // The lowest metric comes first.
            if last.replace(prefix) != Some(prefix) {
                let hops = self.reached(hops);
                table.extend(hops.map(|hops| LearnedRoute { prefix: *prefix, hops }));
            }
        }
        Ok(table)
    }

    fn neighbour(&self, link: u32, address: IpAddr) -> Option<Neighbour> {
        let tap = &self.taps[*self.links.get(&link)?];
        let (mac, is_permanent) = *self.neighbours.get(&(link, address))?;
        (tap.learns || is_permanent).then_some(Neighbour { address, mac, port: tap.port })
    }

    fn objects<'a>(&'a self, ids: &'a [u32]) -> impl Iterator<Item = &'a Hops> {
        ids.iter().take(HOPS_MAX).filter_map(|id| self.objects.get(id))
    }

    /// The stations of a route; `None` if it leads through other interfaces alone.
    fn reached(&self, hops: &Hops) -> Option<Vec<Neighbour>> {
        let mut links = Vec::new();
        match hops {
            Hops::Nowhere => return Some(Vec::new()),
            Hops::Links(hops) => links.extend(hops.iter().take(HOPS_MAX)),
            // A group has no groups as members.
            Hops::Objects(ids) => {
                for object in self.objects(ids) {
                    let group = match object {
                        Hops::Objects(ids) => self.objects(ids).collect(),
                        one => vec![one],
                    };
                    for hops in group {
                        match hops {
                            Hops::Links(hops) => links.extend(hops.iter().take(HOPS_MAX)),
                            Hops::Nowhere => return Some(Vec::new()),
                            Hops::Objects(_) => {}
                        }
                    }
                    links.truncate(HOPS_MAX);
                }
            }
        }
        links.retain(|(link, _)| self.links.contains_key(link));
        let stations = || links.iter().filter_map(|(link, gateway)| self.neighbour(*link, (*gateway)?));
        (!links.is_empty()).then(|| stations().collect())
    }
}

#[cfg(test)]
mod tests;
