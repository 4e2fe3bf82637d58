//! Invariant CRC of RoCEv2: InfiniBand specification volume 1, section 7.8 and annex A17.
//!
//! The CRC-32 of Ethernet and zlib over eight bytes of ones (instead of InfiniBand's local route header),
//! the IP header, the UDP header and everything after it up to the ICRC. Fields that switches or routers may
//! change count as ones: type of service or traffic class, TTL or hop limit, flow label, both checksums, and
//! the BTH byte with FECN and BECN. So CE marks and forwarding do not change it. It is stored least
//! significant byte first.
//!
//! In-band telemetry that switches add to ([`crate::int`]) counts as ones too. This rule is our own, as the
//! specification has no such header.

use super::bth::{self, Telemetry};
use crate::error::{invalid, truncated};
use crate::ip::IpProtocol;
use crate::{ParseError, Protocol, int, ipv4, ipv6, udp};

/// Bytes of the ICRC.
pub const LEN: usize = 4;

const ONES: usize = 8;
const MAX_HEADERS_LEN: usize = ONES + ipv6::HEADER_LEN + udp::HEADER_LEN + bth::HEADER_LEN;

/// Offsets in a packet, in bytes from the start of its IP header.
struct Layout {
    udp: usize,
    icrc: usize,
    /// The number of bytes after the BTH that switches change.
    telemetry: usize,
}

/// The ICRC of `packet`, in wire order. The packet starts with its IP header and has room for the ICRC at its
/// end; padding may follow.
///
/// # Errors
/// As the IP and UDP views; truncated, where BTH and ICRC do not fit into the datagram; invalid for
/// IP options, extension headers and fragments, over which no ICRC is defined, and where the
/// upper layer is not UDP. The port is not looked at.
#[inline]
pub fn compute(packet: &[u8]) -> Result<[u8; LEN], ParseError> {
    locate(packet).map(|layout| crc(packet, &layout))
}

/// Whether the ICRC at the end of `packet` is valid.
///
/// # Errors
/// As [`compute`].
#[inline]
pub fn verify(packet: &[u8]) -> Result<bool, ParseError> {
    let layout = locate(packet)?;
    Ok(packet.get(layout.icrc..layout.icrc + LEN) == Some(&crc(packet, &layout)))
}

/// Writes the ICRC at the end of `packet`.
///
/// # Errors
/// As [`compute`].
#[inline]
pub fn fill(packet: &mut [u8]) -> Result<(), ParseError> {
    let layout = locate(packet)?;
    let icrc = crc(packet, &layout);
    crate::bytes::put(packet, layout.icrc, &icrc);
    Ok(())
}

/// Updates `icrc` for a packet whose last bytes before the ICRC changed. `difference` is the exclusive or of
/// their old and new values; the ICRC must cover them unmasked. A CRC is linear, so the cost depends only on
/// the length of `difference`.
#[inline]
pub fn updated(icrc: [u8; LEN], difference: &[u8]) -> [u8; LEN] {
    // In the difference, the unchanged bytes before are zero and leave the register at zero.
    let mut hasher = crc32fast::Hasher::new_with_initial(u32::MAX);
    hasher.update(difference);
    (u32::from_le_bytes(icrc) ^ !hasher.finalize()).to_le_bytes()
}

fn locate(packet: &[u8]) -> Result<Layout, ParseError> {
    let (protocol, datagram, udp) = match packet.first().map(|byte| byte >> 4) {
        Some(6) => {
            let ip = ipv6::View::parse(packet)?;
            (ip.next_header(), ip.into_payload(), ipv6::HEADER_LEN)
        }
        // IPv4. Its view also rejects all other versions.
        _ => {
            let ip = ipv4::View::parse(packet)?;
            if ip.header_len() != ipv4::MIN_HEADER_LEN {
                return Err(invalid(Protocol::Icrc, "IPv4 header length", ip.header_len() as u32));
            }
            if ip.is_fragment() {
                return Err(invalid(Protocol::Icrc, "fragment offset", u32::from(ip.fragment_offset())));
            }
            (ip.protocol(), ip.into_payload(), ipv4::MIN_HEADER_LEN)
        }
    };
    if protocol != IpProtocol::UDP {
        return Err(invalid(Protocol::Icrc, "upper layer", u32::from(protocol.0)));
    }
    let length = udp::View::parse(datagram)?.length();
    let needed = udp::HEADER_LEN + bth::HEADER_LEN + LEN;
    if length < needed {
        return Err(truncated(Protocol::Icrc, needed, length));
    }
    let telemetry = match bth::View::parse(datagram.get(udp::HEADER_LEN..).unwrap_or_default())?.telemetry() {
        Telemetry::Collected(format) => format.bytes().min(length - needed),
        Telemetry::None | Telemetry::Returned(_) => 0,
    };
    Ok(Layout { udp, icrc: udp + length - LEN, telemetry })
}

fn crc(packet: &[u8], layout: &Layout) -> [u8; LEN] {
    let headers_len = layout.udp + udp::HEADER_LEN + bth::HEADER_LEN;
    let mut masked = [0xff; MAX_HEADERS_LEN];
    let headers = masked.get_mut(ONES..ONES + headers_len).unwrap_or_default();
    if let Some(source) = packet.get(..headers.len()) {
        headers.copy_from_slice(source);
    }
    let (ip, transport) = headers.split_at_mut_checked(layout.udp).unwrap_or_default();
    if let Ok(ip) = <&mut [u8; ipv4::MIN_HEADER_LEN]>::try_from(&mut *ip) {
        // Type of service, TTL, checksum.
        (ip[1], ip[8], ip[10], ip[11]) = (0xff, 0xff, 0xff, 0xff);
    } else if let Some(ip) = ip.first_chunk_mut::<8>() {
        // Traffic class and flow label, hop limit.
        ip[0] |= 0x0f;
        (ip[1], ip[2], ip[3], ip[7]) = (0xff, 0xff, 0xff, 0xff);
    }
    if let Some(transport) = transport.first_chunk_mut::<{ udp::HEADER_LEN + bth::HEADER_LEN }>() {
        // UDP checksum; FECN, BECN and the reserved bits beside them.
        (transport[6], transport[7]) = (0xff, 0xff);
        transport[udp::HEADER_LEN + 4] = 0xff;
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(masked.get(..ONES + headers_len).unwrap_or_default());
    hasher.update([0xff; int::LEN_MAX].get(..layout.telemetry).unwrap_or_default());
    hasher.update(packet.get(headers_len + layout.telemetry..layout.icrc).unwrap_or_default());
    hasher.finalize().to_le_bytes()
}
