//! The gateway's own addresses: ARP, neighbour solicitation and echo, answered in place or given to the kernel.
//!
//! The answer is written over the request and leaves through the port of the request, so that it neither allocates
//! nor waits for a buffer. Ingress limits the answers of a port ([`Allowance`](crate::allowance::Allowance)).
//! Nothing is learned from requests, and frames that claim an address of the gateway for another station are
//! dropped.

use super::address::readdress;
use super::punt;
use super::verdict::Verdict;
use crate::descriptor::{Descriptor, Network};
use crate::program::{ForwardingSettings, Settings};
use crate::reason::{Consumed, DropReason};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::PortId;
use wire::ethernet::{EtherType, MacAddress, View};
use wire::ip::IpProtocol;
use wire::{arp, icmpv4, icmpv6, ipv4, ipv6};

/// TTL and hop limit of answers (RFC 1700).
const ANSWER_TTL: u8 = 64;

/// The addresses for which one port answers.
pub(crate) struct Addresses {
    mac: MacAddress,
    /// That of the first member of its bundle, which the interface of the kernel has.
    head: MacAddress,
    /// The MAC addresses of all members of its bundle, where it is in one.
    bundled: Vec<MacAddress>,
    /// Whether the gateway routes, and announces it.
    router: bool,
    /// The port's own addresses, and those of its bundle: it answers ARP and neighbour solicitations for them.
    resolved: Vec<IpAddr>,
    /// The addresses of all ports: it answers echo requests for them that are sent to its MAC address.
    gateway: Vec<IpAddr>,
    /// Whether the kernel answers in its place.
    punts: bool,
}

impl Addresses {
    pub fn new(port: PortId, settings: &Settings) -> Self {
        let own = &settings.ports[port.index()];
        let all = settings.ports.iter().flat_map(|port| &port.addresses);
        let members = || settings.members(port).iter().map(|it| &settings.ports[it.index()]);
        Self {
            mac: own.mac,
            head: members().next().map_or(own.mac, |port| port.mac),
            bundled: members().map(|port| port.mac).filter(|mac| *mac != own.mac).collect(),
            router: matches!(settings.forwarding, ForwardingSettings::Route(_)),
            resolved: members().flat_map(|port| &port.addresses).map(|network| network.addr()).collect(),
            gateway: all.map(|network| network.addr()).collect(),
            punts: settings.forwarding.kernel_path().is_some(),
        }
    }

    /// Whether the gateway has no address, and so answers nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.gateway.is_empty() && !self.punts
    }

    /// Answers a request to the gateway itself, or leaves it to the kernel; `None` for all other frames, unchanged.
    pub fn answer(&self, descriptor: &Descriptor, headers: &mut [u8]) -> Option<Verdict> {
        let ethernet = View::parse(&*headers).ok()?;
        let (source, destination) = (ethernet.source(), ethernet.destination());
        if source.is_multicast() {
            return None;
        }
        let to_us = destination == self.mac || self.bundled.contains(&destination);
        let packet = headers.get_mut(usize::from(descriptor.payload_offset)..)?;
        if self.is_claimed(descriptor, packet) {
            return Some(Verdict::Drop(DropReason::SpoofedAddress));
        }
        if self.punts {
            let class =
                punt::class(descriptor, packet, (destination, to_us), |address| self.is_ours(address))?;
            if to_us {
                readdress(headers, source, self.head);
            }
            return Some(Verdict::Punt(class));
        }
        let consumed = match descriptor.network {
            Network::Other { .. } if descriptor.ether_type == EtherType::ARP => self.answer_arp(packet)?,
            Network::Ipv4 if to_us => self.answer_echo_v4(packet)?,
            Network::Ipv6 => {
                if let Some(asker) = self.answer_solicitation(packet) {
                    // A request without a source address is answered to all nodes.
                    let group = asker.is_multicast().then(|| MacAddress::of_ipv6_multicast(asker));
                    readdress(headers, self.mac, group.unwrap_or(source));
                    return Some(Verdict::Answer(Consumed::NeighbourSolicitation));
                }
                if !to_us {
                    return None;
                }
                self.answer_echo_v6(packet)?
            }
            _ => return None,
        };
        readdress(headers, self.mac, source);
        Some(Verdict::Answer(consumed))
    }

    /// Whether `packet` claims an address of the gateway for another station (RFC 826, RFC 4861 section 4.4). The
    /// gateway's own packets never come in.
    #[inline]
    fn is_claimed(&self, descriptor: &Descriptor, packet: &[u8]) -> bool {
        match descriptor.network {
            Network::Other { .. } if descriptor.ether_type == EtherType::ARP => {
                arp::View::parse(packet).is_ok_and(|arp| self.is_ours(arp.sender_ip().into()))
            }
            Network::Ipv6 => self.is_claimed_by_neighbour(packet).unwrap_or(false),
            _ => false,
        }
    }

    fn is_claimed_by_neighbour(&self, packet: &[u8]) -> Option<bool> {
        let ip = ipv6::View::parse(packet).ok()?;
        if ip.next_header() != IpProtocol::ICMPV6 {
            return None;
        }
        match icmpv6::View::parse(ip.payload()).ok()?.message().ok()? {
            icmpv6::Message::NeighbourAdvertisement(claim) => Some(self.is_ours(claim.target.into())),
            _ => None,
        }
    }

    fn answer_arp(&self, packet: &mut [u8]) -> Option<Consumed> {
        let mut arp = arp::View::parse(packet).ok()?;
        let asked = arp.operation() == arp::Operation::REQUEST && self.resolves(arp.target_ip().into());
        asked.then(|| {
            arp.turn_request_into_reply(self.mac);
            Consumed::ArpRequest
        })
    }

    /// Returns the IPv6 destination of the answer.
    fn answer_solicitation(&self, packet: &mut [u8]) -> Option<Ipv6Addr> {
        let ip = ipv6::View::parse(&*packet).ok()?;
        if ip.next_header() != IpProtocol::ICMPV6 {
            return None;
        }
        let message = icmpv6::View::parse(ip.payload()).ok()?.message().ok()?;
        let icmpv6::Message::NeighbourSolicitation(solicitation) = message else { return None };
        if !self.resolves(solicitation.target.into()) {
            return None;
        }
        icmpv6::turn_solicitation_into_advertisement(packet, self.mac, self.router)
    }

    fn answer_echo_v4(&self, packet: &mut [u8]) -> Option<Consumed> {
        let mut ip = ipv4::View::parse(packet).ok()?;
        if ip.protocol() != IpProtocol::ICMPV4 || ip.is_fragment() || !ip.verify_checksum() {
            return None;
        }
        if !self.is_ours(ip.destination().into()) || !is_station_v4(ip.source()) {
            return None;
        }
        let mut echo = icmpv4::View::parse(ip.payload_mut()).ok()?;
        if !echo.verify_checksum() || !echo.turn_request_into_reply() {
            return None;
        }
        ip.swap_addresses();
        ip.set_ttl(ANSWER_TTL);
        Some(Consumed::Echo)
    }

    fn answer_echo_v6(&self, packet: &mut [u8]) -> Option<Consumed> {
        let mut ip = ipv6::View::parse(packet).ok()?;
        let (source, destination) = (ip.source(), ip.destination());
        if ip.next_header() != IpProtocol::ICMPV6 || !self.is_ours(destination.into()) {
            return None;
        }
        if source.is_unspecified() || source.is_multicast() {
            return None;
        }
        let mut echo = icmpv6::View::parse(ip.payload_mut()).ok()?;
        if !echo.verify_checksum(source, destination) || !echo.turn_echo_request_into_reply() {
            return None;
        }
        ip.swap_addresses();
        ip.set_hop_limit(ANSWER_TTL);
        Some(Consumed::Echo)
    }

    fn resolves(&self, address: IpAddr) -> bool {
        self.resolved.contains(&address)
    }

    fn is_ours(&self, address: IpAddr) -> bool {
        self.gateway.contains(&address)
    }
}

/// Whether an answer can be sent to `address` (RFC 1122 section 3.2.1.3).
fn is_station_v4(address: Ipv4Addr) -> bool {
    !(address.is_unspecified() || address.is_broadcast() || address.is_multicast())
}

#[cfg(test)]
mod tests;
