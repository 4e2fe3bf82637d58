//! BifrostX between two gateways over 80 km, and against what a neighbour may send.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{bridged, host_mac, host_v4, lossless, patched, port_mac, two_ports};
use conformance::simulated::{Plan, assert_lossless, endless, flow, host, options};
use conformance::{A, B, C, P3, P4, TestFrame, Testbench};
use core::num::NonZeroU32;
use endpoint::HostSettings;
use simulation::{Faults, Outcome};
use switch::flow_control::bifrostx::BifrostXReport;
use switch::program::{Bifrost, FlowControl, Scheduling, Settings, VirtualIncoming};
use switch::{Consumed, DropReason};
use units::{BitRate, Bytes, Interval, Nanos, PortId, Priority, PrioritySet, WireBytes};
use wire::grants::{FRAME_LEN, Kind, Message};

const RATE: BitRate = BitRate::gigabits(100);
const ONE_WAY: Interval = Interval(400_000);
const END: Nanos = Nanos(12_000_000);

fn slots() -> Bifrost {
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: Interval(10_000),
        // A message waits behind a frame here, and acts behind one there.
        round_trip: ONE_WAY * 2 + Interval(3_000),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::History { jitter: Interval(1_000) },
        holdover: Interval(5_000),
        lateness: Interval::ZERO,
    };
    let least = bifrost.buffer_terms(RATE, Bytes(9_216)).total();
    bifrost.buffer = least + WireBytes(RATE.bytes_in(bifrost.slot));
    bifrost
}

/// `settings` with this flow control on the long link, behind `port`, and room for what it lets in.
fn with_long_link(mut settings: Settings, port: PortId, flow_control: FlowControl) -> Settings {
    let room = slots().buffer.0 + slots().overrun(RATE, Bytes(9_216)).0;
    settings.buffer.shared = Bytes(8 * room);
    settings.ports[port.index()].flow_control = flow_control;
    for priority in [P3, P4] {
        settings.ports[port.index()].groups[priority.index()] = lossless(room, room / 2, 0);
    }
    settings
}

/// A host at `rate` that sends to host `to`.
fn sender(number: u16, to: u16, rate: BitRate) -> HostSettings {
    let [this, to] = [number, to].map(PortId);
    host(host_mac(this), host_v4(this), host_mac(to), rate)
}

struct Run {
    outcome: Outcome,
    near: usize,
    far: usize,
}

impl Run {
    fn grants(&self, switch: usize, port: PortId) -> BifrostXReport {
        let port = &self.outcome.switches[switch].ports[port.index()];
        port.flow_control.bifrostx().cloned().unwrap()
    }

    /// Frames that paused priority 3 for a slot on the long link, from the far end.
    fn slots_paused(&self, port: PortId) -> u64 {
        self.outcome.switches[self.far].ports[port.index()].groups[3].pauses.slot
    }
}

/// A host at 100G behind port A of the near gateway sends over the long link, behind its port B, to one at 25G
/// behind port B of the far gateway, all the time.
fn bottleneck(near: FlowControl, far: FlowControl) -> Run {
    bottleneck_with(near, far, Faults::default())
}

/// The same with `faults` in both directions of the long link.
fn bottleneck_with(near: FlowControl, far: FlowControl, faults: Faults) -> Run {
    let mut plan = Plan::default();
    let hosts = [plan.host(sender(0, 1, RATE)), plan.host(sender(1, 0, BitRate::gigabits(25)))];
    let near_gateway = plan.switch(with_long_link(patched(2), B, near));
    let mut settings = with_long_link(patched(2), A, far);
    settings.ports[1].rate = BitRate::gigabits(25);
    let far_gateway = plan.switch(settings);
    plan.join([(hosts[0], PortId(0)), (near_gateway, A)], RATE, Interval(500));
    let long = plan.join([(near_gateway, B), (far_gateway, A)], RATE, ONE_WAY);
    plan.network.links[long].faults = [faults; 2];
    plan.join([(far_gateway, B), (hosts[1], PortId(0))], BitRate::gigabits(25), Interval(500));
    let flows = [endless(flow(0, hosts[0], hosts[1], 0), P3, Nanos(0), END)];
    let (outcome, seen) = plan.run(options(), &flows);
    assert!(outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
    for port in outcome.switches.iter().flat_map(|switch| &switch.ports) {
        assert!(port.ingress.dropped[P3.index()].iter().all(|it| it.frames == 0));
    }
    // From the first byte at the bottleneck to the last it never starves.
    let (sent, time) = (seen.flows[0].delivered, seen.flows[0].end.since(Nanos(0)) - ONE_WAY);
    assert!(sent * 100 > BitRate::gigabits(25).bytes_in(time) * 95, "{sent} bytes in {time}");
    Run { outcome, near: 0, far: 1 }
}

#[test]
fn two_gateways_grant_instead_of_pausing_and_the_drain_never_starves() {
    let x = FlowControl::BifrostX(slots());
    let run = bottleneck(x, x);
    let (near, far) = (run.grants(run.near, B), run.grants(run.far, A));
    assert!(near.is_followed && far.is_followed);
    assert!(far.slots.slots.longest_queue <= slots().buffer, "{:?}", far.slots.slots.longest_queue);
    // Until the near end says that it follows, pauses go beside the grants: a round trip, some 83 slots.
    let paused = run.slots_paused(A);
    assert!(paused <= 90 && far.downstream.grants > 900, "{paused} of {}", far.downstream.grants);
    assert_eq!((near.upstream.missed, near.upstream.ignored, near.upstream.silences), (0, 0, 0));
    assert_eq!((near.downstream.fallbacks, far.downstream.fallbacks), (0, 0));
}

#[test]
fn grants_that_are_lost_cost_no_frame_and_leave_the_bottleneck_busy() {
    let x = FlowControl::BifrostX(slots());
    for control_loss in [0.001, 0.01, 0.1] {
        let run = bottleneck_with(x, x, Faults { control_loss, ..Faults::default() });
        let (near, far) = (run.grants(run.near, B), run.grants(run.far, A));
        assert!(near.is_followed && far.is_followed);
        let missed = near.upstream.missed as f64 / far.downstream.grants as f64;
        assert!((missed - control_loss).abs() < control_loss.max(0.003), "{missed} of {control_loss}");
        assert!(far.slots.slots.longest_queue <= slots().buffer);
    }
}

#[test]
fn a_peer_that_does_not_speak_is_paused_as_by_bifrost() {
    let x = FlowControl::BifrostX(slots());
    for peer in [FlowControl::Pfc, FlowControl::Bifrost(slots())] {
        let run = bottleneck(peer, x);
        let far = run.grants(run.far, A);
        assert!(!far.is_followed && run.slots_paused(A) > 600, "{}", run.slots_paused(A));
        assert_eq!((far.downstream.grants, far.upstream.taken), (0, 0));
        assert!(far.slots.slots.longest_queue <= slots().buffer + slots().overrun(RATE, Bytes(9_216)));
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
    let [together, apart] =
        [FlowControl::Bifrost(slots()), FlowControl::BifrostX(slots())].map(beside_a_slow_receiver);
    assert!(apart > 2 * together, "{apart} and {together}");
}

/// A grant frame as a neighbour may send it.
fn frame(message: Message) -> TestFrame {
    let mut bytes = vec![0; FRAME_LEN];
    message.emit(host_mac(A), &mut bytes).unwrap();
    TestFrame::new(bytes)
}

fn message() -> Message {
    Message {
        kind: Kind::Grant,
        follows: true,
        priorities: PrioritySet::EMPTY.with(P3),
        sequence: 1,
        slot: Interval(10_000),
        total: WireBytes(0),
        each: [WireBytes(0); Priority::COUNT],
    }
}

#[test]
fn a_grant_frame_that_comes_from_elsewhere_is_dropped_by_name_and_reaches_no_link() {
    let mut bench = Testbench::new(with_long_link(two_ports(), B, FlowControl::BifrostX(slots())));
    bench.run_for(Interval(1_000));
    let sent = bench.sent(B).len();
    bench.inject(A, [frame(message())]);
    bench.run_for(Interval(1_000));
    assert_eq!(bench.sent(B).len(), sent);
    let default = Priority::from_low_bits(0);
    assert_eq!(bench.dropped(A, default, DropReason::ForeignGrants).frames, 1);
    assert_eq!(bench.shard.flow_control(B).bifrostx().unwrap().upstream.taken, 0);
    bench.assert_conserved();
}

#[test]
fn a_frame_of_the_same_type_to_a_station_is_data() {
    let mut bench = Testbench::new(with_long_link(two_ports(), B, FlowControl::BifrostX(slots())));
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
        let mut bench = Testbench::new(with_long_link(two_ports(), B, FlowControl::BifrostX(slots())));
        bench.inject(B, [bad]);
        let default = Priority::from_low_bits(0);
        assert_eq!(bench.dropped(B, default, DropReason::MalformedControl).frames, 1);
        assert_eq!(bench.shard.flow_control(B).bifrostx().unwrap().upstream.taken, 0);
        bench.assert_conserved();
    }
    let mut bench = Testbench::new(with_long_link(two_ports(), B, FlowControl::BifrostX(slots())));
    bench.inject(B, [whole]);
    assert_eq!(bench.shard.flow_control(B).bifrostx().unwrap().upstream.taken, 1);
    assert_eq!(bench.shard.ingress_counters(B).consumed[Consumed::Grants.index()].frames, 1);
}
