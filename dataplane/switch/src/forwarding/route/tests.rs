//! Equal paths, for every form of packet.

use super::*;
use crate::program::{BufferSettings, ForwardingSettings, PortSettings, Route};
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use units::{BitRate, Bytes};

const GATEWAY: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Routes to 10.9.0.0/16 and fd09::/32 through ports 1 and 2.
fn table() -> RouteTable {
    let neighbours = ["10.1.0.1", "10.2.0.1", "fd01::1", "fd02::1"].map(|it| it.parse::<IpAddr>().unwrap());
    let [v4, v6] = [[neighbours[0], neighbours[1]], [neighbours[2], neighbours[3]]];
    let behind = |(address, port)| Neighbour {
        address,
        mac: MacAddress([2, 0, 0, 0, 1, port as u8]),
        port: PortId(port),
    };
    let routes = RouteSettings {
        routes: [("10.9.0.0/16", v4), ("fd09::/32", v6)]
            .map(|(prefix, hops)| Route { prefix: prefix.parse().unwrap(), next_hops: hops.into() })
            .into(),
        neighbours: neighbours.into_iter().zip([1, 2, 1, 2]).map(behind).collect(),
        kernel: None,
        sprays: false,
    };
    table_of(routes)
}

fn table_of(routes: RouteSettings) -> RouteTable {
    let buffer =
        BufferSettings { shared: Bytes(0), headroom: Bytes(0), egress_lossy: Bytes(0), packing: None };
    let ports = ["a", "b", "c"].map(|name| PortSettings::lossy(name, GATEWAY, BitRate::gigabits(10)));
    let forwarding = ForwardingSettings::Route(routes.clone());
    RouteTable::new(&routes, &Settings { ports: ports.into(), buffer, forwarding, seed: 1 }, None)
}

/// A frame to 10.9.0.1 of this protocol, with these options and flags, and these bytes behind the header.
fn v4(tag: &[u8], options: &[u8], (flags, protocol): (u8, u8), ports: [u8; 4]) -> Vec<u8> {
    let words = 5 + options.len() as u8 / 4;
    let length = 4 * words + 40;
    let fixed = [0x40 | words, 0, 0, length, 0, 1, flags, 0, 64, protocol, 0, 0, 10, 0, 0, 7, 10, 9, 0, 1];
    let mut packet = [&fixed[..], options, &ports, &[0; 36]].concat();
    ipv4::View::parse(&mut packet[..]).unwrap().fill_checksum();
    [&GATEWAY.0[..], &[2, 0, 0, 0, 0, 9], tag, &[8, 0], &packet].concat()
}

/// A frame to fd09::1, with these extension headers.
fn v6(next: u8, extensions: &[u8], ports: [u8; 4]) -> Vec<u8> {
    let length = extensions.len() as u8 + 40;
    let mut addresses = [0; 32];
    addresses[..2].copy_from_slice(&[0xfd, 7]);
    addresses[16..18].copy_from_slice(&[0xfd, 9]);
    let packet =
        [&[0x60, 0, 0, 0, 0, length, next, 64][..], &addresses, extensions, &ports, &[0; 36]].concat();
    [&GATEWAY.0[..], &[2, 0, 0, 0, 0, 9, 0x86, 0xdd], &packet].concat()
}

#[test]
fn routes_of_the_kernel_through_the_same_hops_share_them() {
    let hop = |port| Neighbour {
        address: [10, 0, 0, port as u8].into(),
        mac: MacAddress([2, 0, 0, 0, 1, port as u8]),
        port: PortId(port),
    };
    let learned = |net: u8, hops: &[u16]| crate::program::LearnedRoute {
        prefix: IpNet::new([10, net, 0, 0].into(), 16).unwrap(),
        hops: hops.iter().copied().map(hop).collect(),
    };
    let learned = vec![learned(1, &[1, 2]), learned(2, &[1, 2]), learned(3, &[2]), learned(4, &[])];
    let kernel =
        crate::program::KernelPath { priority: units::Priority::from_low_bits(6), learned: learned.into() };
    let table = table_of(RouteSettings { kernel: Some(kernel), ..Default::default() });
    let ports =
        |net| table.ports_toward([10, net, 0, 1].into()).iter().map(|port| port.0).collect::<Vec<_>>();
    assert_eq!([1, 2, 3, 4].map(ports), [vec![1, 2], vec![1, 2], vec![2], vec![]]);
    assert_eq!(table.hops.len(), 3);
}

/// The number of flows through ports 1 and 2, of a thousand whose first two bytes behind the IP header differ.
fn shares(frame: impl Fn([u8; 4]) -> Vec<u8>) -> [u32; 2] {
    let table = table();
    let mut shares = [0; 2];
    for number in 0..1_000_u16 {
        let [high, low] = number.to_be_bytes();
        let way = || {
            let mut frame = frame([high, low, 0x12, 0xb7]);
            let descriptor = Descriptor::parse(&frame, Bytes(frame.len() as u64)).unwrap();
            match table.verdict(PortId(0), &descriptor, &mut frame) {
                Verdict::Forward(port) => port.index() - 1,
                verdict => panic!("{verdict:?}"),
            }
        };
        assert_eq!(way(), way(), "a flow keeps its path");
        shares[way()] += 1;
    }
    shares
}

#[test]
fn of_equal_paths_frames_of_the_gateway_take_the_one_through_their_port() {
    let table = table();
    let station = |port| MacAddress([2, 0, 0, 0, 1, port]);
    for address in ["10.9.0.1", "fd09::1"].map(|it| it.parse().unwrap()) {
        let toward = |port| table.toward(address, PortId(port));
        assert_eq!(toward(1), Some((PortId(1), station(1))));
        assert_eq!(toward(2), Some((PortId(2), station(2))));
        assert_eq!(toward(0), Some((PortId(1), station(1))), "none is through that port");
        let ports = table.ports_toward(address);
        assert_eq!([0, 1, 2].map(|port| ports.contains(PortId(port))), [false, true, true]);
    }
    let unknown = "10.8.0.1".parse().unwrap();
    assert_eq!((table.toward(unknown, PortId(1)), table.ports_toward(unknown)), (None, PortSet::EMPTY));
}

#[test]
fn packets_of_one_flow_are_drawn_evenly_and_the_same_again_by_the_same_generator() {
    let table = table();
    let plain = || v4(&[], &[], (0x40, UDP), [1, 2, 0x12, 0xb7]);
    let tagged = || v4(&[0x81, 0, 0x60, 5], &[], (0x40, UDP), [1, 2, 0x12, 0xb7]);
    for frame in [&plain as &dyn Fn() -> Vec<u8>, &tagged, &|| v6(UDP, &[], [1, 2, 0x12, 0xb7])] {
        let drawn = |seed| {
            let mut rng = Pcg32::seed_from_u64(seed);
            let mut ports = Vec::new();
            for _ in 0..1_000 {
                let mut frame = frame();
                let descriptor = Descriptor::parse(&frame, Bytes(frame.len() as u64)).unwrap();
                match table.sprayed(PortId(0), &descriptor, &mut frame, &mut rng) {
                    Verdict::Forward(port) => ports.push(port.0),
                    verdict => panic!("{verdict:?}"),
                }
            }
            ports
        };
        let first = drawn(1).iter().filter(|port| **port == 1).count();
        assert!((440..=560).contains(&first), "{first} of 1,000 through the first");
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}

#[test]
fn equal_paths_share_flows_by_ports_and_packets_without_ports_by_addresses() {
    let options = [1; 8];
    // PCP 2, VLAN 0x505: the tag begins like an IPv4 header.
    let tag = [0x81, 0, 0x45, 5];
    let (whole, first, later) = (0x40, 0x20, 1);
    let is_even = |shares: [u32; 2]| shares.iter().all(|share| (440..=560).contains(share));
    for protocol in [TCP, UDP] {
        assert!(is_even(shares(|ports| v4(&[], &[], (whole, protocol), ports))));
        assert!(is_even(shares(|ports| v4(&tag, &[], (whole, protocol), ports))), "with a tag");
        assert!(is_even(shares(|ports| v4(&[], &options, (whole, protocol), ports))), "with options");
        assert!(is_even(shares(|ports| v6(protocol, &[], ports))), "IPv6");
        assert!(is_even(shares(|ports| v6(60, &[protocol, 0, 1, 4, 0, 0, 0, 0], ports))), "extensions");
    }
    let is_one = |shares: [u32; 2]| shares.contains(&1_000);
    assert!(is_one(shares(|ports| v4(&[], &[], (whole, 47), ports))), "GRE");
    assert!(is_one(shares(|ports| v4(&[], &[], (first, UDP), ports))), "a first fragment");
    assert!(is_one(shares(|ports| v4(&[], &[], (later, UDP), ports))), "a later fragment");
    assert!(is_one(shares(|ports| v6(47, &[], ports))), "GRE over IPv6");
    assert!(is_one(shares(|ports| v6(44, &[UDP, 0, 0, 1, 0, 0, 0, 7], ports))), "a fragment of IPv6");
}
