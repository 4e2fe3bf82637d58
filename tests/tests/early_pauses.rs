//! Schemes that pause before the thresholds do, in whole networks: P-PFC and CaPFC.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{lossless, routed};
use conformance::simulated::{Plan, flow, host_behind, options};
use simulation::{Ending, Faults, Outcome};
use switch::GroupReport;
use switch::flow_control::capfc::settings::CaPfc;
use switch::flow_control::p_pfc::settings::PPfc;
use switch::program::{FlowControl, Settings};
use units::{BitRate, Bytes, Interval, PauseQuanta, PortId};

const RATE: BitRate = BitRate::gigabits(100);
/// The first hosts send to one, and the next one to one of its own.
const SENDERS: u16 = 8;
const RECEIVER: u16 = SENDERS;
const INNOCENT: u16 = SENDERS + 1;
const ITS_RECEIVER: u16 = SENDERS + 2;
const MESSAGE: u64 = 2_000_000;
const POOL: u64 = 4_000_000;
const P_PFC: FlowControl = FlowControl::PPfc(PPfc {
    horizon: Interval::from_micros(100),
    coverage: 0.8,
    interval: Interval::from_micros(1),
    kmax: Bytes(500_000),
});

const CAPFC: FlowControl =
    FlowControl::CaPfc(CaPfc { warn: Bytes(500_000), interval: Interval::from_micros(1) });

/// A switch that pauses by thresholds once its pool is full, and has `headroom` for each port then.
fn switch(flow_control: FlowControl, headroom: u64) -> Settings {
    let mut settings = routed(ITS_RECEIVER + 1);
    settings.buffer.shared = Bytes(POOL);
    settings.buffer.egress_lossy = Bytes(POOL);
    settings.buffer.headroom = Bytes(headroom * u64::from(ITS_RECEIVER + 1));
    for port in &mut settings.ports {
        port.groups[3] = lossless(POOL, POOL / 2, headroom);
        port.flow_control = flow_control;
        // A lost XOFF is sent again soon, at half of this.
        port.pfc.pause = PauseQuanta::covering(Interval::from_micros(20), RATE);
    }
    settings
}

/// Each sender sends a message, over links with these faults toward the senders.
fn incast(flow_control: FlowControl, headroom: u64, faults: Faults) -> Outcome {
    let mut plan = Plan::default();
    let switch = plan.switch(switch(flow_control, headroom));
    let hosts: Vec<_> = (0..=ITS_RECEIVER).map(|port| plan.host(host_behind(PortId(port), RATE))).collect();
    for (host, port) in hosts.iter().zip(0..) {
        let link = plan.join([(*host, PortId(0)), (switch, PortId(port))], RATE, Interval(1_000));
        plan.network.links[link].faults[1] = faults;
    }
    let to = |sender: u16| hosts[usize::from(if sender == INNOCENT { ITS_RECEIVER } else { RECEIVER })];
    let senders = (0..SENDERS).chain([INNOCENT]);
    let flows: Vec<_> = senders
        .map(|sender| flow(u32::from(sender), hosts[usize::from(sender)], to(sender), MESSAGE))
        .collect();
    let (outcome, _) = plan.run(options(), &flows);
    // PFC frames may be lost on the way, and no others.
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.flows_started, outcome.flows_ended);
    assert!(
        outcome.hosts.iter().all(|host| host.counters.retransmitted == 0),
        "{flow_control:?}, {faults:?}"
    );
    outcome
}

fn group(outcome: &Outcome, port: u16) -> GroupReport {
    outcome.switches[0].ports[usize::from(port)].groups[3]
}

/// The longest queue of the receiver.
fn longest(outcome: &Outcome) -> u64 {
    outcome.switches[0].ports[usize::from(RECEIVER)].queues[3].watermark.persistent().0
}

#[test]
fn an_incast_stays_below_the_pool_and_ends_as_early_as_with_the_thresholds_that_it_no_longer_reaches() {
    let pfc = incast(FlowControl::Pfc, 60_000, Faults::default());
    assert!(longest(&pfc) > POOL * 9 / 10, "the thresholds let the pool fill: {}", longest(&pfc));
    // Without congestion control, P-PFC lets the queue grow as long as what is free lasts beyond its horizon.
    for (scheme, most) in [(P_PFC, POOL * 85 / 100), (CAPFC, POOL / 4)] {
        let early = incast(scheme, 60_000, Faults::default());
        assert!(longest(&early) < most, "{scheme:?}: {}", longest(&early));
        for sender in 0..SENDERS {
            let [by_threshold, by_scheme] = [&pfc, &early].map(|outcome| group(outcome, sender).pauses);
            assert!(by_threshold.xoff > 0 && by_threshold.timed == 0);
            assert!(by_scheme.xoff == 0 && by_scheme.timed > 0, "{scheme:?}, port {sender}");
        }
        let [pfc, early] = [pfc.end, early.end].map(|end| end.0);
        assert!(early < pfc + pfc / 100, "{scheme:?}: {early} and {pfc} ns");
    }
}

#[test]
fn a_port_whose_frames_wait_nowhere_is_never_paused() {
    for scheme in [P_PFC, CAPFC] {
        let outcome = incast(scheme, 60_000, Faults::default());
        for port in [RECEIVER, INNOCENT, ITS_RECEIVER] {
            let pauses = group(&outcome, port).pauses;
            assert_eq!(pauses, switch::PausesSent::default(), "{scheme:?}, port {port}");
        }
    }
}

#[test]
fn the_thresholds_beneath_cover_what_lost_and_late_pauses_let_in() {
    for scheme in [P_PFC, CAPFC] {
        for faults in [
            Faults { control_loss: 0.1, ..Faults::default() },
            Faults { control_delay: Interval::from_micros(20), ..Faults::default() },
            Faults { control_loss: 0.1, control_delay: Interval::from_micros(5), ..Faults::default() },
        ] {
            // Room for several lost refreshes, or the delay.
            let outcome = incast(scheme, 1_200_000, faults);
            assert!(
                (0..SENDERS).any(|port| group(&outcome, port).pauses.timed > 0),
                "{scheme:?}, {faults:?}"
            );
        }
    }
}
