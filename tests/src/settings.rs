//! Settings to start from.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ipnet::IpNet;
use switch::congestion::supplement::Settings as Supplement;
use switch::program::{
    BufferSettings, DynamicThreshold, GroupSettings, LosslessGroup, Notifier, PortSettings, Settings,
    Threshold,
};
use switch::{BridgeSettings, ForwardingSettings, Neighbour, Route, RouteSettings};
use units::{BitRate, Bytes, Interval, PortId, Priority, PrioritySet};
use wire::ethernet::MacAddress;
use wire::ip::Dscp;

use crate::{P3, P4, cost};

/// XOFF of the lossless groups here: what 100 frames of 1,000 bytes cost.
pub const XOFF: u64 = 100 * cost(1_000);
/// Their XON: 40 such frames.
pub const XON: u64 = 40 * cost(1_000);
/// Their headroom: 50 such frames.
pub const HEADROOM: u64 = 50 * cost(1_000);

/// The address of the gateway's port `port`.
pub fn port_mac(port: PortId) -> MacAddress {
    let [high, low] = port.0.to_be_bytes();
    MacAddress([0x02, 0, 0, 0, high, low])
}

/// The address of the station behind `port`.
pub fn host_mac(port: PortId) -> MacAddress {
    let [high, low] = port.0.to_be_bytes();
    MacAddress([0x02, 0, 0, 1, high, low])
}

/// The IPv4 address of the gateway's `port`: 10.0.port.1.
pub fn port_v4(port: PortId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, port.0 as u8, 1)
}

/// The IPv4 address of the station behind `port`: 10.0.port.2.
pub fn host_v4(port: PortId) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, port.0 as u8, 2)
}

/// The IPv6 address of the gateway's `port`: 2001:db8:port::1.
pub fn port_v6(port: PortId) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, port.0, 0, 0, 0, 0, 1)
}

/// The IPv6 address of the station behind `port`: 2001:db8:port::2.
pub fn host_v6(port: PortId) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, port.0, 0, 0, 0, 0, 2)
}

/// A lossless group with a static threshold and nothing reserved.
pub fn lossless(xoff: u64, xon: u64, headroom: u64) -> GroupSettings {
    GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes::ZERO,
        xoff: Threshold::Static(Bytes(xoff)),
        xon: Bytes(xon),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(headroom),
    })
}

/// `alpha = 2^exponent`.
///
/// # Panics
/// Outside -8 to 8.
pub fn alpha(exponent: i8) -> Threshold {
    Threshold::Dynamic(DynamicThreshold::new(exponent).expect("an exponent of -8 to 8"))
}

/// The lossless settings of a group, to change them.
///
/// # Panics
/// Where it is lossy.
pub fn group_of(settings: &mut Settings, port: PortId, priority: Priority) -> &mut LosslessGroup {
    match &mut settings.ports[port.index()].groups[priority.index()] {
        GroupSettings::Lossless(group) => group,
        GroupSettings::Lossy => panic!("{port}, priority {priority} is lossy"),
    }
}

/// A port: priorities 3 and 4 are lossless and obey pauses, all queues are strict.
pub fn port(number: PortId, rate: BitRate) -> PortSettings {
    let mut port = PortSettings::lossy(format!("port{}", number.0), port_mac(number), rate);
    for priority in [P3, P4] {
        port.groups[priority.index()] = lossless(XOFF, XON, HEADROOM);
    }
    port.pfc.obey = PrioritySet::EMPTY.with(P3).with(P4);
    port
}

/// A switch of `count` ports at `rate` that forwards by `forwarding`, with 18 MB to share, 6 MB of
/// headroom and 14 MB for lossy queues.
pub fn switch(count: u16, rate: BitRate, forwarding: ForwardingSettings) -> Settings {
    Settings {
        ports: (0..count).map(|number| port(PortId(number), rate)).collect(),
        buffer: BufferSettings {
            shared: Bytes(18_000_000),
            headroom: Bytes(6_000_000),
            egress_lossy: Bytes(14_000_000),
            packing: None,
        },
        forwarding,
        seed: 7,
    }
}

/// Two ports at 100G that are patched to each other.
pub fn two_ports() -> Settings {
    patched(2)
}

/// `count` ports at 100G, patched in pairs: 0 and 1, 2 and 3, and so on.
pub fn patched(count: u16) -> Settings {
    let pairs = (0..count / 2).map(|pair| (PortId(2 * pair), PortId(2 * pair + 1))).collect();
    switch(count, BitRate::gigabits(100), ForwardingSettings::Patch(pairs))
}

/// `count` ports at 100G of a bridge.
pub fn bridged(count: u16) -> Settings {
    switch(count, BitRate::gigabits(100), ForwardingSettings::Bridge(BridgeSettings::default()))
}

/// `count` ports at 100G of a router, with a station behind each and the networks
/// 192.168.port.0/24 and 2001:db8:a:port::/64 behind that.
pub fn routed(count: u16) -> Settings {
    let numbers = || (0..count).map(PortId);
    let stations = |port: PortId| [IpAddr::from(host_v4(port)), IpAddr::from(host_v6(port))];
    let neighbours = numbers()
        .flat_map(|port| stations(port).map(|address| Neighbour { address, mac: host_mac(port), port }));
    let routes = numbers().flat_map(|port| {
        let v4 = IpNet::new(Ipv4Addr::new(192, 168, port.0 as u8, 0).into(), 24);
        let v6 = IpNet::new(Ipv6Addr::new(0x2001, 0xdb8, 0xa, port.0, 0, 0, 0, 0).into(), 64);
        [v4, v6]
            .into_iter()
            .flatten()
            .zip(stations(port))
            .map(|(prefix, hop)| Route { prefix, next_hops: vec![hop] })
    });
    let forwarding = RouteSettings {
        routes: routes.collect(),
        neighbours: neighbours.collect(),
        kernel: None,
        sprays: false,
    };
    let mut settings = switch(count, BitRate::gigabits(100), ForwardingSettings::Route(forwarding));
    for port in numbers() {
        let networks = [IpNet::new(port_v4(port).into(), 24), IpNet::new(port_v6(port).into(), 64)];
        settings.ports[port.index()].addresses = networks.into_iter().flatten().collect();
    }
    settings
}

/// The time without a CNP after which a sender raises its rate.
pub const INCREASE_TIMER: Interval = Interval::from_micros(300);

/// Supplemental CNPs whose queue is always severely congested.
pub fn supplement() -> Supplement {
    Supplement {
        threshold: Some(Bytes(0)),
        increase_timer: INCREASE_TIMER,
        mark_lasts: Interval::from_micros(700),
        thinning: None,
        notifier: Notifier {
            flows: 1_024,
            ageing: Interval::from_secs(10),
            round_trip: Interval::from_micros(100),
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::from_low_bits(6),
        },
    }
}
