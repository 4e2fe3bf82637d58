//! ECN thresholds that move: within their bounds, by steps in time, and not at all where the bounds leave no room.

use conformance::settings::routed;
use conformance::{A, B, C, Flow, P1, Testbench};
use switch::congestion::ThresholdsReport;
use switch::congestion::adaptive_ecn::Settings as AdaptiveEcn;
use switch::program::{MarkAt, Red, Settings};
use units::{Bytes, Interval, Nanos, PauseQuanta, PortId};
use wire::ip::Ecn;

const LOW: [Bytes; 2] = [Bytes(10_000), Bytes(40_000)];
const HIGH: [Bytes; 2] = [Bytes(170_000), Bytes(680_000)];
const INTERVAL: Interval = Interval::from_micros(10);

/// Three ports, of which B marks priority 1 from the thresholds `HIGH` on, down to `lowest` if there is one.
fn marking(lowest: Option<[Bytes; 2]>) -> Settings {
    let mut settings = routed(3);
    let [kmin, kmax] = HIGH;
    let adaptive = lowest.map(|[kmin, kmax]| AdaptiveEcn { kmin, kmax, interval: INTERVAL, incast: 2 });
    let red = Red { kmin, kmax, pmax: 0.2, mark_at: MarkAt::Dequeue, adaptive };
    settings.ports[B.index()].queues[P1.index()].red = Some(red);
    settings.ports[B.index()].pfc.obey_global_pause = true;
    settings
}

/// Sends frames to B for `micros`: so many a microsecond from each port, of which its link takes eight.
fn send(bench: &mut Testbench, micros: u64, from: &[(PortId, u64)]) {
    for _ in 0..micros {
        for (port, frames) in from {
            bench.inject(*port, Flow::new(*port, B).at(P1).ecn(Ecn::Ect0).udps(*frames, 1_500));
        }
        bench.run_for(Interval::from_micros(1));
    }
}

fn report(bench: &Testbench) -> ThresholdsReport {
    bench.look(B).adaptive_ecn.unwrap_or_default()
}

#[test]
fn under_incast_the_thresholds_fall_by_a_step_in_an_interval_to_the_lowest_and_no_further() {
    let mut bench = Testbench::new(marking(Some(LOW)));
    send(&mut bench, 60, &[(A, 8), (C, 8)]);
    let early = report(&bench);
    assert!((1..=6).contains(&early.lowered_by_incast), "{early:?}");
    assert!(early.kmin < HIGH[0] && early.kmin > LOW[0]);
    send(&mut bench, 400, &[(A, 8), (C, 8)]);
    let late = report(&bench);
    assert_eq!([late.kmin, late.kmax], LOW);
    assert_eq!((late.lowered_by_incast, late.raised), (16, 0));
    bench.run_dry();
    assert_eq!(bench.shard.next_deadline(), Nanos::NEVER, "an idle port has no deadline");
}

#[test]
fn one_sender_alone_lowers_them_only_while_its_queue_grows() {
    let mut bench = Testbench::new(marking(Some(LOW)));
    send(&mut bench, 60, &[(A, 12)]);
    let grown = report(&bench);
    assert!(grown.lowered_by_growth > 0 && grown.lowered_by_incast == 0, "{grown:?}");
    send(&mut bench, 20, &[(A, 4)]);
    let shrinking = report(&bench);
    assert!(shrinking.lowered_by_growth <= grown.lowered_by_growth + 1, "{shrinking:?}");
}

#[test]
fn a_neighbour_that_pauses_the_queue_raises_nothing() {
    let mut bench = Testbench::new(marking(Some(LOW)));
    send(&mut bench, 200, &[(A, 12), (C, 8)]);
    let lowered = report(&bench);
    assert_eq!([lowered.kmin, lowered.kmax], LOW);
    for _ in 0..200 {
        // Half of each 10 us, so that frames leave, most of them marked, and the link is not busy.
        bench.inject_global_pause(B, PauseQuanta(976));
        bench.run_for(INTERVAL);
    }
    assert!(bench.shard.queue(bench.now(), B, P1).counters.marked > 1_000);
    assert_eq!(report(&bench).raised, 0);
}

#[test]
fn bounds_that_leave_no_room_mark_as_fixed_thresholds_do_to_the_byte() {
    let sent = |lowest| {
        let mut bench = Testbench::new(marking(lowest));
        send(&mut bench, 100, &[(A, 8), (C, 4)]);
        send(&mut bench, 100, &[(A, 4)]);
        bench.run_dry();
        bench.sent(B).to_vec()
    };
    let fixed = sent(None);
    assert!(fixed == sent(Some(HIGH)), "the control");
    assert!(fixed != sent(Some(LOW)), "and with room they differ");
}
