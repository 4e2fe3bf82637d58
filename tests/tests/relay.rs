//! Relays of pauses at both ends of a long link, between gateways that keep the thresholds of their data centers.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{group_of, lossless, patched};
use conformance::simulated::{Plan, endless, flow, options};
use conformance::two_gateways::{BOTTLENECK, END, ONE_WAY, RATE, sender};
use conformance::{A, B, P3, P4, Testbench};
use simulation::{Faults, Outcome};
use switch::flow_control::relay::settings::Relay;
use switch::program::{FlowControl, Settings, Watchdog, WatchdogAction};
use switch::{GroupReport, PauseCause};
use units::{Bytes, Interval, Nanos, PauseQuanta, PortId, PrioritySet};

/// The delay of the links between gateways and relays.
const BESIDE: Interval = Interval(500);
/// The bytes that arrive in a round trip of the long link, in cells: frames of 4,154 bytes take 4,160, a pause waits
/// for one of them at either end, and the other end needs some time to stop.
const ROUND_TRIP: u64 = 10_000_000 + 100_000;
/// XOFF and headroom within a data center.
const WITHIN: u64 = 200_000;

/// The thresholds of a relay's long port: XOFF and headroom.
#[derive(Clone, Copy)]
struct Thresholds {
    xoff: u64,
    headroom: u64,
}

/// The buffer is a round trip, and the headroom another one.
const SAFE: Thresholds = Thresholds { xoff: ROUND_TRIP, headroom: ROUND_TRIP };
/// The buffer alone.
const LEAN: Thresholds = Thresholds { xoff: ROUND_TRIP, headroom: 0 };

/// Whether relays pass pauses on.
#[derive(Clone, Copy, PartialEq)]
enum Passes {
    On,
    Nothing,
}

/// A relay whose long port is `long` of two.
fn relay(long: PortId, passes: Passes, thresholds: Thresholds) -> Settings {
    let mut settings = patched(2);
    settings.buffer.shared = Bytes(4 * ROUND_TRIP);
    settings.buffer.headroom = Bytes(4 * ROUND_TRIP);
    for (port, from) in [(A, B), (B, A)] {
        let own = if port == long {
            lossless(thresholds.xoff, thresholds.xoff - 10_000, thresholds.headroom)
        } else {
            lossless(WITHIN, WITHIN, WITHIN)
        };
        let port = &mut settings.ports[port.index()];
        port.groups[P3.index()] = own;
        if passes == Passes::On {
            port.flow_control = FlowControl::Relay(Relay { from });
        }
    }
    settings
}

/// A gateway, with the thresholds of its data center at both ports.
fn gateway() -> Settings {
    let mut settings = patched(2);
    for port in [A, B] {
        *group_of(&mut settings, port, P3) = lossless(WITHIN, WITHIN, WITHIN).lossless().copied().unwrap();
    }
    settings
}

/// A run of one flow from a host at 100G to one at 25G, through gateway, relay, long link, relay and gateway.
struct Run {
    outcome: Outcome,
    delivered: u64,
}

impl Run {
    fn new(passes: Passes, thresholds: Thresholds, one_way: Interval, faults: Faults) -> Self {
        let mut plan = Plan::default();
        let hosts = [plan.host(sender(0, 1, RATE)), plan.host(sender(1, 0, BOTTLENECK))];
        let near = [plan.switch(gateway()), plan.switch(relay(B, passes, thresholds))];
        let mut last = gateway();
        last.ports[B.index()].rate = BOTTLENECK;
        let far = [plan.switch(relay(A, passes, thresholds)), plan.switch(last)];
        plan.join([(hosts[0], A), (near[0], A)], RATE, BESIDE);
        plan.join([(near[0], B), (near[1], A)], RATE, BESIDE);
        let long = plan.join([(near[1], B), (far[0], A)], RATE, one_way);
        plan.network.links[long].faults = [faults; 2];
        plan.join([(far[0], B), (far[1], A)], RATE, BESIDE);
        plan.join([(far[1], B), (hosts[1], PortId(0))], BOTTLENECK, BESIDE);
        let flows = [endless(flow(0, hosts[0], hosts[1], 0), P3, Nanos(0), END)];
        let (outcome, seen) = plan.run(options(), &flows);
        // No frame is lost; the simulation would have ended with the first.
        assert!(outcome.hosts.iter().all(|host| host.counters.retransmitted == 0));
        Self { outcome, delivered: seen.flows.first().map_or(0, |flow| flow.delivered) }
    }

    fn group(&self, switch: usize, port: PortId) -> GroupReport {
        self.outcome.switches[switch].ports[port.index()].groups[P3.index()]
    }

    /// The buffer of the link: the group of the far relay's long port.
    fn buffer(&self) -> GroupReport {
        self.group(2, A)
    }

    /// How much of the bottleneck's time the flow used, in percent.
    fn busy(&self) -> u64 {
        let sent_for = Interval(END.0) - ONE_WAY;
        self.delivered * 100 / BOTTLENECK.bytes_in(sent_for)
    }
}

/// The most bytes that a group held, at most.
fn held(group: &GroupReport) -> u64 {
    group.watermark.persistent().0 + group.headroom_watermark.persistent().0
}

/// The time for which a group paused its upstream for `cause`.
fn paused(group: &GroupReport, cause: PauseCause) -> Interval {
    group.paused_for[PauseCause::ALL.iter().position(|it| *it == cause).unwrap()]
}

#[test]
fn a_round_trip_of_buffer_loses_nothing_and_the_drain_never_starves() {
    let run = Run::new(Passes::On, LEAN, ONE_WAY, Faults::default());
    let buffer = run.buffer();
    let most = held(&buffer);
    assert!(most > ROUND_TRIP * 7 / 10 && most < ROUND_TRIP, "{most}");
    assert_eq!(paused(&buffer, PauseCause::Threshold), Interval::ZERO, "its own XOFF is never reached");
    assert!(paused(&buffer, PauseCause::Relayed) > Interval::from_millis(5));
    assert!(run.busy() > 93, "{} %", run.busy());
    // The sender's gateway is stopped by its relay, and holds no more than within a data center.
    let near = run.group(1, A);
    assert!(paused(&near, PauseCause::Relayed) > Interval::from_millis(4));
    for group in [near, run.group(0, A), run.group(3, A)] {
        assert!(held(&group) <= 2 * WITHIN, "{group:?}");
    }
}

#[test]
fn relays_that_pass_nothing_on_need_two_round_trips_or_starve_the_drain() {
    let deep = Run::new(Passes::Nothing, SAFE, ONE_WAY, Faults::default());
    let most = held(&deep.buffer());
    assert!(most > ROUND_TRIP * 3 / 2, "a pause leaves only when the first round trip is full: {most}");
    let low = Thresholds { xoff: WITHIN, headroom: ROUND_TRIP };
    let shallow = Run::new(Passes::Nothing, low, ONE_WAY, Faults::default());
    let relays = Run::new(Passes::On, LEAN, ONE_WAY, Faults::default());
    assert!(
        shallow.delivered * 100 < relays.delivered * 95,
        "{} and {} bytes",
        shallow.delivered,
        relays.delivered
    );
}

#[test]
fn the_thresholds_beneath_cover_pauses_that_are_lost_or_a_round_trip_late() {
    let late = Faults { control_delay: ONE_WAY * 2, ..Faults::default() };
    let lost = [0.001, 0.01, 0.1].map(|control_loss| Faults { control_loss, ..Faults::default() });
    for faults in lost.into_iter().chain([late]) {
        let run = Run::new(Passes::On, SAFE, ONE_WAY, faults);
        assert!(paused(&run.buffer(), PauseCause::Relayed) > Interval::ZERO);
        if faults.control_delay == Interval::ZERO {
            assert!(run.busy() > 90, "{faults:?}: {} %", run.busy());
        }
    }
}

#[test]
fn a_link_that_is_a_fifth_longer_than_configured_loses_nothing() {
    let run = Run::new(Passes::On, SAFE, Interval(ONE_WAY.0 / 5 * 6), Faults::default());
    let most = held(&run.buffer());
    assert!(most < ROUND_TRIP * 6 / 5, "a round trip of the link as it is: {most}");
}

fn p3() -> PrioritySet {
    PrioritySet::EMPTY.with(P3)
}

/// The pauses that left through `port` since the last call: priority 3, its quanta.
fn said(bench: &mut Testbench, port: PortId) -> Vec<u16> {
    let frames = bench.newly_sent(port).iter().filter_map(|sent| sent.pfc()).collect::<Vec<_>>();
    frames.iter().filter_map(|times| times[P3.index()]).map(|quanta| quanta.0).collect()
}

#[test]
fn a_pause_goes_on_in_both_directions_and_never_returns_where_it_came_from() {
    let mut bench = Testbench::new(relay(B, Passes::On, SAFE));
    for (from, to) in [(A, B), (B, A)] {
        bench.inject_pfc(from, p3(), PauseQuanta(1_000));
        bench.turn();
        assert_eq!(said(&mut bench, to), [u16::MAX], "at once, with the time of this link");
        bench.run_for(Interval(100));
        bench.inject_pfc(from, p3(), PauseQuanta::ZERO);
        bench.turn();
        assert_eq!(said(&mut bench, to), [0]);
        assert!(said(&mut bench, from).is_empty());
    }
    // A priority that only one side protects stays there.
    bench.inject_pfc(A, PrioritySet::EMPTY.with(P4), PauseQuanta(1_000));
    bench.turn();
    assert!(said(&mut bench, B).is_empty());
}

#[test]
fn a_pause_whose_end_is_lost_ends_with_its_time_at_both_ends() {
    let mut bench = Testbench::new(relay(B, Passes::On, SAFE));
    bench.inject_pfc(B, p3(), PauseQuanta(1_000));
    // 1,000 quanta are 5,120 ns at 100G.
    bench.run_until(Nanos(5_119));
    assert_eq!(said(&mut bench, A), [u16::MAX]);
    bench.run_until(Nanos(5_120));
    assert_eq!(said(&mut bench, A), [0]);
    bench.run_dry();
    assert!(said(&mut bench, A).is_empty() && said(&mut bench, B).is_empty());
    let report = bench.shard.flow_control(A);
    assert_eq!(report.relay().map(|it| (it.passed_on, it.expired)), Some((1, 1)));
}

#[test]
fn a_relay_that_restarts_passes_on_a_pause_again_with_its_next_refresh() {
    let mut before = Testbench::new(relay(B, Passes::On, SAFE));
    before.block(A, P3);
    before.turn();
    assert_eq!(said(&mut before, B), [u16::MAX]);
    let mut after = Testbench::new(relay(B, Passes::On, SAFE));
    after.turn();
    assert!(said(&mut after, B).is_empty());
    after.block(A, P3);
    after.turn();
    assert_eq!(said(&mut after, B), [u16::MAX]);
}

#[test]
fn a_reload_ends_the_pauses_of_a_relay_that_it_removes() {
    let mut bench = Testbench::new(relay(B, Passes::On, SAFE));
    bench.block(A, P3);
    bench.turn();
    assert_eq!(said(&mut bench, B), [u16::MAX]);
    bench.run_for(Interval(100));
    bench.install(|settings| settings.ports[B.index()].flow_control = FlowControl::Pfc);
    bench.turn();
    assert_eq!(said(&mut bench, B), [0]);
}

/// `settings` with a watchdog at both ports that takes `action` after 100 ms.
fn watched(mut settings: Settings, action: WatchdogAction) -> Settings {
    for port in &mut settings.ports {
        let (detection, restoration) = (Interval::from_millis(100), Interval::from_millis(200));
        port.watchdog = Some(Watchdog { detection, restoration, action });
    }
    settings
}

#[test]
fn a_neighbour_that_pauses_for_ever_stops_the_far_end_only_until_the_watchdog_judges_it() {
    for (action, ends) in
        [(WatchdogAction::Drop, true), (WatchdogAction::Forward, true), (WatchdogAction::Alert, false)]
    {
        let mut bench = Testbench::new(watched(relay(B, Passes::On, SAFE), action));
        let frame = conformance::Flow::new(B, A).at(P3);
        bench.inject(B, [frame.headers(1_000)]);
        let mut resumed_at = None;
        for millisecond in 0..150 {
            for part in 0..10 {
                bench.block(A, P3);
                bench.run_until(Nanos(millisecond * 1_000_000 + part * 100_000));
            }
            if said(&mut bench, B).contains(&0) {
                resumed_at = resumed_at.or(Some(millisecond));
            }
        }
        // An alert changes nothing, and the far end must not fill the buffer.
        assert_eq!(resumed_at.is_some(), ends, "{action:?}");
        assert!(resumed_at.is_none_or(|at| (99..=102).contains(&at)), "{action:?}: {resumed_at:?} ms");
        bench.release(A, P3);
        bench.run_dry();
    }
}

/// Two relays, joined at their long ports and, by mistake, at their short ones, too. Returns the number of pauses
/// that each sends in 300 ms.
fn ring(frames_wait: bool) -> [usize; 2] {
    let settings = || watched(relay(B, Passes::On, SAFE), WatchdogAction::Drop);
    let mut relays = [Testbench::new(settings()), Testbench::new(settings())];
    if frames_wait {
        for relay in &mut relays {
            for (from, to) in [(A, B), (B, A)] {
                relay.block(to, P3);
                relay.inject(from, [conformance::Flow::new(from, to).at(P3).headers(1_000)]);
            }
        }
    } else {
        relays[0].block(A, P3);
    }
    let mut last_pause = [0; 2];
    for turn in 0..60_000 {
        let now = Nanos(turn * 5_000);
        let mut heard: [Vec<(usize, PortId, u16)>; 2] = Default::default();
        for (number, relay) in relays.iter_mut().enumerate() {
            relay.run_until(now);
            for port in [A, B] {
                heard[number].extend(said(relay, port).into_iter().map(|quanta| (1 - number, port, quanta)));
            }
        }
        for (number, all) in heard.into_iter().enumerate() {
            for (to, port, quanta) in all {
                if quanta > 0 {
                    last_pause[number] = turn as usize;
                }
                relays[to].inject_pfc(port, p3(), PauseQuanta(quanta));
            }
        }
    }
    relays.iter_mut().for_each(Testbench::run_dry);
    last_pause
}

#[test]
fn relays_in_a_ring_keep_a_pause_alive_until_the_watchdog_ends_it() {
    // No one is held up while no frame waits, and the watchdog has no reason to act.
    assert!(ring(false).iter().all(|turn| *turn > 59_000), "the pause goes round");
    let with_frames = ring(true);
    assert!(with_frames.iter().all(|turn| *turn < 25_000), "{with_frames:?}");
}
