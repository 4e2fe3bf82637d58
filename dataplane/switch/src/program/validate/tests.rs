//! Each check on both sides of its bound.

mod lscc;
mod remap;

use super::*;
use crate::congestion::adaptive_ecn::{AdaptiveEcnError, Settings as AdaptiveEcn};
use crate::congestion::red::RedError;
use crate::program::{
    BridgeSettings, ForwardingSettings, GroupSettings, MarkAt, Neighbour, Red, Route, RouteSettings,
    WatchdogAction,
};
use ProgramError as E;
use core::net::IpAddr;
use units::{BitRate, Interval, PortId};
use wire::ethernet::MacAddress;

const P3: Priority = Priority::from_low_bits(3);
const P4: Priority = Priority::from_low_bits(4);
/// The rate of all ports.
const RATE: BitRate = BitRate::gigabits(100);

/// A port with a lossless priority, 3.
fn port(name: &str) -> PortSettings {
    let mut port = PortSettings::lossy(name, MacAddress([2, 0, 0, 0, 0, 1]), RATE);
    port.groups[P3.index()] = GroupSettings::Lossless(LosslessGroup {
        reserved: Bytes(1_000),
        xoff: Threshold::Static(Bytes(2_000)),
        xon: Bytes(1_500),
        xon_offset: Bytes::ZERO,
        headroom: Bytes(4_000),
    });
    port
}

/// Ports "a", "b" and "c", wired to nothing.
fn settings() -> Settings {
    Settings {
        ports: ["a", "b", "c"].map(port).into(),
        buffer: BufferSettings {
            shared: Bytes(10_000),
            headroom: Bytes(10_000),
            egress_lossy: Bytes(5_000),
            packing: None,
        },
        forwarding: ForwardingSettings::Patch(Vec::new()),
        seed: 1,
    }
}

/// The result of the checks after a change.
fn checked(change: impl FnOnce(&mut Settings)) -> Result<(), ProgramError> {
    let mut settings = settings();
    change(&mut settings);
    validate(&settings)
}

/// As [`checked`], for a change of port "b".
fn checked_port(change: impl FnOnce(&mut PortSettings)) -> Result<(), ProgramError> {
    checked(|it| change(&mut it.ports[1]))
}

/// As [`checked`], for a change of the lossless group of port "b".
fn checked_group(change: impl FnOnce(&mut LosslessGroup)) -> Result<(), ProgramError> {
    checked_port(|it| change(it.groups[P3.index()].lossless_mut().unwrap()))
}

/// As [`checked`], for a change of the queue of priority 3 of port "b".
fn checked_queue(change: impl FnOnce(&mut QueueSettings)) -> Result<(), ProgramError> {
    checked_port(|it| change(&mut it.queues[P3.index()]))
}

fn b() -> String {
    "b".into()
}

fn of_b(error: impl Into<PortError>) -> ProgramError {
    E::Port { port: b(), error: error.into() }
}

fn of_group(priority: Priority, error: GroupError) -> ProgramError {
    E::Group { port: b(), priority, error }
}

/// For the queue of priority 3.
fn of_queue(error: impl Into<QueueError>) -> ProgramError {
    E::Queue { port: b(), priority: P3, error: error.into() }
}

/// For thresholds of that queue that move.
fn of_adaptive(error: AdaptiveEcnError) -> ProgramError {
    of_queue(RedError::from(error))
}

#[test]
fn a_switch_has_1_to_128_ports_with_different_names() {
    let with = |count: usize| checked(|it| it.ports = (0..count).map(|n| port(&n.to_string())).collect());
    assert_eq!(with(0), Err(E::PortCount { count: 0, most: 128 }));
    assert_eq!(with(1), Ok(()));
    assert_eq!(with(128), Ok(()));
    assert_eq!(with(129), Err(E::PortCount { count: 129, most: 128 }));
    assert_eq!(checked(|it| it.ports[2].name = b()), Err(E::DuplicateName { port: b() }));
}

#[test]
fn the_egress_pool_of_lossy_queues_fits_the_shared_pool() {
    let with = |egress_lossy| checked(|it| it.buffer.egress_lossy = egress_lossy);
    let (shared, above) = (Bytes(10_000), Bytes(10_001));
    assert_eq!(with(shared), Ok(()));
    assert_eq!(with(above), Err(E::LossyAboveShared { egress_lossy: above, shared }));
}

#[test]
fn the_longest_frame_of_a_port_is_64_to_9_216_bytes() {
    let with = |length| checked_port(|it| it.max_frame = Bytes(length));
    let refused =
        |given| Err(of_b(PortError::MaxFrame { given: Bytes(given), least: Bytes(64), most: Bytes(9_216) }));
    assert_eq!(with(63), refused(63));
    assert_eq!(with(64), Ok(()));
    assert_eq!(with(9_216), Ok(()));
    assert_eq!(with(9_217), refused(9_217));
}

#[test]
fn a_port_has_an_address_of_one_station_and_pauses_for_a_time() {
    let group = MacAddress([1, 0, 0x5e, 0, 0, 1]);
    assert_eq!(checked_port(|it| it.mac = group), Err(of_b(PortError::GroupAddress)));
    assert_eq!(checked_port(|it| it.pfc.pause = PauseQuanta::ZERO), Err(of_b(PortError::ZeroPause)));
}

#[test]
fn only_ports_with_telemetry_need_a_rate_that_it_has_a_code_for() {
    let rate = BitRate::gigabits(3);
    assert_eq!(checked_port(|it| it.int = true), Ok(()));
    assert_eq!(checked_port(|it| it.rate = rate), Ok(()));
    let both = checked_port(|it| (it.rate, it.int) = (rate, true));
    assert_eq!(both, Err(of_b(PortError::TelemetryRate { rate })));
}

#[test]
fn a_port_obeys_pauses_for_lossless_priorities_only() {
    assert_eq!(checked_port(|it| it.pfc.obey = it.pfc.obey.with(P3)), Ok(()));
    let lossy = checked_port(|it| it.pfc.obey = it.pfc.obey.with(P3).with(P4));
    assert_eq!(lossy, Err(of_group(P4, GroupError::ObeysLossy)));
}

#[test]
fn times_of_a_watchdog_are_within_their_ranges() {
    let with = |detection, restoration| {
        let [detection, restoration] = [detection, restoration].map(Interval::from_micros);
        checked_port(|it| {
            it.watchdog = Some(Watchdog { detection, restoration, action: WatchdogAction::Alert });
        })
    };
    let refused = |what, given, most| {
        let [given, least, most] = [given, 100_000, most].map(Interval::from_micros);
        Err(of_b(PortError::WatchdogTime { what, given, least, most }))
    };
    assert_eq!(with(100_000, 100_000), Ok(()));
    assert_eq!(with(5_000_000, 60_000_000), Ok(()));
    assert_eq!(with(99_999, 100_000), refused("detection", 99_999, 5_000_000));
    assert_eq!(with(5_000_001, 100_000), refused("detection", 5_000_001, 5_000_000));
    assert_eq!(with(100_000, 99_999), refused("restoration", 99_999, 60_000_000));
    assert_eq!(with(100_000, 60_000_001), refused("restoration", 60_000_001, 60_000_000));
}

#[test]
fn a_static_xoff_lies_above_the_reserved_bytes_and_xon_and_within_the_shared_pool() {
    let with =
        |xoff, xon| checked_group(|it| (it.xoff, it.xon) = (Threshold::Static(Bytes(xoff)), Bytes(xon)));
    let (priority, reserved, shared) = (P3, Bytes(1_000), Bytes(10_000));
    let within = of_group(priority, GroupError::XoffWithinReserved { xoff: reserved, reserved });
    assert_eq!(with(1_000, 0), Err(within));
    assert_eq!(with(1_001, 1_001), Ok(()));
    let (xon, xoff) = (Bytes(1_002), Bytes(1_001));
    assert_eq!(with(1_001, 1_002), Err(of_group(priority, GroupError::XonAboveXoff { xon, xoff })));
    assert_eq!(with(11_000, 0), Ok(()));
    let above = of_group(priority, GroupError::XoffAbovePool { xoff: Bytes(11_001), shared });
    assert_eq!(with(11_001, 0), Err(above));
}

#[test]
fn the_headroom_of_a_group_fits_the_headroom_pool() {
    let (priority, headroom, pool) = (P3, Bytes(10_001), Bytes(10_000));
    assert_eq!(checked_group(|it| it.headroom = pool), Ok(()));
    let above = of_group(priority, GroupError::HeadroomAbovePool { headroom, pool });
    assert_eq!(checked_group(|it| it.headroom = headroom), Err(above));
}

#[test]
fn a_port_has_8_to_64_queues_and_the_first_belong_to_the_priorities_in_order() {
    let with = |count| {
        checked_port(|it| {
            let first = it.queues[0];
            it.queues.resize(count, first);
        })
    };
    let refused = |count| Err(of_b(PortError::QueueCount { count, least: 8, most: 64 }));
    assert_eq!(with(7), refused(7));
    assert_eq!(with(8), Ok(()));
    assert_eq!(with(64), Ok(()));
    assert_eq!(with(65), refused(65));
    let swapped = checked_queue(|it| it.priority = P4);
    assert_eq!(swapped, Err(of_b(PortError::FirstQueues { queue: QueueId::from(P3), priority: P4 })));
}

#[test]
fn a_weight_is_not_zero_and_marks_begin_below_their_end_with_a_probability() {
    assert_eq!(checked_queue(|it| it.scheduling = Scheduling::Weighted(1)), Ok(()));
    let weight = checked_queue(|it| it.scheduling = Scheduling::Weighted(0));
    assert_eq!(weight, Err(of_queue(QueueError::ZeroWeight)));
    let red = |kmin, kmax, pmax| {
        let (kmin, kmax) = (Bytes(kmin), Bytes(kmax));
        checked_queue(|it| it.red = Some(Red { kmin, kmax, pmax, mark_at: MarkAt::Dequeue, adaptive: None }))
    };
    assert_eq!(red(9, 10, 1.0), Ok(()));
    let order = of_queue(RedError::Order { kmin: Bytes(10), kmax: Bytes(10) });
    assert_eq!(red(10, 10, 1.0), Err(order));
    for pmax in [0.0, 1.1, -0.5] {
        assert_eq!(red(9, 10, pmax), Err(of_queue(RedError::Probability { pmax })));
    }
    assert!(matches!(
        red(9, 10, f64::NAN),
        Err(E::Queue { error: QueueError::Red(RedError::Probability { .. }), .. })
    ));
}

#[test]
fn a_patch_wires_each_port_to_one_other() {
    let with = |pairs: &[(u16, u16)]| {
        let pairs = pairs.iter().map(|&(one, other)| (PortId(one), PortId(other))).collect();
        checked(|it| it.forwarding = ForwardingSettings::Patch(pairs))
    };
    assert_eq!(with(&[(0, 2)]), Ok(()));
    assert_eq!(with(&[(0, 3)]), Err(E::UnknownPort { what: "a patch".into(), port: 3, count: 3 }));
    assert_eq!(with(&[(1, 1)]), Err(E::PatchedToItself { port: b() }));
    assert_eq!(with(&[(0, 1), (2, 1)]), Err(E::PatchedTwice { port: b() }));
}

#[test]
fn a_bridge_has_room_for_1_to_1_048_576_addresses() {
    let with = |capacity| {
        let bridge = BridgeSettings { capacity, ..BridgeSettings::default() };
        checked(|it| it.forwarding = ForwardingSettings::Bridge(bridge))
    };
    let refused = |capacity| Err(E::BridgeCapacity { capacity, most: 1_048_576 });
    assert_eq!(with(0), refused(0));
    assert_eq!(with(1), Ok(()));
    assert_eq!(with(1_048_576), Ok(()));
    assert_eq!(with(1_048_577), refused(1_048_577));
}

#[test]
fn a_route_is_a_prefix_of_its_own_through_known_neighbours() {
    let (known, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let neighbour = Neighbour { address: known, mac: MacAddress([2, 0, 0, 0, 0, 9]), port: PortId(2) };
    let with = |neighbours: &[Neighbour], routes: &[(&str, &[IpAddr])]| {
        let route = |&(prefix, hops): &(&str, &[IpAddr])| Route {
            prefix: prefix.parse().unwrap(),
            next_hops: hops.into(),
        };
        let (routes, neighbours) = (routes.iter().map(route).collect(), neighbours.into());
        checked(|it| {
            it.forwarding =
                ForwardingSettings::Route(RouteSettings { routes, neighbours, kernel: None, sprays: false })
        })
    };
    assert_eq!(with(&[neighbour], &[("10.1.0.0/16", &[known])]), Ok(()));
    let far = Neighbour { port: PortId(3), ..neighbour };
    let what = "the neighbour 10.0.0.1".into();
    assert_eq!(with(&[far], &[]), Err(E::UnknownPort { what, port: 3, count: 3 }));
    let group = Neighbour { mac: MacAddress::BROADCAST, ..neighbour };
    assert_eq!(with(&[group], &[]), Err(E::NeighbourGroupAddress { neighbour: known }));
    let twice = |prefix: &str| Err(E::DuplicatePrefix { prefix: prefix.into() });
    assert_eq!(with(&[neighbour, neighbour], &[]), twice("10.0.0.1/32"));
    assert_eq!(with(&[neighbour], &[("10.0.0.1/32", &[known])]), twice("10.0.0.1/32"));
    let prefix = || "10.1.0.0/16".to_owned();
    assert_eq!(with(&[neighbour], &[("10.1.0.0/16", &[])]), Err(E::NoNextHop { prefix: prefix() }));
    let unknown = E::UnknownNextHop { prefix: prefix(), next_hop: other };
    assert_eq!(with(&[neighbour], &[("10.1.0.0/16", &[known, other])]), Err(unknown));
    let host_bits = E::Prefix { prefix: "10.1.0.1/16".into() };
    assert_eq!(with(&[neighbour], &[("10.1.0.1/16", &[known])]), Err(host_bits));
}

#[test]
fn adaptive_thresholds_fall_to_lower_ones_in_order_at_times_and_for_ports_in_range() {
    let valid =
        AdaptiveEcn { kmin: Bytes(10), kmax: Bytes(40), interval: Interval::from_micros(10), incast: 2 };
    let with = |adaptive: AdaptiveEcn| {
        let (kmin, kmax, mark_at) = (Bytes(20), Bytes(50), MarkAt::Dequeue);
        checked_queue(|it| it.red = Some(Red { kmin, kmax, pmax: 0.5, mark_at, adaptive: Some(adaptive) }))
    };
    assert_eq!(with(valid), Ok(()));
    assert_eq!(with(AdaptiveEcn { kmin: Bytes(20), kmax: Bytes(50), ..valid }), Ok(()), "no room to move");
    for (least_kmin, least_kmax) in [(40, 40), (21, 40), (10, 51)].map(|(one, two)| (Bytes(one), Bytes(two)))
    {
        let refused = with(AdaptiveEcn { kmin: least_kmin, kmax: least_kmax, ..valid });
        let (kmin, kmax) = (Bytes(20), Bytes(50));
        let order = of_adaptive(AdaptiveEcnError::Order { kmin, kmax, least_kmin, least_kmax });
        assert_eq!(refused, Err(order));
    }
    let (least, most) = (*AdaptiveEcn::INTERVALS.start(), *AdaptiveEcn::INTERVALS.end());
    for given in [least - Interval(1), most + Interval(1)] {
        let refused = with(AdaptiveEcn { interval: given, ..valid });
        assert_eq!(refused, Err(of_adaptive(AdaptiveEcnError::Interval { given, least, most })));
    }
    let refused = with(AdaptiveEcn { incast: 1, ..valid });
    assert_eq!(refused, Err(of_adaptive(AdaptiveEcnError::Incast { incast: 1 })));
}
