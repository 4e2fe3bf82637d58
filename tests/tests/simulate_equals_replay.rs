//! Frames that come into a switch of a simulation, replayed through the same switch alone, leave it again at the
//! same instants with the same bytes.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{lossless, routed};
use conformance::simulated::{Plan, Seen, assert_lossless, flow, host_behind, options};
use conformance::{P3, P4, SharedCapture};
use core::cell::RefCell;
use core::ops::ControlFlow;
use replay::capture::{CaptureReader, CaptureWriter, Pace};
use replay::{Input, Outputs, Replay, Side};
use simulation::{FlowSpec, NodeId, NodeKind, Options};
use std::io::Cursor;
use std::rc::Rc;
use switch::program::{MarkAt, Red, Scheduling, Settings};
use switch::{Event, EventKind};
use units::{BitRate, Bytes, Interval, Nanos, PortId};

const RATE: BitRate = BitRate::gigabits(100);
const PORTS: u16 = 5;

/// The capture of one port of the switch, in or out, up to `end`.
fn capture(seen: &Seen, port: u16, inbound: bool) -> Vec<u8> {
    let sink = SharedCapture::default();
    let mut writer = CaptureWriter::new(sink.clone(), "simulated");
    for (tap, at, headers, length) in &seen.frames {
        if tap.port == PortId(port) && tap.inbound == inbound {
            writer.write(*at, headers, length.0 as u32).unwrap();
        }
    }
    writer.finish().unwrap();
    sink.take()
}

/// Replays what came in; returns what left through each port, and the events.
fn replayed(plan: &Plan, switch: NodeId, seen: &Seen) -> (Vec<Vec<u8>>, Vec<Event>) {
    let NodeKind::Switch { program, lanes } = &plan.network.nodes[switch.0 as usize].kind else {
        panic!("a switch")
    };
    let inputs = (0..PORTS).map(|port| {
        let source = CaptureReader::new(Cursor::new(capture(seen, port, true)), "in").unwrap();
        Input { source, pace: Pace::AsCaptured, side: Side::Port(PortId(port)) }
    });
    let sinks: Vec<SharedCapture> = (0..PORTS).map(|_| SharedCapture::default()).collect();
    let writers = sinks.iter().map(|sink| Some(CaptureWriter::new(sink.clone(), "replayed")));
    let replay = Replay::new(program.clone(), inputs.collect()).unwrap().with_lanes(*lanes).unwrap();
    let events = Rc::new(RefCell::new(Vec::new()));
    let sink = events.clone();
    let replay = replay.record_events(move |event| sink.borrow_mut().push(*event));
    replay.run("gateway", Outputs::new(writers), |_| ControlFlow::Continue(())).unwrap();
    (sinks.iter().map(|sink| sink.take()).collect(), events.take())
}

/// A router among hosts, of which the first three send to the last two.
fn around(settings: Settings) -> (Plan, NodeId, Vec<FlowSpec>) {
    let mut plan = Plan::default();
    let router = plan.switch(settings);
    let hosts: Vec<_> = (0..PORTS).map(|port| plan.host(host_behind(PortId(port), RATE))).collect();
    for (port, host) in (0..).zip(&hosts) {
        plan.join([(*host, PortId(0)), (router, PortId(port))], RATE, Interval(700 * u64::from(port % 2)));
    }
    let mut flows = Vec::new();
    for round in 0..4 {
        for source in 0..3_u32 {
            let mut one = flow(flows.len() as u32, hosts[source as usize], hosts[3 + (round % 2)], 900_000);
            one.start = Nanos(10_000 * round as u64);
            one.priority = if round < 2 { P3 } else { P4 };
            flows.push(one);
        }
    }
    (plan, router, flows)
}

fn red(settings: &mut Settings) {
    for queue in settings.ports.iter_mut().flat_map(|port| &mut port.queues) {
        queue.red = Some(Red {
            kmin: Bytes(20_000),
            kmax: Bytes(200_000),
            pmax: 0.5,
            mark_at: MarkAt::Dequeue,
            adaptive: None,
        });
    }
}

fn assert_same(settings: Settings) {
    assert_same_with_lanes(settings, 1);
}

fn assert_same_with_lanes(settings: Settings, lanes: usize) {
    let (plan, router, flows) = around(settings);
    let plan = plan.with_lanes(lanes);
    let (outcome, seen) = plan.run(Options { taps: vec![router], ..options() }, &flows);
    assert_lossless(&outcome);
    let report = &outcome.switches[0];
    for pauses in report.ports[..3].iter().map(|port| port.groups[3].pauses) {
        assert!(pauses.xoff > 1 && pauses.xon == pauses.xoff, "every sender was paused: {pauses:?}");
    }
    let (frames, events) = replayed(&plan, router, &seen);
    for (port, replayed) in (0..).zip(frames) {
        assert!(capture(&seen, port, false) == replayed, "port {port} differs, {lanes} lanes");
    }
    // The replay goes on until all pauses have run out, and has no order of the events of lanes at one instant.
    let of_run = |events: &mut dyn Iterator<Item = Event>| {
        let mut events: Vec<_> = events.filter(|event| event.at < outcome.end).collect();
        if lanes > 1 {
            events.sort_by_key(|it| (it.at, it.port, it.priority, format!("{it:?}")));
        }
        events
    };
    let simulated = of_run(&mut seen.events.iter().map(|(_, event)| *event));
    assert!(simulated.iter().any(|event| event.what.kind() == EventKind::Xoff));
    assert!(simulated == of_run(&mut events.into_iter()), "events differ, {lanes} lanes");
}

#[test]
fn under_pfc() {
    assert_same(routed(PORTS));
}

#[test]
fn under_pfc_with_marking_and_weights() {
    let mut settings = routed(PORTS);
    red(&mut settings);
    for port in &mut settings.ports {
        for (priority, weight) in [(3, 7), (4, 2)] {
            port.queues[priority].scheduling = Scheduling::Weighted(weight);
            port.groups[priority] = lossless(60_000, 30_000, 200_000);
        }
    }
    assert_same(settings);
}

#[test]
fn where_frames_are_handed_over_ahead_of_time() {
    let mut settings = routed(PORTS);
    for port in &mut settings.ports {
        port.tx_window = Interval(2_000);
        port.groups[3] = lossless(60_000, 30_000, 400_000);
    }
    assert_same(settings);
}

#[test]
fn with_several_lanes_under_the_schedule_of_a_seed() {
    for (seed, lanes) in (0..4).flat_map(|seed| [2, 4].map(|lanes| (seed, lanes))) {
        let mut settings = Settings { seed, ..routed(PORTS) };
        settings.buffer.headroom = Bytes(20_000_000);
        for port in &mut settings.ports {
            port.tx_window = Interval(2_000);
            port.groups[3] = lossless(60_000, 30_000, 2_000_000);
        }
        assert_same_with_lanes(settings, lanes);
    }
}
