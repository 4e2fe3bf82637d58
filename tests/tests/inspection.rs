//! The figures that are copied out of a shard for another thread are those of the shard itself.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{feedback, gateway, introduce};
use conformance::settings::lossless;
use conformance::{A, B, Flow, P1, P3, P4, Testbench};
use core::num::NonZeroU32;
use switch::program::{Bifrost, FlowControl, Settings, VirtualIncoming, Watchdog, WatchdogAction};
use switch::{PortInspection, SchemeReport};
use units::{BitRate, Bytes, Interval, PauseQuanta, PortId, Priority, PrioritySet, WireBytes};

const DETECTION: Interval = Interval::from_millis(100);
const SLOT: Interval = Interval::from_micros(10);

/// Bifrost on port A, LSCC and a watchdog on port B.
fn everything() -> Settings {
    let mut settings = gateway();
    let mut bifrost = Bifrost {
        buffer: WireBytes(0),
        slot: SLOT,
        round_trip: Interval::from_micros(100),
        check_every: NonZeroU32::MIN,
        virtual_incoming: VirtualIncoming::Counter,
        holdover: Interval::from_micros(5),
        lateness: Interval::ZERO,
    };
    bifrost.buffer.0 = 2 * bifrost.buffer_terms(settings.ports[0].rate, Bytes(9_216)).total().0;
    settings.ports[A.index()].groups[P3.index()] = lossless(2 * bifrost.buffer.0, 1_000_000, 0);
    settings.ports[A.index()].flow_control = FlowControl::Bifrost(bifrost);
    let action = WatchdogAction::Alert;
    settings.ports[B.index()].watchdog =
        Some(Watchdog { detection: DETECTION, restoration: DETECTION, action });
    settings
}

/// A gateway that has forwarded, dropped, granted, told and heard rates, paused, and found a storm, and in
/// which frames wait.
fn busy() -> Testbench {
    let mut bench = Testbench::new(everything());
    introduce(&mut bench, 1, BitRate::gigabits(20));
    for number in 2..200 {
        bench.inject(A, Flow::new(A, B).at(P3).udps(32, 4_000));
        bench.inject(B, Flow::new(B, A).at(P1).udps(2, 500));
        bench.inject(B, [feedback(number, BitRate::gigabits(20))]);
        bench.run_for(SLOT);
    }
    bench.shard.clear_watermarks();
    let end = bench.now() + Interval(3 * DETECTION.0 / 2);
    while bench.now() < end {
        bench.inject_pfc(B, PrioritySet::EMPTY.with(P3).with(P4), PauseQuanta::MAX);
        bench.run_for(SLOT * 20);
    }
    bench
}

fn assert_same(bench: &Testbench, port: PortId, look: &PortInspection) {
    let (shard, now) = (&bench.shard, bench.now());
    assert_eq!(look.at, now);
    assert_eq!(&look.ingress, shard.ingress_counters(port));
    for priority in Priority::all() {
        assert_eq!(look.groups[priority.index()], shard.group(now, port, priority));
        assert_eq!(look.queues[priority.index()], shard.queue(now, port, priority));
        assert_eq!(look.delays[priority.index()], shard.queue_delay(port, priority));
    }
    assert_eq!(look.control_sent, shard.control_sent(port));
    assert_eq!(look.pauses, shard.pauses(now, port));
    assert_eq!(look.flow_control, shard.flow_control(port));
    assert_eq!(look.flows, shard.flows(port));
    assert_eq!(look.notifiers, shard.notifiers(port));
    assert_eq!(look.advertiser_lateness.as_ref(), shard.advertiser_lateness(port));
    assert_eq!(&look.watchdog, shard.watchdog_events());
}

#[test]
fn an_inspection_is_what_the_single_calls_say_whatever_it_held_before() {
    let bench = busy();
    let mut look = PortInspection::default();
    // The second look at A must lose what the look at B left behind, and the other way round.
    for port in [A, B, A] {
        bench.shard.inspect(bench.now(), port, &mut look);
        assert_same(&bench, port, &look);
    }
    bench.shard.inspect(bench.now(), B, &mut look);
    assert_eq!(look.clone(), look);
}

#[test]
fn a_busy_gateway_shows_something_in_every_part_of_an_inspection() {
    let bench = busy();
    let [mut a, mut b] = [PortInspection::default(), PortInspection::default()];
    bench.shard.inspect(bench.now(), A, &mut a);
    bench.shard.inspect(bench.now(), B, &mut b);
    let empty = PortInspection::default();
    assert!(a.ingress != empty.ingress && a.groups != empty.groups && b.queues != empty.queues);
    assert!(b.delays != empty.delays && b.control_sent != empty.control_sent && b.pauses != empty.pauses);
    let bifrost = a.flow_control.bifrost().unwrap();
    assert_eq!(bifrost.slots.slots, bench.now().0 / SLOT.0, "every slot has ended");
    let line = bench.shard.program().port(A).rate.bytes_in(SLOT);
    assert_eq!(bifrost.last.unwrap().grant, WireBytes(line), "nothing comes in any more");
    let lscc = b.notifiers.lscc.unwrap();
    assert_eq!((a.notifiers.lscc, lscc.received_rate), (None, Some(BitRate::gigabits(20))));
    assert_eq!(b.advertiser_lateness.unwrap().count(), lscc.rates.intervals);
    assert_eq!(b.flow_control, SchemeReport::Pfc);
    assert_eq!(
        b.watchdog.iter().len(),
        1,
        "one storm, of the priority of which frames wait: {:?}",
        b.watchdog
    );
}
