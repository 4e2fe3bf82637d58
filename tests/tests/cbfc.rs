//! Credits between two gateways over 80 km.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::two_gateways::{ONE_WAY, RATE, Run, bottleneck, bottleneck_from};
use conformance::{P3, P4};
use simulation::Faults;
use switch::PortInspection;
use switch::flow_control::cbfc::CbfcReport;
use switch::flow_control::cbfc::settings::{Cbfc, Counter};
use switch::program::FlowControl;
use units::{Bytes, Interval, Nanos, WireBytes};

/// Each end needs a message of the other before its limits hold.
const FIRST_CREDITS: Interval = Interval(2 * ONE_WAY.0);

/// Credits that fill the long link.
fn credits(counter: Counter) -> Cbfc {
    let mut cbfc = Cbfc { buffer: WireBytes(0), interval: Interval(10_000), counter };
    cbfc.buffer = cbfc.for_line_rate(RATE, ONE_WAY * 2 + Interval(3_000), Bytes(9_216));
    cbfc
}

fn report(port: &PortInspection) -> &CbfcReport {
    port.flow_control.cbfc().unwrap()
}

fn run(faults: Faults) -> Run {
    let cbfc = FlowControl::Cbfc(credits(Counter::Wide));
    bottleneck(cbfc, cbfc, faults)
}

#[test]
fn two_gateways_with_credits_keep_within_the_buffer_without_a_pause_and_the_drain_never_starves() {
    for counter in [Counter::Wide, Counter::Uec] {
        let cbfc = credits(counter);
        let run = bottleneck(FlowControl::Cbfc(cbfc), FlowControl::Cbfc(cbfc), Faults::default());
        run.assert_lossless();
        run.assert_busy(FIRST_CREDITS);
        let far = report(run.far());
        // A drain of a quarter of the line keeps three quarters of a BDP waiting.
        assert!(far.longest_queue <= cbfc.buffer && far.longest_queue.0 * 10 > cbfc.buffer.0 * 7);
        assert_eq!((far.repaired, far.received.missed), (WireBytes(0), 0));
        for priority in [P3, P4] {
            let pauses = run.far().groups[priority.index()].pauses;
            assert_eq!((pauses.xoff, pauses.slot), (0, 0));
        }
    }
}

#[test]
fn credits_are_there_before_the_first_frame() {
    let cbfc = FlowControl::Cbfc(credits(Counter::Wide));
    let run = bottleneck_from(Nanos(1_000_000), cbfc, cbfc, Faults::default());
    run.assert_busy(Interval::ZERO);
    assert_eq!(report(run.far()).received.missed, 0);
}

#[test]
fn messages_that_are_lost_or_a_round_trip_late_cost_no_frame() {
    let late = Faults { control_delay: ONE_WAY * 2, ..Faults::default() };
    for (faults, is_busy) in [0.001, 0.01, 0.1]
        .map(|control_loss| (Faults { control_loss, ..Faults::default() }, true))
        .into_iter()
        .chain([(late, false)])
    {
        let run = run(faults);
        run.assert_lossless();
        assert!(report(run.far()).longest_queue <= credits(Counter::Wide).buffer);
        if is_busy {
            run.assert_busy(FIRST_CREDITS);
        }
    }
}

#[test]
fn the_credits_of_frames_that_the_link_lost_come_back() {
    let run = run(Faults { corruption: 0.001, ..Faults::default() });
    let (far, lost) = (report(run.far()), run.outcome.balance.lost.frames);
    assert!(lost > 10 && far.repaired > WireBytes(10 * 1_000), "{lost} frames, {:?}", far.repaired);
    assert!(far.longest_queue <= credits(Counter::Wide).buffer);
}

#[test]
fn a_port_whose_other_end_has_no_credits_for_it_sends_nothing_lossless() {
    let cbfc = FlowControl::Cbfc(credits(Counter::Wide));
    let run = bottleneck(cbfc, FlowControl::Pfc, Faults::default());
    assert_eq!(run.delivered, 0);
}
