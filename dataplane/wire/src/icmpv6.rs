//! ICMP for IPv6 (RFC 4443) and neighbour discovery (RFC 4861), as far as the gateway answers them.

use core::net::Ipv6Addr;

use crate::bytes::{array, checked_head, head, put, room, u16_at};
use crate::checksum::{self, Sum};
use crate::error::{invalid, truncated};
use crate::ethernet::MacAddress;
use crate::ip::IpProtocol;
use crate::{BufferTooSmall, ParseError, Protocol, ipv6};

/// Bytes of the common header: type, code, checksum.
pub const HEADER_LEN: usize = 4;
/// Bytes of a solicitation or advertisement without options.
pub const NEIGHBOUR_LEN: usize = 24;
/// Bytes of a link-layer address option for Ethernet.
pub const LINK_ADDRESS_LEN: usize = 8;
/// Bytes of an IPv6 packet with an advertisement that has a link-layer address.
pub const ADVERTISEMENT_PACKET_LEN: usize = ipv6::HEADER_LEN + NEIGHBOUR_LEN + LINK_ADDRESS_LEN;
/// The hop limit of neighbour discovery, which proves that no router forwarded the packet.
pub const NEIGHBOUR_HOP_LIMIT: u8 = 255;

/// All nodes on the link, ff02::1.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

const CHECKSUM: usize = 2;
const FLAGS: usize = 4;
const TARGET: usize = 8;

const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

const SOURCE_LINK_ADDRESS: u8 = 1;
const TARGET_LINK_ADDRESS: u8 = 2;

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type(pub u8);

impl Type {
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(128);
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(129);
    /// Neighbour solicitation.
    pub const NEIGHBOUR_SOLICITATION: Self = Self(135);
    /// Neighbour advertisement.
    pub const NEIGHBOUR_ADVERTISEMENT: Self = Self(136);
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Neighbour solicitation.
    NeighbourSolicitation(NeighbourSolicitation),
    /// Neighbour advertisement.
    NeighbourAdvertisement(NeighbourAdvertisement),
    /// Another type, or a code other than 0.
    Other,
}

/// Asks for the link-layer address of `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NeighbourSolicitation {
    /// The requested address.
    pub target: Ipv6Addr,
    /// The link-layer address to answer; absent when a host probes an address before use.
    pub source_link_address: Option<MacAddress>,
}

/// Advertises the link-layer address of `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NeighbourAdvertisement {
    /// Whether the sender is a router.
    pub router: bool,
    /// Whether it answers a solicitation that had a source address.
    pub solicited: bool,
    /// Whether it overrides the receiver's cached entry.
    pub overriding: bool,
    /// The advertised address.
    pub target: Ipv6Addr,
    /// The link-layer address of `target`.
    pub target_link_address: Option<MacAddress>,
}

/// A checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the upper layer of an IPv6 packet, without padding. The checksum is not verified.
    ///
    /// # Errors
    /// Truncated below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        checked_head::<HEADER_LEN>(Protocol::Icmpv6, bytes.as_ref())?;
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; HEADER_LEN] {
        head(self.0.as_ref())
    }

    /// The message type.
    #[inline]
    pub fn message_type(&self) -> Type {
        Type(self.raw()[0])
    }

    /// The code within the type.
    #[inline]
    pub fn code(&self) -> u8 {
        self.raw()[1]
    }

    /// The checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.raw(), CHECKSUM)
    }

    /// Whether the checksum over the whole message and these addresses is valid.
    #[inline]
    pub fn verify_checksum(&self, source: Ipv6Addr, destination: Ipv6Addr) -> bool {
        pseudo_header(source, destination, self.0.as_ref()).bytes(self.0.as_ref()).folded() == 0xffff
    }

    /// The content of the message.
    ///
    /// # Errors
    /// Truncated, where fields or options are not all there; invalid for an option of length 0 or
    /// a multicast target.
    pub fn message(&self) -> Result<Message, ParseError> {
        let bytes = self.0.as_ref();
        Ok(match (self.message_type(), self.code()) {
            (Type::NEIGHBOUR_SOLICITATION, 0) => {
                let (target, source_link_address) = neighbour(bytes, SOURCE_LINK_ADDRESS)?;
                Message::NeighbourSolicitation(NeighbourSolicitation { target, source_link_address })
            }
            (Type::NEIGHBOUR_ADVERTISEMENT, 0) => {
                let (target, target_link_address) = neighbour(bytes, TARGET_LINK_ADDRESS)?;
                let flags = head::<NEIGHBOUR_LEN>(bytes)[FLAGS];
                Message::NeighbourAdvertisement(NeighbourAdvertisement {
                    router: flags & ROUTER != 0,
                    solicited: flags & SOLICITED != 0,
                    overriding: flags & OVERRIDE != 0,
                    target,
                    target_link_address,
                })
            }
            _ => Message::Other,
        })
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Turns an echo request into its reply and updates the checksum (RFC 1624). Data, identifier and
    /// sequence number stay. Returns whether the message was a request; any other is left unchanged. The
    /// checksum is valid once source and destination are swapped. The reply to a request sent to a group has
    /// another source address, so its checksum must be computed in full.
    #[inline]
    pub fn turn_echo_request_into_reply(&mut self) -> bool {
        let is_request = self.message_type() == Type::ECHO_REQUEST && self.code() == 0;
        if is_request {
            let word = |message_type: Type| u16::from_be_bytes([message_type.0, 0]);
            let checksum =
                checksum::updated(self.checksum(), word(Type::ECHO_REQUEST), word(Type::ECHO_REPLY));
            put(self.0.as_mut(), 0, &[Type::ECHO_REPLY.0]);
            put(self.0.as_mut(), CHECKSUM, &checksum.to_be_bytes());
        }
        is_request
    }

    /// Computes and writes the checksum for these addresses.
    #[inline]
    pub fn fill_checksum(&mut self, source: Ipv6Addr, destination: Ipv6Addr) {
        put(self.0.as_mut(), CHECKSUM, &[0, 0]);
        let bytes = self.0.as_ref();
        let checksum = pseudo_header(source, destination, bytes).bytes(bytes).checksum();
        put(self.0.as_mut(), CHECKSUM, &checksum.to_be_bytes());
    }
}

fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> Sum {
    Sum::pseudo_ipv6(source, destination, IpProtocol::ICMPV6, message.len() as u32)
}

/// The target of a solicitation or advertisement, and the link-layer address in its first option of `kind`.
fn neighbour(bytes: &[u8], kind: u8) -> Result<(Ipv6Addr, Option<MacAddress>), ParseError> {
    let fixed = checked_head::<NEIGHBOUR_LEN>(Protocol::Icmpv6, bytes)?;
    let target = Ipv6Addr::from_octets(array(fixed, TARGET));
    if target.is_multicast() {
        return Err(invalid(Protocol::Icmpv6, "first byte of the target", 0xff));
    }
    let mut link_address = None;
    let mut options = bytes.get(NEIGHBOUR_LEN..).unwrap_or_default();
    // Each option has at least 8 bytes, so the loop ends.
    while !options.is_empty() {
        let [option, units, ..] = *checked_head::<8>(Protocol::Icmpv6, options)?;
        let length = usize::from(units) * 8;
        if length == 0 {
            return Err(invalid(Protocol::Icmpv6, "option length", 0));
        }
        let Some((this, rest)) = options.split_at_checked(length) else {
            return Err(truncated(Protocol::Icmpv6, length, options.len()));
        };
        if option == kind && length == LINK_ADDRESS_LEN && link_address.is_none() {
            link_address = Some(MacAddress(array(head::<8>(this), 2)));
        }
        options = rest;
    }
    Ok((target, link_address))
}

impl NeighbourSolicitation {
    /// Writes the message with its checksum for these addresses; returns its length, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(
        &self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        out: &mut [u8],
    ) -> Result<usize, BufferTooSmall> {
        let option = self.source_link_address.map(|mac| (SOURCE_LINK_ADDRESS, mac));
        emit_neighbour(Type::NEIGHBOUR_SOLICITATION, 0, self.target, option, (source, destination), out)
    }
}

impl NeighbourAdvertisement {
    /// Writes the message with its checksum for these addresses; returns its length, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(
        &self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        out: &mut [u8],
    ) -> Result<usize, BufferTooSmall> {
        let option = self.target_link_address.map(|mac| (TARGET_LINK_ADDRESS, mac));
        let flags = (u8::from(self.router) * ROUTER)
            | (u8::from(self.solicited) * SOLICITED)
            | (u8::from(self.overriding) * OVERRIDE);
        emit_neighbour(Type::NEIGHBOUR_ADVERTISEMENT, flags, self.target, option, (source, destination), out)
    }
}

fn emit_neighbour(
    message_type: Type,
    flags: u8,
    target: Ipv6Addr,
    option: Option<(u8, MacAddress)>,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    out: &mut [u8],
) -> Result<usize, BufferTooSmall> {
    let needed = NEIGHBOUR_LEN + option.map_or(0, |_| LINK_ADDRESS_LEN);
    let available = out.len();
    let out = out.get_mut(..needed).ok_or(BufferTooSmall { needed, available })?;
    *room::<TARGET>(out)? = [message_type.0, 0, 0, 0, flags, 0, 0, 0];
    put(out, TARGET, &target.octets());
    if let Some((kind, mac)) = option {
        put(out, NEIGHBOUR_LEN, &[kind, 1]);
        put(out, NEIGHBOUR_LEN + 2, &mac.0);
    }
    View(out).fill_checksum(source, destination);
    Ok(needed)
}

/// Turns `packet`, an IPv6 packet with a solicitation, into the advertisement that answers it: the target is
/// at `mac`. `router` says whether it is a router; hosts drop a default router that advertises it is not one
/// (RFC 4861 section 7.2.5). The caller has checked that it owns the target address.
///
/// The resulting packet has [`ADVERTISEMENT_PACKET_LEN`] bytes. Returns its IPv6 destination: the solicitor,
/// or [`ALL_NODES`] if that has no address yet. The caller sets the Ethernet header.
///
/// Returns `None`, and leaves the packet as it is, if it is malformed, no solicitation, has a wrong checksum, was forwarded
/// by a router (a hop limit below 255, RFC 4861 section 7.1.1), or is too short for the answer.
pub fn turn_solicitation_into_advertisement(
    packet: &mut [u8],
    mac: MacAddress,
    router: bool,
) -> Option<Ipv6Addr> {
    let ip = ipv6::View::parse(&*packet).ok()?;
    let is_whole = ip.next_header() == IpProtocol::ICMPV6 && ip.total_len() >= ADVERTISEMENT_PACKET_LEN;
    if !is_whole || ip.hop_limit() != NEIGHBOUR_HOP_LIMIT {
        return None;
    }
    let icmp = View::parse(ip.payload()).ok()?;
    let Message::NeighbourSolicitation(NeighbourSolicitation { target, .. }) = icmp.message().ok()? else {
        return None;
    };
    if !icmp.verify_checksum(ip.source(), ip.destination()) {
        return None;
    }
    let solicited = !ip.source().is_unspecified();
    let destination = if solicited { ip.source() } else { ALL_NODES };
    let mut header = ip.header();
    (header.source, header.destination) = (target, destination);
    header.payload_length = (NEIGHBOUR_LEN + LINK_ADDRESS_LEN) as u16;
    let advertisement = NeighbourAdvertisement {
        router,
        solicited,
        overriding: true,
        target,
        target_link_address: Some(mac),
    };
    // The length was checked above.
    let _ = header.emit(packet);
    let message = packet.get_mut(ipv6::HEADER_LEN..).unwrap_or_default();
    let _ = advertisement.emit(target, destination, message);
    Some(destination)
}

#[cfg(test)]
mod tests;
