//! Devices that keep received pauses to themselves.

use super::*;
use telemetry::Passage;

#[test]
fn a_device_whose_pauses_never_arrive_is_named_by_an_event_and_in_what_is_shown() {
    let running = Running::start(true);
    let follower = running.events_of(&["pauses_kept"], 0);
    let before = running.show();
    assert_eq!(before.ports[1].device.pfc.receive, Passage::Unknown);
    // The first look is that against which others are judged.
    let after = loop {
        running.pauses.fetch_add(1, Ordering::Relaxed);
        let shown = running.show();
        if shown.ports[1].device.pfc.receive == Passage::No {
            break shown;
        }
        thread::yield_now();
    };
    assert!(after.ports[1].counters.hardware.kept_pauses > 0);
    let events: Vec<_> = std::iter::from_fn(|| follower.batches.recv().ok()).flatten().take(2).collect();
    for (port, event) in (0..).map(PortId).zip(&events) {
        assert_eq!(event.port, Some(port));
        assert!(matches!(event.what, What::PausesKept { keeps: true, frames: 1.. }), "{event:?}");
    }
    running.end();
}
