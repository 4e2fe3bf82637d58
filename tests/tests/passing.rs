//! A switch whose links take frames as soon as they come in sends the same frames at the same instants, and counts the
//! same, as one in which every frame waits.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{alpha, bridged, group_of, lossless, patched, routed};
use conformance::{Flow, Testbench};
use core::num::NonZeroU32;
use proptest::prelude::*;
use switch::PortInspection;
use switch::program::{
    Bifrost, FlowControl, LossyQueue, MarkAt, PortSettings, RateLimit, Red, Scheduling, Settings, Threshold,
    VirtualIncoming, Watchdog, WatchdogAction,
};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet, WireBytes};
use wire::ip::Ecn;

const PORTS: u16 = 4;

/// An event of a run.
#[derive(Clone, Debug)]
enum Event {
    Frames { from: u16, to: u16, priority: u8, lengths: Vec<usize>, gap: u64 },
    Pause { port: u16, priorities: u8, quanta: u16 },
    MemoryLow(bool),
    Wait { nanos: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let length = prop_oneof![60_usize..120, 60_usize..1_600, Just(1_082), 60_usize..9_217];
    let priority = || prop_oneof![Just(3), Just(1), 0_u8..8];
    let frames = (0..PORTS, 0..PORTS, priority(), proptest::collection::vec(length, 1..20), 0_u64..200);
    prop_oneof![
        8 => frames
            .prop_map(|(from, to, priority, lengths, gap)| Event::Frames { from, to, priority, lengths, gap }),
        1 => (0..PORTS, any::<u8>(), prop_oneof![Just(0), 0_u16..2_000])
            .prop_map(|(port, priorities, quanta)| Event::Pause { port, priorities, quanta }),
        1 => any::<bool>().prop_map(Event::MemoryLow),
        4 => prop_oneof![0_u64..500, 0_u64..20_000].prop_map(|nanos| Event::Wait { nanos }),
    ]
}

/// The settings that may make a difference between the two ways.
#[derive(Clone, Debug)]
struct Variant {
    forwarding: u8,
    tx_window: u64,
    /// A small buffer, with dynamic thresholds or without.
    small: Option<bool>,
    mark_at: Option<MarkAt>,
    shaped: bool,
    weighted: bool,
    watchdog: Option<WatchdogAction>,
    /// On ports 0 and 1.
    bifrost: Option<VirtualIncoming>,
}

fn variant() -> impl Strategy<Value = Variant> {
    let mark_at = prop_oneof![Just(None), Just(Some(MarkAt::Enqueue)), Just(Some(MarkAt::Dequeue))];
    let tx_window = prop_oneof![2 => Just(0), 1 => 0_u64..2_000];
    let history = VirtualIncoming::History { jitter: Interval(200) };
    let virtual_incoming = prop_oneof![Just(VirtualIncoming::Counter), Just(history)];
    (
        0_u8..3,
        tx_window,
        proptest::option::of(any::<bool>()),
        mark_at,
        prop::bool::weighted(0.1),
        any::<bool>(),
        proptest::option::of(prop_oneof![
            Just(WatchdogAction::Drop),
            Just(WatchdogAction::Forward),
            Just(WatchdogAction::Alert),
        ]),
        proptest::option::of(virtual_incoming),
    )
        .prop_map(|(forwarding, tx_window, small, mark_at, shaped, weighted, watchdog, bifrost)| {
            Variant { forwarding, tx_window, small, mark_at, shaped, weighted, watchdog, bifrost }
        })
}

/// Slots of 1 us at 100G, and a round trip of 3: within a run they end by the hundred.
fn bifrost(virtual_incoming: VirtualIncoming) -> Bifrost {
    let mut settings = Bifrost {
        buffer: WireBytes(0),
        slot: Interval(1_000),
        round_trip: Interval(3_000),
        check_every: NonZeroU32::MIN,
        virtual_incoming,
        holdover: Interval(500),
        lateness: Interval::ZERO,
    };
    settings.buffer = settings.buffer_terms(BitRate::gigabits(100), PortSettings::LARGEST_FRAME).total();
    settings
}

fn settings(variant: &Variant) -> Settings {
    let mut settings = [routed, patched, bridged][usize::from(variant.forwarding)](PORTS);
    let ports: Vec<_> = (0..PORTS).map(PortId).collect();
    if let Some(dynamic) = variant.small {
        settings.buffer.shared = Bytes(30_000);
        settings.buffer.headroom = Bytes(60_000);
        settings.buffer.egress_lossy = Bytes(15_000);
        for port in &mut settings.ports {
            port.groups[3] = lossless(8_000, 4_000, 15_000);
            port.groups[4] = lossless(6_000, 6_000, 15_000);
            let threshold = if dynamic { alpha(-1) } else { Threshold::Static(Bytes(5_000)) };
            port.queues[1].lossy = LossyQueue { reserved: Bytes(500), threshold };
        }
        if dynamic {
            let three = Priority::from_low_bits(3);
            ports.iter().for_each(|port| group_of(&mut settings, *port, three).xoff = alpha(-2));
        }
    }
    for port in &mut settings.ports {
        port.tx_window = Interval(variant.tx_window);
        for (number, queue) in port.queues.iter_mut().enumerate() {
            queue.red = variant.mark_at.map(|mark_at| Red {
                kmin: Bytes(1_000),
                kmax: Bytes(9_000),
                pmax: 0.5,
                mark_at,
                adaptive: None,
            });
            if variant.weighted {
                queue.scheduling = Scheduling::Weighted(1 + number as u8 % 3);
            }
        }
    }
    for port in &mut settings.ports {
        let (detection, restoration) = (*Watchdog::DETECTION.start(), *Watchdog::RESTORATION.start());
        port.watchdog = variant.watchdog.map(|action| Watchdog { detection, restoration, action });
    }
    if let Some(virtual_incoming) = variant.bifrost {
        for port in &mut settings.ports[..2] {
            port.flow_control = FlowControl::Bifrost(bifrost(virtual_incoming));
        }
    }
    if variant.shaped {
        let rate_limit = RateLimit { rate: BitRate::gigabits(10), burst: Bytes(20_000) };
        settings.ports[1].queues[3].rate_limit = Some(rate_limit);
        settings.ports[2].rate_limit = Some(rate_limit);
    }
    settings
}

/// Lets `event` happen at `bench`.
fn play(bench: &mut Testbench, event: &Event, label: u64, forwarding: u8) {
    match event {
        Event::Frames { from, to, priority, lengths, gap } => {
            let flow =
                Flow::new(PortId(*from), PortId(*to)).at(Priority::from_low_bits(*priority)).ecn(Ecn::Ect0);
            let flow = if forwarding == 2 { flow.bridged() } else { flow };
            for (number, length) in (label..).zip(lengths) {
                bench.inject_singly(PortId(*from), [flow.udp(*length).labelled(number)]);
                bench.run_for(Interval(*gap));
            }
        }
        Event::Pause { port, priorities, quanta } => {
            bench.inject_pfc(PortId(*port), PrioritySet::from_bits(*priorities), PauseQuanta(*quanta));
            bench.turn();
        }
        Event::MemoryLow(low) => {
            bench.shard.set_memory_low(*low);
            bench.turn();
        }
        Event::Wait { nanos } => bench.run_for(Interval(*nanos)),
    }
}

/// Holds all that there is to see of two switches against each other.
fn compare(one: &Testbench, other: &Testbench) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.now(), other.now());
    prop_assert_eq!(one.shard.pools(), other.shard.pools());
    for port in one.ports() {
        let (mut seen, mut expected) = (PortInspection::default(), PortInspection::default());
        one.shard.inspect(one.now(), port, &mut seen);
        other.shard.inspect(other.now(), port, &mut expected);
        prop_assert_eq!(seen, expected, "{}", port);
        prop_assert_eq!(one.shard.port_deadline(port), other.shard.port_deadline(port), "{}", port);
        for egress in one.ports() {
            for priority in Priority::all() {
                let [seen, expected] = [one, other].map(|it| {
                    let ledger = it.shard.ledger();
                    [ledger.admitted(port, egress, priority), ledger.departed(port, egress, priority)]
                });
                prop_assert_eq!(seen, expected, "{} {} {}", port, egress, priority);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn frames_that_pass_leave_as_frames_that_wait(
        variant in variant(),
        events in proptest::collection::vec(event(), 1..60),
    ) {
        let mut one = Testbench::letting_pass(settings(&variant));
        let mut other = Testbench::new(settings(&variant));
        for (number, event) in (0_u64..).zip(&events) {
            play(&mut one, event, 100 * number, variant.forwarding);
            play(&mut other, event, 100 * number, variant.forwarding);
            compare(&one, &other)?;
        }
        for bench in [&mut one, &mut other] {
            // Pauses for want of memory would be refreshed for ever.
            bench.shard.set_memory_low(false);
            bench.run_dry();
        }
        compare(&one, &other)?;
        for port in one.ports() {
            prop_assert_eq!(one.sent(port), other.sent(port), "{}", port);
        }
    }
}

#[test]
fn a_frame_that_finds_its_port_idle_leaves_before_the_port_is_called() {
    let mut bench = Testbench::letting_pass(routed(2));
    let (a, b, p3) = (PortId(0), PortId(1), Priority::from_low_bits(3));
    let flow = Flow::new(a, b).at(p3);
    bench.inject_singly(a, [flow.udp(1_000)]);
    bench.run_for(Interval::from_micros(10));
    bench.inject(a, [flow.udp(1_000)]);
    assert_eq!(bench.sent(b).len(), 2);
    assert_eq!(bench.shard.port_deadline(b), Nanos::NEVER);
    // The link is busy now.
    bench.inject(a, [flow.udp(1_000)]);
    assert_eq!((bench.sent(b).len(), bench.shard.queue(bench.now(), b, p3).waiting.frames), (2, 1));
    bench.egress(b, usize::MAX);
    assert_eq!(bench.sent(b).len(), 2, "nothing leaves before its time");
    bench.run_dry();
    assert_eq!(bench.sent(b).len(), 3);
}
