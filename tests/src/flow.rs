//! Frames from one station to another.

use crate::frame::TestFrame;
use crate::settings::{host_mac, host_v4, host_v6, port_mac};
use units::{PortId, Priority};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::roce::{Opcode, Psn, QueuePair, bth, extended::Reth, icrc};
use wire::vlan::{self, Tag};
use wire::{ipv4, ipv6, roce, udp};

/// A flow of UDP datagrams from the station behind one port to the one behind another. By address
/// it goes through the gateway; a patch forwards it as well.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The port behind which its source is.
    pub from: PortId,
    /// The port behind which its destination is.
    pub to: PortId,
    /// Whether it is IPv6.
    pub v6: bool,
    /// Its outer VLAN tag.
    pub tag: Option<Tag>,
    /// Differentiated services code point.
    pub dscp: Dscp,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// TTL or hop limit.
    pub ttl: u8,
    /// UDP source port.
    pub source_port: u16,
    /// Where layer 2 sends it; the gateway's port unless a test says otherwise.
    pub destination_mac: MacAddress,
}

impl Flow {
    /// An untagged IPv4 flow of priority 0 that does not understand ECN.
    pub fn new(from: PortId, to: PortId) -> Self {
        Self {
            from,
            to,
            v6: false,
            tag: None,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            ttl: 64,
            source_port: 49_152,
            destination_mac: port_mac(from),
        }
    }

    /// The same flow, at the DSCP that the default classification gives `priority`.
    #[must_use]
    pub fn at(mut self, priority: Priority) -> Self {
        self.dscp = Dscp::from_low_bits(priority.number() << 3 | 2);
        self
    }

    /// The same flow, with these ECN bits.
    #[must_use]
    pub fn ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    /// The same flow over IPv6.
    #[must_use]
    pub fn v6(mut self) -> Self {
        self.v6 = true;
        self
    }

    /// The same flow with an outer VLAN tag.
    #[must_use]
    pub fn tagged(mut self, tag: Tag) -> Self {
        self.tag = Some(tag);
        self
    }

    /// The same flow, as a bridge sees it: addressed to the station itself.
    #[must_use]
    pub fn bridged(mut self) -> Self {
        self.destination_mac = host_mac(self.to);
        self
    }

    /// Bytes before the UDP payload.
    pub fn header_len(&self) -> usize {
        let tag = self.tag.map_or(0, |_| vlan::TAG_LEN);
        let ip = if self.v6 { ipv6::HEADER_LEN } else { ipv4::MIN_HEADER_LEN };
        ethernet::HEADER_LEN + tag + ip + udp::HEADER_LEN
    }

    /// A datagram in a frame of `length` bytes, without FCS.
    ///
    /// # Panics
    /// Where the headers alone are longer.
    pub fn udp(&self, length: usize) -> TestFrame {
        let payload = length.checked_sub(self.header_len()).expect("a frame is longer than its headers");
        self.datagram(4_000, &vec![0x5a; payload])
    }

    /// `count` datagrams of `length` bytes, labelled from zero.
    pub fn udps(&self, count: u64, length: usize) -> impl Iterator<Item = TestFrame> + use<> {
        let frame = self.udp(length);
        (0..count).map(move |label| frame.clone().labelled(label))
    }

    /// The headers of a datagram of `length` bytes, as the simulator carries it.
    pub fn headers(&self, length: usize) -> TestFrame {
        let kept = self.header_len();
        self.udp(length.max(kept)).cut_to(kept)
    }

    /// The same flow in the other direction.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        (self.from, self.to) = (self.to, self.from);
        self.destination_mac =
            if self.destination_mac == port_mac(self.to) { port_mac(self.from) } else { host_mac(self.to) };
        self
    }

    /// An RDMA WRITE of `payload` bytes, a multiple of four, with a valid ICRC.
    pub fn roce_write(&self, psn: u32, payload: usize) -> TestFrame {
        self.roce_write_to(QueuePair::from_low_bits(0x2a7), psn, payload)
    }

    /// The same to queue pair `qp`.
    pub fn roce_write_to(&self, qp: QueuePair, psn: u32, payload: usize) -> TestFrame {
        let mut bth = bth::Header::new(Opcode::RC_WRITE_ONLY, qp);
        bth.psn = Psn::from_low_bits(psn);
        let reth = Reth { virtual_address: 0x7f00_1234_5678, remote_key: 0x1a2b, dma_length: payload as u32 };
        let mut body = vec![0; Reth::LEN + payload];
        reth.emit(&mut body).expect("there is room");
        for (index, byte) in body[Reth::LEN..].iter_mut().enumerate() {
            *byte = (index as u32 * 31 + psn) as u8;
        }
        self.roce(&bth, &body)
    }

    /// A RoCEv2 packet with this header and what follows it, and a valid ICRC.
    pub fn roce(&self, bth: &bth::Header, payload: &[u8]) -> TestFrame {
        let mut body = vec![0; bth::HEADER_LEN];
        bth.emit(&mut body).expect("there is room");
        body.extend_from_slice(payload);
        body.extend_from_slice(&[0; icrc::LEN]);
        let mut frame = self.datagram(roce::UDP_PORT, &body);
        let packet = self.header_len() - udp::HEADER_LEN - self.ip_header_len();
        icrc::fill(&mut frame.bytes[packet..]).expect("the packet is well formed");
        frame
    }

    fn ip_header_len(&self) -> usize {
        if self.v6 { ipv6::HEADER_LEN } else { ipv4::MIN_HEADER_LEN }
    }

    fn datagram(&self, destination_port: u16, payload: &[u8]) -> TestFrame {
        let mut bytes = vec![0; self.header_len() + payload.len()];
        let ip_type = if self.v6 { EtherType::IPV6 } else { EtherType::IPV4 };
        let ether_type = if self.tag.is_some() { EtherType::VLAN } else { ip_type };
        let header =
            ethernet::Header { destination: self.destination_mac, source: host_mac(self.from), ether_type };
        let mut at = header.emit(&mut bytes).expect("there is room");
        if let Some(tag) = self.tag {
            let header = vlan::Header { tag, ether_type: ip_type };
            at += header.emit(&mut bytes[at..]).expect("there is room");
        }
        let datagram = udp::HEADER_LEN + payload.len();
        at += self.emit_ip(datagram as u16, &mut bytes[at..]);
        // A RoCEv2 sender may leave the UDP checksum zero; so do all frames here.
        let header = udp::Header {
            source_port: self.source_port,
            destination_port,
            length: datagram as u16,
            checksum: 0,
        };
        at += header.emit(&mut bytes[at..]).expect("there is room");
        bytes[at..].copy_from_slice(payload);
        TestFrame::new(bytes)
    }

    fn emit_ip(&self, payload: u16, out: &mut [u8]) -> usize {
        let Self { dscp, ecn, ttl, from, to, .. } = *self;
        let emitted = if self.v6 {
            let header = ipv6::Header {
                dscp,
                ecn,
                flow_label: 0x12345,
                payload_length: payload,
                next_header: IpProtocol::UDP,
                hop_limit: ttl,
                source: host_v6(from),
                destination: host_v6(to),
            };
            header.emit(out)
        } else {
            let header = ipv4::Header {
                dscp,
                ecn,
                total_length: payload + ipv4::MIN_HEADER_LEN as u16,
                identification: 1,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl,
                protocol: IpProtocol::UDP,
                source: host_v4(from),
                destination: host_v4(to),
            };
            header.emit(out)
        };
        emitted.expect("there is room")
    }
}
