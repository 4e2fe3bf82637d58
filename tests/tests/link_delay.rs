//! Peer delay between two gateways: the measured delay, and headroom that follows from it.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::{HeadroomSum, HeadroomTerms};
use conformance::settings::{group_of, patched};
use conformance::simulated::{Plan, Seen, endless, flow, options};
use conformance::two_gateways::sender;
use conformance::{A, B, P3, TestFrame, Testbench};
use simulation::{Outcome, Simulation, Violation};
use switch::link_delay::LinkDelay;
use switch::program::{Settings, Threshold};
use switch::{Consumed, DropReason, ForwardingSettings, PortInspection};
use units::{BitRate, Bytes, Distance, Interval, Nanos, PortId, WireBytes};
use wire::ethernet::MacAddress;
use wire::ptp::{Body, FRAME_LEN, Message, PortIdentity};

/// The rate of all links but that of the bottleneck.
const RATE: BitRate = BitRate::gigabits(100);
const BOTTLENECK: BitRate = BitRate::gigabits(10);
/// Twelve exchanges.
const END: Nanos = Nanos(12_000_000);
const EVERY_MILLISECOND: LinkDelay =
    LinkDelay { interval: Some(Interval::from_millis(1)), returns_up_to: None };

/// Two gateways between two hosts; the link between them has `delay`. The first host sends from `start` on.
///
/// # Errors
/// A lost lossless frame, among others.
fn try_run(delay: Interval, start: Nanos, [near, far]: [Settings; 2]) -> Result<Outcome, Violation> {
    let mut plan = Plan::default();
    let hosts = [plan.host(sender(0, 1, RATE)), plan.host(sender(1, 0, BOTTLENECK))];
    let (near, far) = (plan.switch(near), plan.switch(far));
    plan.join([(hosts[0], PortId(0)), (near, A)], RATE, Interval(500));
    plan.join([(near, B), (far, A)], RATE, delay);
    plan.join([(far, B), (hosts[1], PortId(0))], BOTTLENECK, Interval(500));
    let flows = [endless(flow(0, hosts[0], hosts[1], 0), P3, start, END)];
    Simulation::new(plan.network, options()).run(flows.into_iter(), &mut Seen::default())
}

fn run(delay: Interval, start: Nanos, gateways: [Settings; 2]) -> Outcome {
    try_run(delay, start, gateways).unwrap_or_else(|violation| panic!("{violation}"))
}

/// The near and the far gateway, with room for every frame in flight, and this measurement on the long link.
fn gateways(link_delay: Option<LinkDelay>) -> [Settings; 2] {
    let roomy = |measures: PortId| {
        let mut settings = patched(2);
        settings.buffer.shared = Bytes(64 << 20);
        settings.buffer.headroom = Bytes(64 << 20);
        for port in [A, B] {
            let group = group_of(&mut settings, port, P3);
            group.headroom = Bytes(32 << 20);
        }
        settings.ports[measures.index()].link_delay = link_delay;
        settings
    };
    let mut far = roomy(A);
    far.ports[B.index()].rate = BOTTLENECK;
    [roomy(B), far]
}

/// Both ends of the long link.
fn ends(outcome: &Outcome) -> [&PortInspection; 2] {
    [&outcome.switches[0].ports[B.index()], &outcome.switches[1].ports[A.index()]]
}

fn measured(port: &PortInspection) -> Interval {
    port.link_delay.unwrap().delay.unwrap()
}

#[test]
fn the_measured_delay_of_an_idle_link_is_its_own_to_the_nanosecond() {
    for micros in [1, 2, 5, 10, 50, 100, 200, 399, 400] {
        let delay = Interval::from_micros(micros) + Interval(micros % 3);
        let outcome = run(delay, Nanos(11_500_000), gateways(Some(EVERY_MILLISECOND)));
        for port in ends(&outcome) {
            assert_eq!(measured(port), delay);
            let report = port.link_delay.unwrap();
            assert_eq!((report.asked.lost, report.asked.implausible, report.asked.doubtful), (0, 0, 0));
            assert!(report.answered.answered >= 10);
        }
    }
}

#[test]
fn the_measured_delay_of_a_busy_link_is_its_own_but_for_a_rounding() {
    for micros in [1, 50, 400] {
        let delay = Interval::from_micros(micros);
        let outcome = run(delay, Nanos::ZERO, gateways(Some(EVERY_MILLISECOND)));
        for port in ends(&outcome) {
            assert!(measured(port).0.abs_diff(delay.0) <= 1, "{} of {delay}", measured(port));
        }
    }
}

#[test]
fn a_port_that_only_answers_knows_no_delay_and_one_without_answers_neither() {
    let [near, mut far] = gateways(Some(EVERY_MILLISECOND));
    far.ports[A.index()].link_delay = Some(LinkDelay { interval: None, returns_up_to: None });
    let outcome = run(Interval::from_micros(5), Nanos::ZERO, [near.clone(), far.clone()]);
    let [asks, answers] = ends(&outcome);
    assert_eq!((measured(asks), answers.link_delay.unwrap().delay), (Interval::from_micros(5), None));
    far.ports[A.index()].link_delay = None;
    let outcome = run(Interval::from_micros(5), Nanos::ZERO, [near, far]);
    let [asks, silent] = ends(&outcome);
    assert_eq!((asks.link_delay.unwrap().delay, silent.link_delay), (None, None));
    let refused: u64 =
        silent.ingress.dropped.iter().map(|it| it[DropReason::ForeignPtp.index()].frames).sum();
    assert!(refused >= 10, "each request is dropped by name");
}

/// The headroom of the long link for a delay.
fn headroom(delay: Interval) -> Bytes {
    let distance = Distance((delay.0 * Distance::FIBRE_SPEED).div_ceil(1_000_000_000));
    let terms = HeadroomTerms {
        repaired: WireBytes(0),
        rate: RATE,
        distance,
        max_frame: gateways(None)[1].ports[A.index()].max_frame,
        longest_sent: gateways(None)[1].ports[A.index()].max_frame,
        tx_window: Interval::ZERO,
        interface_delay: Interval::ZERO,
        cell_occupancy: 1.08,
        lanes: 1,
    };
    HeadroomSum::new(&terms).total()
}

/// The far gateway pauses early, and has this headroom beyond.
fn tight(link_delay: Option<LinkDelay>, headroom: Bytes) -> [Settings; 2] {
    let [near, mut far] = gateways(link_delay);
    let group = group_of(&mut far, A, P3);
    (group.xoff, group.xon, group.headroom) = (Threshold::Static(Bytes(1 << 20)), Bytes(1 << 19), headroom);
    [near, far]
}

#[test]
fn headroom_for_the_measured_delay_loses_nothing_where_that_for_a_shorter_link_does() {
    let (believed, real) = (Interval::from_micros(50), Interval::from_micros(200));
    let seen = run(real, Nanos(11_900_000), tight(Some(EVERY_MILLISECOND), headroom(believed)));
    let delay = measured(ends(&seen)[1]);
    assert_eq!(delay, real);
    for (link_delay, covered, is_lossless) in [
        (Some(EVERY_MILLISECOND), believed, false),
        (None, believed, false),
        (Some(EVERY_MILLISECOND), delay, true),
        (None, delay, true),
    ] {
        let outcome = try_run(real, Nanos::ZERO, tight(link_delay, headroom(covered)));
        let lost = outcome.err().map(|violation| violation.to_string());
        assert_eq!(lost.is_none(), is_lossless, "headroom for {covered}: {lost:?}");
        assert!(lost.is_none_or(|lost| lost.contains("headroom_exceeded")));
    }
}

/// A request that no one asked for.
fn request(sequence: u16) -> Vec<u8> {
    let source = PortIdentity { clock: 7, port: 1 };
    let message = Message { source, sequence, correction: 0, body: Body::Request { log_interval: 0 } };
    let mut bytes = vec![0; FRAME_LEN];
    message.emit(MacAddress([2, 0, 0, 0, 9, 9]), &mut bytes).unwrap();
    bytes
}

/// A gateway of this forwarding whose port A answers.
fn bench(forwarding: ForwardingSettings) -> Testbench {
    let mut settings = patched(2);
    settings.forwarding = forwarding;
    settings.ports[A.index()].link_delay = Some(LinkDelay { interval: None, returns_up_to: None });
    Testbench::new(settings)
}

fn dropped(bench: &Testbench, port: PortId, reason: DropReason) -> u64 {
    bench.dropped(port, bench.shard.program().port(port).classification.default, reason).frames
}

#[test]
fn a_gptp_frame_is_never_forwarded_and_each_is_consumed_or_dropped_by_name() {
    for forwarding in [patched(2).forwarding, ForwardingSettings::Bridge(Default::default())] {
        let mut bench = bench(forwarding);
        let mut announce = request(1);
        announce[14] = 0x1b;
        let mut old = request(2);
        old[15] = 1;
        let tagged = [&request(3)[..12], &[0x81, 0, 0xa0, 7], &request(3)[12..]].concat();
        let frames = [announce, old, tagged, request(4)];
        for port in [A, B] {
            bench.inject(port, frames.iter().cloned().map(TestFrame::new));
        }
        bench.run_dry();
        assert_eq!(bench.data(A).chain(bench.data(B)).count(), 0);
        assert_eq!(dropped(&bench, A, DropReason::ForeignPtp), 1, "an announcement");
        assert_eq!(dropped(&bench, A, DropReason::MalformedControl), 2, "an old version, and a tagged frame");
        assert_eq!(dropped(&bench, B, DropReason::ForeignPtp), 4, "nothing is measured there");
        let consumed = bench.shard.ingress_counters(A).consumed[Consumed::PeerDelay.index()];
        assert_eq!(consumed.frames, 1);
        assert_eq!(bench.sent(A).len(), 2, "a response, and its follow-up");
        bench.assert_conserved();
    }
}

#[test]
fn a_flood_of_requests_is_answered_no_more_than_the_limit_and_each_of_the_others_is_dropped_by_name() {
    let mut bench = bench(patched(2).forwarding);
    bench.inject(A, (0..32).map(|number| TestFrame::new(request(number))));
    bench.run_dry();
    assert_eq!((bench.sent(A).len(), dropped(&bench, A, DropReason::PeerDelayLimit)), (2, 31));
    for number in 0..3_000 {
        bench.inject(A, [TestFrame::new(request(number))]);
        bench.run_for(Interval(1_000));
    }
    // A thousand at once, and one a millisecond.
    let answered = bench.shard.link_delay(A).unwrap().answered.answered;
    assert!((1_000..=1_004).contains(&answered), "{answered}");
    assert_eq!(answered + dropped(&bench, A, DropReason::PeerDelayLimit), 3_032);
    bench.assert_conserved();
}
