//! One seed, one run; and who looks on changes nothing.

use conformance::P3;
use conformance::settings::routed;
use conformance::simulated::{Plan, Seen, flow, host_behind, options};
use core::ops::ControlFlow;
use endpoint::{GoBackN, Transport};
use simulation::{
    Ending, Faults, FlowSpec, LinkOutcome, NetworkView, NodeId, Observer, Options, Outcome, Progress,
    Simulation, Tap,
};
use switch::Volume;
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};

const RATE: BitRate = BitRate::gigabits(100);

/// Four hosts around a router, on links on which everything goes wrong now and then.
fn faulty() -> (Plan, Vec<FlowSpec>) {
    let mut plan = Plan::default();
    let router = plan.switch(routed(4));
    let mut flows = Vec::new();
    for port in 0..4 {
        let mut settings = host_behind(PortId(port), RATE);
        settings.mtu = 1_024;
        let retransmission_timeout = Interval::from_micros(200);
        settings.transport = Transport::GoBackN(GoBackN { retransmission_timeout, ..GoBackN::default() });
        let host = plan.host(settings);
        let link = plan.join([(host, PortId(0)), (router, PortId(port))], RATE, Interval(900));
        let faults = Faults {
            loss_burst: 1,
            loss: 0.001,
            corruption: 0.001,
            jitter: Interval(300),
            control_loss: 0.5,
            control_duplication: 0.1,
            control_delay: Interval(800),
            control_jitter: Interval(100),
            down: Some((Nanos(50_000), Nanos(60_000))),
            flap_every: Some(Interval(400_000)),
            hidden: false,
        };
        plan.network.links[link].faults = [faults; 2];
    }
    for number in 0..40 {
        let [source, destination] = [number % 3, 3].map(|host| NodeId(1 + host));
        let mut one = flow(number, source, destination, 50_000);
        one.start = Nanos(u64::from(number / 3) * 6_000);
        one.priority = P3;
        flows.push(one);
    }
    (plan, flows)
}

fn run(seed: u64, sampling: Option<Interval>) -> (Outcome, Seen) {
    let (plan, flows) = faulty();
    plan.run(Options { seed, sampling, ..options() }, &flows)
}

/// Every fault has struck, and about as often as it should. There are too few frames for a closer look.
fn assert_losses_are_those_of_the_faults(outcome: &Outcome) {
    let sum = |of: fn(&LinkOutcome) -> u64| outcome.links.iter().flatten().map(of).sum::<u64>();
    let carried = sum(|link| link.carried.frames) as f64;
    for lost in [sum(|link| link.lost.corrupted.frames), sum(|link| link.lost.random.frames)] {
        assert!((0.0003..0.003).contains(&(lost as f64 / carried)), "{lost} of {carried}: a thousandth");
    }
    let heard: u64 = outcome.hosts.iter().map(|host| host.counters.pauses_received).sum();
    let lost = sum(|link| link.lost.control.frames);
    assert!(
        (0.25..0.75).contains(&(lost as f64 / (lost + heard) as f64)),
        "{lost} beside {heard}: half of them"
    );
    // In the first 10 us that the links are down three hosts send.
    let frame = WireBytes::of_frame(Bytes(1_082)).0;
    let down = sum(|link| link.lost.down.frames);
    assert!(down >= 3 * (RATE.bytes_in(Interval(10_000)) / frame), "{down}");
}

#[test]
fn a_seed_repeats_a_run_bit_for_bit_and_another_one_gives_another_run() {
    let first = run(1, None);
    assert!(first.0.balance.lost.frames > 50, "{:?}", first.0.balance);
    assert_losses_are_those_of_the_faults(&first.0);
    assert_eq!((first.0.ending.clone(), first.1.flows.len()), (Ending::Finished, 40));
    assert_eq!(run(1, None), first);
    assert_ne!(run(2, None).1, first.1);
}

/// Looks at everything, all the time.
#[derive(Default)]
struct Onlooker {
    seen: Seen,
    samples: u64,
    carried: Vec<WireBytes>,
    asked: u64,
}

impl Observer for Onlooker {
    fn completed(&mut self, record: &simulation::FlowRecord) {
        self.seen.completed(record);
    }

    fn sample(&mut self, now: Nanos, view: &NetworkView<'_>) {
        assert_eq!(now, Nanos(1_000 * self.samples));
        self.samples += 1;
        let shard = &view.switch(NodeId(0)).expect("the router").lanes()[0];
        assert!(view.host(NodeId(0)).is_none() && view.switch(NodeId(1)).is_none());
        assert!(view.host(NodeId(1)).is_some());
        assert!(shard.pools().shared.held.0 < 18_000_000);
        let in_flight: u64 = (0..4).flat_map(|link| [0, 1].map(|end| view.in_flight(link, end).frames)).sum();
        assert!(in_flight <= view.frames().frames);
        self.carried.push(view.carried(3, 1));
        assert!(self.carried.is_sorted());
    }

    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        self.asked += 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn sampling_and_tapping_change_nothing() {
    let (outcome, seen) = run(1, None);
    let (plan, flows) = faulty();
    let options = Options { sampling: Some(Interval(1_000)), taps: vec![NodeId(0)], ..options() };
    let mut onlooker = Onlooker::default();
    let watched = Simulation::new(plan.network, options).run(flows.into_iter(), &mut onlooker);
    assert_eq!(watched, Ok(outcome.clone()));
    assert_eq!(onlooker.seen, seen);
    assert_eq!(onlooker.samples, outcome.end.0 / 1_000 + 1);
}

/// Ends a run when it is asked.
struct Impatient;

impl Observer for Impatient {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        assert!(progress.transmissions < 1 << 16, "events without transmissions count, too");
        ControlFlow::Break(())
    }
}

#[test]
fn a_run_ends_when_its_observer_or_its_limit_says_so() {
    let (plan, _) = faulty();
    let without_end = FlowSpec { bytes: None, ..flow(0, NodeId(1), NodeId(4), 0) };
    let run = |options: Options, observer: &mut dyn FnMut(Simulation) -> Outcome| {
        observer(Simulation::new(plan.network.clone(), options))
    };
    let interrupted = run(options(), &mut |simulation| {
        simulation.run([without_end.clone()].into_iter(), &mut Impatient).expect("no invariant is broken")
    });
    assert_eq!(interrupted.ending, Ending::Interrupted);
    // Nothing moves: the flow starts after all samples.
    let late = FlowSpec { start: Nanos(900_000_000), ..without_end.clone() };
    let sampled = Options { sampling: Some(Interval(1)), limit: Nanos(1_000_000_000), ..options() };
    let interrupted = run(sampled, &mut |simulation| {
        simulation.run([late.clone()].into_iter(), &mut Impatient).expect("no invariant is broken")
    });
    assert_eq!((interrupted.ending, interrupted.transmissions), (Ending::Interrupted, 0));
    let limited = run(Options { limit: Nanos(100_000), ..options() }, &mut |simulation| {
        simulation.run([without_end.clone()].into_iter(), &mut ()).expect("no invariant is broken")
    });
    assert_eq!((limited.ending, limited.end), (Ending::Limit, Nanos(100_000)));
}

#[test]
fn a_tap_shows_what_comes_and_goes_in_the_order_of_time() {
    let (plan, flows) = faulty();
    let (outcome, seen) = plan.run(Options { taps: vec![NodeId(2)], ..options() }, &flows);
    for inbound in [true, false] {
        let tap = Tap { node: NodeId(2), port: PortId(0), inbound };
        let times: Vec<_> = seen.frames.iter().filter(|frame| frame.0 == tap).map(|frame| frame.1).collect();
        assert!(times.is_sorted());
        let LinkOutcome { carried, lost, .. } = &outcome.links[1][usize::from(inbound)];
        let lost = if inbound { lost.total() } else { Volume::ZERO };
        assert_eq!(times.len() as u64, (*carried - lost).frames, "inbound: {inbound}");
    }
    assert!(seen.frames.iter().all(|frame| frame.0.node == NodeId(2)));
}
