//! Messages of rtnetlink: links, neighbours, next hop objects and routes (rtnetlink(7); the kernel's
//! `include/uapi/linux/rtnetlink.h`, `neighbour.h` and `nexthop.h`). Numbers are in the machine's order.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ipnet::IpNet;
use wire::ethernet::MacAddress;

/// The multicast groups of what a mirror needs: links, neighbours, routes of both families, next hop objects.
pub const GROUPS: u32 = 1 | 1 << 2 | 1 << 6 | 1 << 10 | 1 << 31;

const HEADER: usize = 16;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const OVERRUN: u16 = 4;
const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const NEW_ROUTE: u16 = 24;
const DEL_ROUTE: u16 = 25;
const NEW_NEIGHBOUR: u16 = 28;
const DEL_NEIGHBOUR: u16 = 29;
const NEW_NEXT_HOP: u16 = 104;
const DEL_NEXT_HOP: u16 = 105;
/// The dump changed while it was made.
const DUMP_INTERRUPTED: u16 = 0x10;
const IFF_UP: u32 = 1;
const MAIN_TABLE: u32 = 254;
const RTM_F_CLONED: u32 = 0x200;
const RTNH_F_DEAD: u8 = 1;
const RTN_UNICAST: u8 = 1;
/// Blackhole, unreachable, prohibit.
const REJECTS: core::ops::RangeInclusive<u8> = 6..=8;
/// Reachable, stale, delay, probe and permanent.
const NUD_VALID: u16 = 0x02 | 0x04 | 0x08 | 0x10 | NUD_PERMANENT;
const NUD_PERMANENT: u16 = 0x80;

/// The news of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The dump with this number has ended, or the kernel has nothing of the kind.
    Done(u32),
    /// Something was lost or changed meanwhile: the mirror has to begin anew.
    Lost,
    /// A link.
    Link {
        /// Its number.
        index: u32,
        /// Its name.
        name: String,
        /// Whether it is there and up.
        is_up: bool,
    },
    /// A neighbour.
    Neighbour {
        /// The number of its link.
        link: u32,
        /// Its address.
        address: IpAddr,
        /// Its MAC address and whether that is permanent; `None` if it has none or is gone.
        station: Option<(MacAddress, bool)>,
    },
    /// A next hop object.
    NextHop {
        /// Its number.
        id: u32,
        /// The next hops that it stands for; `None` if it is gone.
        hop: Option<Hops>,
    },
    /// A route of the main table.
    Route {
        /// Its destinations.
        prefix: IpNet,
        /// Its metric: the lowest wins.
        metric: u32,
        /// Where it leads.
        hops: Hops,
        /// Its new state.
        change: Change,
    },
}

/// The new state of a route. The kernel may have several of one prefix and metric, of which the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It counts, before any other.
    First,
    /// It counts, in place of another.
    Instead,
    /// It counts unless there is another: a dump has it, or it was appended.
    Behind,
    /// It is gone.
    Gone,
}

/// The number of a link, and the gateway there; without one, the destination is on the link.
pub type Path = (u32, Option<IpAddr>);

/// The most paths of a route, and members of a group, that are read.
pub const HOPS_MAX: usize = 64;

/// Where a route or a next hop object leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hops {
    /// Through links.
    Links(Vec<Path>),
    /// To what next hop objects stand for.
    Objects(Vec<u32>),
    /// Nowhere: a blackhole and the like.
    Nowhere,
}

/// The subject of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// All links.
    Links = 18,
    /// All next hop objects.
    NextHops = 106,
    /// All neighbours.
    Neighbours = 30,
    /// All routes.
    Routes = 26,
}

impl Dump {
    /// All dumps, in an order in which each one knows what it refers to.
    pub const ALL: [Self; 4] = [Self::Links, Self::NextHops, Self::Neighbours, Self::Routes];

    /// The request for it. Its end has this `number`.
    pub fn request(self, number: u32) -> Vec<u8> {
        /// NLM_F_REQUEST, NLM_F_ROOT and NLM_F_MATCH.
        const FLAGS: u16 = 0x301;
        let body = match self {
            Self::Links => 16,
            Self::NextHops => 8,
            Self::Neighbours | Self::Routes => 12,
        };
        let head = [(HEADER as u32 + body as u32).to_ne_bytes(), [0; 4], number.to_ne_bytes(), [0; 4]];
        let mut request = head.concat();
        request[4..6].copy_from_slice(&(self as u16).to_ne_bytes());
        request[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
        request.resize(HEADER + body, 0);
        request
    }
}

/// Gives the messages of a datagram to `see`, each as far as it concerns a mirror. Anything malformed is [`Message::Lost`].
pub fn read(mut bytes: &[u8], mut see: impl FnMut(Message)) {
    while !bytes.is_empty() {
        let length = u32_at(bytes, 0).map_or(0, |length| length as usize);
        let (Some(message), Some(kind), Some(flags), Some(number)) =
            (bytes.get(HEADER..length), u16_at(bytes, 4), u16_at(bytes, 6), u32_at(bytes, 8))
        else {
            return see(Message::Lost);
        };
        if flags & DUMP_INTERRUPTED != 0 {
            see(Message::Lost);
        }
        match kind {
            DONE | ERROR => see(end(kind, number, message)),
            OVERRUN => see(Message::Lost),
            NEW_LINK | DEL_LINK => link(message, kind == DEL_LINK).into_iter().for_each(&mut see),
            NEW_NEIGHBOUR | DEL_NEIGHBOUR => {
                neighbour(message, kind == DEL_NEIGHBOUR).into_iter().for_each(&mut see);
            }
            NEW_NEXT_HOP | DEL_NEXT_HOP => {
                next_hop(message, kind == DEL_NEXT_HOP).into_iter().for_each(&mut see);
            }
            NEW_ROUTE => route(message, change(message, flags)).into_iter().for_each(&mut see),
            DEL_ROUTE => route(message, Change::Gone).into_iter().for_each(&mut see),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// The result of a dump, by its end, whose body begins with an error of the system or a count.
fn end(kind: u16, number: u32, message: &[u8]) -> Message {
    /// A kernel without next hop objects does not know their dump.
    const EOPNOTSUPP: i32 = -95;
    match u32_at(message, 0).map(u32::cast_signed) {
        Some(EOPNOTSUPP) if kind == ERROR => Message::Done(number),
        Some(0..) if kind == DONE => Message::Done(number),
        _ => Message::Lost,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|it| u16::from_ne_bytes(*it))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|it| u32::from_ne_bytes(*it))
}

/// The attributes of a message, each with its type and value. They end where they are malformed.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// Flags of the type: nested, and in network order.
    const TYPE: u16 = 0x3fff;
    core::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let (value, kind) = (bytes.get(4..length)?, u16_at(bytes, 2)? & TYPE);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(it, _)| *it == kind).map(|(_, value)| value)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => bytes.first_chunk::<4>().map(|it| Ipv4Addr::from(*it).into()),
        16 => bytes.first_chunk::<16>().map(|it| Ipv6Addr::from(*it).into()),
        _ => None,
    }
}

fn link(message: &[u8], is_gone: bool) -> Option<Message> {
    const IFLA_IFNAME: u16 = 3;
    let (index, flags, attributes) = (u32_at(message, 4)?, u32_at(message, 8)?, message.get(16..)?);
    let name = attribute(attributes, IFLA_IFNAME)?.split(|byte| *byte == 0).next()?;
    let is_up = !is_gone && flags & IFF_UP != 0;
    Some(Message::Link { index, name: String::from_utf8_lossy(name).into_owned(), is_up })
}

fn neighbour(message: &[u8], is_gone: bool) -> Option<Message> {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    let (link, state, attributes) = (u32_at(message, 4)?, u16_at(message, 8)?, message.get(12..)?);
    let address = address(attribute(attributes, NDA_DST)?)?;
    let mac = attribute(attributes, NDA_LLADDR).and_then(|it| it.try_into().ok()).map(MacAddress);
    let mac = mac.filter(|mac| !mac.is_multicast() && *mac != MacAddress::ZERO);
    let is_valid = !is_gone && state & NUD_VALID != 0;
    let station = mac.filter(|_| is_valid).map(|mac| (mac, state & NUD_PERMANENT != 0));
    Some(Message::Neighbour { link, address, station })
}

fn next_hop(message: &[u8], is_gone: bool) -> Option<Message> {
    const NHA_ID: u16 = 1;
    const NHA_GROUP: u16 = 2;
    const NHA_BLACKHOLE: u16 = 4;
    const NHA_OIF: u16 = 5;
    const NHA_GATEWAY: u16 = 6;
    /// A number, a weight and what is reserved.
    const MEMBER: usize = 8;
    let attributes = message.get(8..)?;
    let id = u32_at(attribute(attributes, NHA_ID)?, 0)?;
    let hop = || {
        if attribute(attributes, NHA_BLACKHOLE).is_some() {
            return Some(Hops::Nowhere);
        }
        if let Some(group) = attribute(attributes, NHA_GROUP) {
            let ids = group.chunks_exact(MEMBER).filter_map(|it| u32_at(it, 0));
            return Some(Hops::Objects(ids.take(HOPS_MAX).collect()));
        }
        let gateway = attribute(attributes, NHA_GATEWAY).and_then(address);
        Some(Hops::Links(vec![(u32_at(attribute(attributes, NHA_OIF)?, 0)?, gateway)]))
    };
    Some(Message::NextHop { id, hop: if is_gone { None } else { hop() } })
}

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_VIA: u16 = 18;

/// The new state of a route that is there, by the flags of its message.
fn change(message: &[u8], flags: u16) -> Change {
    const MULTI: u16 = 0x2;
    const REPLACE: u16 = 0x100;
    const APPEND: u16 = 0x800;
    // An IPv6 route takes an appended one in, and the message has the whole of it.
    let behind = if message.first() == Some(&AF_INET6) { MULTI } else { MULTI | APPEND };
    match flags {
        _ if flags & behind != 0 => Change::Behind,
        _ if flags & REPLACE != 0 => Change::Instead,
        _ => Change::First,
    }
}

fn route(message: &[u8], change: Change) -> Option<Message> {
    const RTA_DST: u16 = 1;
    const RTA_PRIORITY: u16 = 6;
    const RTA_MULTIPATH: u16 = 9;
    const RTA_TABLE: u16 = 15;
    const RTA_NH_ID: u16 = 30;
    // Routes for some sources or types of service alone are none of all frames.
    let &[family, length, 0, 0, table, _, _, kind] = message.first_chunk()? else { return None };
    let (flags, attributes) = (u32_at(message, 8)?, message.get(12..)?);
    let number = |kind| u32_at(attribute(attributes, kind)?, 0);
    if number(RTA_TABLE).unwrap_or(table.into()) != MAIN_TABLE || flags & RTM_F_CLONED != 0 {
        return None;
    }
    let any: IpAddr = match family {
        AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        AF_INET6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return None,
    };
    let destination = attribute(attributes, RTA_DST).and_then(address).unwrap_or(any);
    let prefix = IpNet::new(destination, length).ok().filter(|_| destination.is_ipv4() == any.is_ipv4())?;
    let hops = match kind {
        RTN_UNICAST => match (number(RTA_NH_ID), attribute(attributes, RTA_MULTIPATH)) {
            (Some(id), _) => Hops::Objects(vec![id]),
            (None, Some(paths)) => Hops::Links(multipath(paths)),
            (None, None) => {
                Hops::Links(number(RTA_OIF).map(|link| (link, gateway(attributes))).into_iter().collect())
            }
        },
        kind if REJECTS.contains(&kind) => Hops::Nowhere,
        _ => return None,
    };
    Some(Message::Route { prefix: prefix.trunc(), metric: number(RTA_PRIORITY).unwrap_or(0), hops, change })
}

fn gateway(attributes: &[u8]) -> Option<IpAddr> {
    // Of another family than the route (RFC 8950), it stands behind the number of its family.
    let via = || address(attribute(attributes, RTA_VIA)?.get(2..)?);
    attribute(attributes, RTA_GATEWAY).and_then(address).or_else(via)
}

fn multipath(mut paths: &[u8]) -> Vec<Path> {
    let next = || {
        let length = usize::from(u16_at(paths, 0)?);
        let path = paths.get(..length)?;
        let (flags, link, attributes) = (*path.get(2)?, u32_at(path, 4)?, path.get(8..)?);
        paths = paths.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((flags & RTNH_F_DEAD == 0).then(|| (link, gateway(attributes))))
    };
    core::iter::from_fn(next).flatten().take(HOPS_MAX).collect()
}

#[cfg(test)]
mod tests;
