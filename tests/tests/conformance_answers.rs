//! The answers of the gateway: ARP, echo and neighbour solicitations, read by an independent parser.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{
    HEADROOM, XOFF, bridged, host_mac, host_v4, host_v6, port_mac, port_v4, port_v6, routed,
};
use conformance::{A, B, TestFrame, Testbench};
use core::net::{Ipv4Addr, Ipv6Addr};
use etherparse::{
    EtherType, Icmpv4Type, Icmpv6Type, NetHeaders, PacketBuilder, PacketHeaders, TransportHeader,
    icmpv6::NeighborAdvertisementHeader,
};
use switch::{Consumed, DropReason, PauseCause};
use units::{Interval, PortId, Priority};
use wire::arp::{Operation, Packet};
use wire::ethernet::MacAddress;
use wire::icmpv6::NeighbourSolicitation;
use wire::ip::{Dscp, Ecn, IpProtocol};

fn consumed(bench: &Testbench, port: PortId, reason: Consumed) -> u64 {
    bench.shard.ingress_counters(port).consumed[reason.index()].frames
}

/// The only frame that left, which left through A.
fn answer(bench: &Testbench) -> &[u8] {
    let [only] = bench.sent(A) else { panic!("{} frames", bench.sent(A).len()) };
    assert!(bench.sent(B).is_empty());
    &only.frame.bytes
}

fn arp_request(target: Ipv4Addr) -> TestFrame {
    let mut bytes = vec![0; 60];
    bytes[..6].fill(0xff);
    bytes[6..12].copy_from_slice(&host_mac(A).0);
    bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    let packet = Packet {
        operation: Operation::REQUEST,
        sender_mac: host_mac(A),
        sender_ip: host_v4(A),
        target_mac: MacAddress::ZERO,
        target_ip: target,
    };
    packet.emit(&mut bytes[14..]).unwrap();
    TestFrame::new(bytes)
}

#[test]
fn an_arp_request_for_the_ports_address_is_answered_with_its_mac() {
    let mut bench = Testbench::new(routed(2));
    bench.inject(A, [arp_request(port_v4(A))]);
    bench.run_dry();
    let mut expected = Vec::new();
    expected.extend(host_mac(A).0);
    expected.extend(port_mac(A).0);
    // EtherType, then hardware, protocol, their lengths, and operation 2.
    expected.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 2]);
    expected.extend(port_mac(A).0);
    expected.extend(port_v4(A).octets());
    expected.extend(host_mac(A).0);
    expected.extend(host_v4(A).octets());
    expected.resize(60, 0);
    assert_eq!(answer(&bench), expected);
    assert_eq!(consumed(&bench, A, Consumed::ArpRequest), 1);
    assert_eq!(bench.shard.ingress_counters(A).answers[0].frames, 1);
}

#[test]
fn an_arp_request_for_somebody_else_is_not_answered() {
    let mut bench = Testbench::new(routed(2));
    bench.inject(A, [arp_request(port_v4(B)), arp_request(host_v4(A))]);
    bench.run_dry();
    assert!(bench.sent(A).is_empty());
    assert_eq!(consumed(&bench, A, Consumed::ArpOther), 2);
    // A bridge passes it on.
    let mut settings = bridged(2);
    settings.ports[0].addresses = routed(2).ports[0].addresses.clone();
    let mut bench = Testbench::new(settings);
    bench.inject(A, [arp_request(port_v4(A)), arp_request(host_v4(B))]);
    bench.run_dry();
    assert_eq!((bench.sent(A).len(), bench.sent(B).len()), (1, 1));
}

fn echo_v4(source: Ipv4Addr, destination: Ipv4Addr, data: &[u8]) -> TestFrame {
    let builder = PacketBuilder::ethernet2(host_mac(A).0, port_mac(A).0)
        .ipv4(source.octets(), destination.octets(), 7)
        .icmpv4_echo_request(0x1234, 9);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, data).unwrap();
    TestFrame::new(bytes)
}

fn echo_v6(source: Ipv6Addr, destination: Ipv6Addr, data: &[u8]) -> TestFrame {
    let builder = PacketBuilder::ethernet2(host_mac(A).0, port_mac(A).0)
        .ipv6(source.octets(), destination.octets(), 7)
        .icmpv6_echo_request(0x1234, 9);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, data).unwrap();
    TestFrame::new(bytes)
}

#[test]
fn an_echo_request_to_any_address_of_the_gateway_is_answered_with_its_data() {
    for (length, address) in [(0, A), (1, A), (56, A), (1_400, A), (9_000, B)] {
        let data: Vec<_> = (0..length).map(|index| index as u8).collect();
        let mut bench = Testbench::new(routed(2));
        bench.inject(A, [echo_v4(host_v4(A), port_v4(address), &data)]);
        bench.run_dry();
        let packet = PacketHeaders::from_ethernet_slice(answer(&bench)).unwrap();
        let link = packet.link.unwrap().ethernet2().unwrap();
        assert_eq!((link.source, link.destination), (port_mac(A).0, host_mac(A).0));
        let Some(NetHeaders::Ipv4(ip, _)) = packet.net else { panic!("IPv4") };
        assert_eq!(
            (Ipv4Addr::from(ip.source), Ipv4Addr::from(ip.destination)),
            (port_v4(address), host_v4(A))
        );
        assert_eq!((ip.time_to_live, ip.header_checksum), (64, ip.calc_header_checksum()));
        let Some(TransportHeader::Icmpv4(icmp)) = packet.transport else { panic!("ICMP") };
        let Icmpv4Type::EchoReply(echo) = icmp.icmp_type else { panic!("{:?}", icmp.icmp_type) };
        assert_eq!((echo.id, echo.seq), (0x1234, 9));
        assert_eq!(icmp.checksum, icmp.icmp_type.calc_checksum(&data));
        assert_eq!(packet.payload.slice(), data);
        assert_eq!(consumed(&bench, A, Consumed::Echo), 1);
    }
}

#[test]
fn an_icmpv6_echo_request_is_answered_with_its_data() {
    for length in [0, 1, 56, 1_400] {
        let data: Vec<_> = (0..length).map(|index| index as u8).collect();
        let mut bench = Testbench::new(routed(2));
        bench.inject(A, [echo_v6(host_v6(A), port_v6(A), &data)]);
        bench.run_dry();
        let packet = PacketHeaders::from_ethernet_slice(answer(&bench)).unwrap();
        let Some(NetHeaders::Ipv6(ip, _)) = packet.net else { panic!("IPv6") };
        assert_eq!((Ipv6Addr::from(ip.source), Ipv6Addr::from(ip.destination)), (port_v6(A), host_v6(A)));
        assert_eq!(ip.hop_limit, 64);
        let Some(TransportHeader::Icmpv6(icmp)) = packet.transport else { panic!("ICMPv6") };
        let Icmpv6Type::EchoReply(echo) = icmp.icmp_type else { panic!("{:?}", icmp.icmp_type) };
        assert_eq!((echo.id, echo.seq), (0x1234, 9));
        assert_eq!(icmp.checksum, icmp.icmp_type.calc_checksum(ip.source, ip.destination, &data).unwrap());
        assert_eq!(packet.payload.slice(), data);
    }
}

#[test]
fn an_echo_request_that_is_damaged_or_from_nobody_is_not_answered() {
    let mut damaged = echo_v4(host_v4(A), port_v4(A), &[1, 2, 3]);
    damaged.bytes[43] ^= 1;
    let mut damaged_v6 = echo_v6(host_v6(A), port_v6(A), &[1, 2, 3]);
    damaged_v6.bytes[63] ^= 1;
    let from_group = echo_v4(Ipv4Addr::new(224, 0, 0, 1), port_v4(A), &[]);
    let from_all = echo_v4(Ipv4Addr::BROADCAST, port_v4(A), &[]);
    let from_none = echo_v6(Ipv6Addr::UNSPECIFIED, port_v6(A), &[]);
    for frame in [damaged, damaged_v6, from_group, from_all, from_none] {
        let mut bench = Testbench::new(routed(2));
        bench.inject(A, [frame]);
        bench.run_dry();
        assert!(bench.sent(A).is_empty() && bench.sent(B).is_empty());
        assert_eq!(consumed(&bench, A, Consumed::Echo), 0);
        assert_eq!(bench.dropped_in_all().frames, 1);
    }
}

/// A solicitation of `target`, from a host with or without its own address.
fn solicitation(source: Ipv6Addr, target: Ipv6Addr, hop_limit: u8) -> TestFrame {
    let group = {
        let [.., a, b, c] = target.octets();
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]))
    };
    let message = NeighbourSolicitation {
        target,
        source_link_address: (!source.is_unspecified()).then_some(host_mac(A)),
    };
    let mut icmp = vec![0; 32];
    let length = message.emit(source, group, &mut icmp).unwrap();
    let ip = wire::ipv6::Header {
        dscp: Dscp::DEFAULT,
        ecn: Ecn::NotEct,
        flow_label: 0,
        payload_length: length as u16,
        next_header: IpProtocol::ICMPV6,
        hop_limit,
        source,
        destination: group,
    };
    let mut bytes = vec![0; 54 + length];
    bytes[..6].copy_from_slice(&MacAddress::of_ipv6_multicast(group).0);
    bytes[6..12].copy_from_slice(&host_mac(A).0);
    bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
    ip.emit(&mut bytes[14..]).unwrap();
    bytes[54..].copy_from_slice(&icmp[..length]);
    TestFrame::new(bytes)
}

#[test]
fn a_neighbour_solicitation_for_the_ports_address_is_answered_with_an_advertisement() {
    let mut bench = Testbench::new(routed(2));
    bench.inject(A, [solicitation(host_v6(A), port_v6(A), 255)]);
    bench.run_dry();
    let packet = PacketHeaders::from_ethernet_slice(answer(&bench)).unwrap();
    let link = packet.link.unwrap().ethernet2().unwrap();
    assert_eq!((link.source, link.destination), (port_mac(A).0, host_mac(A).0));
    assert_eq!(link.ether_type, EtherType::IPV6);
    let Some(NetHeaders::Ipv6(ip, _)) = packet.net else { panic!("IPv6") };
    assert_eq!((Ipv6Addr::from(ip.source), Ipv6Addr::from(ip.destination)), (port_v6(A), host_v6(A)));
    assert_eq!(ip.hop_limit, 255);
    let Some(TransportHeader::Icmpv6(icmp)) = packet.transport else { panic!("ICMPv6") };
    let payload = packet.payload.slice();
    assert_eq!(
        icmp.icmp_type,
        Icmpv6Type::NeighborAdvertisement(NeighborAdvertisementHeader {
            router: true,
            solicited: true,
            r#override: true
        })
    );
    assert_eq!(icmp.checksum, icmp.icmp_type.calc_checksum(ip.source, ip.destination, payload).unwrap());
    let mut expected = port_v6(A).octets().to_vec();
    expected.extend([2, 1]);
    expected.extend(port_mac(A).0);
    assert_eq!(payload, expected);
    assert_eq!(consumed(&bench, A, Consumed::NeighbourSolicitation), 1);
}

#[test]
fn a_solicitation_for_somebody_else_or_from_beyond_a_router_or_damaged_is_not_answered() {
    let mut damaged = solicitation(host_v6(A), port_v6(A), 255);
    damaged.bytes[57] ^= 1;
    for frame in [
        solicitation(host_v6(A), port_v6(B), 255),
        solicitation(host_v6(A), host_v6(A), 255),
        solicitation(host_v6(A), port_v6(A), 254),
        damaged,
    ] {
        let mut bench = Testbench::new(routed(2));
        bench.inject(A, [frame]);
        bench.run_dry();
        assert!(bench.sent(A).is_empty() && bench.sent(B).is_empty());
        assert_eq!(consumed(&bench, A, Consumed::NeighbourSolicitation), 0);
    }
}

#[test]
fn an_answer_is_charged_and_scheduled_like_the_frame_that_asked() {
    let mut bench = Testbench::new(routed(2));
    let mut request = echo_v4(host_v4(A), port_v4(A), &[0; 1_000]);
    request.bytes[15] = 26 << 2;
    wire::ipv4::View::parse(&mut request.bytes[14..]).unwrap().fill_checksum();
    bench.block(A, conformance::P3);
    for _ in 0..200 {
        bench.inject_singly(A, [request.clone()]);
    }
    let group = bench.shard.group(bench.now(), A, conformance::P3);
    assert_eq!(group.paused, Some(PauseCause::Threshold), "who asks too much is paused like anybody else");
    assert_eq!(bench.shard.ingress_counters(A).answers[3].frames, 200);
    // Answers wait as long as the group may hold them, and are dropped beyond that.
    let waiting = bench.shard.ledger().ingress_queue(A, conformance::P3);
    assert_eq!(waiting.frames + bench.dropped_in_all().frames, 200);
    let bytes = XOFF..=XOFF + HEADROOM;
    assert!(bytes.contains(&(waiting.frames * request.length)), "{waiting:?}");
}

/// How many frames were dropped at A for `reason`, whatever their priority.
fn dropped(bench: &Testbench, reason: DropReason) -> u64 {
    Priority::all().map(|priority| bench.dropped(A, priority, reason).frames).sum()
}

#[test]
fn a_port_answers_a_thousand_times_at_once_and_then_a_thousand_times_a_second() {
    let mut bench = Testbench::new(routed(2));
    let ask = |bench: &mut Testbench, count: usize| {
        let (arp, echo) = (arp_request(port_v4(A)), echo_v4(host_v4(A), port_v4(A), &[]));
        bench.inject_singly(A, (0..count).flat_map(|_| [arp.clone(), echo.clone()]));
        bench.run_for(Interval::from_micros(1));
    };
    ask(&mut bench, 1_500);
    let answers = bench.shard.ingress_counters(A).answers.iter().map(|volume| volume.frames).sum::<u64>();
    assert_eq!((answers, dropped(&bench, DropReason::AnswerLimit)), (1_000, 2_000));
    // Some 10 ms later there are some ten more.
    bench.run_for(Interval::from_millis(10));
    ask(&mut bench, 100);
    let answers = bench.shard.ingress_counters(A).answers.iter().map(|volume| volume.frames).sum::<u64>();
    assert!((1_009..=1_012).contains(&answers), "{answers}");
    assert_eq!(answers + dropped(&bench, DropReason::AnswerLimit), 3_200);
    bench.run_dry();
}

#[test]
fn who_claims_an_address_of_the_gateway_by_arp_is_not_passed_on() {
    let mut bench = Testbench::new({
        let mut settings = bridged(2);
        settings.ports[0].addresses = routed(2).ports[0].addresses.clone();
        settings
    });
    for operation in [Operation::REQUEST, Operation::REPLY] {
        let mut claim = arp_request(host_v4(B));
        let packet = Packet {
            operation,
            sender_mac: host_mac(A),
            sender_ip: port_v4(A),
            target_mac: host_mac(B),
            target_ip: host_v4(B),
        };
        packet.emit(&mut claim.bytes[14..]).unwrap();
        bench.inject(A, [claim]);
    }
    bench.run_dry();
    assert_eq!(dropped(&bench, DropReason::SpoofedAddress), 2);
    assert!(bench.sent(A).is_empty() && bench.sent(B).is_empty());
}
