//! Item 26: direct CNPs, and the feedback that makes them necessary.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{
    CNP_INTERVAL, INTERVAL, KEY, LOCAL, PEER, ROUND_TRIP, feedback, gateway, introduce, lscc, lscc_of,
    on_the_wire, told,
};
use conformance::settings::{bridged, host_mac, host_v4, lossless, port_mac, routed, two_ports};
use conformance::{A, B, Connection, Flow, P1, P3, Sent, TestFrame, Testbench};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use switch::program::Settings;
use switch::{Consumed, DropReason, FeedbackCounters};
use units::{BitRate, Bytes, Interval, Nanos, Priority, WireBytes};
use wire::ip::Ecn;
use wire::rate_feedback::{Frame, Key, Received};
use wire::roce::{QueuePair, bth, cnp, icrc};
use wire::vlan::{Tag, VlanId};
use wire::{ethernet, ipv4, ipv6, udp, vlan};

const SLOW: BitRate = BitRate::gigabits(1);
const PAYLOAD: usize = 4_096;

fn flow() -> Flow {
    Flow::new(A, B).at(P3).ecn(Ecn::Ect0)
}

/// A connection that the gateway saw being made.
fn connect(bench: &mut Testbench, connection: &Connection) {
    bench.inject_singly(A, [connection.request()]);
    bench.inject_singly(B, [connection.reply()]);
}

/// A gateway that was told to send slowly, and has seen the connections being made.
fn limited(settings: Settings, connections: &[Connection]) -> Testbench {
    let mut bench = Testbench::new(settings);
    introduce(&mut bench, 1, SLOW);
    connections.iter().for_each(|it| connect(&mut bench, it));
    bench
}

/// Sends packets of each connection in turn, one every microsecond, for `time`. The far end repeats its
/// rate meanwhile.
fn send(bench: &mut Testbench, connections: &[Connection], time: Interval) {
    let end = bench.now() + time;
    for number in 0.. {
        if bench.now() >= end {
            break;
        }
        if number % 100 == 0 {
            bench.inject_singly(B, [feedback(2 + bench.now().0, SLOW)]);
        }
        let connection = &connections[number as usize % connections.len()];
        bench.inject_singly(A, [connection.data(number, PAYLOAD)]);
        bench.run_for(Interval::from_micros(1));
    }
}

/// A gateway whose data center is behind a link of 1G, and which can hold what waits for that.
fn behind_a_slow_port() -> Settings {
    let mut settings = gateway();
    settings.ports[A.index()].rate = BitRate::gigabits(1);
    for port in &mut settings.ports {
        port.groups[P3.index()] = lossless(15_000_000, 1_000_000, 50_000);
    }
    settings
}

/// The direct CNPs that left through port A.
fn direct_cnps(bench: &Testbench) -> Vec<(Nanos, Vec<u8>)> {
    let control = bench.sent(A).iter().filter(|it| it.control && it.pfc().is_none());
    control.map(|Sent { start, frame, .. }| (*start, frame.bytes.clone())).collect()
}

/// The queue pair to which a CNP over IPv4 without tag goes.
fn queue_pair(cnp: &[u8]) -> QueuePair {
    bth::View::parse(&cnp[42..]).unwrap().destination_qp()
}

#[test]
fn a_direct_cnp_is_the_one_that_the_receiver_would_send() {
    let connection = Connection::new(flow(), 5);
    let mut bench = limited(gateway(), &[connection]);
    send(&mut bench, &[connection], Interval::from_micros(120));
    let (_, frame) = direct_cnps(&bench).into_iter().next().expect("one at least");
    assert_eq!(frame.len(), 74);
    let link = ethernet::View::parse(&frame[..]).unwrap();
    assert_eq!((link.destination(), link.source()), (host_mac(A), port_mac(A)));
    let ip = ipv4::View::parse(&frame[14..]).unwrap();
    assert!(ip.verify_checksum() && icrc::verify(&frame[14..]).unwrap());
    assert_eq!((ip.source(), ip.destination()), (host_v4(B), host_v4(A)));
    assert_eq!(ip.dscp().number(), 48);
    let datagram = udp::View::parse(ip.payload()).unwrap();
    assert_eq!(datagram.destination_port(), 4791);
    let transport = bth::View::parse(datagram.payload()).unwrap();
    assert!(transport.opcode().is_cnp() && transport.becn());
    assert_eq!(transport.destination_qp(), connection.source_qp);
    assert_eq!(transport.payload()[..cnp::RESERVED_LEN], [0; cnp::RESERVED_LEN]);
}

#[test]
fn dscp_priority_and_tag_of_a_direct_cnp_are_those_of_the_configuration_and_of_its_flow() {
    let tag = Tag { priority: P3, drop_eligible: false, id: VlanId::new(42).unwrap() };
    let connection = Connection::new(flow().v6().tagged(tag), 5);
    let mut settings = gateway();
    lscc_of(&mut settings).limiting.cnp_dscp = wire::ip::Dscp::from_low_bits(40);
    lscc_of(&mut settings).limiting.cnp_priority = Priority::from_low_bits(5);
    let mut bench = limited(settings, &[connection]);
    send(&mut bench, &[connection], Interval::from_micros(120));
    let (_, frame) = direct_cnps(&bench).into_iter().next().expect("one at least");
    let outer = vlan::Stack::parse(&frame).unwrap().outer.unwrap();
    assert_eq!((outer.priority.number(), outer.id), (5, tag.id));
    let ip = ipv6::View::parse(&frame[18..]).unwrap();
    assert_eq!(ip.dscp().number(), 40);
    assert!(icrc::verify(&frame[18..]).unwrap());
}

#[test]
fn a_flow_is_sent_at_most_one_direct_cnp_in_an_interval() {
    let connections: Vec<_> = (0..7).map(|number| Connection::new(flow(), number)).collect();
    let mut bench = limited(gateway(), &connections);
    send(&mut bench, &connections, Interval::from_millis(2));
    let mut by_flow: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
    for (start, frame) in direct_cnps(&bench) {
        by_flow.entry(queue_pair(&frame).number()).or_default().push(start);
    }
    assert_eq!(by_flow.len(), connections.len());
    for (pair, times) in by_flow {
        assert!(times.len() >= 30, "{pair:#x}: one CNP in almost every interval, not {}", times.len());
        let closest = times.windows(2).map(|pair| pair[1].since(pair[0])).min().unwrap();
        // They wait for data that was handed over before them, a frame at most.
        assert!(closest.0 + 400 >= CNP_INTERVAL.0, "{pair:#x}: two CNPs within {closest}");
    }
}

#[test]
fn a_gateway_that_learns_from_a_sample_tells_known_senders_as_often_as_one_that_looks_up_everything() {
    let connections: Vec<_> = (0..7).map(|number| Connection::new(flow(), number)).collect();
    let told = |learn| {
        let mut settings = gateway();
        lscc_of(&mut settings).limiting.learn = learn;
        let mut bench = limited(settings, &connections);
        send(&mut bench, &connections, Interval::from_millis(2));
        let cnps = direct_cnps(&bench);
        assert!(cnps.iter().all(|(_, frame)| connections.iter().any(|it| it.source_qp == queue_pair(frame))));
        cnps.len()
    };
    let (all, sampled) = (told(1), told(16));
    assert!(all >= 30 * connections.len() && all.abs_diff(sampled) <= connections.len(), "{all}, {sampled}");
}

#[test]
fn more_flows_than_a_port_can_tell_at_once_are_all_told() {
    let connections: Vec<_> = (0..600).map(|number| Connection::new(flow(), number)).collect();
    let mut settings = behind_a_slow_port();
    lscc_of(&mut settings).limiting.flows = 1_200;
    let mut bench = limited(settings, &connections);
    let frames: Vec<_> = connections.iter().map(|it| it.data(0, 64)).collect();
    bench.inject(A, frames);
    bench.run_for(Interval::from_millis(1));
    let pairs: BTreeSet<_> =
        direct_cnps(&bench).iter().map(|(_, frame)| queue_pair(frame).number()).collect();
    assert_eq!((direct_cnps(&bench).len(), pairs.len()), (600, 600));
}

#[test]
fn an_unresolved_flow_is_marked_once_in_an_interval_and_sent_no_cnp() {
    let stranger = Connection::new(flow(), 9);
    let mut bench = limited(gateway(), &[]);
    send(&mut bench, &[stranger], Interval::from_micros(500));
    assert_eq!(direct_cnps(&bench), []);
    let marked = bench.data(B).filter(|sent| ecn(&sent.frame) == Ecn::Ce).count();
    assert!((8..=10).contains(&marked), "{marked} marks in ten intervals");
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().limiter.marked_instead, marked as u64);
    assert!(bench.data(B).all(|sent| icrc::verify(&sent.frame.bytes[14..]).unwrap()));
}

#[test]
fn a_flow_behind_two_tags_is_marked_since_a_cnp_has_room_for_one() {
    let tag = Tag { priority: P3, drop_eligible: false, id: VlanId::new(42).unwrap() };
    let connection = Connection::new(flow().tagged(tag), 5);
    let mut bench = limited(gateway(), &[connection]);
    for psn in 0..200 {
        let mut frame = connection.data(psn, PAYLOAD);
        frame.bytes.splice(12..12, [0x88, 0xa8, 0x60, 7]);
        frame.length += 4;
        bench.inject_singly(A, [frame]);
        bench.run_for(Interval::from_micros(1));
    }
    assert_eq!(direct_cnps(&bench), []);
    let marked = bench.shard.notifiers(B).lscc.unwrap().limiter.marked_instead;
    assert!((3..=4).contains(&marked), "{marked} marks in four intervals");
}

#[test]
fn an_old_flow_is_told_only_while_it_is_flagged() {
    let connection = Connection::new(flow(), 1);
    let mut settings = gateway();
    lscc_of(&mut settings).limiting.long_flow = Some(WireBytes(100_000));
    settings.ports[B.index()].rate = BitRate::gigabits(100);
    lscc_of(&mut settings).round_trip = Interval::from_micros(8);
    lscc_of(&mut settings).interval = Interval::from_micros(8);
    let mut bench = limited(settings, &[connection]);
    send(&mut bench, &[connection], Interval::from_millis(1));
    let young = direct_cnps(&bench).len();
    assert!(young <= 2, "{young}: it was young for 25 us");
    send(&mut bench, &[connection], Interval::from_millis(1));
    assert_eq!(direct_cnps(&bench).len(), young, "and is old and innocent now");
    bench.inject_singly(B, [connection.cnp()]);
    send(&mut bench, &[connection], Interval::from_millis(1));
    assert_eq!(direct_cnps(&bench).len(), young + 1, "the flag lasts for T");
}

#[test]
fn a_mark_of_the_data_center_becomes_a_flag_and_is_taken_off() {
    let connection = Connection::new(flow(), 1);
    let marked = Connection { flow: flow().ecn(Ecn::Ce), ..connection };
    let mut bench = limited(gateway(), &[connection]);
    send(&mut bench, &[connection], Interval::from_micros(20));
    bench.inject_singly(A, [marked.data(20, PAYLOAD)]);
    bench.run_for(Interval::from_micros(1));
    let sent = bench.data(B).last().unwrap();
    assert_eq!(ecn(&sent.frame), Ecn::Ect0);
    assert!(ipv4::View::parse(&sent.frame.bytes[14..]).unwrap().verify_checksum());
    assert!(icrc::verify(&sent.frame.bytes[14..]).unwrap());
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().limiter.marks_removed, 1);
}

#[test]
fn a_mark_stays_where_no_direct_cnp_can_take_its_place() {
    let (known, stranger) =
        (Connection::new(flow().ecn(Ecn::Ce), 1), Connection::new(flow().ecn(Ecn::Ce), 2));
    let mut bench = limited(gateway(), &[known]);
    // The link is still busy with the challenge to the far end.
    bench.run_for(Interval::from_micros(1));
    bench.inject_singly(A, [stranger.data(0, PAYLOAD)]);
    assert_eq!(ecn(&bench.data(B).last().unwrap().frame), Ecn::Ce, "its sender is not known");
    let mut bench = Testbench::new(gateway());
    connect(&mut bench, &known);
    bench.inject_singly(A, [known.data(0, PAYLOAD)]);
    assert_eq!(ecn(&bench.data(B).last().unwrap().frame), Ecn::Ce, "nothing is limited");
    let mut bench = limited(gateway(), &[known]);
    bench.run_for(Interval::from_micros(1));
    bench.inject_singly(A, [known.data(0, PAYLOAD)]);
    assert_eq!(ecn(&bench.data(B).last().unwrap().frame), Ecn::Ce, "the pseudo-queue is short");
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().limiter.marks_removed, 0);
}

#[test]
fn a_router_sends_a_direct_cnp_to_the_sender_by_its_own_routes() {
    let mut settings = routed(2);
    settings.ports[B.index()].notifiers.lscc = Some(lscc(settings.ports[B.index()].rate));
    let connection = Connection::new(flow(), 5);
    let mut bench = limited(settings, &[connection]);
    send(&mut bench, &[connection], Interval::from_micros(120));
    let (_, frame) = direct_cnps(&bench).into_iter().next().expect("one at least");
    let link = ethernet::View::parse(&frame[..]).unwrap();
    assert_eq!((link.destination(), link.source()), (host_mac(A), port_mac(A)));
    assert!(icrc::verify(&frame[14..]).unwrap());
}

#[test]
fn an_unresolved_flow_is_marked_also_when_it_is_old() {
    let stranger = Connection::new(flow(), 9);
    let mut bench = limited(gateway(), &[]);
    send(&mut bench, &[stranger], Interval::from_millis(4));
    let while_young = bench.shard.notifiers(B).lscc.unwrap().limiter.marked_instead;
    send(&mut bench, &[stranger], Interval::from_millis(4));
    let in_all = bench.shard.notifiers(B).lscc.unwrap().limiter.marked_instead;
    assert!(in_all > while_young + 70, "{while_young}, then {in_all} in all");
}

#[test]
fn without_feedback_nobody_is_told() {
    let connection = Connection::new(flow(), 1);
    let mut bench = Testbench::new(gateway());
    connect(&mut bench, &connection);
    let frames: Vec<_> = (0..100).map(|psn| connection.data(psn, PAYLOAD)).collect();
    bench.inject(A, frames);
    bench.run_for(Interval::from_millis(1));
    assert_eq!(direct_cnps(&bench), []);
}

#[test]
fn lossy_priorities_are_not_limited() {
    let connection = Connection::new(Flow::new(A, B).at(P1).ecn(Ecn::Ect0), 1);
    let mut bench = limited(gateway(), &[connection]);
    send(&mut bench, &[connection], Interval::from_millis(1));
    assert_eq!(direct_cnps(&bench), []);
}

#[test]
fn the_pseudo_queue_drains_at_the_rate_that_held_until_another_one_is_told() {
    let connection = Connection::new(flow(), 1);
    let mut bench = limited(gateway(), &[connection]);
    bench.inject(A, (0..10).map(|psn| connection.data(psn, PAYLOAD)));
    bench.run_for(Interval::from_micros(80));
    bench.inject_singly(B, [feedback(2, BitRate::gigabits(100))]);
    bench.inject_singly(A, [connection.data(10, PAYLOAD)]);
    let on_the_wire = |frame: TestFrame| WireBytes::of_frame(Bytes(frame.length)).0;
    let arrived = on_the_wire(connection.request()) + 11 * on_the_wire(connection.data(0, PAYLOAD));
    let expected = arrived - SLOW.bytes_in(Interval::from_micros(80));
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().pseudo_queue.0, expected);
}

#[test]
fn flows_that_go_on_sending_while_their_cnps_wait_are_told_all_the_same() {
    let connections: Vec<_> = (0..300).map(|number| Connection::new(flow(), number)).collect();
    let mut bench = limited(behind_a_slow_port(), &connections);
    for turn in 0..20 {
        bench.inject_singly(B, [feedback(2 + turn, SLOW)]);
        bench.inject(A, connections.iter().map(|it| it.data(turn as u32, 256)));
        bench.run_for(Interval::from_micros(50));
    }
    let mut by_flow: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
    let mut identifications = BTreeMap::new();
    for (start, frame) in direct_cnps(&bench) {
        by_flow.entry(queue_pair(&frame).number()).or_default().push(start);
        *identifications.entry(ipv4::View::parse(&frame[14..]).unwrap().identification()).or_insert(0) += 1;
    }
    assert_eq!(by_flow.len(), connections.len());
    // The link of 1G carries one to each of them in 235 us, and 4.25 in the millisecond.
    assert!(by_flow.values().all(|times| (4..=5).contains(&times.len())), "each in its turn");
    assert!(identifications.values().all(|count| *count == 1), "each is its own packet");
}

#[test]
fn a_lossy_flow_beside_a_limited_one_is_left_alone() {
    let limited_one = Connection::new(flow(), 1);
    let lossy = Connection::new(Flow::new(A, B).at(P1).ecn(Ecn::Ce), 2);
    let mut bench = limited(gateway(), &[limited_one, lossy]);
    send(&mut bench, &[limited_one, lossy], Interval::from_millis(1));
    let pairs: Vec<_> = direct_cnps(&bench).iter().map(|(_, frame)| queue_pair(frame)).collect();
    assert!((18..=20).contains(&pairs.len()), "{} CNPs in twenty intervals", pairs.len());
    assert!(pairs.iter().all(|pair| *pair == limited_one.source_qp));
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().limiter.marks_removed, 0);
}

#[test]
fn a_change_of_settings_keeps_flows_and_limit_and_a_new_table_starts_empty() {
    let connection = Connection::new(flow(), 1);
    let mut bench = limited(gateway(), &[connection]);
    send(&mut bench, &[connection], Interval::from_micros(120));
    bench.install(|settings| lscc_of(settings).limiting.cnp_interval = Interval::from_micros(20));
    let before = direct_cnps(&bench).len();
    send(&mut bench, &[connection], Interval::from_millis(1));
    let faster = direct_cnps(&bench).len() - before;
    assert!((45..=50).contains(&faster), "{faster} CNPs in 50 shorter intervals");
    // A CNP is due, and its flow goes.
    bench.install(|settings| lscc_of(settings).limiting.flows = 64);
    let before = direct_cnps(&bench).len();
    send(&mut bench, &[connection], Interval::from_millis(1));
    assert_eq!(direct_cnps(&bench).len(), before, "the new table does not know its sender");
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().received_rate, Some(SLOW));
    bench.install(|settings| lscc_of(settings).feedback.peer = [10, 255, 0, 9].into());
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().received_rate, None, "the new peer has said nothing");
    bench.install(|settings| settings.ports[B.index()].notifiers.lscc = None);
    bench.inject_singly(B, [feedback(1 << 40, SLOW)]);
    assert!(bench.shard.notifiers(B).lscc.is_none());
    assert_eq!(bench.data(A).filter(|sent| sent.frame.bytes.len() == 70).count(), 1, "it is any frame now");
}

#[test]
fn a_table_that_is_replaced_while_cnps_wait_takes_them_with_it() {
    let connections: Vec<_> = (0..300).map(|number| Connection::new(flow(), number)).collect();
    let mut bench = limited(behind_a_slow_port(), &connections);
    bench.inject(A, connections.iter().map(|it| it.data(0, 256)));
    bench.run_for(CNP_INTERVAL + Interval::from_micros(10));
    let told = direct_cnps(&bench).len();
    assert!(told < 100, "{told}: the port is slow");
    bench.install(|settings| lscc_of(settings).limiting.flows = 8);
    bench.inject(A, connections[..4].iter().map(|it| it.data(1, 256)));
    bench.run_for(Interval::from_millis(1));
    let told = direct_cnps(&bench).len();
    assert!(told < 300, "{told}: those that waited at the port, and no more");
}

#[test]
fn two_ends_without_traffic_come_to_rest() {
    let mut far = gateway();
    (lscc_of(&mut far).feedback.local, lscc_of(&mut far).feedback.peer) = (PEER, LOCAL);
    let (mut far, mut near) = (Testbench::new(far), Testbench::new(gateway()));
    far.inject_singly(B, [Connection::new(Flow::new(B, A).at(P3), 1).data(0, 100)]);
    for _ in 0..2_000 {
        far.run_for(Interval::from_micros(50));
        near.run_until(far.now());
        for sent in far.newly_sent(B).into_iter().filter(|sent| sent.control) {
            near.inject_singly(B, [sent.frame]);
        }
        for sent in near.newly_sent(B).into_iter().filter(|sent| sent.control) {
            far.inject_singly(B, [sent.frame]);
        }
    }
    assert_eq!((far.shard.next_deadline(), near.shard.next_deadline()), (Nanos::NEVER, Nanos::NEVER));
    assert!(far.shard.notifiers(B).lscc.unwrap().rates.intervals < 200);
    assert_eq!(near.shard.notifiers(B).lscc.unwrap().rates.intervals, 0, "a message is no traffic");
}

#[test]
fn where_feedback_stops_while_traffic_goes_on_the_limit_dissolves() {
    let connection = Connection::new(flow(), 1);
    let mut bench = limited(gateway(), &[connection]);
    let grace = ROUND_TRIP + INTERVAL * 5;
    let mut psn = 0;
    let mut send_for = |bench: &mut Testbench, time: Interval| {
        let end = bench.now() + time;
        while bench.now() < end {
            bench.inject_singly(A, [connection.data(psn, PAYLOAD)]);
            psn += 1;
            bench.run_for(Interval::from_micros(1));
        }
    };
    send_for(&mut bench, grace);
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().received_rate, Some(SLOW));
    // From 1G to 100G in seven doublings.
    send_for(&mut bench, INTERVAL * 8);
    let report = bench.shard.notifiers(B).lscc.unwrap();
    assert_eq!((report.received_rate, report.lapsed), (None, 1));
    let before = direct_cnps(&bench).len();
    send_for(&mut bench, INTERVAL * 20);
    assert_eq!(direct_cnps(&bench).len(), before);
    bench.inject_singly(B, [feedback(1, SLOW)]);
    assert_eq!(
        bench.shard.notifiers(B).lscc.unwrap().received_rate,
        None,
        "an old message does not bring it back"
    );
    bench.inject_singly(B, [feedback(2, SLOW)]);
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().received_rate, Some(SLOW));
}

#[test]
fn a_limit_holds_through_a_silence_without_traffic() {
    let connection = Connection::new(flow(), 1);
    let mut bench = limited(gateway(), &[connection]);
    bench.run_for(Interval::from_secs(5));
    send(&mut bench, &[connection], Interval::from_micros(90));
    let cnps = direct_cnps(&bench).len();
    assert!((1..=2).contains(&cnps), "{cnps} CNPs in almost two intervals");
}

#[test]
fn of_far_cnps_one_per_flow_and_interval_is_passed_on_where_that_is_asked_for() {
    let (one, other) = (Connection::new(flow(), 1), Connection::new(flow(), 2));
    let mut settings = gateway();
    lscc_of(&mut settings).limiting.far_cnp_interval = Some(Interval::from_micros(500));
    let mut bench = limited(settings, &[one, other]);
    bench.inject_singly(A, [one.data(0, PAYLOAD), other.data(0, PAYLOAD)]);
    for _ in 0..100 {
        bench.inject_singly(B, [one.cnp(), other.cnp(), Connection::new(flow(), 3).cnp()]);
        bench.run_for(Interval::from_micros(10));
    }
    let arrived = |pair: QueuePair| {
        bench
            .data(A)
            .filter(|sent| sent.frame.bytes.len() == 74 && queue_pair(&sent.frame.bytes) == pair)
            .count()
    };
    assert_eq!((arrived(one.source_qp), arrived(other.source_qp)), (2, 2));
    assert_eq!(arrived(QueuePair::from_low_bits(0x1003)), 100, "of a flow that is not known, all are");
    let suppressed = bench.shard.ingress_counters(B).consumed[Consumed::SuppressedCnp.index()];
    assert_eq!(suppressed.frames, 196);
}

/// Gives the gateway a message that it must not believe, and says how it was counted.
fn refused(message: TestFrame) -> FeedbackCounters {
    refused_by(gateway(), message)
}

fn refused_by(settings: Settings, message: TestFrame) -> FeedbackCounters {
    let mut bench = Testbench::new(settings);
    introduce(&mut bench, 10, BitRate::gigabits(50));
    let consumed =
        |bench: &Testbench| bench.shard.ingress_counters(B).consumed[Consumed::RateFeedback.index()].frames;
    let (before, said) = (consumed(&bench), bench.sent(B).len());
    bench.inject_singly(B, [message]);
    let report = bench.shard.notifiers(B).lscc.unwrap();
    assert_eq!(report.received_rate, Some(BitRate::gigabits(50)), "nothing has changed");
    assert_eq!(report.feedback.accepted, 1);
    assert_eq!(consumed(&bench), before + 1);
    assert_eq!(bench.sent(B).len(), said, "it is not answered");
    assert!(bench.sent(A).is_empty(), "and no one else sees it");
    // The far end was not believed at once.
    FeedbackCounters { unconfirmed: 0, challenges_sent: 0, ..report.feedback }
}

#[test]
fn forged_stale_replayed_and_foreign_feedback_changes_nothing_and_is_counted() {
    let wrong_key = Key(*b"another key here");
    assert_eq!(refused(on_the_wire(&told(11, SLOW), Some(&wrong_key))).forged, 1);
    assert_eq!(refused(on_the_wire(&told(11, SLOW), None)).forged, 1, "a key is set, and it has no tag");
    assert_eq!(refused(feedback(10, SLOW)).stale, 1, "replayed");
    assert_eq!(refused(feedback(9, SLOW)).stale, 1, "overtaken");
    let stranger = Frame { source: [10, 255, 0, 3].into(), ..told(11, SLOW) };
    assert_eq!(refused(on_the_wire(&stranger, Some(&KEY))).foreign, 1);
    let to_another = Frame { destination: PEER, ..told(11, SLOW) };
    assert_eq!(refused(on_the_wire(&to_another, Some(&KEY))).foreign, 1);
    let mut open = gateway();
    lscc_of(&mut open).feedback.key = None;
    assert_eq!(refused_by(open, feedback(11, SLOW)).forged, 1, "a tag that no one can check");
}

proptest! {
    #[test]
    fn feedback_with_any_bit_wrong_is_refused(bit in 14_usize * 8..70 * 8) {
        let mut message = feedback(11, SLOW);
        message.bytes[bit / 8] ^= 1 << (bit % 8);
        let counters = refused(message);
        let refused = counters.malformed + counters.other_version + counters.foreign + counters.forged;
        prop_assert_eq!(refused, 1);
    }

    #[test]
    fn feedback_that_is_cut_short_is_refused(length in 14_usize..70) {
        let mut message = feedback(11, SLOW);
        message.bytes.truncate(length);
        message.length = length as u64;
        prop_assert_eq!(refused(message).malformed, 1);
    }
}

#[test]
fn feedback_from_the_data_center_never_reaches_the_long_link() {
    let mut bench = Testbench::new(gateway());
    bench.inject_singly(A, [feedback(1, SLOW)]);
    assert!(bench.sent(B).is_empty());
    assert_eq!(bench.dropped(A, Priority::from_low_bits(0), DropReason::ForeignFeedback).frames, 1);
    assert_eq!(bench.shard.notifiers(B).lscc.unwrap().received_rate, None);
}

#[test]
fn a_gateway_without_lscc_treats_feedback_as_any_frame() {
    let mut patch = Testbench::new(two_ports());
    patch.inject_singly(A, [feedback(1, SLOW)]);
    assert_eq!(patch.sent(B).len(), 1);
    let mut bridge = Testbench::new(bridged(2));
    bridge.inject_singly(A, [feedback(1, SLOW)]);
    assert_eq!(bridge.dropped(A, Priority::from_low_bits(6), DropReason::LinkLocal).frames, 1);
}

#[test]
fn what_one_end_says_the_other_believes() {
    // The far end of B sees data come in from its long link faster than it leaves.
    let mut far = gateway();
    (lscc_of(&mut far).feedback.local, lscc_of(&mut far).feedback.peer) = (PEER, LOCAL);
    far.ports[A.index()].rate = BitRate::gigabits(10);
    let mut far = Testbench::new(far);
    let mut near = Testbench::new(gateway());
    let connection = Connection::new(Flow::new(B, A).at(P3).ecn(Ecn::Ect0), 1);
    let (mut sequences, mut identifications, mut answers) = (Vec::new(), BTreeSet::new(), 0);
    for psn in 0..3_000 {
        far.inject_singly(B, [connection.data(psn, PAYLOAD)]);
        far.run_for(Interval::from_micros(1));
        near.run_until(far.now());
        for sent in far.newly_sent(B).into_iter().filter(|sent| sent.control && sent.pfc().is_none()) {
            identifications.insert(ipv4::View::parse(&sent.frame.bytes[14..]).unwrap().identification());
            match Received::parse(&sent.frame.bytes[14..]).unwrap().message.is_answer() {
                true => answers += 1,
                false => sequences.push(sent.start),
            }
            near.inject_singly(B, [sent.frame]);
        }
        for sent in near.newly_sent(B) {
            far.inject_singly(B, [sent.frame]);
        }
    }
    let report = near.shard.notifiers(B).lscc.unwrap();
    // The first rate has it challenge the far end, which tells that rate once more.
    assert_eq!((report.feedback.unconfirmed, answers), (1, 1));
    assert_eq!(report.feedback.accepted, sequences.len() as u64);
    assert_eq!(identifications.len(), sequences.len() + 1);
    assert_eq!(report.received_rate, far.shard.notifiers(B).lscc.unwrap().rates.last_rate);
    assert!(sequences.windows(2).all(|pair| pair[1].since(pair[0]).0.abs_diff(INTERVAL.0) < 1_000));
    assert!((28..=30).contains(&sequences.len()), "{} messages in 30 intervals", sequences.len());
}

fn ecn(frame: &TestFrame) -> Ecn {
    ipv4::View::parse(&frame.bytes[14..]).unwrap().ecn()
}
