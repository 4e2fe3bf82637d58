//! Networks that stop, networks that run on the spot, and networks that merely wait.

use conformance::settings::{host_mac, host_v4, lossless, port_mac, switch};
use conformance::simulated::{PACKET, Plan, assert_lossless, endless, flow, host, host_of_pair, options};
use conformance::{A, B, C, P3};
use core::net::{IpAddr, Ipv4Addr};
use endpoint::{GoBackN, HostSettings, Transport};
use ipnet::IpNet;
use simulation::{Ending, Faults, FlowSpec, NodeId, Options, PausedQueue, SwitchOutcome};
use switch::program::Settings;
use switch::repair::Repair;
use switch::{ForwardingSettings, Neighbour, Route, RouteSettings};
use units::{BitRate, Interval, Nanos, PortId, PrioritySet, WireBytes};

const RATE: BitRate = BitRate::gigabits(100);
const SWITCHES: u16 = 4;

/// Switch `number` of a ring: a host behind port A, the next switch behind port B, the last one behind C.
/// Everything goes round in one direction, over links with this repair.
fn of_ring(number: u16, repair: Option<Repair>) -> Settings {
    let next = IpAddr::from(Ipv4Addr::new(10, 9, number as u8, 1));
    let own = IpAddr::from(host_v4(PortId(number)));
    let routes = (0..SWITCHES).filter(|other| *other != number).filter_map(|other| {
        let prefix = IpNet::new(host_v4(PortId(other)).into(), 32).ok()?;
        Some(Route { prefix, next_hops: vec![next] })
    });
    let neighbours = vec![
        Neighbour { address: own, mac: host_mac(PortId(number)), port: A },
        Neighbour { address: next, mac: port_mac(C), port: B },
    ];
    let forwarding = RouteSettings { routes: routes.collect(), neighbours, kernel: None, sprays: false };
    let mut settings = switch(3, RATE, ForwardingSettings::Route(forwarding));
    for port in &mut settings.ports {
        port.groups[3] = lossless(40_000, 30_000, 100_000);
    }
    for port in [B, C] {
        settings.ports[port.index()].repair = repair;
    }
    settings
}

/// A ring of switches, with a host at each.
fn ring(repair: Option<Repair>) -> (Plan, Vec<NodeId>) {
    let mut plan = Plan::default();
    let switches: Vec<_> = (0..SWITCHES).map(|number| plan.switch(of_ring(number, repair))).collect();
    let hosts: Vec<_> = (0..SWITCHES)
        .map(|number| plan.host(host(host_mac(PortId(number)), host_v4(PortId(number)), port_mac(A), RATE)))
        .collect();
    for (number, here) in switches.iter().enumerate() {
        plan.join([(hosts[number], PortId(0)), (*here, A)], RATE, Interval(1_000));
        let next = switches[(number + 1) % switches.len()];
        plan.join([(*here, B), (next, C)], RATE, Interval(1_000));
    }
    (plan, hosts)
}

#[test]
fn a_ring_that_pauses_itself_is_a_deadlock_and_its_cycle_is_named() {
    pauses_itself(None);
}

#[test]
fn a_ring_of_repaired_links_that_pauses_itself_is_one_as_well() {
    let priorities = PrioritySet::EMPTY.with(P3);
    let round_trip = Interval(2_000);
    let retention = WireBytes(1_000_000);
    let (period, outage) = (Interval::from_micros(10), Interval::from_millis(50));
    let (frames, keeps_order, key) = (4_096, true, None);
    pauses_itself(Some(Repair {
        priorities,
        round_trip,
        retention,
        frames,
        period,
        outage,
        keeps_order,
        key,
    }));
}

fn pauses_itself(repair: Option<Repair>) {
    let (plan, hosts) = ring(repair);
    let count = hosts.len();
    // The ends of repaired links have met by then.
    let start = Nanos(100_000);
    let to_last = |n| flow(n as u32, hosts[n], hosts[(n + count - 1) % count], 50_000_000);
    let flows: Vec<_> = (0..count).map(|n| FlowSpec { start, ..to_last(n) }).collect();
    let (outcome, _) = plan.run(Options { stall: Interval::from_millis(1), ..options() }, &flows);
    let Ending::Deadlock { since, cycle } = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(outcome.end.since(*since) >= Interval::from_millis(1) && outcome.end < Nanos(20_000_000));
    let queue = |node| PausedQueue { node: NodeId(node), port: B, priority: P3 };
    assert_eq!(*cycle, [0, 1, 2, 3].map(queue));
    let holds = |switch: &SwitchOutcome| switch.ports[B.index()].queues[P3.index()].waiting.frames > 0;
    assert!(outcome.switches.iter().all(holds), "each queue of the cycle holds frames");
    assert_eq!(outcome.flows_ended, 0);
    let is_repaired =
        |switch: &SwitchOutcome| switch.ports[B.index()].repair.is_some_and(|it| it.near.sent > 0);
    assert!(outcome.switches.iter().all(|switch| is_repaired(switch) == repair.is_some()));
}

#[test]
fn a_ring_without_a_cycle_of_flows_gets_on() {
    let (plan, hosts) = ring(None);
    let flows = [0, 1, 2].map(|n| flow(n as u32, hosts[n], hosts[3], 5_000_000));
    let (outcome, _) = plan.run(Options { stall: Interval::from_millis(1), ..options() }, &flows);
    assert_lossless(&outcome);
}

fn with_timeout(settings: HostSettings, micros: u64) -> HostSettings {
    let retransmission_timeout = Interval::from_micros(micros);
    let transport = Transport::GoBackN(GoBackN { retransmission_timeout, ..GoBackN::default() });
    HostSettings { transport, ..settings }
}

/// Two hosts on one link, of which the first sends again after so many microseconds.
fn pair(faults: Faults, timeout_micros: u64) -> (Plan, [NodeId; 2]) {
    let mut plan = Plan::default();
    let hosts = [0, 1].map(|n| plan.host(with_timeout(host_of_pair(n, RATE), timeout_micros)));
    let link = plan.join(hosts.map(|host| (host, PortId(0))), RATE, Interval(1_000));
    plan.network.links[link].faults[0] = faults;
    (plan, hosts)
}

#[test]
fn a_link_that_loses_everything_is_a_livelock() {
    let (plan, [source, destination]) = pair(Faults { loss: 1.0, ..Faults::default() }, 200);
    let options = Options { stall: Interval::from_millis(5), ..options() };
    let (outcome, _) = plan.run(options, &[flow(0, source, destination, 10_000)]);
    assert_eq!(outcome.ending, Ending::Livelock { since: Nanos::ZERO });
    assert!((Nanos(5_000_000)..Nanos(20_000_000)).contains(&outcome.end), "{}", outcome.end);
    // Three packets, and again at each timeout.
    let rounds = 1 + outcome.end.0 / 200_000;
    assert!((3 * (rounds - 1)..=3 * rounds).contains(&outcome.transmissions), "{}", outcome.transmissions);
}

#[test]
fn who_waits_for_a_timeout_or_for_the_next_flow_is_neither_dead_nor_running_on_the_spot() {
    let down = Some((Nanos(0), Nanos(10_000)));
    let (plan, [source, destination]) = pair(Faults { down, ..Faults::default() }, 100_000);
    let mut flows = [flow(0, source, destination, 10_000), flow(1, source, destination, 10_000)];
    flows[1].start = Nanos(900_000_000);
    let options = Options { stall: Interval::from_millis(5), ..options() };
    let (outcome, seen) = plan.run(options, &flows);
    assert_eq!(outcome.ending, Ending::Finished);
    // Three packets, lost and sent again after the timeout.
    assert_eq!(seen.flows[0].retransmitted, 3);
    let message = RATE.serialization().time_of(WireBytes(10_000 + 3 * (PACKET - 4_096))) + Interval(1_000);
    let ends = [Nanos(100_000_000), Nanos(900_000_000)].map(|start| start + message);
    assert_eq!([seen.flows[0].end, seen.flows[1].end], ends);
}

#[test]
fn a_flow_that_is_stopped_ends_and_one_that_is_not_lasts_to_the_limit() {
    let (plan, [source, destination]) = pair(Faults::default(), 100_000);
    let stop = Nanos(3_000_000);
    let stopped = endless(flow(0, source, destination, 0), P3, Nanos(5_000), stop);
    let (outcome, seen) = plan.run(options(), std::slice::from_ref(&stopped));
    assert_lossless(&outcome);
    assert!(seen.flows[0].end > stop && seen.flows[0].end < stop + Interval(3_000));
    assert_eq!(seen.flows[0].ideal, Interval::ZERO);
    let limit = Nanos(1_000_000);
    let (outcome, _) = plan.run(Options { limit, ..options() }, &[stopped]);
    assert_eq!((outcome.ending, outcome.end), (Ending::Limit, limit));
}
