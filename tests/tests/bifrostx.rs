//! BifrostX between two gateways over 80 km, and against what a neighbour may send.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{bridged, host_mac, port_mac, two_ports};
use conformance::simulated::{Plan, assert_lossless, endless, flow, options};
use conformance::two_gateways::{END, ONE_WAY, RATE, bottleneck, sender, slots, with_long_link};
use conformance::{A, B, C, P3, P4, TestFrame, Testbench};
use simulation::Faults;
use switch::flow_control::bifrostx::BifrostXReport;
use switch::program::{FlowControl, Scheduling};
use switch::{Consumed, DropReason, PortInspection};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::grants;
use wire::grants::slot::{Head, Kind, Message};

/// BifrostX on the long link.
fn x() -> FlowControl {
    FlowControl::BifrostX(slots())
}

fn slots_of(port: &PortInspection) -> &BifrostXReport {
    port.flow_control.bifrostx().unwrap()
}

#[test]
fn two_gateways_grant_instead_of_pausing_and_the_drain_never_starves() {
    let run = bottleneck(x(), x(), Faults::default());
    run.assert_lossless();
    run.assert_busy(Interval::ZERO);
    let (near, far) = (slots_of(run.near()), slots_of(run.far()));
    assert!(near.is_followed && far.is_followed);
    assert!(far.slots.slots.longest_queue <= slots().buffer, "{:?}", far.slots.slots.longest_queue);
    // Until the near end says that it follows, pauses go beside the grants: a round trip, some 83 slots.
    let paused = run.far().groups[P3.index()].pauses.slot;
    assert!(paused <= 90 && far.downstream.grants > 900, "{paused} of {}", far.downstream.grants);
    let counters = near.upstream;
    assert_eq!((counters.numbers.missed, counters.numbers.ignored, counters.silences), (0, 0, 0));
    assert_eq!((near.downstream.fallbacks, far.downstream.fallbacks), (0, 0));
}

#[test]
fn grants_that_are_lost_cost_no_frame_and_leave_the_bottleneck_busy() {
    for control_loss in [0.001, 0.01, 0.1] {
        let run = bottleneck(x(), x(), Faults { control_loss, ..Faults::default() });
        run.assert_lossless();
        run.assert_busy(Interval::ZERO);
        let (near, far) = (slots_of(run.near()), slots_of(run.far()));
        assert!(near.is_followed && far.is_followed);
        let missed = near.upstream.numbers.missed as f64 / far.downstream.grants as f64;
        assert!((missed - control_loss).abs() < control_loss.max(0.003), "{missed} of {control_loss}");
        assert!(far.slots.slots.longest_queue <= slots().buffer);
    }
}

#[test]
fn a_peer_that_does_not_speak_is_paused_as_by_bifrost() {
    for peer in [FlowControl::Pfc, FlowControl::Bifrost(slots())] {
        let run = bottleneck(peer, x(), Faults::default());
        run.assert_lossless();
        run.assert_busy(Interval::ZERO);
        let (far, paused) = (slots_of(run.far()), run.far().groups[P3.index()].pauses.slot);
        assert!(!far.is_followed && paused > 600, "{paused}");
        assert_eq!((far.downstream.grants, far.upstream.numbers.taken), (0, 0));
        assert!(
            far.slots.slots.longest_queue
                <= slots().buffer + slots().overrun(RATE, Bytes(9_216), Interval::ZERO)
        );
    }
}

/// Two hosts behind ports B and C of the near gateway send over the long link between the ports A: one at priority 3
/// to a host at 10G, the other at priority 4 to one at 100G. Returns the bytes that the second one has sent by
/// [`END`].
fn beside_a_slow_receiver(flow_control: FlowControl) -> u64 {
    let slow = BitRate::gigabits(10);
    let mut plan = Plan::default();
    let pairs = [(10, 20, RATE), (11, 21, RATE), (20, 10, slow), (21, 11, RATE)];
    let hosts = pairs.map(|(number, to, rate)| plan.host(sender(number, to, rate)));
    let mut settings = with_long_link(bridged(3), A, flow_control);
    // The link is shared by turns, so the slow receiver's frames are not held back by the order of priorities.
    settings.ports[0].queues.iter_mut().for_each(|queue| queue.scheduling = Scheduling::Weighted(1));
    let near = plan.switch(settings);
    let mut settings = with_long_link(bridged(3), A, flow_control);
    settings.ports[1].rate = slow;
    let far = plan.switch(settings);
    plan.join([(near, A), (far, A)], RATE, ONE_WAY);
    for (host, gateway, port, rate) in
        [(0, near, B, RATE), (1, near, C, RATE), (2, far, B, slow), (3, far, C, RATE)]
    {
        plan.join([(hosts[host], PortId(0)), (gateway, port)], rate, Interval(500));
    }
    let flows = [
        endless(flow(0, hosts[0], hosts[2], 0), P3, Nanos(0), END),
        endless(flow(1, hosts[1], hosts[3], 0), P4, Nanos(0), END),
    ];
    let (outcome, seen) = plan.run(options(), &flows);
    assert_lossless(&outcome);
    seen.flows.iter().find(|it| it.flow.id.0 == 1).unwrap().delivered
}

#[test]
fn a_slow_receiver_of_one_priority_leaves_the_link_to_another() {
    let [together, apart] = [FlowControl::Bifrost(slots()), x()].map(beside_a_slow_receiver);
    assert!(apart > 2 * together, "{apart} and {together}");
}

/// A grant frame as a neighbour may send it.
fn frame(message: Message) -> TestFrame {
    let message = grants::Message::Slot(message);
    let mut bytes = vec![0; message.frame_len()];
    message.emit(host_mac(A), &mut bytes).unwrap();
    TestFrame::new(bytes)
}

fn message() -> Message {
    let head = Head {
        kind: Kind::Grant,
        follows: true,
        priorities: PrioritySet::EMPTY.with(P3),
        sequence: 1,
        slot: Interval(10_000),
        total: WireBytes(0),
    };
    Message { head, each: [WireBytes(0); Priority::COUNT] }
}

#[test]
fn a_grant_frame_that_comes_from_elsewhere_is_dropped_by_name_and_reaches_no_link() {
    let mut bench = Testbench::new(with_long_link(two_ports(), B, x()));
    bench.run_for(Interval(1_000));
    let sent = bench.sent(B).len();
    bench.inject(A, [frame(message())]);
    bench.run_for(Interval(1_000));
    assert_eq!(bench.sent(B).len(), sent);
    let default = Priority::from_low_bits(0);
    assert_eq!(bench.dropped(A, default, DropReason::ForeignGrants).frames, 1);
    assert_eq!(bench.shard.flow_control(B).bifrostx().unwrap().upstream.numbers.taken, 0);
    bench.assert_conserved();
}

#[test]
fn a_frame_of_the_same_type_to_a_station_is_data() {
    let mut bench = Testbench::new(with_long_link(two_ports(), B, x()));
    let mut data = frame(message());
    data.bytes[..6].copy_from_slice(&port_mac(PortId(9)).0);
    bench.inject(A, [data]);
    bench.run_for(Interval(1_000));
    assert_eq!(bench.data(B).count(), 1);
    assert_eq!(bench.dropped_in_all().frames, 0);
}

#[test]
fn a_grant_frame_that_is_malformed_or_tagged_is_dropped_by_name_and_changes_nothing() {
    let whole = frame(message());
    let mut version = whole.clone();
    version.bytes[14] = 9;
    let mut short = whole.clone();
    short.bytes.truncate(61);
    let mut tagged = whole.clone();
    tagged.bytes.splice(12..12, [0x81, 0x00, 0x60, 0x01]);
    for bad in [version, short, tagged] {
        let mut bench = Testbench::new(with_long_link(two_ports(), B, x()));
        bench.inject(B, [bad]);
        let default = Priority::from_low_bits(0);
        assert_eq!(bench.dropped(B, default, DropReason::MalformedControl).frames, 1);
        assert_eq!(bench.shard.flow_control(B).bifrostx().unwrap().upstream.numbers.taken, 0);
        bench.assert_conserved();
    }
    let mut bench = Testbench::new(with_long_link(two_ports(), B, x()));
    bench.inject(B, [whole]);
    assert_eq!(bench.shard.flow_control(B).bifrostx().unwrap().upstream.numbers.taken, 1);
    assert_eq!(bench.shard.ingress_counters(B).consumed[Consumed::Grants.index()].frames, 1);
}
