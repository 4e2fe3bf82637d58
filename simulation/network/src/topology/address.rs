//! Addresses that show where a host or port is.
//!
//! | who | address |
//! |---|---|
//! | a host | 10.site.rack.host: sites from 1, the racks (switches with hosts) of each from 0, hosts from 1 |
//! | an end of a link at a switch | 172.16.0.0/12, two for each link |
//! | either of them over IPv6 | fd00::/96 and that address |
//! | the MAC of a host | 02:00 and its address |
//! | the MAC of a port of a switch | 02:01, two bytes of the node's number, two of the port's |

use super::plan::{NetworkPlan, PlanError, Role};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;
use wire::ethernet::MacAddress;

/// The hosts behind one neighbour, which share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rack {
    /// The neighbour: a switch, or the only other host.
    pub node: usize,
    /// 10.site.rack.0, of 24 bits.
    pub prefix: Ipv4Addr,
}

/// The addresses of hosts.
pub(super) struct Addresses {
    /// The address of each host, by node.
    pub hosts: BTreeMap<usize, Ipv4Addr>,
    /// The racks, in the order of their switches.
    pub racks: Vec<Rack>,
}

/// Assigns each host its address.
pub(super) fn assign(plan: &NetworkPlan, sites: &[usize]) -> Result<Addresses, PlanError> {
    // Every host has one link.
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for [one, other] in plan.links.iter().map(|link| link.between) {
        for (host, neighbour) in [(one, other), (other, one)] {
            if plan.nodes[host].role == Role::Host {
                behind.entry(neighbour).or_default().push(host);
            }
        }
    }
    let mut racks_in: BTreeMap<usize, usize> = BTreeMap::new();
    let mut addresses = Addresses { hosts: BTreeMap::new(), racks: Vec::new() };
    for (node, mut hosts) in behind {
        let site = sites[node];
        let count = racks_in.entry(site).or_default();
        let none = || PlanError::Addresses { what: plan.name(node) };
        let (Ok(site), Ok(rack)) = (u8::try_from(site + 1), u8::try_from(*count)) else { return Err(none()) };
        if site == u8::MAX {
            return Err(none());
        }
        *count += 1;
        addresses.racks.push(Rack { node, prefix: Ipv4Addr::new(10, site, rack, 0) });
        hosts.sort_unstable();
        for (index, host) in hosts.into_iter().enumerate() {
            // A switch has no more ports than an address has room for.
            addresses.hosts.insert(host, Ipv4Addr::new(10, site, rack, index as u8 + 1));
        }
    }
    Ok(addresses)
}

/// The address of an end of a link at a switch.
pub(super) fn of_link(link: usize, end: usize) -> Ipv4Addr {
    const FIRST: u32 = u32::from_be_bytes([172, 16, 0, 0]);
    Ipv4Addr::from(FIRST + (2 * link + end) as u32)
}

/// The IPv6 address of the host or port with this IPv4 address. A prefix has [`IPV6_BITS`] more bits.
pub fn ipv6_of(address: Ipv4Addr) -> Ipv6Addr {
    const PREFIX: u128 = 0xfd00 << 112;
    Ipv6Addr::from(PREFIX | u128::from(u32::from(address)))
}

/// The bits of an IPv6 address before the IPv4 address.
pub const IPV6_BITS: u8 = 96;

/// The MAC address of the host with that address.
pub(super) fn host_mac(address: Ipv4Addr) -> MacAddress {
    let [a, b, c, d] = address.octets();
    MacAddress([0x02, 0x00, a, b, c, d])
}

/// The MAC address of a port of a switch.
pub(super) fn switch_mac(node: usize, port: usize) -> MacAddress {
    let ([.., a, b], [.., c, d]) = (node.to_be_bytes(), port.to_be_bytes());
    MacAddress([0x02, 0x01, a, b, c, d])
}
