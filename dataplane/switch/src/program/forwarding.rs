//! The settings of forwarding.

use super::error::ProgramError;
use super::port::PortSettings;
use core::net::IpAddr;
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::sync::Arc;
use units::{Interval, PortId, Priority};
use wire::ethernet::MacAddress;

/// The forwarding mode of a switch, the same for all its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardingSettings {
    /// Pairs of ports wired to each other: frames that come in through one leave through the other, unchanged.
    Patch(Vec<(PortId, PortId)>),
    /// A learning bridge over all ports (IEEE 802.1Q clause 8), with each VLAN apart.
    Bridge(BridgeSettings),
    /// IPv4 and IPv6 routes with static neighbours.
    Route(RouteSettings),
}

impl ForwardingSettings {
    /// The kernel path of a router that has one.
    pub fn kernel_path(&self) -> Option<&KernelPath> {
        match self {
            Self::Route(settings) => settings.kernel.as_ref(),
            Self::Patch(_) | Self::Bridge(_) => None,
        }
    }

    /// Whether packets of a flow may take several ways.
    pub fn sprays(&self) -> bool {
        matches!(self, Self::Route(settings) if settings.sprays)
    }

    pub(crate) fn validate(&self, ports: &[PortSettings]) -> Result<(), ProgramError> {
        match self {
            Self::Patch(pairs) => validate_patch(pairs, ports),
            Self::Bridge(settings) => settings.validate(),
            Self::Route(settings) => settings.validate(ports),
        }
    }
}

/// The learning of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeSettings {
    /// The most addresses in the table, 1 to [`BridgeSettings::LARGEST`]. If it is full, a new address replaces the
    /// least recently seen of 16.
    pub capacity: u32,
    /// The time after which an address that was not seen is forgotten; 300 s by IEEE 802.1Q table 8-6.
    pub ageing: Interval,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self { capacity: 8_192, ageing: Interval::from_secs(300) }
    }
}

impl BridgeSettings {
    /// The largest permitted number of addresses.
    pub const LARGEST: u32 = 1 << 20;

    pub(super) fn validate(&self) -> Result<(), ProgramError> {
        match self.capacity {
            1..=Self::LARGEST => Ok(()),
            capacity => Err(ProgramError::BridgeCapacity { capacity, most: Self::LARGEST }),
        }
    }
}

/// The routes and neighbours of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteSettings {
    /// The routes, by prefix.
    pub routes: Vec<Route>,
    /// The stations that are reached directly.
    pub neighbours: Vec<Neighbour>,
    /// The kernel that speaks for the addresses of the gateway, and knows further routes, if there is one.
    pub kernel: Option<KernelPath>,
    /// Whether each packet takes one of equal next hops, drawn at random, and not all packets of a flow the same one.
    pub sprays: bool,
}

/// The part of a kernel in forwarding. It gets the frames for the gateway itself ([`crate::Punt`]), and no frame is answered in
/// its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPath {
    /// The lossy priority in which its frames leave.
    pub priority: Priority,
    /// Its routes and neighbours. [`RouteSettings::routes`] and [`RouteSettings::neighbours`] of the same prefix win.
    pub learned: Arc<[LearnedRoute]>,
}

/// A route of the kernel, or one of its neighbours as a route to its address alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedRoute {
    /// The destinations of the route.
    pub prefix: IpNet,
    /// The stations that share the flows evenly. Without one, frames are dropped for lack of a neighbour.
    pub hops: Vec<Neighbour>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destinations of the route.
    pub prefix: IpNet,
    /// Addresses of neighbours, at least one; several share the flows evenly (ECMP).
    pub next_hops: Vec<IpAddr>,
}

/// A station on a port, reached directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its IP address.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: MacAddress,
    /// The port behind which the station is.
    pub port: PortId,
}

impl RouteSettings {
    pub(super) fn validate(&self, ports: &[PortSettings]) -> Result<(), ProgramError> {
        if let Some(KernelPath { priority, .. }) = self.kernel
            && let Some(port) = ports.iter().find(|port| port.lossless().contains(priority))
        {
            return Err(ProgramError::KernelPriority { port: port.name.clone(), priority });
        }
        if let Some(port) = ports.iter().find(|port| self.sprays && port.flows().is_some()) {
            return Err(ProgramError::Sprayed { port: port.name.clone() });
        }
        let mut prefixes = BTreeSet::new();
        for neighbour in &self.neighbours {
            known_port(neighbour.port, &format!("the neighbour {}", neighbour.address), ports)?;
            if neighbour.mac.is_multicast() {
                return Err(ProgramError::NeighbourGroupAddress { neighbour: neighbour.address });
            }
            let host = IpNet::from(neighbour.address);
            if !prefixes.insert(host) {
                return Err(ProgramError::DuplicatePrefix { prefix: host.to_string() });
            }
        }
        for route in &self.routes {
            let prefix = route.prefix.to_string();
            if route.prefix != route.prefix.trunc() {
                return Err(ProgramError::Prefix { prefix });
            }
            if route.next_hops.is_empty() {
                return Err(ProgramError::NoNextHop { prefix });
            }
            if let Some(&next_hop) = route.next_hops.iter().find(|hop| self.neighbour(**hop).is_none()) {
                return Err(ProgramError::UnknownNextHop { prefix, next_hop });
            }
            if !prefixes.insert(route.prefix) {
                return Err(ProgramError::DuplicatePrefix { prefix });
            }
        }
        Ok(())
    }

    /// The neighbour with `address`.
    pub(crate) fn neighbour(&self, address: IpAddr) -> Option<&Neighbour> {
        self.neighbours.iter().find(|neighbour| neighbour.address == address)
    }
}

fn validate_patch(pairs: &[(PortId, PortId)], ports: &[PortSettings]) -> Result<(), ProgramError> {
    let mut patched = vec![false; ports.len()];
    for &(one, other) in pairs {
        for port in [one, other] {
            known_port(port, "a patch", ports)?;
        }
        if one == other {
            return Err(ProgramError::PatchedToItself { port: ports[one.index()].name.clone() });
        }
        for port in [one, other] {
            if core::mem::replace(&mut patched[port.index()], true) {
                return Err(ProgramError::PatchedTwice { port: ports[port.index()].name.clone() });
            }
        }
    }
    Ok(())
}

fn known_port(port: PortId, what: &str, ports: &[PortSettings]) -> Result<(), ProgramError> {
    if port.index() < ports.len() {
        return Ok(());
    }
    Err(ProgramError::UnknownPort { what: what.into(), port: port.index(), count: ports.len() })
}
