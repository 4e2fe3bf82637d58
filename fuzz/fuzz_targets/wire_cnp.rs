//! A congestion notification from arbitrary fields: what is written can be read and verifies.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::{EtherType, MacAddress};
use wire::ip::{Dscp, Ecn};
use wire::roce::cnp::{Addresses, Frame, MAX_FRAME_LEN};
use wire::roce::{Opcode, QueuePair, UDP_PORT, bth, icrc};
use wire::{ipv4, ipv6, udp, vlan};

fuzz_target!(|data: &[u8]| {
    let Some(bytes) = data.first_chunk::<64>() else { return };
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mac = |at: usize| MacAddress(*bytes[at..].first_chunk().expect("64 bytes are enough"));
    let four = |at: usize| Ipv4Addr::from(*bytes[at..].first_chunk::<4>().expect("64 bytes are enough"));
    let six = |at: usize| Ipv6Addr::from(*bytes[at..].first_chunk::<16>().expect("64 bytes are enough"));
    let addresses = if bytes[0] & 1 == 0 {
        Addresses::V4 { source: four(24), destination: four(40), identification: word(20) }
    } else {
        Addresses::V6 { source: six(24), destination: six(40), flow_label: word(20).into() }
    };
    let frame = Frame {
        destination_mac: mac(2),
        source_mac: mac(8),
        tag: (bytes[0] & 2 != 0).then(|| vlan::Tag::from_tci(word(14))),
        addresses,
        dscp: Dscp::from_low_bits(bytes[16]),
        ecn: Ecn::from_low_bits(bytes[17]),
        ttl: bytes[18],
        source_port: word(22),
        destination_qp: QueuePair::from_low_bits(u32::from(word(56)) << 8 | u32::from(bytes[58])),
    };
    let mut out = [0xa5; MAX_FRAME_LEN];
    let length = frame.emit(&mut out).expect("the longest one fits");
    assert_eq!(length, frame.length());
    assert!(frame.emit(&mut out[..length - 1]).is_err());

    let stack = vlan::Stack::parse(&out[..length]).expect("it was just written");
    assert_eq!(stack.outer, frame.tag);
    let packet = &out[stack.payload_offset..length];
    assert_eq!(icrc::verify(packet), Ok(true));
    let datagram = if stack.ether_type == EtherType::IPV4 {
        let ip = ipv4::View::parse(packet).expect("it was just written");
        assert!(ip.verify_checksum());
        assert_eq!((ip.dscp(), ip.ecn(), ip.ttl()), (frame.dscp, frame.ecn, frame.ttl));
        ip.into_payload()
    } else {
        let ip = ipv6::View::parse(packet).expect("it was just written");
        assert_eq!((ip.dscp(), ip.ecn(), ip.hop_limit()), (frame.dscp, frame.ecn, frame.ttl));
        ip.into_payload()
    };
    let udp = udp::View::parse(datagram).expect("it was just written");
    assert_eq!((udp.source_port(), udp.destination_port()), (frame.source_port, UDP_PORT));
    let bth = bth::View::parse(udp.into_payload()).expect("it was just written").header();
    assert_eq!(bth, bth::Header { becn: true, ..bth::Header::new(Opcode::CNP, frame.destination_qp) });
});
