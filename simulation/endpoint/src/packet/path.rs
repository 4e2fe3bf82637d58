//! The common part of all frames of a queue pair: addresses, and the headers before those of the transport.

use crate::settings::Station;
use core::net::Ipv4Addr;
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::roce::{self, QueuePair, cnp};
use wire::{ipv4, udp};

/// TTL of all packets.
const TTL: u8 = 64;
pub(super) const IP_AT: usize = ethernet::HEADER_LEN;
pub(super) const UDP_AT: usize = IP_AT + ipv4::MIN_HEADER_LEN;
pub(super) const BTH_AT: usize = UDP_AT + udp::HEADER_LEN;

/// The addresses of the frames of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub station: Station,
    pub next_hop: MacAddress,
    pub peer: Ipv4Addr,
    pub remote: QueuePair,
    pub source_port: u16,
}

impl Path {
    /// Writes the headers before the BTH of a packet with `transport` bytes from its BTH on.
    pub(super) fn emit(&self, dscp: Dscp, ecn: Ecn, transport: u16, out: &mut [u8; BTH_AT]) {
        let (packet, udp_header) = out.split_at_mut(UDP_AT);
        let length = udp::HEADER_LEN as u16 + transport;
        self.emit_packet(dscp, ecn, IpProtocol::UDP, length, packet);
        let (source_port, destination_port) = (self.source_port, roce::UDP_PORT);
        let udp = udp::Header { source_port, destination_port, length, checksum: 0 };
        // The rest of the array is as long as its header.
        let _ = udp.emit(udp_header);
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
        let Some((ethernet_header, ip_header)) = out.split_at_mut_checked(IP_AT) else { return };
        let ethernet = ethernet::Header {
            destination: self.next_hop,
            source: self.station.mac,
            ether_type: EtherType::IPV4,
        };
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
            source: self.station.address,
            destination: self.peer,
        };
        // The callers have room for both.
        let _ = (ethernet.emit(ethernet_header), ip.emit(ip_header));
    }

    /// The congestion notification to the sender of the flow (annex A17 of the InfiniBand specification).
    pub fn notification(&self, dscp: Dscp) -> ShortFrame {
        let frame = cnp::Frame {
            destination_mac: self.next_hop,
            source_mac: self.station.mac,
            tag: None,
            addresses: cnp::Addresses::V4 {
                source: self.station.address,
                destination: self.peer,
                identification: 0,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortFrame {
    pub(super) bytes: [u8; Self::CAPACITY],
    pub(super) length: u8,
}

impl ShortFrame {
    /// The length of the longest one, an acknowledgement that returns telemetry.
    pub(super) const CAPACITY: usize = 130;

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}
