//! Fast CNPs between a gateway that sends them and one that translates them, and at the borders of both.

use conformance::settings::{host_v6, lossless, patched, port_v6, routed, two_ports};
use conformance::simulated::{Plan, assert_lossless, endless, flow, options};
use conformance::two_gateways::sender;
use conformance::{A, B, Connection, Flow, P3, TestFrame, Testbench};
use core::net::Ipv6Addr;
use endpoint::{CongestionControl, Dcqcn, HostSettings};
use simulation::Outcome;
use switch::program::{FastCnp, ForwardingSettings, MarkAt, Notifier, Red, Settings};
use switch::{Consumed, DropReason, FastCnpCounters};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority};
use wire::ip::{Dscp, Ecn};
use wire::roce::fast_cnp::{Frame, MAX_FRAME_LEN, Notice, OptionType};
use wire::roce::{Opcode, QueuePair, bth, icrc};
use wire::{ethernet, ipv6};

const NODE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x99);
const INTERVAL: Interval = Interval::from_micros(50);
const PAYLOAD: usize = 1_000;

fn fast_cnp() -> FastCnp {
    FastCnp {
        option: OptionType::EXPERIMENTAL,
        accept: false,
        source: None,
        capable: Vec::new(),
        interval: INTERVAL,
        port_interval: Interval::from_micros(1),
        notifier: Notifier {
            flows: 1_024,
            ageing: Interval::from_secs(10),
            round_trip: Interval::from_micros(100),
            cnp_dscp: Dscp::from_low_bits(48),
            cnp_priority: Priority::from_low_bits(6),
        },
    }
}

/// A gateway in the network: data goes out through B, where a queue of two frames marks.
fn emitter(capable: &[&str]) -> Settings {
    let mut settings = two_ports();
    let capable = capable.iter().map(|prefix| prefix.parse().expect("a prefix")).collect();
    let port = &mut settings.ports[B.index()];
    port.fast_cnp = Some(FastCnp { source: Some(NODE), capable, ..fast_cnp() });
    let red = Red { kmin: Bytes(1), kmax: Bytes(2), pmax: 1.0, mark_at: MarkAt::Dequeue, adaptive: None };
    port.queues[P3.index()].red = Some(red);
    settings
}

/// A gateway in front of the senders, behind A. It accepts Fast CNPs from the network, behind B.
fn proxy(capable: &[&str]) -> Settings {
    let mut settings = two_ports();
    let capable = capable.iter().map(|prefix| prefix.parse().expect("a prefix")).collect();
    settings.ports[B.index()].fast_cnp = Some(FastCnp { accept: true, capable, ..fast_cnp() });
    settings
}

fn connection() -> Connection {
    Connection::new(Flow::new(A, B).v6().at(P3).ecn(Ecn::Ect0), 5)
}

/// A gateway that knows the sender of the connection.
fn introduced(settings: Settings) -> Testbench {
    let mut bench = Testbench::new(settings);
    bench.inject_singly(A, [connection().request()]);
    bench.inject_singly(B, [connection().reply()]);
    bench.run_for(Interval::from_micros(500));
    bench.inject_singly(A, [connection().data(1, PAYLOAD)]);
    bench.run_for(Interval::from_micros(500));
    [A, B].into_iter().for_each(|port| drop(bench.newly_sent(port)));
    bench
}

/// Ten packets at once: nine of them leave others behind.
fn burst(bench: &mut Testbench) {
    bench.inject(A, (2..12).map(|psn| connection().data(psn, PAYLOAD)));
    bench.run_for(INTERVAL);
}

/// Notifications that left through A, and how many packets left through B with a mark.
fn result(bench: &mut Testbench) -> (Vec<TestFrame>, usize) {
    let near = bench.newly_sent(A).into_iter().filter(|it| it.control && it.pfc().is_none());
    let near = near.map(|it| it.frame).collect();
    let far = bench.newly_sent(B);
    let marked = far.iter().filter(|it| !it.control && it.frame.bytes[15] & 0x30 == 0x30).count();
    (near, marked)
}

fn counters(bench: &Testbench) -> FastCnpCounters {
    bench.shard.fast_cnp(B).expect("they are on")
}

/// A Fast CNP about the connection as another node sends it.
fn foreign(change: impl FnOnce(&mut Frame)) -> TestFrame {
    let mut frame = Frame {
        destination_mac: conformance::settings::port_mac(B),
        source_mac: conformance::settings::host_mac(B),
        tag: None,
        source: "2001:db8:77::1".parse().expect("an address"),
        sender: host_v6(A),
        option: OptionType::EXPERIMENTAL,
        receiver: host_v6(B),
        dscp: Dscp::from_low_bits(48),
        ecn: Ecn::Ect0,
        hop_limit: 60,
        source_port: 0xc005,
        receiver_qp: connection().destination_qp,
    };
    change(&mut frame);
    let mut bytes = [0; MAX_FRAME_LEN];
    let length = frame.emit(&mut bytes).expect("it fits");
    TestFrame::new(bytes[..length].to_vec())
}

/// Asserts that `frame` is an ordinary CNP in the name of the receiver, to the sender's queue pair.
fn assert_is_cnp(frame: &TestFrame) {
    let packet = &frame.bytes[ethernet::HEADER_LEN..];
    let ip = ipv6::View::parse(packet).expect("IPv6");
    assert_eq!((ip.source(), ip.destination()), (host_v6(B), host_v6(A)));
    assert_eq!(icrc::verify(packet), Ok(true));
    let bth = bth::View::parse(&packet[48..]).expect("a BTH").header();
    assert_eq!(bth, bth::Header { becn: true, ..bth::Header::new(Opcode::CNP, connection().source_qp) });
}

#[test]
fn a_queue_that_marks_notifies_the_sender_once_in_the_interval_of_its_flow() {
    let mut bench = introduced(emitter(&[]));
    burst(&mut bench);
    let (sent, marked) = result(&mut bench);
    assert_eq!((sent.len(), marked), (1, 9), "a sender that may not understand it is marked as well");
    let notice = Notice::parse(&sent[0].bytes[ethernet::HEADER_LEN..], OptionType::EXPERIMENTAL);
    let (sender, receiver) = (host_v6(A), host_v6(B));
    let expected = Notice { source: NODE, sender, receiver, receiver_qp: connection().destination_qp };
    assert_eq!(notice, Ok(expected));
    burst(&mut bench);
    assert_eq!(result(&mut bench).0.len(), 1);
    let FastCnpCounters { sent, over_flow_limit, .. } = counters(&bench);
    assert_eq!((sent, over_flow_limit), (2, 16));
}

#[test]
fn a_sender_that_understands_fast_cnps_is_not_marked_beside_one() {
    for (prefix, marks) in [("::/0", 0), ("2001:db8::/48", 0), ("2001:db8:7::/48", 9)] {
        let mut bench = introduced(emitter(&[prefix]));
        burst(&mut bench);
        let (sent, marked) = result(&mut bench);
        assert_eq!((sent.len(), marked), (1, marks), "{prefix}");
        assert_eq!(counters(&bench).unmarked, 9 - marks as u64);
    }
}

#[test]
fn a_packet_is_marked_where_the_limit_of_the_port_leaves_no_fast_cnp() {
    let mut settings = emitter(&["::/0"]);
    let fast_cnp = settings.ports[B.index()].fast_cnp.as_mut().expect("it is on");
    (fast_cnp.port_interval, fast_cnp.interval) = (Interval::from_secs(1), Interval(1));
    let mut bench = introduced(settings);
    for _ in 0..20 {
        burst(&mut bench);
    }
    let (sent, marked) = result(&mut bench);
    assert_eq!((sent.len(), marked), (64, 20 * 9 - 64));
    assert_eq!(counters(&bench).over_port_limit, 20 * 9 - 64);
}

#[test]
fn a_sender_without_a_way_back_gets_marks_once_that_is_known() {
    let mut settings = emitter(&["::/0"]);
    let ForwardingSettings::Route(mut table) = routed(2).forwarding else { panic!("it routes") };
    table.neighbours.retain(|it| it.port == B);
    table.routes.clear();
    settings.forwarding = ForwardingSettings::Route(table);
    let addresses = routed(2).ports.into_iter().map(|it| it.addresses);
    settings.ports.iter_mut().zip(addresses).for_each(|(port, addresses)| port.addresses = addresses);
    let mut bench = introduced(settings);
    burst(&mut bench);
    let first = counters(&bench);
    assert!(first.unreachable == 1 && first.sent == 0 && first.unmarked > 0, "{first:?}");
    bench.newly_sent(B);
    burst(&mut bench);
    assert_eq!(result(&mut bench).1, 9, "all are marked");
    assert_eq!(counters(&bench), first);
}

#[test]
fn notifications_that_a_reload_forgets_are_counted() {
    let mut settings = emitter(&["::/0"]);
    // Its port takes 64 bytes in half a millisecond, so what is due waits for room.
    settings.ports[A.index()].rate = BitRate::megabits(1);
    let fast_cnp = settings.ports[B.index()].fast_cnp.as_mut().expect("it is on");
    fast_cnp.interval = Interval(1);
    let mut bench = introduced(settings);
    for psn in (0..2_000).step_by(10) {
        bench.inject(A, (psn..psn + 10).map(|psn| connection().data(psn, PAYLOAD)));
        bench.run_for(Interval::from_micros(20));
    }
    let waiting = |it: FastCnpCounters| it.unmarked - it.sent - it.over_flow_limit - it.unreachable;
    let before = counters(&bench);
    assert!(waiting(before) > 0 && before.unreachable == 0, "{before:?}");
    bench.install(|it| it.ports[B.index()].fast_cnp.as_mut().expect("it is on").notifier.flows = 4);
    let after = counters(&bench);
    assert_eq!((after.unreachable, waiting(after)), (waiting(before), 0));
}

#[test]
fn packets_over_ipv4_are_marked_and_bring_no_fast_cnp() {
    let mut bench = Testbench::new(emitter(&["::/0"]));
    let connection = Connection::new(Flow::new(A, B).at(P3).ecn(Ecn::Ect0), 5);
    bench.inject(A, (1..11).map(|psn| connection.data(psn, PAYLOAD)));
    bench.run_for(INTERVAL);
    assert_eq!(bench.shard.queue(bench.now(), B, P3).counters.marked, 9);
    assert_eq!(result(&mut bench).0.len(), 0);
}

#[test]
fn what_one_gateway_sends_another_one_translates_into_the_cnp_of_the_receiver() {
    let (mut congested, mut near) = (introduced(emitter(&[])), introduced(proxy(&[])));
    burst(&mut congested);
    let (sent, _) = result(&mut congested);
    near.inject_singly(B, sent);
    near.run_for(INTERVAL);
    let (made, _) = result(&mut near);
    assert_eq!(made.len(), 1);
    assert_is_cnp(&made[0]);
    assert_eq!(counters(&near).translated, 1);
}

#[test]
fn a_fast_cnp_for_an_unknown_flow_or_a_malformed_one_ends_here() {
    let mut bench = introduced(proxy(&[]));
    let other = QueuePair::from_low_bits(0x666);
    let unknown = [
        foreign(|it| it.receiver_qp = other),
        foreign(|it| it.receiver = port_v6(A)),
        foreign(|it| it.sender = port_v6(A)),
    ];
    bench.inject_singly(B, unknown);
    let mut broken = foreign(|_| ());
    *broken.bytes.last_mut().expect("it has bytes") ^= 1;
    bench.inject_singly(B, [broken, foreign(|it| it.option = OptionType::new(2).expect("valid"))]);
    bench.run_for(INTERVAL);
    assert_eq!((bench.newly_sent(A).len(), bench.newly_sent(B).len()), (0, 0));
    let FastCnpCounters { unknown, malformed, .. } = counters(&bench);
    assert_eq!((unknown, malformed), (3, 2));
    let consumed = bench.shard.ingress_counters(B).consumed[Consumed::FastCnp.index()];
    assert_eq!(consumed.frames, 5);
}

#[test]
fn a_sender_that_understands_fast_cnps_gets_them_as_they_are() {
    let mut bench = introduced(proxy(&["2001:db8::/48"]));
    bench.inject_singly(B, [foreign(|_| ())]);
    bench.run_for(INTERVAL);
    let passed = bench.newly_sent(A);
    assert_eq!((passed.len(), counters(&bench).passed), (1, 1));
    assert!(Notice::parse(&passed[0].frame.bytes[14..], OptionType::EXPERIMENTAL).is_ok());
}

#[test]
fn a_forged_fast_cnp_from_a_port_that_accepts_none_is_dropped_by_name() {
    let forged = || foreign(|it| (it.sender, it.receiver) = (host_v6(B), host_v6(A)));
    let mut bench = introduced(proxy(&["::/0"]));
    bench.inject_singly(A, [forged()]);
    bench.run_for(INTERVAL);
    assert_eq!(bench.newly_sent(B).len(), 0);
    assert_eq!(bench.dropped_in_all().frames, 1);
    let dropped = Priority::all().map(|it| bench.dropped(A, it, DropReason::ForeignFastCnp).frames);
    assert_eq!(dropped.sum::<u64>(), 1);
    // A gateway that knows nothing of them forwards them as it does any packet.
    let mut plain = introduced(two_ports());
    plain.inject_singly(A, [forged()]);
    plain.run_for(INTERVAL);
    assert_eq!(plain.newly_sent(B).len(), 1);
}

#[test]
fn a_flood_of_forged_fast_cnps_slows_a_sender_as_often_as_its_limit_allows() {
    let mut bench = introduced(proxy(&[]));
    for _ in 0..1_000 {
        bench.inject_singly(B, [foreign(|_| ())]);
        bench.run_for(Interval::from_micros(1));
    }
    let (made, _) = result(&mut bench);
    assert_eq!(made.len(), 20, "1 ms is 20 intervals");
    assert_eq!(counters(&bench).over_flow_limit, 980);
}

/// The links of the simulated network, and the bottleneck behind the node that notifies.
const RATE: BitRate = BitRate::gigabits(100);
const BOTTLENECK: BitRate = BitRate::gigabits(25);
/// From the sender to the node, and from there to the receiver.
const TO_NODE: Interval = Interval::from_micros(20);
const TO_RECEIVER: Interval = Interval::from_micros(500);

/// The gateways between two hosts: their Fast CNPs, if they have any.
#[derive(Clone, Default)]
struct Gateways {
    near: Option<FastCnp>,
    node: Option<FastCnp>,
}

fn translating() -> Option<FastCnp> {
    Some(FastCnp { accept: true, ..fast_cnp() })
}

fn notifying(capable: &[&str]) -> Option<FastCnp> {
    let capable = capable.iter().map(|prefix| prefix.parse().expect("a prefix")).collect();
    Some(FastCnp { source: Some(NODE), capable, ..fast_cnp() })
}

/// A host of 100G sends with DCQCN for 5 ms over a gateway and a node behind it, whose link to the receiver has 25G. Queue
/// pairs are opened by the connection manager, unless `change` says otherwise.
fn simulated(gateways: &Gateways, change: impl Fn(&mut HostSettings)) -> Outcome {
    let mut plan = Plan::default();
    let hosts = [(A, B, RATE), (B, A, BOTTLENECK)].map(|(this, to, rate)| {
        let mut host = sender(this.0, to.0, rate);
        host.station.address = host_v6(this).into();
        host.congestion_control = CongestionControl::Dcqcn(Dcqcn::default());
        host.cnp_interval = Some(INTERVAL);
        host.connection_management = Some(Interval::from_millis(10));
        change(&mut host);
        plan.host(host)
    });
    let [near, node] = [gateways.near.clone(), gateways.node.clone()].map(|fast_cnp| {
        let mut settings = patched(2);
        settings.buffer.shared = Bytes(200_000_000);
        settings.ports.iter_mut().for_each(|port| {
            port.groups[P3.index()] = lossless(100_000_000, 90_000_000, 0);
        });
        settings.ports[B.index()].fast_cnp = fast_cnp;
        settings
    });
    let mut node = node;
    node.ports[B.index()].rate = BOTTLENECK;
    let (kmin, kmax) = (Bytes(100_000), Bytes(400_000));
    let red = Red { kmin, kmax, pmax: 0.2, mark_at: MarkAt::Dequeue, adaptive: None };
    node.ports[B.index()].queues[P3.index()].red = Some(red);
    let (near, node) = (plan.switch(near), plan.switch(node));
    plan.join([(hosts[0], PortId(0)), (near, A)], RATE, Interval(500));
    plan.join([(near, B), (node, A)], RATE, TO_NODE);
    plan.join([(node, B), (hosts[1], PortId(0))], BOTTLENECK, TO_RECEIVER);
    let flows = [endless(flow(0, hosts[0], hosts[1], 0), P3, Nanos(0), Nanos(5_000_000))];
    let outcome = plan.run(options(), &flows).0;
    assert_lossless(&outcome);
    outcome
}

/// The longest queue of the bottleneck, in bytes.
fn longest(outcome: &Outcome) -> u64 {
    outcome.switches[1].ports[B.index()].queues[P3.index()].watermark.persistent().0
}

/// The counters of the gateway near the sender, and of the node.
fn of_gateways(outcome: &Outcome) -> [FastCnpCounters; 2] {
    [0, 1].map(|switch| outcome.switches[switch].ports[B.index()].fast_cnp.unwrap_or_default())
}

#[test]
fn a_host_that_understands_fast_cnps_slows_down_before_a_mark_would_have_come_back() {
    let off = simulated(&Gateways::default(), |_| {});
    let knows = |host: &mut HostSettings| host.fast_cnp = Some(OptionType::EXPERIMENTAL);
    let on = simulated(&Gateways { node: notifying(&["::/0"]), near: None }, knows);
    let [sender, receiver] = [0, 1].map(|host| on.hosts[host].counters);
    let [_, FastCnpCounters { sent, unmarked, over_port_limit, .. }] = of_gateways(&on);
    assert!(sent > 0 && unmarked > sent, "{sent} of {unmarked}");
    assert_eq!((sender.cnps_received, sender.strays), (sent + receiver.cnps_sent, 0));
    assert_eq!(receiver.marked, over_port_limit, "where a Fast CNP left, no mark is beside it");
    // The sender sends this in a round trip to the receiver, beyond the bottleneck's rate, and in one to the node.
    let (far, near) = ((TO_NODE + TO_RECEIVER) * 2, TO_NODE * 2);
    let [far, near] = [far, near].map(|trip| RATE.bytes_in(trip) - BOTTLENECK.bytes_in(trip));
    assert!(longest(&off) > far, "{} of {far}", longest(&off));
    assert!(
        longest(&on) > near && longest(&on) * 4 < longest(&off),
        "{} and {}",
        longest(&on),
        longest(&off)
    );
}

#[test]
fn a_gateway_translates_fast_cnps_for_a_host_that_knows_cnps_alone() {
    let off = simulated(&Gateways::default(), |_| {});
    let on = simulated(&Gateways { near: translating(), node: notifying(&[]) }, |_| {});
    let [near, node] = of_gateways(&on);
    assert!(near.translated > 0, "{near:?}");
    assert_eq!(near.translated + near.over_flow_limit + near.over_port_limit, node.sent);
    assert_eq!((near.unknown, on.hosts[0].counters.strays), (0, 0));
    let cnps = on.hosts[1].counters.cnps_sent;
    assert_eq!(on.hosts[0].counters.cnps_received, near.translated + cnps, "marks bring theirs as well");
    assert!(longest(&on) * 4 < longest(&off), "{} and {}", longest(&on), longest(&off));
}

#[test]
fn fast_cnps_that_nobody_understands_change_nothing() {
    let off = simulated(&Gateways::default(), |_| {});
    let deaf = simulated(&Gateways { near: None, node: notifying(&[]) }, |_| {});
    let [_, node] = of_gateways(&deaf);
    assert!(node.sent > 10);
    assert_eq!(deaf.hosts[0].counters.strays, node.sent);
    assert_eq!(longest(&deaf), longest(&off));
    assert_eq!(deaf.hosts[0].counters.cnps_received, off.hosts[0].counters.cnps_received);
}

#[test]
fn without_connection_management_no_fast_cnp_of_the_first_round_trip_is_translated() {
    let unmanaged = |host: &mut HostSettings| host.connection_management = None;
    let off = simulated(&Gateways::default(), unmanaged);
    let on = simulated(&Gateways { near: translating(), node: notifying(&[]) }, unmanaged);
    let [near, _] = of_gateways(&on);
    assert!(near.unknown > 10, "{near:?}");
    assert!(longest(&on) * 10 > longest(&off) * 9, "{} and {}", longest(&on), longest(&off));
    let flows = on.switches[0].ports[B.index()].flows.as_ref().expect("it has a table of flows");
    assert_eq!(flows.resolver.resolved_by_cm, 0);
}
