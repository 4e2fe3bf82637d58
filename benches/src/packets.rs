//! Whole RoCEv2 packets of many flows, as hosts send them.

use core::net::Ipv4Addr;
use wire::ethernet::{self, EtherType, MacAddress};
use wire::ip::{Dscp, Ecn, IpProtocol};
use wire::roce::{self, Opcode, Psn, QueuePair, bth, icrc};
use wire::{ipv4, udp};

/// Ethernet, IPv4, UDP, BTH and ICRC.
const OVERHEAD: usize =
    ethernet::HEADER_LEN + ipv4::MIN_HEADER_LEN + udp::HEADER_LEN + bth::HEADER_LEN + icrc::LEN;
/// A prime above any number of flows, near the golden section of 2^32: a stride that visits each of them once
/// in a round, and far from the last one where their number is a power of two, too.
const STRIDE: u64 = 2_654_435_761;

/// One direction of connections between the hosts of two sites.
#[derive(Clone, Copy, Debug)]
pub struct Packets {
    /// Stored length of every frame, 64 bytes at least. A payload is a multiple of four, so up to three
    /// bytes behind the packet are padding of Ethernet's.
    pub frame_bytes: usize,
    /// Connections, one at least.
    pub flows: u32,
    /// Whether they are sent by the near site.
    pub outward: bool,
}

impl Packets {
    /// The packet `number`: all flows take turns, in an order that no cache foresees.
    ///
    /// # Panics
    /// Where the frame is longer than an IPv4 packet may be.
    pub fn packet(&self, number: u64) -> Vec<u8> {
        let flows = u64::from(self.flows);
        let flow = (number % flows * STRIDE % flows) as u32;
        self.packet_of(flow, Psn::from_low_bits((number / flows) as u32))
    }

    fn packet_of(&self, flow: u32, psn: Psn) -> Vec<u8> {
        let payload = (self.frame_bytes - OVERHEAD) & !3;
        let udp_length = u16::try_from(OVERHEAD - ethernet::HEADER_LEN - ipv4::MIN_HEADER_LEN + payload)
            .expect("a frame is shorter than an IPv4 packet may be");
        let near = (MacAddress([2, 0, 0, 0, 1, 1]), host(1, flow & 0xff));
        let far = (MacAddress([2, 0, 0, 0, 1, 2]), host(2, flow >> 8 & 7));
        let (from, to) = if self.outward { (near, far) } else { (far, near) };

        let mut frame = vec![0xa5; self.frame_bytes];
        let ethernet = ethernet::Header { destination: to.0, source: from.0, ether_type: EtherType::IPV4 };
        let ip = ipv4::Header {
            dscp: Dscp::from_low_bits(26),
            ecn: Ecn::Ect0,
            total_length: udp_length + ipv4::MIN_HEADER_LEN as u16,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: IpProtocol::UDP,
            source: from.1,
            destination: to.1,
        };
        let udp = udp::Header {
            source_port: roce::source_port_of_flow_label(flow),
            destination_port: roce::UDP_PORT,
            length: udp_length,
            checksum: 0,
        };
        let pair = QueuePair::from_low_bits(flow + if self.outward { 2 } else { 0x80_0000 });
        let bth = bth::Header { psn, ..bth::Header::new(Opcode::RC_SEND_ONLY, pair) };

        let room = "the frame has room for its headers";
        let mut at = ethernet.emit(&mut frame).expect(room);
        at += ip.emit(&mut frame[at..]).expect(room);
        at += udp.emit(&mut frame[at..]).expect(room);
        bth.emit(&mut frame[at..]).expect(room);
        icrc::fill(&mut frame[ethernet::HEADER_LEN..]).expect("the packet is RoCEv2");
        frame
    }
}

fn host(site: u8, number: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, site, number as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn packets_of_all_lengths_and_both_ways_have_a_valid_icrc() {
        for frame_bytes in [64, 128, 512, 1082, 4170] {
            for outward in [true, false] {
                let frame = Packets { frame_bytes, flows: 3, outward }.packet(5);
                assert_eq!(frame.len(), frame_bytes);
                assert!(icrc::verify(&frame[ethernet::HEADER_LEN..]).unwrap());
            }
        }
    }

    #[test]
    fn a_round_visits_every_flow_once_and_the_next_one_goes_on() {
        let packets = Packets { frame_bytes: 64, flows: 4_096, outward: true };
        let keys = |round: u64| -> HashSet<(Vec<u8>, Vec<u8>)> {
            let numbers = round * 4_096..(round + 1) * 4_096;
            let frames = numbers.map(|number| packets.packet(number));
            // Hosts with queue pair, and PSN.
            frames.map(|frame| ([&frame[26..34], &frame[47..50]].concat(), frame[51..54].to_vec())).collect()
        };
        let (first, second) = (keys(0), keys(1));
        assert_eq!(first.len(), 4_096);
        assert!(first.iter().all(|(_, psn)| *psn == [0, 0, 0]));
        assert!(first.iter().all(|(flow, _)| second.contains(&(flow.clone(), vec![0, 0, 1]))));
    }
}
