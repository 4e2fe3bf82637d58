//! Frames for the kernel, which speaks for the addresses of the gateway where it has a [kernel
//! path](crate::program::KernelPath).

use crate::allowance::Bucket;
use crate::descriptor::{Descriptor, Network};
use crate::reason::Consumed;
use core::net::{IpAddr, Ipv6Addr};
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::ethernet::{EtherType, MacAddress};
use wire::ip::IpProtocol;
use wire::{ipv4, ipv6};

/// BGP (RFC 4271 section 3).
const BGP: u16 = 179;
/// BFD over one hop, and its echo (RFC 5881 section 4).
const BFD: [u16; 2] = [3_784, 3_785];
/// BFD over several hops (RFC 5883 section 5).
const BFD_FAR: u16 = 4_784;
const OSPF: IpProtocol = IpProtocol(89);
/// Router and neighbour solicitations and advertisements, and redirects (RFC 4861 section 4).
const NEIGHBOUR_DISCOVERY: core::ops::RangeInclusive<u8> = 133..=137;

/// The class of a frame for the kernel. Each port has an allowance for each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Punt {
    /// ARP and neighbour discovery: 1,000 a second.
    Neighbour,
    /// BFD of the link: 5,000 a second. Only a station on the link can send it (RFC 5881 section 5).
    Liveness,
    /// BGP, OSPF, and BFD over several hops: 5,000 a second.
    Routing,
    /// All else to an address of the gateway, or to a group of its link: 1,000 a second.
    Other,
    /// A frame without neighbour, whose next hop the kernel is to find: 100 a second.
    Miss,
}

impl Punt {
    /// As what a frame of the class counts; `None` for one that is dropped all the same.
    pub(crate) fn consumed(self) -> Option<Consumed> {
        match self {
            Self::Neighbour => Some(Consumed::PuntNeighbour),
            Self::Liveness => Some(Consumed::PuntLiveness),
            Self::Routing => Some(Consumed::PuntRouting),
            Self::Other => Some(Consumed::PuntOther),
            Self::Miss => None,
        }
    }

    /// Frames per second in the long run. A tenth of them may come at once.
    const fn per_second(self) -> u64 {
        match self {
            Self::Neighbour | Self::Other => 1_000,
            Self::Liveness | Self::Routing => 5_000,
            Self::Miss => 100,
        }
    }
}

/// What one port may still give to the kernel.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PuntAllowance([Bucket; 5]);

impl PuntAllowance {
    /// Takes a token for a frame of `class`. Returns whether there was one.
    pub fn take(&mut self, now: Nanos, class: Punt) -> bool {
        let rate = class.per_second();
        self.0[class as usize].take(now, Interval(1_000_000_000 / rate), rate / 10)
    }
}

/// The class of a frame to `destination`, if it is for the kernel. `to_us` says whether that is an address of the port, and
/// `is_ours` whether the gateway has an IP address.
pub(crate) fn class(
    descriptor: &Descriptor,
    packet: &[u8],
    (destination, to_us): (MacAddress, bool),
    is_ours: impl Fn(IpAddr) -> bool,
) -> Option<Punt> {
    let is_near = to_us || destination.is_multicast();
    match descriptor.network {
        Network::Other { .. } => match descriptor.ether_type {
            EtherType::ARP if is_near => Some(Punt::Neighbour),
            EtherType::LLDP if destination.is_link_local_control() => Some(Punt::Other),
            _ => None,
        },
        Network::Ipv4 => {
            let ip = ipv4::View::parse(packet).ok()?;
            let [a, b, c, _] = ip.destination().octets();
            let is_group = destination.is_multicast() && [a, b, c] == [224, 0, 0];
            if !(is_group || to_us && is_ours(ip.destination().into())) {
                return None;
            }
            // Only the first fragment has ports, and no one needs fragments here.
            let payload = if ip.is_fragment() { &[][..] } else { ip.payload() };
            Some(class_of(ip.protocol(), ip.ttl(), payload))
        }
        Network::Ipv6 => {
            let ip = ipv6::View::parse(packet).ok()?;
            let to = ip.destination();
            let is_group = destination.is_multicast() && to.segments()[0] == 0xff02;
            if !(is_group || to_us && (is_link_local(to) || is_ours(to.into()))) {
                return None;
            }
            Some(class_of(ip.next_header(), ip.hop_limit(), ip.payload()))
        }
    }
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

fn class_of(protocol: IpProtocol, ttl: u8, payload: &[u8]) -> Punt {
    let port = |at: usize| payload.get(at..at + 2).map(|it| u16::from_be_bytes([it[0], it[1]]));
    match protocol {
        IpProtocol::TCP if [port(0), port(2)].contains(&Some(BGP)) => Punt::Routing,
        // A frame that came from beyond the link must not crowd out the sessions of the link.
        IpProtocol::UDP if port(2).is_some_and(|it| BFD.contains(&it)) && ttl == 255 => Punt::Liveness,
        IpProtocol::UDP if port(2) == Some(BFD_FAR) => Punt::Routing,
        OSPF => Punt::Routing,
        IpProtocol::ICMPV6 if payload.first().is_some_and(|it| NEIGHBOUR_DISCOVERY.contains(it)) => {
            Punt::Neighbour
        }
        _ => Punt::Other,
    }
}
