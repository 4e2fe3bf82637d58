//! Where frames go: patch, bridge and routes.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{bridged, host_mac, host_v4, host_v6, patched, port_mac, routed};
use conformance::{A, B, C, D, Flow, P3, TestFrame, Testbench, cost};
use core::net::IpAddr;
use std::collections::BTreeMap;
use switch::program::Settings;
use switch::{BridgeSettings, Consumed, DropReason, ForwardingSettings, Route, RouteSettings};
use units::{Bytes, Interval, PortId, Priority};
use wire::ethernet::MacAddress;
use wire::vlan::{Tag, VlanId};

fn vlan(id: u16) -> Tag {
    Tag { priority: Priority::default(), drop_eligible: false, id: VlanId::new(id).unwrap() }
}

/// The ports through which `frame`, which arrives at `port`, leaves.
fn leaves(bench: &mut Testbench, port: PortId, frame: TestFrame) -> Vec<u16> {
    bench.run_dry();
    bench.ports().for_each(|port| drop(bench.newly_sent(port)));
    bench.inject(port, [frame]);
    bench.run_dry();
    bench.ports().filter(|port| !bench.newly_sent(*port).is_empty()).map(|port| port.0).collect()
}

fn dropped(bench: &Testbench, port: PortId, reason: DropReason) -> u64 {
    Priority::all().map(|priority| bench.dropped(port, priority, reason).frames).sum()
}

/// A frame from the station behind `from` to the one behind `to`, for a bridge.
fn between(from: PortId, to: PortId) -> Flow {
    Flow::new(from, to).bridged()
}

#[test]
fn a_patch_passes_every_frame_unchanged_both_ways_and_nowhere_else() {
    let mut bench = Testbench::new(patched(4));
    let mut frames: Vec<_> = (0..200_usize)
        .map(|seed| {
            TestFrame::new((0..14 + seed * 40).map(|index| (index * 7 + seed * 13) as u8 | 1 << 5).collect())
        })
        .collect();
    frames.push(Flow::new(C, D).tagged(vlan(9)).v6().udp(9_216));
    frames.push(Flow::new(C, D).headers(1_500));
    // A destination that no bridge forwards, and a source that no station has, are no matter of a wire.
    frames.push(between(C, D).udp(100));
    frames[202].bytes[..12]
        .copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    frames.retain(|frame| frame.length <= 9_216);
    for (from, to) in [(A, B), (B, A), (C, D), (D, C)] {
        for frame in &frames {
            assert_eq!(leaves(&mut bench, from, frame.clone()), [to.0]);
            assert_eq!(bench.data(to).last().unwrap().frame, *frame);
        }
    }
}

#[test]
fn a_port_without_patch_drops_all_by_name() {
    let mut settings = patched(4);
    settings.forwarding = ForwardingSettings::Patch(vec![(A, C)]);
    let mut bench = Testbench::new(settings);
    assert!(leaves(&mut bench, B, Flow::new(B, A).udp(60)).is_empty());
    assert_eq!(dropped(&bench, B, DropReason::NotConnected), 1);
}

#[test]
fn runts_and_giants_are_dropped_by_name_on_every_kind_of_switch() {
    for mut settings in [patched(2), bridged(2), routed(2)] {
        settings.ports[0].max_frame = Bytes(1_518);
        let mut bench = Testbench::new(settings);
        bench.inject(A, (0..14).map(|length| TestFrame::new(vec![2; length])));
        assert_eq!(dropped(&bench, A, DropReason::Runt), 14);
        bench.inject(A, [Flow::new(A, B).udp(1_519), Flow::new(A, B).headers(9_217)]);
        assert_eq!(dropped(&bench, A, DropReason::Oversize), 2);
        assert_eq!(leaves(&mut bench, A, Flow::new(A, B).udp(1_518)), [1]);
    }
}

#[test]
fn a_frame_that_is_too_long_for_the_port_by_which_it_would_leave_is_dropped_by_name() {
    for mut settings in [patched(2), bridged(2), routed(2)] {
        settings.ports[1].max_frame = Bytes(1_518);
        let mut bench = Testbench::new(settings);
        assert!(leaves(&mut bench, A, Flow::new(A, B).udp(1_519)).is_empty());
        assert_eq!(dropped(&bench, A, DropReason::Oversize), 1);
        assert_eq!(leaves(&mut bench, A, Flow::new(A, B).udp(1_518)), [1]);
    }
}

#[test]
fn a_bridge_floods_until_it_has_learned_and_then_sends_to_one_port() {
    let mut bench = Testbench::new(bridged(4));
    assert_eq!(leaves(&mut bench, A, between(A, B).udp(60)), [1, 2, 3]);
    assert_eq!(leaves(&mut bench, B, between(B, A).udp(60)), [0]);
    assert_eq!(leaves(&mut bench, A, between(A, B).udp(60)), [1]);
    let frame = between(A, C).udp(60);
    assert_eq!(leaves(&mut bench, A, frame.clone()), [1, 2, 3]);
    assert!([B, C, D].iter().all(|port| bench.data(*port).last().unwrap().frame == frame), "unchanged");
    let copies: u64 = bench.shard.ingress_counters(A).copies.iter().map(|it| it.frames).sum();
    assert_eq!(copies, 4, "two floods of three copies, of which one each is the frame itself");
}

#[test]
fn a_station_that_moves_is_found_at_its_new_port_and_one_on_the_same_port_is_left_alone() {
    let mut bench = Testbench::new(bridged(4));
    leaves(&mut bench, A, between(A, D).udp(60));
    assert_eq!(leaves(&mut bench, C, between(C, A).udp(60)), [0]);
    leaves(&mut bench, B, between(A, D).udp(60));
    assert_eq!(leaves(&mut bench, C, between(C, A).udp(60)), [1]);
    assert!(leaves(&mut bench, B, between(D, A).udp(60)).is_empty());
    assert_eq!(dropped(&bench, B, DropReason::SamePort), 1);
}

#[test]
fn an_address_is_forgotten_when_it_was_not_seen_for_the_ageing_time() {
    let mut settings = bridged(3);
    settings.forwarding =
        ForwardingSettings::Bridge(BridgeSettings { capacity: 100, ageing: Interval::from_secs(10) });
    let mut bench = Testbench::new(settings);
    leaves(&mut bench, A, between(A, B).udp(60));
    let seen = bench.now() - Interval(7);
    bench.run_until(seen + Interval::from_secs(10));
    assert_eq!(leaves(&mut bench, B, between(B, A).udp(60)), [0], "being looked for is not being seen");
    bench.run_until(seen + Interval::from_secs(10) + Interval(20));
    assert_eq!(leaves(&mut bench, B, between(B, A).udp(60)), [0, 2]);
}

#[test]
fn each_vlan_has_addresses_of_its_own() {
    let mut bench = Testbench::new(bridged(3));
    leaves(&mut bench, A, between(A, C).tagged(vlan(10)).udp(64));
    assert_eq!(leaves(&mut bench, B, between(B, A).tagged(vlan(10)).udp(64)), [0]);
    assert_eq!(leaves(&mut bench, B, between(B, A).tagged(vlan(11)).udp(64)), [0, 2]);
    assert_eq!(leaves(&mut bench, B, between(B, A).udp(64)), [0, 2]);
    leaves(&mut bench, C, between(A, C).tagged(vlan(11)).udp(64));
    assert_eq!(leaves(&mut bench, B, between(B, A).tagged(vlan(11)).udp(64)), [2]);
    assert_eq!(leaves(&mut bench, B, between(B, A).tagged(vlan(10)).udp(64)), [0]);
    // A tag that carries a priority alone belongs to no VLAN.
    leaves(&mut bench, C, between(C, B).udp(64));
    assert_eq!(leaves(&mut bench, B, between(B, C).tagged(vlan(0)).udp(64)), [2]);
}

#[test]
fn groups_are_flooded_and_never_learned_and_link_local_groups_never_forwarded() {
    let mut bench = Testbench::new(bridged(3));
    let to = |destination: [u8; 6]| {
        let mut frame = between(A, B).udp(60);
        frame.bytes[..6].copy_from_slice(&destination);
        frame
    };
    assert_eq!(leaves(&mut bench, A, to([0xff; 6])), [1, 2]);
    assert_eq!(leaves(&mut bench, A, to([0x01, 0, 0x5e, 0, 0, 1])), [1, 2]);
    assert_eq!(leaves(&mut bench, A, to([0x01, 0x80, 0xc2, 0, 0, 0x10])), [1, 2]);
    for last in 0..16 {
        assert!(leaves(&mut bench, A, to([0x01, 0x80, 0xc2, 0, 0, last])).is_empty(), "{last}");
    }
    assert_eq!(dropped(&bench, A, DropReason::LinkLocal), 16);
    let mut frame = between(B, C).udp(60);
    frame.bytes[6] |= 1;
    assert!(leaves(&mut bench, B, frame).is_empty());
    assert_eq!(dropped(&bench, B, DropReason::InvalidSource), 1);
}

#[test]
fn a_full_table_forgets_the_station_that_was_seen_longest_ago() {
    let mut settings = bridged(3);
    settings.forwarding =
        ForwardingSettings::Bridge(BridgeSettings { capacity: 3, ..BridgeSettings::default() });
    let mut bench = Testbench::new(settings);
    let station = |number: u8| MacAddress([2, 0, 0, 9, 0, number]);
    let from_to = |from: u8, to: u8| {
        let mut frame = between(A, B).udp(60);
        frame.bytes[..6].copy_from_slice(&station(to).0);
        frame.bytes[6..12].copy_from_slice(&station(from).0);
        frame
    };
    for number in 1..=3 {
        bench.inject(A, [from_to(number, 99)]);
    }
    // Station 1 is looked for, 2 and 3 are seen again: 1 was seen longest ago.
    bench.inject(A, [from_to(2, 99), from_to(3, 1)]);
    bench.inject(B, [from_to(4, 99)]);
    let reached = |bench: &mut Testbench, number| leaves(bench, C, from_to(4, number)).len() == 1;
    assert_eq!(leaves(&mut bench, B, from_to(4, 1)), [0, 2], "forgotten");
    assert_eq!(leaves(&mut bench, B, from_to(4, 2)), [0]);
    assert_eq!(leaves(&mut bench, B, from_to(4, 3)), [0]);
    // However many stations pass by, no more than three are known.
    for number in 10..250 {
        bench.inject(A, [from_to(number, 99)]);
    }
    let known = (10..250).filter(|number| reached(&mut bench, *number)).count();
    assert!(known <= 3, "{known}");
}

#[test]
fn a_copy_for_which_there_is_no_memory_is_dropped_by_name_and_the_frame_itself_goes_on() {
    let mut bench = Testbench::new(bridged(4));
    let mut frame = between(A, B).udp(60);
    frame.can_be_copied = false;
    assert_eq!(leaves(&mut bench, A, frame), [3]);
    assert_eq!(dropped(&bench, A, DropReason::NoBuffer), 2);
}

#[test]
fn a_flood_charges_one_copy_of_a_lossless_frame_to_its_group() {
    let mut bench = Testbench::new(bridged(4));
    for port in [B, C, D] {
        bench.block(port, P3);
    }
    bench.inject(A, between(A, B).at(P3).udps(30, 1_000));
    assert_eq!(bench.shard.group(bench.now(), A, P3).occupancy, Bytes(30 * cost(1_000)));
    let counters = bench.shard.ingress_counters(A);
    assert_eq!((counters.received[3].frames, counters.copies[0].frames), (30, 60));
}

/// A router with these routes besides those of `routed(4)`.
fn routed_with(routes: &[(&str, &[IpAddr])]) -> Settings {
    let mut settings = routed(4);
    let ForwardingSettings::Route(RouteSettings { routes: table, .. }) = &mut settings.forwarding else {
        unreachable!("a router")
    };
    table.extend(
        routes
            .iter()
            .map(|(prefix, hops)| Route { prefix: prefix.parse().unwrap(), next_hops: hops.to_vec() }),
    );
    settings
}

/// A frame at port A for `destination`.
fn toward(destination: IpAddr) -> TestFrame {
    let flow = Flow::new(A, B);
    match destination {
        IpAddr::V4(address) => {
            let mut frame = flow.udp(100);
            frame.bytes[30..34].copy_from_slice(&address.octets());
            wire::ipv4::View::parse(&mut frame.bytes[14..]).unwrap().fill_checksum();
            frame
        }
        IpAddr::V6(address) => {
            let mut frame = flow.v6().udp(100);
            frame.bytes[38..54].copy_from_slice(&address.octets());
            frame
        }
    }
}

#[test]
fn the_longest_prefix_wins() {
    let hop = |port| [IpAddr::from(host_v4(port))];
    let hop6 = |port| [IpAddr::from(host_v6(port))];
    let settings = routed_with(&[
        ("0.0.0.0/0", &hop(A)),
        ("172.16.0.0/12", &hop(B)),
        ("172.20.0.0/16", &hop(C)),
        ("172.20.30.0/25", &hop(D)),
        ("172.20.30.77/32", &hop(B)),
        ("::/0", &hop6(A)),
        ("2001:db8:cafe::/48", &hop6(C)),
        ("2001:db8:cafe:1::/64", &hop6(D)),
        ("2001:db8:cafe:1::5/128", &hop6(B)),
    ]);
    let mut bench = Testbench::new(settings);
    for (destination, port) in [
        ("8.8.8.8", 0),
        ("172.15.255.255", 0),
        ("172.16.0.0", 1),
        ("172.31.255.255", 1),
        ("172.32.0.0", 0),
        ("172.20.0.1", 2),
        ("172.20.30.1", 3),
        ("172.20.30.127", 3),
        ("172.20.30.128", 2),
        ("172.20.30.77", 1),
        ("10.0.3.2", 3),
        ("192.168.2.99", 2),
        ("2001:db9::1", 0),
        ("2001:db8:cafe::9", 2),
        ("2001:db8:cafe:1::9", 3),
        ("2001:db8:cafe:1::5", 1),
        ("2001:db8:2::2", 2),
    ] {
        assert_eq!(leaves(&mut bench, A, toward(destination.parse().unwrap())), [port], "{destination}");
    }
}

#[test]
fn a_routed_frame_has_new_addresses_one_hop_less_and_is_otherwise_unchanged() {
    let mut bench = Testbench::new(routed(4));
    for flow in [Flow::new(A, C), Flow::new(A, C).v6(), Flow::new(A, C).tagged(vlan(5))] {
        let before = flow.udp(300);
        assert_eq!(leaves(&mut bench, A, before.clone()), [2]);
        let after = &bench.data(C).last().unwrap().frame;
        let mut expected = before.bytes;
        expected[..6].copy_from_slice(&host_mac(C).0);
        expected[6..12].copy_from_slice(&port_mac(C).0);
        let ip = flow.header_len() - 8 - if flow.v6 { 40 } else { 20 };
        if flow.v6 {
            expected[ip + 7] = 63;
        } else {
            expected[ip + 8] = 63;
            // From scratch, by an independent implementation.
            let (header, _) = etherparse::Ipv4Header::from_slice(&expected[ip..]).unwrap();
            expected[ip + 10..ip + 12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
        }
        assert_eq!(after.bytes, expected);
    }
}

#[test]
fn what_a_router_refuses_is_dropped_by_name_and_nothing_leaves() {
    let mut bench = Testbench::new(routed(4));
    let ttl = |v6: bool, ttl: u8| {
        let mut flow = Flow::new(A, B);
        (flow.v6, flow.ttl) = (v6, ttl);
        flow.udp(100)
    };
    let mut wrong_checksum = Flow::new(A, B).udp(100);
    wrong_checksum.bytes[24] ^= 1;
    let mut malformed = Flow::new(A, B).udp(100);
    malformed.bytes[14] = 0x44;
    let mut short = Flow::new(A, B).v6().udp(100);
    short.bytes[18] = 1;
    let mut other_protocol = Flow::new(A, B).udp(100);
    other_protocol.bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    let address = |text: &str| toward(text.parse().unwrap());
    let at = |mac: MacAddress| {
        let mut frame = Flow::new(A, B).udp(100);
        frame.bytes[..6].copy_from_slice(&mac.0);
        frame
    };
    let cases = [
        (ttl(false, 1), DropReason::TtlExpired),
        (ttl(false, 0), DropReason::TtlExpired),
        (ttl(true, 1), DropReason::TtlExpired),
        (ttl(true, 0), DropReason::TtlExpired),
        (wrong_checksum, DropReason::IpChecksum),
        (malformed, DropReason::MalformedIp),
        (short, DropReason::MalformedIp),
        (other_protocol, DropReason::NotRoutable),
        (address("10.0.1.77"), DropReason::NoNeighbour),
        (address("2001:db8:1::77"), DropReason::NoNeighbour),
        (address("172.16.0.1"), DropReason::NoRoute),
        (address("2001:db9::1"), DropReason::NoRoute),
        (address("10.0.0.1"), DropReason::LocalUnserved),
        (address("10.0.3.1"), DropReason::LocalUnserved),
        (at(host_mac(B)), DropReason::NotForUs),
        (at(port_mac(B)), DropReason::NotForUs),
        (at(MacAddress::BROADCAST), DropReason::NotForUs),
        (at(MacAddress::NEAREST_BRIDGE), DropReason::LinkLocal),
    ];
    for (frame, reason) in cases {
        let before = dropped(&bench, A, reason);
        assert!(leaves(&mut bench, A, frame).is_empty(), "{reason:?}");
        assert_eq!(dropped(&bench, A, reason), before + 1, "{reason:?}");
    }
    assert_eq!(leaves(&mut bench, A, ttl(false, 2)), [1], "and 2 is enough");
    assert_eq!(leaves(&mut bench, A, ttl(true, 2)), [1]);
}

#[test]
fn a_frame_that_the_way_out_cannot_carry_is_dropped_by_name() {
    let mut settings = routed(2);
    settings.ports[1].max_frame = Bytes(1_518);
    let mut bench = Testbench::new(settings);
    assert!(leaves(&mut bench, A, Flow::new(A, B).udp(1_519)).is_empty());
    assert_eq!(dropped(&bench, A, DropReason::Oversize), 1);
    assert_eq!(leaves(&mut bench, A, Flow::new(A, B).udp(1_518)), [1]);
}

#[test]
fn equal_paths_share_flows_evenly_and_each_flow_keeps_its_path() {
    for v6 in [false, true] {
        let hops: [IpAddr; 3] = if v6 {
            [B, C, D].map(|port| host_v6(port).into())
        } else {
            [B, C, D].map(|port| host_v4(port).into())
        };
        let prefix = if v6 { "2001:db8:e::/48" } else { "172.16.0.0/12" };
        let mut bench = Testbench::new(routed_with(&[(prefix, &hops)]));
        let destination: IpAddr = if v6 { "2001:db8:e::5" } else { "172.16.9.9" }.parse().unwrap();
        let template = toward(destination);
        let port_at = if v6 { 54 } else { 34 };
        let mut paths: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
        for source_port in 0..6_000_u16 {
            let mut frame = template.clone();
            frame.bytes[port_at..port_at + 2].copy_from_slice(&source_port.to_be_bytes());
            let path = leaves(&mut bench, A, frame.clone());
            paths.entry(path[0]).or_default().push(source_port);
            if source_port.is_multiple_of(20) {
                // Another length, TTL, DSCP and payload: the same flow.
                *frame.bytes.last_mut().unwrap() ^= 0xff;
                frame.bytes[if v6 { 21 } else { 22 }] = 9;
                if !v6 {
                    frame.bytes[15] = 0xb8;
                    wire::ipv4::View::parse(&mut frame.bytes[14..]).unwrap().fill_checksum();
                }
                assert_eq!(leaves(&mut bench, A, frame), path);
            }
        }
        // Chi-square with two degrees of freedom: 13.8 is exceeded once in a thousand.
        let chi_square: f64 =
            paths.values().map(|flows| (flows.len() as f64 - 2_000.0).powi(2) / 2_000.0).sum();
        assert!(paths.len() == 3 && chi_square < 13.8, "{chi_square}");
    }
}

#[test]
fn pause_and_arp_frames_on_a_routed_port_are_consumed() {
    let mut bench = Testbench::new(routed(2));
    let arp = wire::arp::Packet {
        operation: wire::arp::Operation::REPLY,
        sender_mac: host_mac(A),
        sender_ip: host_v4(A),
        target_mac: port_mac(A),
        target_ip: conformance::settings::port_v4(A),
    };
    let mut bytes = vec![0; 60];
    bytes[..6].copy_from_slice(&port_mac(A).0);
    bytes[6..12].copy_from_slice(&host_mac(A).0);
    bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    arp.emit(&mut bytes[14..]).unwrap();
    assert!(leaves(&mut bench, A, TestFrame::new(bytes)).is_empty());
    assert_eq!(bench.shard.ingress_counters(A).consumed[Consumed::ArpOther.index()].frames, 1);
}
