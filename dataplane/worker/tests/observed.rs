//! Events and captures of a worker.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use switch::{Event, Happening, PauseDirection};
use units::{Interval, PauseQuanta};
use worker::{
    CaptureFilter, CapturedFrame, Command, FrameClass, FrameDirection, Reply, TapReader, event_ring, tap,
};

/// All frames in both directions.
fn all() -> CaptureFilter {
    CaptureFilter { received: true, sent: true, class: FrameClass::All, ..CaptureFilter::default() }
}

/// The direction, the length and the number of captured bytes of each frame.
fn read(reader: &mut TapReader) -> Vec<(FrameDirection, u32, usize)> {
    let read = |frame: &CapturedFrame| (frame.direction, frame.length, frame.bytes.len());
    core::iter::from_fn(|| reader.read(read)).collect()
}

#[test]
fn a_worker_gives_its_events_to_the_control_thread_and_allocates_nothing_for_them() {
    let clock = TestClock::at(START);
    let (mut benches, cables) = workers(settings(2), 1, || clock.clone());
    let (outlet, mut inlet) = event_ring();
    let mut bench = benches.remove(0);
    bench.worker = bench.worker.with_events(outlet);
    let mut turn = |pauses: Option<PauseQuanta>, after: u64| {
        clock.advance(Interval(after));
        cables[0].inject(pauses.map(pause));
        let counted = allocation_counter::measure(|| assert!(bench.worker.turn().is_continue()));
        counted.count_total
    };
    turn(None, 1_000);
    turn(None, 1_000);
    let mut events: Vec<Event> = Vec::with_capacity(16);
    assert_eq!(turn(Some(PauseQuanta(100)), 1_000), 0);
    assert_eq!(turn(Some(PauseQuanta::ZERO), 200), 0);
    inlet.take(&mut events);
    let (paused_at, resumed_at) = (START + Interval(3_000), START + Interval(3_200));
    let direction = PauseDirection::Received;
    let paused = Happening::Paused { direction, cause: None, until: paused_at + Interval(512) };
    let resumed = Happening::Resumed { direction, since: paused_at, ran_out: false };
    let at = |at, what| Event { at, port: Some(A), priority: Some(P3), what };
    assert_eq!(events, [at(paused_at, paused), at(resumed_at, resumed)]);
}

#[test]
fn a_capture_copies_frames_of_both_directions_up_to_its_snap_length_and_counts_those_that_find_no_buffer() {
    let clock = TestClock::at(START);
    let (mut benches, cables) = workers(settings(2), 1, || clock.clone());
    let bench = &mut benches[0];
    // The test's own lists of frames grow, too.
    cables[0].inject((0..20).map(|number| frame(0, P3, 300, number)));
    assert!(bench.worker.turn().is_continue());
    clock.advance(Interval(10_000));
    assert!(bench.worker.turn().is_continue());
    cables[1].outside().outbound.clear();
    cables[0].outside().outbound.reserve(20);
    let (tap_of_b, mut reader) = tap(all(), 4, 100);
    bench.send(Command::Capture(B, Some(tap_of_b)));
    assert!(bench.worker.turn().is_continue());
    assert!(matches!(bench.controls.receive(), Some(Reply::Captures(B, None))));
    cables[0].inject((0..3).map(|number| frame(0, P3, 300, number)));
    cables[1].inject([frame(1, P3, 64, 0)]);
    let counted = allocation_counter::measure(|| {
        for _ in 0..4 {
            clock.advance(Interval(1_000));
            assert!(bench.worker.turn().is_continue());
        }
    });
    assert_eq!(counted.count_total, 0, "a tap brings its memory along");
    let (sent, received) = ((FrameDirection::Sent, 300, 100), (FrameDirection::Received, 64, 64));
    let mut seen = read(&mut reader);
    seen.sort_by_key(|(_, length, _)| *length);
    assert_eq!((seen, reader.lost()), (vec![received, sent, sent, sent], [0, 0]));
    cables[0].inject((0..7).map(|number| frame(0, P3, 300, number)));
    clock.advance(Interval(1_000));
    assert!(bench.worker.turn().is_continue());
    assert_eq!((read(&mut reader).len(), reader.lost()), (4, [0, 3]), "it waits for nobody");
    assert_eq!(cables[1].outside().outbound.len(), 10, "and delays nothing");
    bench.send(Command::Capture(B, None));
    assert!(bench.worker.turn().is_continue());
    assert!(matches!(bench.controls.receive(), Some(Reply::Captures(B, Some(_)))), "its memory comes back");
}
