//! Port grants between two gateways over 80 km, and against what a neighbour may send.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{host_mac, host_v4, port_mac, routed, switch};
use conformance::simulated::{Plan, assert_lossless, endless, flow, host, options};
use conformance::two_gateways::{END, ONE_WAY, RATE, slots, with_long_link};
use conformance::{A, B, C, Flow, P1, P3, TestFrame, Testbench};
use ipnet::IpNet;
use simulation::{Faults, Outcome};
use std::net::IpAddr;
use switch::flow_control::port_grants::PortGrantsReport;
use switch::flow_control::port_grants::settings::PortGrants;
use switch::program::{
    FlowControl, ForwardingSettings, Neighbour, Orientation, Remap, Route, RouteSettings, Settings,
};
use switch::{DropReason, PortInspection};
use units::{BitRate, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::grants::slot::{Head, Kind};
use wire::grants::{self, behind, far_port};

const SLOW: BitRate = BitRate::gigabits(10);

fn port_grants(far_ports: u8) -> FlowControl {
    FlowControl::PortGrants(PortGrants { slots: slots(), far_ports })
}

/// `settings` with this flow control on the long link behind A, and the queues that it needs.
fn long(settings: Settings, flow_control: FlowControl) -> Settings {
    let mut settings = with_long_link(settings, A, flow_control);
    let port = &mut settings.ports[A.index()];
    if let FlowControl::PortGrants(it) = flow_control {
        let added: Vec<_> =
            it.queues(port.lossless()).map(|priority| port.queues[priority.index()]).collect();
        port.queues.extend(added);
    }
    settings
}

/// A gateway with the hosts `here` behind its ports from B on, and those `there` beyond the long link behind A.
fn gateway(here: [u16; 2], there: [u16; 2], flow_control: FlowControl) -> Settings {
    let peer = IpAddr::from([172, 16, 0, 1]);
    let address = |number: u16| IpAddr::from(host_v4(PortId(number)));
    let behind = here.into_iter().zip([B, C]);
    let stations = behind.map(|(number, port)| Neighbour {
        address: address(number),
        mac: host_mac(PortId(number)),
        port,
    });
    let neighbours = stations.chain([Neighbour { address: peer, mac: port_mac(A), port: A }]).collect();
    let route = |number| Route { prefix: IpNet::from(address(number)), next_hops: vec![peer] };
    let routes = there.map(route).into();
    let settings = switch(
        3,
        RATE,
        ForwardingSettings::Route(RouteSettings { routes, neighbours, kernel: None, sprays: false }),
    );
    long(settings, flow_control)
}

/// The result of a run.
struct Run {
    outcome: Outcome,
    /// The bytes that each of both flows has delivered by [`END`].
    delivered: [u64; 2],
}

impl Run {
    fn near(&self) -> &PortInspection {
        &self.outcome.switches[0].ports[A.index()]
    }

    fn far(&self) -> &PortInspection {
        &self.outcome.switches[1].ports[A.index()]
    }
}

/// Two hosts behind the near gateway send over the long link at the same priority: one to a host at 10G, the other to one
/// at 100G.
fn beside_a_slow_receiver(near: FlowControl, far: FlowControl, faults: Faults) -> Run {
    let mut plan = Plan::default();
    let hosts = [(10, B, RATE), (11, C, RATE), (20, B, SLOW), (21, C, RATE)].map(|(number, port, rate)| {
        plan.host(host(host_mac(PortId(number)), host_v4(PortId(number)), port_mac(port), rate))
    });
    let near = plan.switch(gateway([10, 11], [20, 21], near));
    let mut settings = gateway([20, 21], [10, 11], far);
    settings.ports[B.index()].rate = SLOW;
    let far = plan.switch(settings);
    let long = plan.join([(near, A), (far, A)], RATE, ONE_WAY);
    plan.network.links[long].faults = [faults; 2];
    for (host, gateway, port, rate) in
        [(0, near, B, RATE), (1, near, C, RATE), (2, far, B, SLOW), (3, far, C, RATE)]
    {
        plan.join([(hosts[host], PortId(0)), (gateway, port)], rate, Interval(500));
    }
    let flows =
        [0, 1].map(|index| endless(flow(index as u32, hosts[index], hosts[index + 2], 0), P3, Nanos(0), END));
    let (outcome, seen) = plan.run(options(), &flows);
    let delivered =
        [0, 1].map(|id| seen.flows.iter().find(|it| it.flow.id.0 == id).map_or(0, |it| it.delivered));
    Run { outcome, delivered }
}

fn report(port: &PortInspection) -> &PortGrantsReport {
    port.flow_control.port_grants().unwrap()
}

#[test]
fn a_slow_receiver_leaves_the_link_to_another_one_of_the_same_priority() {
    let bifrost = beside_a_slow_receiver(
        FlowControl::Bifrost(slots()),
        FlowControl::Bifrost(slots()),
        Faults::default(),
    );
    let off = beside_a_slow_receiver(port_grants(0), port_grants(0), Faults::default());
    let on = beside_a_slow_receiver(port_grants(14), port_grants(14), Faults::default());
    for run in [&bifrost, &off, &on] {
        assert_lossless(&run.outcome);
    }
    let [bifrost_fast, off_fast, fast] = [&bifrost, &off, &on].map(|run| run.delivered[1]);
    assert!(fast > 3 * bifrost_fast && fast > 3 * off_fast, "{fast}, {bifrost_fast}, {off_fast}");
    // The slow receiver is busy from the first byte on.
    let slow = SLOW.bytes_in(END.since(Nanos(0)) - ONE_WAY);
    assert!(on.delivered[0] * 100 > slow * 95, "{} of {slow}", on.delivered[0]);
    let far = report(on.far());
    assert_eq!(far.far_ports().len(), 2);
    assert!(far.slots.slots.longest_queue <= slots().buffer, "{:?}", far.slots.slots.longest_queue);
    assert_eq!(report(on.near()).upstream.directory.editions, 1);
}

#[test]
fn messages_that_are_lost_or_late_cost_no_frame_and_leave_both_receivers_busy() {
    for faults in [
        Faults { control_loss: 0.01, ..Faults::default() },
        Faults { control_loss: 0.1, ..Faults::default() },
    ] {
        let run = beside_a_slow_receiver(port_grants(14), port_grants(14), faults);
        assert!(run.outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
        let groups = run.far().ingress.dropped[P3.index()];
        assert!(groups.iter().all(|it| it.frames == 0));
        let far = report(run.far());
        assert!(far.is_followed && report(run.near()).upstream.numbers.missed > 0);
        assert!(far.slots.slots.longest_queue <= slots().buffer);
        let slow = SLOW.bytes_in(END.since(Nanos(0)) - ONE_WAY);
        assert!(run.delivered[0] * 100 > slow * 90, "{} of {slow}", run.delivered[0]);
        assert!(run.delivered[1] > 4 * run.delivered[0], "{:?}", run.delivered);
    }
}

#[test]
fn a_peer_that_does_not_speak_is_paused_as_by_bifrost() {
    for peer in [FlowControl::Pfc, FlowControl::Bifrost(slots()), FlowControl::BifrostX(slots())] {
        let run = beside_a_slow_receiver(peer, port_grants(14), Faults::default());
        assert_lossless(&run.outcome);
        let far = report(run.far());
        assert!(!far.is_followed && far.downstream.grants == 0);
        assert!(run.far().groups[P3.index()].pauses.slot > 100);
    }
}

/// A message as a neighbour may send it.
fn frame(message: grants::Message) -> TestFrame {
    let mut bytes = vec![0; message.frame_len()];
    message.emit(host_mac(A), &mut bytes).unwrap();
    TestFrame::new(bytes)
}

fn grant(sequence: u32, count: u8, each: [WireBytes; far_port::MOST]) -> grants::Message {
    let head = Head {
        kind: Kind::Grant,
        follows: true,
        priorities: PrioritySet::EMPTY.with(P3),
        sequence,
        slot: Interval(10_000),
        total: WireBytes(1_000_000),
    };
    grants::Message::FarPort(far_port::Message { head, count, each })
}

fn bench() -> Testbench {
    Testbench::new(gateway([10, 11], [20, 21], port_grants(14)))
}

#[test]
fn a_forged_page_chooses_a_queue_and_never_the_way_of_a_frame() {
    let everything = behind::Destination { address: IpAddr::from([0, 0, 0, 0]), length: 0, port: 14 };
    let mut bench = bench();
    for edition in 1..200 {
        let page = behind::Message::new(edition, 0, 1, &[everything]);
        bench.inject(A, [frame(grants::Message::Behind(page))]);
        bench.run_for(Interval(1_000));
    }
    let report = bench.shard.flow_control(A).port_grants().unwrap().upstream;
    assert_eq!(report.directory.destinations, 1);
    assert_eq!(bench.dropped_in_all().frames, 0);
    bench.assert_conserved();
}

#[test]
fn a_frame_that_bounces_keeps_the_queue_of_its_isolated_priority_and_others_have_that_of_their_far_port() {
    let mut settings = gateway([10, 11], [20, 21], port_grants(14));
    for (port, orientation) in
        settings.ports.iter_mut().zip([Orientation::Uplink, Orientation::Uplink, Orientation::Downlink])
    {
        port.orientation = Some(orientation);
        port.remap = Remap::default().with(P3, P1);
    }
    let mut bench = Testbench::new(settings);
    let far = behind::Destination { address: host_v4(PortId(20)).into(), length: 32, port: 1 };
    bench.inject(A, [frame(grants::Message::Behind(behind::Message::new(1, 0, 1, &[far])))]);
    bench.block(A, P3);
    for (from, host, left) in [(B, 10, 1), (C, 11, 0)] {
        let mut sent = Flow::new(PortId(host), PortId(20)).at(P3).udp(500);
        sent.bytes[..6].copy_from_slice(&port_mac(from).0);
        bench.inject_singly(from, [sent]);
        bench.run_for(Interval::from_micros(1));
        let data = bench.newly_sent(A).iter().filter(|it| !it.control).count();
        assert_eq!(data, left, "a pause of priority 3 stops what is in a queue of it, from {from}");
    }
    assert_eq!(bench.look(B).bounces.unwrap().remapped, 1);
}

#[test]
fn a_message_that_is_malformed_or_tagged_is_dropped_by_name_and_changes_nothing() {
    let whole = frame(grant(1, 2, [WireBytes(0); far_port::MOST]));
    let page = behind::Message::new(1, 0, 1, &[]);
    let page = frame(grants::Message::Behind(page));
    let mut count = whole.clone();
    count.bytes[14 + 16] = 15;
    let mut pages = page.clone();
    pages.bytes[14 + 1] = 1;
    let mut short = page.clone();
    short.bytes.truncate(100);
    let mut tagged = whole.clone();
    tagged.bytes.splice(12..12, [0x81, 0x00, 0x60, 0x01]);
    for bad in [count, pages, short, tagged] {
        let mut bench = bench();
        bench.inject(A, [bad]);
        assert_eq!(bench.dropped(A, Priority::from_low_bits(0), DropReason::MalformedControl).frames, 1);
        let upstream = bench.shard.flow_control(A).port_grants().unwrap().upstream;
        assert_eq!((upstream.numbers.taken, upstream.directory.pages), (0, 0));
        bench.assert_conserved();
    }
    let mut bench = bench();
    bench.inject(A, [whole, page]);
    let upstream = bench.shard.flow_control(A).port_grants().unwrap().upstream;
    assert_eq!((upstream.numbers.taken, upstream.directory.pages), (1, 1));
}

#[test]
fn messages_through_a_port_without_port_grants_are_dropped_by_name() {
    for settings in [routed(3), gateway([10, 11], [20, 21], FlowControl::BifrostX(slots()))] {
        let mut bench = Testbench::new(settings);
        bench.inject(A, [frame(grant(1, 0, [WireBytes(0); far_port::MOST]))]);
        bench.inject(A, [frame(grants::Message::Behind(behind::Message::new(1, 0, 1, &[])))]);
        assert_eq!(bench.dropped(A, Priority::from_low_bits(0), DropReason::ForeignGrants).frames, 2);
    }
}
