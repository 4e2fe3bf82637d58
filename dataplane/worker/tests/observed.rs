//! Events and captures of a worker.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use common::*;
use proptest::collection::vec;
use proptest::prelude::*;
use switch::{Event, Frame, Happening, PauseDirection};
use units::{Bytes, Interval, PauseQuanta};
use wire::ethernet::{EtherType, MacAddress};
use worker::{
    CaptureFilter, CapturedFrame, Command, FrameClass, FrameDirection, Reply, TapReader, event_ring, tap,
};

/// All frames in both directions.
fn all() -> CaptureFilter {
    CaptureFilter { received: true, sent: true, class: FrameClass::All, ..CaptureFilter::default() }
}

/// Control frames in both directions.
fn control() -> CaptureFilter {
    CaptureFilter { class: FrameClass::Control, ..all() }
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
    assert_eq!((read(&mut reader).len(), reader.lost()), (4, [0, 3]), "it waits for no one");
    assert_eq!(cables[1].outside().outbound.len(), 10, "and delays nothing");
    bench.send(Command::Capture(B, None));
    assert!(bench.worker.turn().is_continue());
    assert!(matches!(bench.controls.receive(), Some(Reply::Captures(B, Some(_)))), "its memory comes back");
}

#[test]
fn a_capture_of_control_frames_copies_those_of_both_directions_and_no_data_on_emulated_links_too() {
    for emulated in [false, true] {
        let clock = TestClock::at(START);
        let (mut benches, cables) = workers(settings(2), 1, || clock.clone());
        let mut bench = benches.remove(0);
        if emulated {
            bench.worker = bench.worker.emulate(B, emulated_link(Interval(1_000)));
        }
        let (tap_of_b, mut reader) = tap(control(), 8, 100);
        bench.send(Command::Capture(B, Some(tap_of_b)));
        let mut turns = |count| {
            for _ in 0..count {
                clock.advance(Interval(1_000));
                assert!(bench.worker.turn().is_continue());
            }
        };
        turns(1);
        cables[0].inject((0..5).map(|number| frame(0, P3, 300, number)));
        cables[1].inject([frame(1, P3, 64, 0), pause(PauseQuanta(1))]);
        turns(5);
        assert_eq!(read(&mut reader), [(FrameDirection::Received, 60, 60)], "emulated: {emulated}");
        cables[0].outside().memory_is_low = true;
        turns(5);
        assert_eq!(cables[1].outside().pauses(), [PauseQuanta::MAX]);
        assert_eq!(read(&mut reader), [(FrameDirection::Sent, 60, 60)], "emulated: {emulated}");
        assert_eq!(cables[1].outside().outbound.len(), 5, "data goes on");
    }
}

#[test]
fn a_capture_of_data_that_leaves_copies_frames_that_are_alone_in_their_burst_and_one_of_control_frames_does_not()
 {
    let received = CaptureFilter { sent: false, ..all() };
    for (filter, copied) in [(all(), 1), (control(), 0), (received, 0)] {
        for emulated in [false, true] {
            let (mut bench, clock, a, b) = one_worker(settings(2));
            if emulated {
                bench.worker = bench.worker.emulate(B, emulated_link(Interval(1_000)));
            }
            let (tap_of_b, mut reader) = tap(filter.clone(), 8, 100);
            bench.send(Command::Capture(B, Some(tap_of_b)));
            assert!(bench.worker.turn().is_continue());
            for number in 0..3 {
                a.inject([frame(0, P3, 300, number)]);
                for _ in 0..3 {
                    clock.advance(Interval(10_000));
                    assert!(bench.worker.turn().is_continue());
                }
                let expected = vec![(FrameDirection::Sent, 300, 100); copied];
                assert_eq!(read(&mut reader), expected, "{filter:?}, emulated: {emulated}");
            }
            assert_eq!(b.outside().outbound.len(), 3);
        }
    }
}

/// Frames whose addresses, tags and EtherTypes are often those of control frames.
fn any_frame() -> impl Strategy<Value = TestFrame> {
    let destination = prop_oneof![
        Just(MacAddress::MAC_CONTROL),
        Just(MacAddress::NEAREST_BRIDGE),
        Just(MacAddress::NEAREST_NON_TPMR_BRIDGE),
        Just(MacAddress([2, 0, 0, 0, 1, 1])),
    ];
    let ether_type = prop_oneof![
        Just(EtherType::MAC_CONTROL),
        Just(wire::grants::ETHER_TYPE),
        Just(EtherType::PTP),
        Just(EtherType::LLDP),
        Just(EtherType::IPV4),
        any::<u16>().prop_map(EtherType),
    ];
    let tag = (prop_oneof![Just(0x8100_u16), Just(0x88a8)], any::<u16>());
    (destination, vec(tag, 0..4), ether_type, vec(any::<u8>(), 46..100)).prop_map(
        |(destination, tags, ether_type, payload)| {
            let tags = tags.into_iter().flat_map(|(tpid, tci)| [tpid, tci]);
            let words = tags.chain([ether_type.0]).flat_map(u16::to_be_bytes);
            let bytes = [&destination.0[..], &[2, 0, 0, 0, 1, 2]].concat().into_iter();
            TestFrame::from_bytes(bytes.chain(words).chain(payload).collect())
        },
    )
}

proptest! {
    /// So a capture of control frames need not look at what the switch forwards.
    #[test]
    fn no_frame_that_a_switch_forwards_is_a_control_frame_to_a_capture(frames in vec(any_frame(), 1..60)) {
        let (mut bench, clock, a, b) = one_worker(settings(2));
        a.inject(frames);
        for _ in 0..10 {
            clock.advance(Interval(10_000));
            prop_assert!(bench.worker.turn().is_continue());
        }
        for frame in &b.outside().outbound {
            prop_assert!(!control().matches(frame.headers(), Bytes(frame.headers().len() as u64)), "{frame:?}");
        }
    }
}
