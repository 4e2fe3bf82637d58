//! Fast CNP: a congestion notification of a network node, straight to the sender of the data. IETF individual draft "fast
//! CNP for RoCEv2", revision -05 (May 2026), section on the packet format; IPv6 only.
//!
//! ```text
//! IPv6 (source: the node; destination: the data's sender)
//!   Destination Options: one option with the data packet's destination address
//!     UDP 4791
//!       BTH of a CNP (opcode 0x81) with the data packet's destination queue pair
//!         16 bytes of zeros
//!           ICRC
//! ```
//!
//! The sender finds its own queue pair by that queue pair and that address. The draft leaves open, and here:
//!
//! - **The option's type** is not assigned, so it is a parameter. The three high bits of a type are its meaning to nodes
//!   that do not know it (RFC 8200 section 4.2): here it must be one that they skip, and that does not change on the way.
//! - **Where the option lies** in its header is free for a receiver. Written here, it follows a PadN of two bytes, so that
//!   the address is aligned to eight bytes, as that of the home address option (RFC 6275 section 6.3). A receiver
//!   skips padding and other options, such as a trace of IOAM, that may be skipped.
//! - **The ICRC.** Annex A17 of InfiniBand's specification has UDP right behind the IP header, and defines no ICRC over
//!   extension headers. Here it covers the Destination Options header as it stands, between the IP and the UDP header:
//!   none of its bytes changes on the way.
//! - **The UDP checksum** is zero, as in CNPs.

use core::net::Ipv6Addr;
use serde::{Deserialize, Serialize};

use super::bth::{self, QueuePair};
use super::{Opcode, UDP_PORT, icrc};
use crate::bytes::put;
use crate::error::{invalid, truncated};
use crate::ethernet::{self, EtherType, MacAddress};
use crate::ip::{Dscp, Ecn, IpProtocol};
use crate::vlan::{self, Tag};
use crate::{BufferTooSmall, ParseError, Protocol, ipv6, udp};

/// Bytes of the Destination Options header, as written.
const EXTENSION_LEN: usize = 24;
/// Bytes of an address, which is all of the option's data.
const ADDRESS_LEN: usize = 16;
/// Zeros after the BTH, as in a CNP.
const RESERVED_LEN: usize = super::cnp::RESERVED_LEN;
/// UDP header, BTH, zeros, ICRC.
const DATAGRAM_LEN: usize = udp::HEADER_LEN + bth::HEADER_LEN + RESERVED_LEN + icrc::LEN;
/// Options that fill the header (RFC 8200 section 4.2): one byte, and several.
const PAD_1: u8 = 0;
const PAD_N: u8 = 1;
/// The bits of an option's type that tell a node which does not know it to do anything but skip it.
const ACTION: u8 = 0xc0;
/// The bit of an option's type that says that it may change on the way.
const CHANGES: u8 = 0x20;

/// Bytes of the longest frame: tagged.
pub const MAX_FRAME_LEN: usize =
    ethernet::HEADER_LEN + vlan::TAG_LEN + ipv6::HEADER_LEN + EXTENSION_LEN + DATAGRAM_LEN;

/// The type of the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OptionType(u8);

impl OptionType {
    /// RFC 4727 section 3.4: for experiments, skipped by nodes that do not know it, not changed on the way.
    pub const EXPERIMENTAL: Self = Self(0x1e);

    /// The type of this number; `None` for padding, and for types that nodes do not skip or that change on the way.
    pub const fn new(number: u8) -> Option<Self> {
        match number & (ACTION | CHANGES) != 0 || number == PAD_1 || number == PAD_N {
            true => None,
            false => Some(Self(number)),
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// A Fast CNP, as a whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The next hop towards the sender of the data.
    pub destination_mac: MacAddress,
    /// The port that sends the frame.
    pub source_mac: MacAddress,
    /// Customer VLAN tag.
    pub tag: Option<Tag>,
    /// The congested node.
    pub source: Ipv6Addr,
    /// The sender of the congested data.
    pub sender: Ipv6Addr,
    /// The type of the option.
    pub option: OptionType,
    /// The receiver of the congested data.
    pub receiver: Ipv6Addr,
    /// The site's codepoint for CNPs.
    pub dscp: Dscp,
    /// ECN bits.
    pub ecn: Ecn,
    /// Hop limit.
    pub hop_limit: u8,
    /// UDP source port.
    pub source_port: u16,
    /// The receiver's queue pair, to which the congested data goes.
    pub receiver_qp: QueuePair,
}

impl Frame {
    /// The length in bytes: 118, and 4 more with a tag.
    #[inline]
    pub const fn length(&self) -> usize {
        MAX_FRAME_LEN - if self.tag.is_some() { 0 } else { vlan::TAG_LEN }
    }

    /// Writes the frame with its ICRC; returns [`Frame::length`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let (needed, available) = (self.length(), out.len());
        let out = out.get_mut(..needed).ok_or(BufferTooSmall { needed, available })?;
        out.fill(0);
        let at = self.emit_link(out)?;
        let (_, packet) = out.split_at_mut(at);
        let at = self.emit_ip(packet)?;
        let (_, datagram) = packet.split_at_mut(at);
        let udp = udp::Header {
            source_port: self.source_port,
            destination_port: UDP_PORT,
            length: DATAGRAM_LEN as u16,
            checksum: 0,
        };
        let at = udp.emit(datagram)?;
        let bth = bth::Header { becn: true, ..bth::Header::new(Opcode::CNP, self.receiver_qp) };
        bth.emit(datagram.get_mut(at..).unwrap_or_default())?;
        let crc = checksum(packet, ipv6::HEADER_LEN + EXTENSION_LEN, packet.len() - icrc::LEN);
        put(packet, packet.len() - icrc::LEN, &crc);
        Ok(needed)
    }

    fn emit_link(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let ether_type = if self.tag.is_some() { EtherType::VLAN } else { EtherType::IPV6 };
        let (destination, source) = (self.destination_mac, self.source_mac);
        let at = ethernet::Header { destination, source, ether_type }.emit(out)?;
        let Some(tag) = self.tag else { return Ok(at) };
        let inner = vlan::Header { tag, ether_type: EtherType::IPV6 };
        Ok(at + inner.emit(out.get_mut(at..).unwrap_or_default())?)
    }

    fn emit_ip(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let header = ipv6::Header {
            dscp: self.dscp,
            ecn: self.ecn,
            flow_label: 0,
            payload_length: (EXTENSION_LEN + DATAGRAM_LEN) as u16,
            next_header: IpProtocol::DESTINATION_OPTIONS,
            hop_limit: self.hop_limit,
            source: self.source,
            destination: self.sender,
        };
        let at = header.emit(out)?;
        // Its length in units of 8 bytes, without the first; then two bytes of padding in a PadN.
        let units = (EXTENSION_LEN / 8 - 1) as u8;
        put(out, at, &[IpProtocol::UDP.0, units, PAD_N, 2, 0, 0, self.option.number(), ADDRESS_LEN as u8]);
        put(out, at + EXTENSION_LEN - ADDRESS_LEN, &self.receiver.octets());
        Ok(at + EXTENSION_LEN)
    }
}

/// Whether `packet`, which starts with its IPv6 header, can be a Fast CNP: a CNP behind any extension headers, or extension
/// headers that cannot be followed to their end, as far as `packet` holds them. This is a filter for borders. It looks at
/// neither the options nor the ICRC, so that nothing gets through that another node might take for one.
pub fn is_candidate(packet: &[u8]) -> bool {
    let Ok(ip) = ipv6::View::parse_head(packet, usize::MAX) else { return false };
    if ip.next_header() == IpProtocol::UDP {
        return false;
    }
    let Ok(upper) = ip.upper_layer() else { return true };
    let datagram = packet.get(upper.offset..).unwrap_or_default();
    let port = datagram.get(2..4).map(|port| [port[0], port[1]]);
    let opcode = datagram.get(udp::HEADER_LEN);
    upper.protocol == IpProtocol::UDP
        && port == Some(UDP_PORT.to_be_bytes())
        && opcode == Some(&Opcode::CNP.0)
}

/// The content of a Fast CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// The congested node.
    pub source: Ipv6Addr,
    /// The sender of the congested data.
    pub sender: Ipv6Addr,
    /// The receiver of the congested data.
    pub receiver: Ipv6Addr,
    /// The receiver's queue pair.
    pub receiver_qp: QueuePair,
}

impl Notice {
    /// Reads the Fast CNP in `packet`, which starts with its IPv6 header and is whole. Padding may follow.
    ///
    /// # Errors
    /// As the views of the headers. Invalid, where the packet has other extension headers than one Destination Options
    /// header, not exactly one option of this type with an address, or an option that must be understood; where no CNP to
    /// port 4791 follows, or its ICRC is wrong.
    pub fn parse(packet: &[u8], option: OptionType) -> Result<Self, ParseError> {
        let ip = ipv6::View::parse(packet)?;
        let refuse = |what, value| invalid(Protocol::FastCnp, what, value);
        if ip.next_header() != IpProtocol::DESTINATION_OPTIONS {
            return Err(refuse("next header", u32::from(ip.next_header().0)));
        }
        let payload = ip.payload();
        let units = payload.get(1).copied().unwrap_or_default();
        let extension_len = (usize::from(units) + 1) * 8;
        let (extension, datagram) = payload
            .split_at_checked(extension_len)
            .ok_or_else(|| truncated(Protocol::FastCnp, extension_len, payload.len()))?;
        let [next, _, options @ ..] = extension else { return Err(refuse("next header", 0)) };
        if *next != IpProtocol::UDP.0 {
            return Err(refuse("upper layer", u32::from(*next)));
        }
        let receiver = address(options, option)?;
        let udp = udp::View::parse(datagram)?;
        if udp.destination_port() != UDP_PORT {
            return Err(refuse("UDP port", u32::from(udp.destination_port())));
        }
        if udp.length() != DATAGRAM_LEN {
            return Err(refuse("UDP length", udp.length() as u32));
        }
        let bth = bth::View::parse(udp.into_payload())?;
        if !bth.opcode().is_cnp() {
            return Err(refuse("opcode", u32::from(bth.opcode().0)));
        }
        let end = ipv6::HEADER_LEN + extension_len + DATAGRAM_LEN - icrc::LEN;
        let crc = checksum(packet, ipv6::HEADER_LEN + extension_len, end);
        if packet.get(end..end + icrc::LEN) != Some(&crc) {
            return Err(refuse("ICRC", u32::from_le_bytes(crc)));
        }
        Ok(Self {
            source: ip.source(),
            sender: ip.destination(),
            receiver,
            receiver_qp: bth.destination_qp(),
        })
    }
}

/// The address in the only option of this type.
fn address(options: &[u8], wanted: OptionType) -> Result<Ipv6Addr, ParseError> {
    let refuse = |what, value| invalid(Protocol::FastCnp, what, value);
    let (mut rest, mut found) = (options, None);
    loop {
        rest = match rest {
            [] => return found.ok_or_else(|| refuse("option", u32::from(wanted.number()))),
            [PAD_1, rest @ ..] => rest,
            [kind, length, rest @ ..] if rest.len() >= usize::from(*length) => {
                let (data, rest) = rest.split_at(usize::from(*length));
                if *kind == wanted.number() {
                    let octets = <[u8; ADDRESS_LEN]>::try_from(data);
                    let octets = octets.map_err(|_| refuse("option length", u32::from(*length)))?;
                    if found.replace(Ipv6Addr::from_octets(octets)).is_some() {
                        return Err(refuse("second option", u32::from(*kind)));
                    }
                } else if kind & ACTION != 0 {
                    return Err(refuse("option that must be understood", u32::from(*kind)));
                }
                rest
            }
            [kind, ..] => return Err(refuse("option", u32::from(*kind))),
        };
    }
}

/// The ICRC of `packet`, whose UDP header starts at `udp` and whose ICRC starts at `end`; both lie within it.
fn checksum(packet: &[u8], udp: usize, end: usize) -> [u8; icrc::LEN] {
    let transport_len = udp::HEADER_LEN + bth::HEADER_LEN;
    let part = |from: usize, to: usize| packet.get(from..to).unwrap_or_default();
    let mut ip = [0; ipv6::HEADER_LEN];
    put(&mut ip, 0, part(0, ipv6::HEADER_LEN));
    // Traffic class and flow label, hop limit.
    ip[0] |= 0x0f;
    (ip[1], ip[2], ip[3], ip[7]) = (0xff, 0xff, 0xff, 0xff);
    let mut transport = [0; udp::HEADER_LEN + bth::HEADER_LEN];
    put(&mut transport, 0, part(udp, udp + transport_len));
    // UDP checksum; FECN, BECN and the reserved bits beside them.
    (transport[6], transport[7], transport[udp::HEADER_LEN + 4]) = (0xff, 0xff, 0xff);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0xff; 8]);
    hasher.update(&ip);
    hasher.update(part(ipv6::HEADER_LEN, udp));
    hasher.update(&transport);
    hasher.update(part(udp + transport_len, end));
    hasher.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests;
