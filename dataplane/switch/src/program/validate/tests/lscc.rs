//! The checks of LSCC.

use super::*;
use crate::congestion::{LsccError, LsccPortsError};
use crate::program::{Feedback, FlowSettings, Lscc};
use core::net::Ipv4Addr;
use units::WireBytes;

const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// LSCC on a link of `RATE` and 1 ms there and back, with the least that passes.
fn lscc() -> Lscc {
    let mut lscc = Lscc::PLAIN;
    lscc.calculation.reference = WireBytes(1);
    lscc.calculation.most = RATE;
    lscc.limiting.reference = WireBytes(1);
    lscc.limiting.long_flow = Some(WireBytes(12_500_000));
    lscc
}

/// As [`checked`], for a change of LSCC on port "b".
fn checked_lscc(change: impl FnOnce(&mut Lscc)) -> Result<(), ProgramError> {
    let mut lscc = lscc();
    change(&mut lscc);
    checked_port(|it| it.notifiers.lscc = Some(lscc))
}

fn of_lscc(error: LsccError) -> ProgramError {
    of_b(NotifiersError::from(error))
}

#[test]
fn lscc_needs_a_lossless_priority() {
    assert_eq!(checked_lscc(|_| ()), Ok(()));
    let lossy = checked_port(|it| {
        it.notifiers.lscc = Some(lscc());
        it.groups[P3.index()] = GroupSettings::Lossy;
    });
    assert_eq!(lossy, Err(of_lscc(LsccError::WithoutLossless)));
}

#[test]
fn rates_of_lscc_are_a_microsecond_to_a_round_trip_apart_and_at_most_65_536_in_flight() {
    let with = |interval, round_trip| {
        checked_lscc(|it| {
            (it.interval, it.round_trip) = (Interval(interval), Interval(round_trip));
            it.limiting.long_flow = Some(WireBytes(u64::MAX));
        })
    };
    let refused = |interval, most| {
        let [interval, least, most] = [interval, 1_000, most].map(Interval);
        Err(of_lscc(LsccError::Interval { interval, least, most }))
    };
    assert_eq!(with(999, 1_000_000), refused(999, 1_000_000));
    assert_eq!(with(1_000, 1_000_000), Ok(()));
    assert_eq!(with(1_000_000, 1_000_000), Ok(()));
    assert_eq!(with(1_000_001, 1_000_000), refused(1_000_001, 1_000_000));
    assert_eq!(with(1_000, 65_536_000), Ok(()));
    assert_eq!(with(1_000, 65_536_001), Err(of_lscc(LsccError::InFlight { count: 65_537, most: 65_536 })));
}

#[test]
fn the_least_rate_is_not_above_the_most_nor_that_above_the_link() {
    let with = |least, most| {
        checked_lscc(|it| {
            (it.calculation.least, it.calculation.most) = (BitRate::gigabits(least), BitRate::gigabits(most));
        })
    };
    let refused = |least, most| {
        let [least, most] = [least, most].map(BitRate::gigabits);
        Err(of_lscc(LsccError::Rates { least, most, rate: RATE }))
    };
    assert_eq!(with(100, 100), Ok(()));
    assert_eq!(with(51, 50), refused(51, 50));
    assert_eq!(with(50, 101), refused(50, 101));
}

#[test]
fn lscc_aims_at_a_queue_and_leaves_an_idle_link_alone() {
    let empty = checked_lscc(|it| it.calculation.reference = WireBytes(0));
    assert_eq!(empty, Err(of_lscc(LsccError::Reference)));
    let idle = checked_lscc(|it| it.limiting.reference = WireBytes(0));
    assert_eq!(idle, Err(of_lscc(LsccError::PseudoReference)));
}

#[test]
fn a_pseudo_queue_may_grow_beyond_its_reference_or_without_a_bound() {
    let with = |limit: Option<u64>| {
        checked_lscc(|it| {
            it.limiting.reference = WireBytes(1_000);
            it.limiting.limit = limit.map(WireBytes);
        })
    };
    let (limit, reference) = (Bytes(1_000), Bytes(1_000));
    assert_eq!(with(Some(1_000)), Err(of_lscc(LsccError::PseudoLimit { limit, reference })));
    assert_eq!([Some(1_001), None].map(with), [Ok(()), Ok(())]);
}

#[test]
fn cnps_are_a_microsecond_apart_and_a_long_flow_has_filled_the_link() {
    let cnps = |interval| checked_lscc(|it| it.limiting.cnp_interval = Interval(interval));
    assert_eq!(cnps(1_000), Ok(()));
    let (interval, least) = (Interval(999), Interval(1_000));
    assert_eq!(cnps(999), Err(of_lscc(LsccError::CnpInterval { interval, least })));
    let (long_flow, least) = (Bytes(12_499_999), Bytes(12_500_000));
    let short = checked_lscc(|it| it.limiting.long_flow = Some(WireBytes(long_flow.0)));
    assert_eq!(short, Err(of_lscc(LsccError::LongFlow { long_flow, least })));
}

#[test]
fn lscc_knows_1_to_4_194_304_flows_for_some_time() {
    let with = |flows| checked_lscc(|it| it.limiting.flows = flows);
    let refused = |flows| Err(of_lscc(LsccError::Flows { flows, most: 4_194_304 }));
    assert_eq!(FlowSettings::MOST, 4_194_304);
    assert_eq!(with(0), refused(0));
    assert_eq!(with(1), Ok(()));
    assert_eq!(with(4_194_304), Ok(()));
    assert_eq!(with(4_194_305), refused(4_194_305));
    let ageing = checked_lscc(|it| it.limiting.ageing = Interval::ZERO);
    assert_eq!(ageing, Err(of_lscc(LsccError::Ageing)));
}

#[test]
fn both_ends_of_lscc_have_addresses_of_different_hosts() {
    for address in
        [Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(224, 0, 0, 1), Ipv4Addr::BROADCAST, Ipv4Addr::LOCALHOST]
    {
        let refused = Err(of_lscc(LsccError::Address { address }));
        assert_eq!(checked_lscc(|it| it.feedback.local = address), refused);
        assert_eq!(checked_lscc(|it| it.feedback.peer = address), refused);
    }
    let itself = checked_lscc(|it| it.feedback.local = PEER);
    assert_eq!(itself, Err(of_lscc(LsccError::ToItself { address: PEER })));
}

#[test]
fn two_ports_with_lscc_have_different_addresses_and_different_peers() {
    let local = Lscc::PLAIN.feedback.local;
    let with = |local, peer| {
        checked(|it| {
            it.ports[1].notifiers.lscc = Some(lscc());
            let feedback = Feedback { local, peer, ..lscc().feedback };
            it.ports[2].notifiers.lscc = Some(Lscc { feedback, ..lscc() });
        })
    };
    let (other_local, other_peer) = (Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 4));
    let twice =
        |address| Err(E::LsccPorts(LsccPortsError::AddressTwice { port: "c".into(), other: b(), address }));
    assert_eq!(with(other_local, other_peer), Ok(()));
    assert_eq!(with(local, other_peer), twice(local));
    assert_eq!(with(other_local, PEER), twice(PEER));
}

#[test]
fn only_ports_that_get_lossless_frames_from_a_long_port_must_not_mark_them() {
    let red = Red { kmin: Bytes(1), kmax: Bytes(2), pmax: 1.0, mark_at: MarkAt::Dequeue, adaptive: None };
    let with = |marking: usize, priority: Priority, forwarding| {
        checked(|it| {
            it.ports[1].notifiers.lscc = Some(lscc());
            it.ports[marking].queues[priority.index()].red = Some(red);
            it.forwarding = forwarding;
        })
    };
    let patch = |one, other| ForwardingSettings::Patch(vec![(PortId(one), PortId(other))]);
    let bridge = || ForwardingSettings::Bridge(BridgeSettings::default());
    let route = || ForwardingSettings::Route(RouteSettings::default());
    let refused = |port: &str| {
        Err(E::LsccPorts(LsccPortsError::Marking { port: port.into(), long: b(), priority: P3 }))
    };
    for forwarding in [patch(1, 2), patch(2, 1), bridge(), route()] {
        assert_eq!(with(2, P3, forwarding), refused("c"));
    }
    for forwarding in [patch(0, 1), patch(1, 0)] {
        assert_eq!(with(2, P3, forwarding), Ok(()), "the frames leave through another port");
    }
    assert_eq!(with(1, P3, bridge()), Ok(()), "the port itself may mark");
    assert_eq!(with(2, P4, bridge()), Ok(()), "lossy frames may be marked");
}

#[test]
fn packets_are_not_sprayed_where_a_port_knows_flows_by_the_way_that_they_take() {
    let with = |sprays, lscc: Option<Lscc>| {
        checked(|it| {
            it.forwarding = ForwardingSettings::Route(RouteSettings { sprays, ..Default::default() });
            it.ports[1].notifiers.lscc = lscc;
        })
    };
    assert_eq!(with(true, None), Ok(()));
    assert_eq!(with(false, Some(lscc())), Ok(()));
    assert_eq!(with(true, Some(lscc())), Err(E::Sprayed { port: b() }));
}
