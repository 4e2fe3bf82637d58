//! The common part of all frames of a queue pair: addresses, and the headers before those of the transport.

use crate::settings::Station;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::roce::{self, QueuePair, cnp};
use wire::{ipv4, ipv6, udp};

/// TTL or hop limit of all packets.
const TTL: u8 = 64;
pub(super) const IP_AT: usize = ethernet::HEADER_LEN;
/// The greatest offset of the BTH.
pub(super) const BTH_AT_MAX: usize = IP_AT + ipv6::HEADER_LEN + udp::HEADER_LEN;

/// The offset behind the IP header of packets from `address`.
pub(super) const fn behind_ip(address: IpAddr) -> usize {
    match address {
        IpAddr::V4(_) => IP_AT + ipv4::MIN_HEADER_LEN,
        IpAddr::V6(_) => IP_AT + ipv6::HEADER_LEN,
    }
}

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Addresses {
    V4 { source: Ipv4Addr, destination: Ipv4Addr },
    V6 { source: Ipv6Addr, destination: Ipv6Addr },
}

/// The addresses of the frames of a queue pair.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Path {
    station: Station,
    next_hop: MacAddress,
    addresses: Addresses,
    pub remote: QueuePair,
    source_port: u16,
}

impl Path {
    /// The path to queue pair `remote` of the host with address `peer`; `None` if that is of another version of IP.
    pub fn new(
        station: Station,
        next_hop: MacAddress,
        peer: IpAddr,
        remote: QueuePair,
        source_port: u16,
    ) -> Option<Self> {
        let addresses = match (station.address, peer) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            _ => return None,
        };
        Some(Self { station, next_hop, addresses, remote, source_port })
    }

    /// The same path to another queue pair.
    pub fn to(self, remote: QueuePair, source_port: u16) -> Self {
        Self { remote, source_port, ..self }
    }

    /// The address of the far end.
    #[inline]
    pub fn peer(&self) -> IpAddr {
        match self.addresses {
            Addresses::V4 { destination, .. } => IpAddr::V4(destination),
            Addresses::V6 { destination, .. } => IpAddr::V6(destination),
        }
    }

    pub(super) fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// The offset behind the IP header.
    #[inline]
    pub(super) fn behind_ip(&self) -> usize {
        behind_ip(self.station.address)
    }

    /// The offset of the BTH.
    #[inline]
    pub(super) fn bth_at(&self) -> usize {
        self.behind_ip() + udp::HEADER_LEN
    }

    /// Writes the headers before the BTH of a packet with `transport` bytes from its BTH on, if there is room.
    pub(super) fn emit(&self, dscp: Dscp, ecn: Ecn, transport: u16, out: &mut [u8]) {
        let length = udp::HEADER_LEN as u16 + transport;
        self.emit_packet(dscp, ecn, IpProtocol::UDP, length, out);
        let (source_port, destination_port) = (self.source_port, roce::UDP_PORT);
        let udp = udp::Header { source_port, destination_port, length, checksum: 0 };
        // The callers have room for it.
        let _ = udp.emit(out.get_mut(self.behind_ip()..).unwrap_or_default());
    }

    /// Writes Ethernet and IP headers of a packet with `payload` bytes of `protocol`, if there is room.
    pub(super) fn emit_packet(
        &self,
        dscp: Dscp,
        ecn: Ecn,
        protocol: IpProtocol,
        payload: u16,
        out: &mut [u8],
    ) {
        let Some((link, packet)) = out.split_at_mut_checked(IP_AT) else { return };
        let (written, ether_type) = match self.addresses {
            Addresses::V4 { source, destination } => {
                let ip = ipv4::Header {
                    dscp,
                    ecn,
                    total_length: ipv4::MIN_HEADER_LEN as u16 + payload,
                    identification: 0,
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: TTL,
                    protocol,
                    source,
                    destination,
                };
                (ip.emit(packet), EtherType::IPV4)
            }
            Addresses::V6 { source, destination } => {
                let ip = ipv6::Header {
                    dscp,
                    ecn,
                    flow_label: 0,
                    payload_length: payload,
                    next_header: protocol,
                    hop_limit: TTL,
                    source,
                    destination,
                };
                (ip.emit(packet), EtherType::IPV6)
            }
        };
        let ethernet = ethernet::Header { destination: self.next_hop, source: self.station.mac, ether_type };
        // The callers have room for both.
        let _ = (ethernet.emit(link), written);
    }

    /// The congestion notification to the sender of the flow (annex A17 of the InfiniBand specification).
    pub fn notification(&self, dscp: Dscp) -> ShortFrame {
        let frame = cnp::Frame {
            destination_mac: self.next_hop,
            source_mac: self.station.mac,
            tag: None,
            addresses: match self.addresses {
                Addresses::V4 { source, destination } => {
                    cnp::Addresses::V4 { source, destination, identification: 0 }
                }
                Addresses::V6 { source, destination } => {
                    cnp::Addresses::V6 { source, destination, flow_label: 0 }
                }
            },
            dscp,
            ecn: Ecn::NotEct,
            ttl: TTL,
            source_port: self.source_port,
            destination_qp: self.remote,
        };
        let mut bytes = [0; ShortFrame::CAPACITY];
        let length = frame.emit(&mut bytes).unwrap_or(0);
        ShortFrame { bytes, length: length as u8 }
    }
}

/// A complete frame: an acknowledgement or a congestion notification.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ShortFrame {
    #[serde(with = "BigArray")]
    pub(super) bytes: [u8; Self::CAPACITY],
    pub(super) length: u8,
}

impl ShortFrame {
    /// The length of the longest one, an acknowledgement over IPv6 that returns telemetry.
    pub(super) const CAPACITY: usize = 150;

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}
