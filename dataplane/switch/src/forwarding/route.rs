//! Routing: longest prefix, equal-cost paths by flow hash or at random, static neighbours.
//!
//! One look-up gives the whole answer: the table holds the routes, a host route for each neighbour, one for each of
//! the gateway's own addresses, and the prefixes of its ports, where an address without neighbour is unknown.

use super::address::readdress;
use super::blocks::Blocks;
use super::flow::flow_hash;
use super::verdict::Verdict;
use crate::bundle::Bundles;
use crate::descriptor::{Descriptor, Network};
use crate::program::{Neighbour, RouteSettings, Settings};
use crate::reason::{Consumed, DropReason};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use foldhash::fast::FixedState;
use ip_network_table_deps_treebitmap::IpLookupTable;
use ipnet::IpNet;
use rand_core::Rng;
use std::collections::BTreeMap;
use units::{PortId, PortSet};
use wire::ethernet::{self, EtherType, MacAddress, View};
use wire::{ipv4, ipv6};

/// Bytes of an untagged frame up to the ports of UDP or TCP behind an IPv4 header without options.
const PLAIN_HEAD: usize = ethernet::HEADER_LEN + ipv4::MIN_HEADER_LEN + 4;

/// The result of a look-up.
#[derive(Clone, Copy)]
enum Entry {
    /// One of `count` next hops from `first` on.
    Hops { first: u32, count: u32 },
    /// The gateway itself.
    Local,
    /// A port's own network, where no neighbour has the address, or a route of the kernel without one.
    Connected,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextHop {
    port: PortId,
    mac: MacAddress,
}

/// The routes, ready for the turn.
pub(crate) struct RouteTable {
    v4: IpLookupTable<Ipv4Addr, Entry>,
    /// The results of `v4`, in the blocks with most of its routes.
    blocks: Blocks<Option<Entry>>,
    v6: IpLookupTable<Ipv6Addr, Entry>,
    hops: Vec<NextHop>,
    /// The address of each port.
    macs: Vec<MacAddress>,
    /// The addresses that each member of a bundle takes for its own: those of all members.
    bundled: Vec<Vec<MacAddress>>,
    hash: FixedState,
}

impl RouteTable {
    /// The table of `routes`, which must be valid.
    pub fn new(routes: &RouteSettings, settings: &Settings, bundles: Option<&Bundles>) -> Self {
        let macs = |members: PortSet| members.iter().map(|it| settings.ports[it.index()].mac).collect();
        let mut table = Self {
            bundled: bundles.map_or_else(Vec::new, |bundles| {
                let ports = (0..settings.ports.len() as u16).map(PortId);
                ports.map(|port| macs(bundles.members(port))).collect()
            }),
            v4: IpLookupTable::new(),
            blocks: Blocks::new([], |_| None),
            v6: IpLookupTable::new(),
            hops: Vec::new(),
            macs: settings.ports.iter().map(|port| port.mac).collect(),
            hash: FixedState::with_seed(settings.seed),
        };
        let addresses = || settings.ports.iter().flat_map(|port| &port.addresses);
        for network in addresses() {
            table.insert(network.trunc(), Entry::Connected);
        }
        let stations: BTreeMap<_, _> = routes.neighbours.iter().map(|it| (it.address, it)).collect();
        // Routes of the kernel through the same hops share them, since a thousand may have the same 64.
        let mut shared = BTreeMap::new();
        // Later ones win.
        for learned in routes.kernel.iter().flat_map(|kernel| kernel.learned.iter()) {
            // A neighbour of the file wins as a next hop, too.
            let own =
                |hop: &Neighbour| stations.get(&hop.address).copied().filter(|own| own.port == hop.port);
            let hops: Vec<_> = learned.hops.iter().map(|hop| own(hop).unwrap_or(hop)).collect();
            let known: Vec<_> = hops.iter().map(|hop| NextHop { port: hop.port, mac: hop.mac }).collect();
            let entry = match known[..] {
                [] => Entry::Connected,
                _ => *shared.entry(known).or_insert_with(|| table.add_hops(&hops, bundles)),
            };
            table.insert(learned.prefix, entry);
        }
        for route in &routes.routes {
            let neighbours: Vec<_> =
                route.next_hops.iter().filter_map(|hop| stations.get(hop).copied()).collect();
            let entry = table.add_hops(&neighbours, bundles);
            table.insert(route.prefix, entry);
        }
        for neighbour in &routes.neighbours {
            let entry = table.add_hops(&[neighbour], bundles);
            table.insert(IpNet::from(neighbour.address), entry);
        }
        for network in addresses() {
            table.insert(IpNet::from(network.addr()), Entry::Local);
        }
        let v4 = &table.v4;
        let prefixes = v4.iter().map(|(address, length, _)| (address, length));
        table.blocks = Blocks::new(prefixes, |address| longest_match(v4, address));
        table
    }

    /// Adds the next hops of a route. One behind the first member of a bundle is reached through all members, unless others of
    /// the route are behind members of their own.
    fn add_hops(&mut self, neighbours: &[&Neighbour], bundles: Option<&Bundles>) -> Entry {
        let first = self.hops.len() as u32;
        let is_bundle = |port: PortId| {
            let others = neighbours.iter().filter(|other| other.port != port);
            bundles.is_some_and(|bundles| {
                bundles.head(port) == port
                    && !bundles.members(port).is_empty()
                    && others.map(|it| bundles.head(it.port)).all(|head| head != port)
            })
        };
        let any_bundle = neighbours.iter().any(|it| is_bundle(it.port));
        for Neighbour { mac, port, .. } in neighbours {
            let ports = match bundles.filter(|_| any_bundle) {
                Some(bundles) => bundles.next_hops(*port, neighbours.len() > 1),
                None => vec![*port],
            };
            self.hops.extend(ports.into_iter().map(|port| NextHop { port, mac: *mac }));
        }
        Entry::Hops { first, count: self.hops.len() as u32 - first }
    }

    fn insert(&mut self, prefix: IpNet, entry: Entry) {
        let length = u32::from(prefix.prefix_len());
        match prefix.addr() {
            IpAddr::V4(address) => self.v4.insert(address, length, entry),
            IpAddr::V6(address) => self.v6.insert(address, length, entry),
        };
    }

    /// Routes the frame: finds the next hop, decrements the TTL and sets the addresses. All frames of a flow take the same of
    /// equal paths.
    #[inline(always)]
    pub fn verdict(&self, ingress: PortId, descriptor: &Descriptor, headers: &mut [u8]) -> Verdict {
        self.verdict_with(ingress, descriptor, headers, |hops, headers| {
            let hash = flow_hash(&self.hash, descriptor, headers);
            hops[((u128::from(hash) * hops.len() as u128) >> 64) as usize]
        })
    }

    /// The same, with the paths drawn from `rng`, each as likely as all others ("On the Impact of Packet Spraying in Data
    /// Center Networks", INFOCOM 2013).
    #[inline(always)]
    pub fn sprayed(
        &self,
        ingress: PortId,
        descriptor: &Descriptor,
        headers: &mut [u8],
        rng: &mut impl Rng,
    ) -> Verdict {
        self.verdict_with(ingress, descriptor, headers, |hops, _| {
            // There are far fewer hops than numbers, so that all are equally likely.
            hops[((u64::from(rng.next_u32()) * hops.len() as u64) >> 32) as usize]
        })
    }

    /// Routes the frame with the one of several next hops that `choose` says.
    #[inline(always)]
    fn verdict_with(
        &self,
        ingress: PortId,
        descriptor: &Descriptor,
        headers: &mut [u8],
        choose: impl FnOnce(&[NextHop], &[u8]) -> NextHop,
    ) -> Verdict {
        // Nearly all frames are untagged IPv4 without options. Their offsets are constants, so no field has to be
        // looked up.
        if descriptor.network == Network::Ipv4
            && usize::from(descriptor.payload_offset) == ethernet::HEADER_LEN
            && let Some(head) = headers.first_chunk_mut::<PLAIN_HEAD>()
            && head[ethernet::HEADER_LEN] == ipv4::VERSION_AND_LENGTH
        {
            return self.route(ingress, descriptor, head, choose);
        }
        self.route_any(ingress, descriptor, headers, choose)
    }

    #[inline(never)]
    fn route_any(
        &self,
        ingress: PortId,
        descriptor: &Descriptor,
        headers: &mut [u8],
        choose: impl FnOnce(&[NextHop], &[u8]) -> NextHop,
    ) -> Verdict {
        self.route(ingress, descriptor, headers, choose)
    }

    #[inline(always)]
    fn route(
        &self,
        ingress: PortId,
        descriptor: &Descriptor,
        headers: &mut [u8],
        choose: impl FnOnce(&[NextHop], &[u8]) -> NextHop,
    ) -> Verdict {
        if let Some(verdict) = self.refuse_at_layer_two(ingress, descriptor, headers) {
            return verdict;
        }
        let packet = headers.get_mut(usize::from(descriptor.payload_offset)..).unwrap_or_default();
        let routed = match descriptor.network {
            Network::Ipv4 => self.route_v4(packet),
            Network::Ipv6 => self.route_v6(packet),
            Network::Other { malformed: true } => Err(DropReason::MalformedIp),
            Network::Other { malformed: false } => Err(DropReason::NotRoutable),
        };
        let hops = match routed {
            Ok(hops) => hops,
            Err(reason) => return Verdict::Drop(reason),
        };
        let hop = if let [only] = hops { *only } else { choose(hops, headers) };
        readdress(headers, self.macs[hop.port.index()], hop.mac);
        Verdict::Forward(hop.port)
    }

    /// The port and the next hop toward `address`, for frames of the gateway itself. Of equal paths it prefers one
    /// through `port`.
    pub fn toward(&self, address: IpAddr, port: PortId) -> Option<(PortId, MacAddress)> {
        let hops = self.hops_of(self.entry(address)).ok()?;
        let hop = hops.iter().find(|hop| hop.port == port).or(hops.first())?;
        Some((hop.port, hop.mac))
    }

    /// The ports through which frames for `address` leave; none if it has no route.
    pub fn ports_toward(&self, address: IpAddr) -> PortSet {
        let mut ports = PortSet::EMPTY;
        for hop in self.hops_of(self.entry(address)).unwrap_or_default() {
            ports.insert(hop.port);
        }
        ports
    }

    fn entry(&self, address: IpAddr) -> Option<Entry> {
        match address {
            IpAddr::V4(address) => longest_match(&self.v4, address),
            IpAddr::V6(address) => self.v6.longest_match(address).map(|(_, _, entry)| *entry),
        }
    }

    #[inline(always)]
    fn refuse_at_layer_two(
        &self,
        ingress: PortId,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Option<Verdict> {
        let Ok(frame) = View::parse(headers) else { return Some(Verdict::Drop(DropReason::Runt)) };
        if frame.source().is_multicast() {
            return Some(Verdict::Drop(DropReason::InvalidSource));
        }
        if descriptor.ether_type == EtherType::ARP {
            return Some(Verdict::Consume(Consumed::ArpOther));
        }
        let destination = frame.destination();
        if destination == self.macs[ingress.index()] && !destination.is_multicast() {
            return None;
        }
        if self.bundled.get(ingress.index()).is_some_and(|macs| macs.contains(&destination)) {
            return None;
        }
        let is_link_local = destination.is_link_local_control();
        Some(Verdict::Drop(if is_link_local { DropReason::LinkLocal } else { DropReason::NotForUs }))
    }

    #[inline(always)]
    fn route_v4(&self, packet: &mut [u8]) -> Result<&[NextHop], DropReason> {
        let mut ip = ipv4::View::known(packet);
        if !ip.verify_checksum() {
            return Err(DropReason::IpChecksum);
        }
        let destination = ip.destination();
        let entry = self.blocks.find(destination).unwrap_or_else(|| longest_match(&self.v4, destination));
        let hops = self.hops_of(entry)?;
        if ip.ttl() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        ip.decrement_ttl();
        Ok(hops)
    }

    fn route_v6(&self, packet: &mut [u8]) -> Result<&[NextHop], DropReason> {
        let mut ip = ipv6::View::known(packet);
        let entry = self.v6.longest_match(ip.destination()).map(|(_, _, entry)| *entry);
        let hops = self.hops_of(entry)?;
        if ip.hop_limit() <= 1 {
            return Err(DropReason::TtlExpired);
        }
        ip.decrement_hop_limit();
        Ok(hops)
    }

    #[inline(always)]
    fn hops_of(&self, entry: Option<Entry>) -> Result<&[NextHop], DropReason> {
        match entry {
            Some(Entry::Hops { first, count }) => Ok(&self.hops[first as usize..(first + count) as usize]),
            Some(Entry::Local) => Err(DropReason::LocalUnserved),
            Some(Entry::Connected) => Err(DropReason::NoNeighbour),
            None => Err(DropReason::NoRoute),
        }
    }
}

fn longest_match(table: &IpLookupTable<Ipv4Addr, Entry>, address: Ipv4Addr) -> Option<Entry> {
    table.longest_match(address).map(|(_, _, entry)| *entry)
}

#[cfg(test)]
mod tests;
