//! Frames that bounce: their priority, their queue, their group, and the cycle that they close without a remap.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{host_mac, host_v4, lossless, port_mac, port_v4, routed, switch};
use conformance::simulated::{Plan, assert_lossless, flow, host, options};
use conformance::{A, B, C, D, Flow, P1, P3, P4, TestFrame, Testbench};
use core::net::{IpAddr, Ipv4Addr};
use etherparse::{
    IpHeaders, Ipv4Extensions, Ipv4Header, NetHeaders, PacketBuilder, PacketHeaders, VlanHeader,
};
use ipnet::IpNet;
use simulation::{
    Ending, FlowSpec, NetworkView, NodeId, Observer, Options, Outcome, PausedQueue, Simulation,
};
use switch::program::{Orientation, Remap, Settings, Threshold, Trust, Watchdog, WatchdogAction};
use switch::{BounceCounters, ForwardingSettings, Frame, Neighbour, Route, RouteSettings, Shard, Source};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, Priority};
use wire::vlan::{Tag, VlanId};

/// A leaf: A and B lead to spines, C and D to hosts. Frames of priority 3 that bounce get priority 4.
fn leaf() -> Settings {
    let mut settings = routed(4);
    orient(&mut settings, [Orientation::Uplink, Orientation::Uplink]);
    settings.ports.iter_mut().for_each(|port| port.remap = Remap::default().with(P3, P4));
    settings
}

/// Orients the first ports, and all others as downlinks.
fn orient<const N: usize>(settings: &mut Settings, first: [Orientation; N]) {
    let rest = core::iter::repeat(Orientation::Downlink);
    for (port, orientation) in settings.ports.iter_mut().zip(first.into_iter().chain(rest)) {
        port.orientation = Some(orientation);
    }
}

/// The DSCP and the PCP of a frame, as an independent parser reads them, which finds the IPv4 checksum right.
fn code_points(frame: &TestFrame) -> (u8, Option<u8>) {
    let headers = PacketHeaders::from_ethernet_slice(&frame.bytes).unwrap();
    let pcp = headers.vlan().map(|vlan| match vlan {
        VlanHeader::Single(tag) => tag.pcp.value(),
        VlanHeader::Double(tags) => tags.outer.pcp.value(),
    });
    let dscp = match headers.net {
        Some(NetHeaders::Ipv4(ip, _)) => {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            ip.dscp.value()
        }
        Some(NetHeaders::Ipv6(ip, _)) => ip.traffic_class >> 2,
        other => panic!("{other:?}"),
    };
    (dscp, pcp)
}

fn bounces(bench: &Testbench, port: PortId) -> BounceCounters {
    bench.look(port).bounces.unwrap()
}

#[test]
fn a_frame_that_bounces_leaves_with_the_code_point_of_its_isolated_priority_and_others_keep_theirs() {
    let tag = Tag { priority: P3, drop_eligible: true, id: VlanId::new(7).unwrap() };
    for (trust, dscp, pcp) in [(Trust::Dscp, 32, 3), (Trust::Pcp, 26, 4)] {
        for lets_pass in [false, true] {
            let mut settings = leaf();
            settings.ports.iter_mut().for_each(|port| port.classification.trust = trust);
            let mut bench =
                if lets_pass { Testbench::letting_pass(settings) } else { Testbench::new(settings) };
            let send = |bench: &mut Testbench, from, to| {
                let flow = Flow::new(from, to).at(P3);
                let tagged = [flow.tagged(tag), flow.v6().tagged(tag)];
                let plain = [flow, flow.v6()].into_iter().filter(|_| trust == Trust::Dscp);
                bench.inject_singly(from, tagged.into_iter().chain(plain).map(|flow| flow.udp(200)));
                bench.run_dry();
                bench.newly_sent(to).into_iter().map(|sent| code_points(&sent.frame)).collect::<Vec<_>>()
            };
            let kept = [(26, Some(3)), (26, Some(3)), (26, None), (26, None)];
            let changed = [(dscp, Some(pcp)), (dscp, Some(pcp)), (dscp, None), (dscp, None)];
            let count = if trust == Trust::Dscp { 4 } else { 2 };
            assert_eq!(send(&mut bench, A, B), changed[..count], "{trust:?}, passing: {lets_pass}");
            for (from, to) in [(A, C), (C, A), (C, D)] {
                assert_eq!(send(&mut bench, from, to), kept[..count], "{from} to {to}");
            }
            assert_eq!(bounces(&bench, A), BounceCounters { remapped: count as u64, kept: 0 });
            assert_eq!(bounces(&bench, C), BounceCounters::default());
        }
    }
}

#[test]
fn frames_that_bounce_are_stopped_by_a_pause_of_their_isolated_priority_and_pause_that_in_which_they_came() {
    let mut bench = Testbench::new(leaf());
    bench.block(B, P3);
    bench.inject_singly(A, Flow::new(A, B).at(P3).udps(1, 1_000));
    bench.run_for(Interval::from_micros(10));
    assert_eq!(bench.data(B).count(), 1, "a pause of 3 is none of them");
    bench.block(B, P4);
    bench.inject_singly(A, Flow::new(A, B).at(P3).udps(100, 1_000));
    assert_eq!(bench.data(B).count(), 1);
    assert_eq!(bench.shard.queue(bench.now(), B, P4).waiting.frames, 100);
    assert_eq!((bench.pauses(A, P3).len(), bench.pauses(A, P4).len()), (1, 0), "XOFF for their sender");
    assert_eq!(bench.dropped_in_all().frames, 0);
    bench.release(B, P4);
    bench.run_dry();
    assert_eq!(bench.data(B).count(), 101);
}

#[test]
fn a_lossy_isolated_priority_drops_and_pauses_nobody() {
    let mut settings = leaf();
    settings.ports.iter_mut().for_each(|port| port.remap = Remap::default().with(P3, P1));
    settings.ports[B.index()].queues[P1.index()].lossy.threshold = Threshold::Static(Bytes(20_000));
    settings.ports[B.index()].pfc.obey_global_pause = true;
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    bench.inject_singly(A, Flow::new(A, B).at(P3).udps(300, 1_000));
    assert!(bench.sent(A).is_empty(), "no one is paused");
    let waiting = bench.shard.queue(bench.now(), B, P1).waiting.frames;
    assert_eq!(waiting + bench.dropped_in_all().frames, 300);
    assert!((15..=20).contains(&waiting), "{waiting}");
    bench.run_dry();
}

#[test]
fn an_answer_to_an_echo_request_from_above_bounces_too() {
    let mut bench = Testbench::new(leaf());
    let echo = PacketBuilder::ethernet2(host_mac(A).0, port_mac(A).0)
        .ip(IpHeaders::Ipv4(echo_header(), Ipv4Extensions::default()))
        .icmpv4_echo_request(1, 1);
    let mut bytes = Vec::new();
    echo.write(&mut bytes, b"data").unwrap();
    bench.inject(A, [TestFrame::new(bytes)]);
    bench.run_dry();
    let [answer] = bench.sent(A) else { panic!("{:?}", bench.sent(A)) };
    assert_eq!(code_points(&answer.frame).0, 32);
    assert_eq!(bounces(&bench, A), BounceCounters { remapped: 1, kept: 0 });
}

/// The header of an echo request of priority 3 from the station behind port A to the gateway.
fn echo_header() -> Ipv4Header {
    let (source, destination) = (host_v4(A).octets(), port_v4(A).octets());
    let mut header = Ipv4Header::new(0, 64, etherparse::IpNumber::ICMP, source, destination).unwrap();
    header.dscp = 26.try_into().unwrap();
    header
}

#[test]
fn a_lossless_frame_that_bounces_in_a_priority_without_an_isolated_one_is_counted() {
    let mut bench = Testbench::new(leaf());
    bench.inject(A, [P3, P4, P1].map(|priority| Flow::new(A, B).at(priority).udp(100)));
    bench.inject(A, [Flow::new(A, C).at(P4).udp(100)]);
    bench.run_dry();
    assert_eq!(bounces(&bench, A), BounceCounters { remapped: 1, kept: 1 }, "4 bounced, and stays 4");
}

const RATE: BitRate = BitRate::gigabits(100);

/// Switch `number` of a ring, in which everything goes round in one direction, as rerouted flows do in figure 21: a
/// host behind port A, the next switch behind port B, the last one behind C. Even numbers are leaves, odd ones
/// spines, so a frame that passes a leaf bounces there.
fn of_ring(number: u16, switches: u16, remap: Remap) -> Settings {
    let next = IpAddr::from(Ipv4Addr::new(10, 9, number as u8, 1));
    let own = IpAddr::from(host_v4(PortId(number)));
    let routes = (0..switches).filter(|other| *other != number).filter_map(|other| {
        let prefix = IpNet::new(host_v4(PortId(other)).into(), 32).ok()?;
        Some(Route { prefix, next_hops: vec![next] })
    });
    let neighbours = vec![
        Neighbour { address: own, mac: host_mac(PortId(number)), port: A },
        Neighbour { address: next, mac: port_mac(C), port: B },
    ];
    let forwarding = RouteSettings { routes: routes.collect(), neighbours, kernel: None, sprays: false };
    let mut settings = switch(3, RATE, ForwardingSettings::Route(forwarding));
    let around = if number.is_multiple_of(2) { Orientation::Uplink } else { Orientation::Downlink };
    orient(&mut settings, [Orientation::Downlink, around, around]);
    for port in &mut settings.ports {
        port.remap = remap;
        for priority in [P3, P4] {
            port.groups[priority.index()] = lossless(40_000, 30_000, 100_000);
        }
    }
    settings
}

/// A ring of these switches with a host at each, in which each host sends 5 MB to the one behind it in the ring, at each of
/// `priorities`.
fn ring(settings: &[Settings], priorities: &[Priority]) -> (Plan, Vec<FlowSpec>) {
    let mut plan = Plan::default();
    let switches: Vec<_> = settings.iter().map(|it| plan.switch(it.clone())).collect();
    let hosts: Vec<_> = (0..settings.len() as u16)
        .map(|number| plan.host(host(host_mac(PortId(number)), host_v4(PortId(number)), port_mac(A), RATE)))
        .collect();
    for (number, here) in switches.iter().enumerate() {
        plan.join([(hosts[number], PortId(0)), (*here, A)], RATE, Interval(1_000));
        let next = switches[(number + 1) % switches.len()];
        plan.join([(*here, B), (next, C)], RATE, Interval(1_000));
    }
    let count = hosts.len();
    let flows = priorities.iter().flat_map(|priority| (0..count).map(move |n| (n, *priority)));
    let flow = |((n, priority), id)| FlowSpec {
        priority,
        ..flow(id, hosts[n], hosts[(n + count - 1) % count], 5_000_000)
    };
    (plan, flows.zip(0..).map(flow).collect())
}

/// Runs a ring of four switches.
fn around(remap: Remap, priorities: &[Priority]) -> Outcome {
    let (plan, flows) = ring(&[0, 1, 2, 3].map(|number| of_ring(number, 4, remap)), priorities);
    plan.run(Options { stall: Interval::from_millis(1), ..options() }, &flows).0
}

/// The cycle in which all switches wait for each other at `priority`.
fn cycle(priority: Priority) -> Vec<PausedQueue> {
    [0, 1, 2, 3].map(|node| PausedQueue { node: NodeId(node), port: B, priority }).into()
}

fn cycle_of(outcome: &Outcome) -> &[PausedQueue] {
    let Ending::Deadlock { cycle, .. } = &outcome.ending else { panic!("{:?}", outcome.ending) };
    cycle
}

#[test]
fn rerouted_flows_deadlock_without_the_remap_and_all_end_with_it() {
    let remapped = around(Remap::default().with(P3, P4), &[P3]);
    assert_lossless(&remapped);
    // Orientations alone change nothing.
    assert_eq!(cycle_of(&around(Remap::default(), &[P3])), cycle(P3));
}

#[test]
fn hosts_that_send_in_the_isolated_priority_close_a_cycle_there_unless_the_chain_ends_in_a_lossy_one() {
    let to_four = Remap::default().with(P3, P4);
    assert_eq!(cycle_of(&around(to_four, &[P4])), cycle(P4));
    let outcome = around(to_four.with(P4, P1), &[P3, P4]);
    assert!(!matches!(outcome.ending, Ending::Deadlock { .. }), "{:?}", outcome.ending);
    assert!(outcome.flows_ended >= 4, "flows of priority 3 bounce once and lose nothing");
}

/// The stormed queue of each switch, and the ingress ports of its frames with the priorities of their groups, where the
/// switch pauses the neighbour.
#[derive(Default)]
struct Hops(Vec<Vec<(PausedQueue, PortId, Priority)>>);

impl Observer for Hops {
    fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        let switches = (0..).map(NodeId).map_while(|node| Some((node, &view.switch(node)?.lanes()[0])));
        self.0 = switches.map(|(node, shard)| hops(now, node, shard)).collect();
    }
}

fn hops<F: Frame>(now: Nanos, node: NodeId, shard: &Shard<F>) -> Vec<(PausedQueue, PortId, Priority)> {
    let queues = [A, B, C].into_iter().flat_map(|port| Priority::all().map(move |priority| (port, priority)));
    let stormed = queues.filter(|(port, priority)| shard.queue(now, *port, *priority).stormed);
    let ledgers = [shard.ledger()];
    let sources = stormed.flat_map(|(port, priority)| {
        let of_queue = Source::of_queue(shard.program(), &ledgers, (port, priority), Default::default());
        of_queue.map(move |source| (PausedQueue { node, port, priority }, source.ingress, source.priority))
    });
    sources.filter(|(_, ingress, group)| shard.pauses(now, *ingress).sent.contains(*group)).collect()
}

/// A ring of three switches without a remap, whose watchdogs have these actions.
fn watched_ring(actions: [WatchdogAction; 3]) -> (Plan, Vec<FlowSpec>) {
    let settings = [0, 1, 2].map(|number| {
        let action = actions[usize::from(number)];
        let mut settings = of_ring(number, 3, Remap::default());
        for port in &mut settings.ports {
            let (detection, restoration) = (*Watchdog::DETECTION.start(), *Watchdog::RESTORATION.start());
            port.watchdog = Some(Watchdog { detection, restoration, action });
        }
        settings
    });
    ring(&settings, &[P3])
}

#[test]
fn frames_that_find_no_room_because_a_watchdog_forwards_are_no_violation() {
    use WatchdogAction::{Alert, Forward};
    let (plan, flows) = watched_ring([Forward, Alert, Alert]);
    let options = Options { stall: Interval::from_millis(150), ..options() };
    let outcome = plan.run(options, &flows).0;
    assert_eq!(
        (outcome.ending, outcome.flows_ended),
        (Ending::Limit, 2),
        "the others still wait for each other"
    );
    let ports = outcome.switches.iter().flat_map(|switch| &switch.ports);
    let dropped: u64 = ports.flat_map(|port| &port.ingress.dropped[P3.index()]).map(|it| it.frames).sum();
    assert!(dropped > 0);
}

#[test]
fn the_hops_that_three_switches_know_join_to_the_cycle_that_the_simulator_finds() {
    let (plan, flows) = watched_ring([WatchdogAction::Alert; 3]);
    let (sampling, stall) = (Some(Interval::from_millis(10)), Interval::from_millis(150));
    let mut hops = Hops::default();
    let simulation = Simulation::new(plan.network, Options { sampling, stall, ..options() });
    let outcome = simulation.run(flows.into_iter(), &mut hops).unwrap();
    let mut found = cycle_of(&outcome).to_vec();
    // Each switch alone names its hop: from the last switch, behind C, and from its own host to the next switch.
    for number in 0..3 {
        let queue = PausedQueue { node: NodeId(number), port: B, priority: P3 };
        assert_eq!(hops.0[number as usize], [(queue, A, P3), (queue, C, P3)]);
    }
    // B leads to C of the next switch, so the hop there goes on.
    let follow = |queue: &PausedQueue| {
        let next = &hops.0[(queue.node.0 as usize + 1) % 3];
        next.iter().find(|(_, ingress, group)| (*ingress, *group) == (C, queue.priority)).map(|hop| hop.0)
    };
    let joined: Vec<_> = core::iter::successors(Some(hops.0[0][0].0), follow).take(4).collect();
    found.sort_by_key(|queue| queue.node.0);
    found.push(found[0]);
    assert_eq!(joined, found);
}
