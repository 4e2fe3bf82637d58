//! Storms of pauses at the ports of configurations that say nothing about a watchdog.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::{A, B, Flow, P3, Testbench};
use switch::{WatchdogChange, WatchdogEvent};
use units::{Interval, Nanos, PauseQuanta, PrioritySet};

/// Two ports with a lossless priority, the second at the end of a link of `distance`, with `more` said of it.
fn bench(distance: &str, more: &str) -> Testbench {
    let text = format!(
        r#"
        [[port]]
        name = "dc0"
        rate = "10G"
        distance = "100m"
        lossless = [{{ priorities = [3] }}]

        [[port]]
        name = "lh0"
        rate = "10G"
        distance = "{distance}"
        lossless = [{{ priorities = [3], xoff = "100MB" }}]
        {more}

        [forwarding]
        pairs = [["dc0", "lh0"]]

        [buffer]
        shared = "300MB"
        "#
    );
    let gateway = config::parse(&text, "gateway.toml").unwrap_or_else(|error| panic!("{error}"));
    Testbench::new(gateway.program.settings().clone())
}

/// The peer of `lh0` pauses it without end, for `time`, while data waits to leave there.
fn storm(bench: &mut Testbench, time: Interval) -> Vec<WatchdogEvent> {
    let (step, end) = (Interval::from_millis(1), bench.now() + time);
    bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
    bench.inject(A, Flow::new(A, B).at(P3).udps(10, 1_000));
    while bench.now() < end {
        bench.run_for(step);
        bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), PauseQuanta::MAX);
    }
    bench.shard.watchdog_events().iter().cloned().collect()
}

#[test]
fn a_storm_at_a_port_without_a_watchdog_table_is_reported_and_drops_nothing() {
    let mut bench = bench("100m", "");
    let events = storm(&mut bench, Interval::from_millis(250));
    let [WatchdogEvent { at, port: B, priority: P3, change: WatchdogChange::Detected(storm), .. }] =
        events[..]
    else {
        panic!("of a storm of 250 ms nothing is told but {events:?}");
    };
    assert_eq!((at, storm.action.name(), storm.waiting.frames), (Nanos(200_000_000), "alert", 10));
    assert_eq!(bench.dropped_in_all().frames, 0);
    bench.release(B, P3);
    bench.run_for(Interval::from_millis(1));
    assert_eq!(bench.labels(B).len(), 10, "all of it leaves in the end");
}
