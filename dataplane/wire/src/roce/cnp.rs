//! Congestion notification packets: InfiniBand specification volume 1, annex A17.

use core::net::{Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

use super::bth::{self, QueuePair};
use super::{Opcode, UDP_PORT, icrc};
use crate::BufferTooSmall;
use crate::bytes::put;
use crate::ethernet::{self, EtherType, MacAddress};
use crate::ip::{Dscp, Ecn, IpProtocol};
use crate::vlan::{self, Tag};
use crate::{ipv4, ipv6, udp};

/// Bytes of the payload between BTH and ICRC, all zero.
pub const RESERVED_LEN: usize = 16;

/// Bytes of the longest frame: tagged, over IPv6.
pub const MAX_FRAME_LEN: usize = ethernet::HEADER_LEN + vlan::TAG_LEN + ipv6::HEADER_LEN + DATAGRAM_LEN;

/// UDP header, BTH, zeros, ICRC.
const DATAGRAM_LEN: usize = datagram_len(RESERVED_LEN);

/// Bytes of a datagram with `payload` bytes between BTH and ICRC.
pub(super) const fn datagram_len(payload: usize) -> usize {
    udp::HEADER_LEN + bth::HEADER_LEN + payload + icrc::LEN
}

/// The IP addresses of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Addresses {
    /// Over IPv4.
    V4 {
        /// The receiver of the congested data, on whose behalf the packet is sent.
        source: Ipv4Addr,
        /// The sender of the congested data, which shall slow down.
        destination: Ipv4Addr,
        /// IPv4 identification.
        identification: u16,
    },
    /// Over IPv6.
    V6 {
        /// The receiver of the congested data, on whose behalf the packet is sent.
        source: Ipv6Addr,
        /// The sender of the congested data, which shall slow down.
        destination: Ipv6Addr,
        /// IPv6 flow label; the low 20 bits count.
        flow_label: u32,
    },
}

/// A congestion notification, as a whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The next hop towards the sender of the data.
    pub destination_mac: MacAddress,
    /// The port that sends the frame.
    pub source_mac: MacAddress,
    /// Customer VLAN tag.
    pub tag: Option<Tag>,
    /// The IP addresses of the packet.
    pub addresses: Addresses,
    /// The site's codepoint for CNPs; NICs commonly use 48.
    pub dscp: Dscp,
    /// ECN bits; ConnectX-4 Lx sends ECT(0).
    pub ecn: Ecn,
    /// TTL or hop limit.
    pub ttl: u8,
    /// UDP source port; ConnectX-4 Lx sends 0.
    pub source_port: u16,
    /// The data sender's own queue pair, not the destination queue pair of its packets.
    pub destination_qp: QueuePair,
}

impl Frame {
    /// The length in bytes: 74 over IPv4, 94 over IPv6, and 4 more with a tag.
    #[inline]
    pub const fn length(&self) -> usize {
        self.length_with(DATAGRAM_LEN)
    }

    /// The length with a datagram of this length.
    pub(super) const fn length_with(&self, datagram: usize) -> usize {
        let ip = match self.addresses {
            Addresses::V4 { .. } => ipv4::MIN_HEADER_LEN,
            Addresses::V6 { .. } => ipv6::HEADER_LEN,
        };
        self.ip_offset() + ip + datagram
    }

    const fn ip_offset(&self) -> usize {
        ethernet::HEADER_LEN + if self.tag.is_some() { vlan::TAG_LEN } else { 0 }
    }

    /// Writes the frame with its ICRC; returns [`Frame::length`]. The UDP checksum is zero even over IPv6,
    /// because the ICRC protects more.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let bth = bth::Header { becn: true, ..bth::Header::new(Opcode::CNP, self.destination_qp) };
        self.emit_with(&bth, &[0; RESERVED_LEN], out)
    }

    /// As [`Frame::emit`], with another `bth` and `payload`.
    pub(super) fn emit_with(
        &self,
        bth: &bth::Header,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, BufferTooSmall> {
        let length = datagram_len(payload.len());
        let (needed, available) = (self.length_with(length), out.len());
        let out = out.get_mut(..needed).ok_or(BufferTooSmall { needed, available })?;
        let (link, packet) = out.split_at_mut(self.ip_offset());
        self.emit_link(link)?;
        let at = self.emit_ip(length as u16, packet)?;
        let udp = udp::Header {
            source_port: self.source_port,
            destination_port: UDP_PORT,
            length: length as u16,
            checksum: 0,
        };
        let (_, datagram) = packet.split_at_mut(at);
        let at = udp.emit(datagram)?;
        let (_, transport) = datagram.split_at_mut(at);
        let at = bth.emit(transport)?;
        put(transport, at, payload);
        // This cannot fail, as the headers were just written.
        let _ = icrc::fill(packet);
        Ok(needed)
    }

    fn emit_link(&self, out: &mut [u8]) -> Result<(), BufferTooSmall> {
        let network = match self.addresses {
            Addresses::V4 { .. } => EtherType::IPV4,
            Addresses::V6 { .. } => EtherType::IPV6,
        };
        let ether_type = if self.tag.is_some() { EtherType::VLAN } else { network };
        let (destination, source) = (self.destination_mac, self.source_mac);
        let at = ethernet::Header { destination, source, ether_type }.emit(out)?;
        if let Some(tag) = self.tag {
            vlan::Header { tag, ether_type: network }.emit(out.get_mut(at..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn emit_ip(&self, datagram: u16, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        match self.addresses {
            Addresses::V4 { source, destination, identification } => ipv4::Header {
                dscp: self.dscp,
                ecn: self.ecn,
                total_length: ipv4::MIN_HEADER_LEN as u16 + datagram,
                identification,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: self.ttl,
                protocol: IpProtocol::UDP,
                source,
                destination,
            }
            .emit(out),
            Addresses::V6 { source, destination, flow_label } => ipv6::Header {
                dscp: self.dscp,
                ecn: self.ecn,
                flow_label,
                payload_length: datagram,
                next_header: IpProtocol::UDP,
                hop_limit: self.ttl,
                source,
                destination,
            }
            .emit(out),
        }
    }
}
