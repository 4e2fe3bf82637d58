//! Priority-based flow control, sent and received: what is stopped, for how long, and what never is
//! (items 7 to 12).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{bridged, lossless, patched, port_mac, two_ports};
use conformance::{A, B, C, D, Flow, P1, P3, P4, TestFrame, Testbench, cost};
use switch::program::{LossyQueue, Threshold};
use switch::{Consumed, DropReason, PauseCause};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, Priority, PrioritySet, WireBytes};
use wire::pfc;

fn at(priority: Priority) -> Flow {
    Flow::new(A, B).at(priority)
}

fn only(priority: Priority) -> PrioritySet {
    PrioritySet::EMPTY.with(priority)
}

/// When data frames were on the wire of port B.
fn starts(bench: &Testbench) -> Vec<u64> {
    bench.data(B).map(|sent| sent.start.0).collect()
}

#[test]
fn nobody_is_paused_for_a_lossy_priority_however_full_the_buffer_is() {
    let mut settings = two_ports();
    settings.ports[1].pfc.obey_global_pause = true;
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta::MAX);
    for priority in Priority::all().filter(|priority| ![P3, P4].contains(priority)) {
        bench.inject_singly(A, at(priority).udps(2_500, 1_500));
    }
    // The buffer is full: no lossy queue holds more than 14 MB, or less by more than what a frame's cells waste.
    let waiting: u64 =
        Priority::all().map(|priority| bench.shard.queue(bench.now(), B, priority).waiting.frames).sum();
    assert_eq!(waiting + bench.dropped_in_all().frames, 6 * 2_500);
    assert!((13_000_000..=14_000_000).contains(&(waiting * 1_500)), "{waiting}");
    assert!(bench.sent(A).is_empty() && bench.sent(B).is_empty());
    bench.run_dry();
    assert!(bench.sent(A).is_empty());
    assert_eq!(bench.sent(B).len() as u64, waiting);
}

#[test]
fn a_peers_storm_makes_no_pause_of_ours_while_nothing_is_queued() {
    let mut bench = Testbench::new(two_ports());
    for _ in 0..10_000 {
        bench.inject_pfc(B, PrioritySet::ALL, PauseQuanta::MAX);
        bench.run_for(Interval::from_micros(10));
    }
    assert!(bench.sent(A).is_empty() && bench.sent(B).is_empty());
    assert_eq!(bench.shard.next_deadline(), Nanos::NEVER);
}

#[test]
fn a_pause_stops_its_priority_to_the_nanosecond_and_no_other() {
    for (gigabits, quanta, nanos) in [
        (10, 1, 52), // 51.2
        (10, 65_535, 3_355_392),
        (25, 100, 2_048),
        (40, 7, 90),            // 89.6
        (100, 1, 6),            // 5.12
        (100, 65_535, 335_540), // 335,539.2
        (200, 1_000, 2_560),
        (400, 1, 2),           // 1.28
        (400, 65_535, 83_885), // 83,884.8
    ] {
        let mut settings = two_ports();
        settings.ports[1].rate = BitRate::gigabits(gigabits);
        for priority in Priority::all() {
            let mut bench = Testbench::new(settings.clone());
            bench.run_until(Nanos(1_000));
            bench.inject_pfc(B, only(P3), PauseQuanta(quanta));
            bench.inject(A, [at(priority).udp(60)]);
            bench.run_until(Nanos(1_000 + nanos - 1));
            // Called for no reason, as a driver may.
            bench.egress(B, usize::MAX);
            assert_eq!(starts(&bench).len(), usize::from(priority != P3), "{gigabits}G, {quanta} quanta");
            bench.run_dry();
            let expected = if priority == P3 { 1_000 + nanos } else { 1_000 };
            assert_eq!(starts(&bench), [expected], "{gigabits}G, {quanta} quanta, priority {priority}");
            assert_eq!(
                bench.shard.queue(bench.now(), B, P3).paused_for,
                Interval(nanos.min(bench.now().0 - 1_000))
            );
        }
    }
}

#[test]
fn a_refresh_counts_from_its_own_arrival_and_a_shorter_one_shortens() {
    let mut bench = Testbench::new(two_ports());
    bench.inject_pfc(B, only(P3), PauseQuanta(1_000)); // 5,120 ns
    bench.inject(A, [at(P3).udp(60)]);
    for now in [2_000, 4_000, 9_000] {
        bench.run_until(Nanos(now));
        bench.inject_pfc(B, only(P3), PauseQuanta(1_000));
    }
    assert!(starts(&bench).is_empty());
    bench.run_until(Nanos(10_000));
    bench.inject_pfc(B, only(P3), PauseQuanta(100)); // 512 ns, less than what was left
    bench.run_dry();
    assert_eq!(starts(&bench), [10_512]);
    let queue = bench.shard.queue(Nanos(1_000_000), B, P3);
    assert_eq!(queue.paused_for, Interval(10_512));
    assert_eq!((queue.pauses.xoff, queue.pauses.xon, queue.pauses.ignored), (5, 0, 0));
}

#[test]
fn time_zero_resumes_at_once_and_a_second_one_changes_nothing() {
    let mut bench = Testbench::new(two_ports());
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(2, 60));
    bench.run_until(Nanos(777));
    bench.release(B, P3);
    bench.turn();
    assert_eq!(starts(&bench), [777]);
    bench.release(B, P3);
    bench.run_dry();
    assert_eq!(starts(&bench), [777, 784], "84 bytes at 100G are 6.72 ns");
    let queue = bench.shard.queue(bench.now(), B, P3);
    assert_eq!((queue.paused_for, queue.pauses.xon), (Interval(777), 2));
}

#[test]
fn a_pause_never_cuts_the_frame_on_the_wire() {
    let mut bench = Testbench::new(two_ports());
    bench.inject(A, at(P3).udps(3, 9_000));
    bench.turn();
    bench.run_until(Nanos(1));
    bench.inject_pfc(B, only(P3), PauseQuanta(1_000));
    bench.run_dry();
    assert_eq!(starts(&bench), [0, 5_121, 5_121 + 722], "9,024 bytes at 100G are 721.92 ns");
}

#[test]
fn several_priorities_in_one_frame_have_each_its_own_time() {
    let mut settings = two_ports();
    for port in &mut settings.ports {
        port.groups = [lossless(100_000, 50_000, 10_000); Priority::COUNT];
        port.pfc.obey = PrioritySet::ALL;
    }
    let mut bench = Testbench::new(settings);
    let times = core::array::from_fn(|priority| Some(PauseQuanta(1_000 * priority as u16)));
    let mut bytes = vec![0; 60];
    pfc::Frame { source: port_mac(A), times }.emit(&mut bytes).unwrap();
    bench.inject(B, [TestFrame::new(bytes)]);
    bench.inject(A, Priority::all().map(|priority| at(priority).udp(60).labelled(priority.number().into())));
    bench.run_dry();
    let expected: Vec<_> = (0..8).map(|priority| 5_120 * priority).collect();
    assert_eq!(starts(&bench), expected);
    assert_eq!(bench.labels(B), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_clear_class_enable_bit_leaves_a_running_pause_alone_whatever_its_time_field_says() {
    let mut bench = Testbench::new(two_ports());
    bench.inject_pfc(B, only(P3), PauseQuanta(1_000));
    let mut bytes = TestFrame::pfc(only(P4), PauseQuanta(10)).bytes;
    // Times stand there for priorities 0 to 3 too, and the high byte of the vector is set.
    bytes[16] = 0xff;
    bytes[18..26].fill(0x77);
    bench.inject(B, [TestFrame::new(bytes)]);
    bench.inject(A, [at(P3).udp(60).labelled(3), at(P4).udp(60).labelled(4)]);
    bench.run_dry();
    assert_eq!(bench.labels(B), [4, 3]);
    assert_eq!(starts(&bench), [52, 5_120]);
    assert_eq!(bench.shard.queue(bench.now(), B, P3).pauses.xoff, 1);
}

#[test]
fn a_zero_source_address_and_trailing_padding_are_accepted() {
    let mut bench = Testbench::new(two_ports());
    let mut bytes = vec![0; 200];
    pfc::Frame::uniform(wire::ethernet::MacAddress::ZERO, only(P3), PauseQuanta(100))
        .emit(&mut bytes)
        .unwrap();
    bench.inject(B, [TestFrame::new(bytes)]);
    bench.inject(A, [at(P3).udp(60)]);
    bench.run_dry();
    assert_eq!(starts(&bench), [512]);
}

#[test]
fn a_pause_of_a_lossy_priority_is_ignored_and_counted() {
    let mut bench = Testbench::new(two_ports());
    bench.inject_pfc(B, PrioritySet::ALL, PauseQuanta::MAX);
    for priority in Priority::all() {
        bench.inject(A, [at(priority).udp(60)]);
        let pauses = bench.shard.queue(bench.now(), B, priority).pauses;
        let obeyed = u64::from([P3, P4].contains(&priority));
        assert_eq!((pauses.xoff, pauses.ignored), (obeyed, 1 - obeyed));
    }
    bench.run_until(Nanos(1_000));
    assert_eq!(starts(&bench).len(), 6, "all but priorities 3 and 4");
}

#[test]
fn a_global_pause_is_counted_and_ignored_unless_it_is_enabled() {
    for enabled in [false, true] {
        let mut settings = two_ports();
        settings.ports[1].pfc.obey_global_pause = enabled;
        let mut bench = Testbench::new(settings);
        bench.inject_global_pause(B, PauseQuanta(1_000));
        let counters = bench.shard.ingress_counters(B);
        assert_eq!(counters.consumed[Consumed::Pause.index()].frames, 1);
        assert_eq!(counters.consumed[Consumed::Pfc.index()].frames, 0);
        bench.inject(A, Priority::all().map(|priority| at(priority).udp(60)));
        bench.run_dry();
        assert_eq!(starts(&bench)[0], if enabled { 5_120 } else { 0 });
        assert_eq!(starts(&bench).len(), 8);
    }
}

#[test]
fn a_change_of_something_else_leaves_a_global_pause_alone() {
    let mut settings = two_ports();
    settings.ports[1].pfc.obey_global_pause = true;
    let mut bench = Testbench::new(settings);
    bench.inject_global_pause(B, PauseQuanta(1_000));
    bench.inject(A, Priority::all().map(|priority| at(priority).udp(60)));
    bench.install(|settings| settings.buffer.shared = Bytes(17_000_000));
    bench.run_dry();
    assert_eq!(starts(&bench)[0], 5_120);
}

#[test]
fn a_priority_that_no_longer_obeys_is_resumed_at_once() {
    let mut bench = Testbench::new(two_ports());
    bench.block(B, P3);
    bench.block(B, P4);
    bench.inject(A, [at(P3).udp(60).labelled(3), at(P4).udp(60).labelled(4)]);
    bench.run_until(Nanos(1_000));
    bench.install(|settings| settings.ports[1].pfc.obey = only(P4));
    bench.run_until(Nanos(2_000));
    assert_eq!(starts(&bench), [1_000]);
    assert_eq!(bench.labels(B), [3]);
    assert_eq!(bench.shard.queue(bench.now(), B, P3).paused_for, Interval(1_000));
}

#[test]
fn pause_frames_are_neither_received_data_nor_dropped_nor_forwarded() {
    for settings in [patched(4), bridged(4)] {
        let mut bench = Testbench::new(settings);
        for _ in 0..10 {
            bench.inject_pfc(A, PrioritySet::ALL, PauseQuanta(7));
        }
        bench.inject_global_pause(A, PauseQuanta(7));
        bench.run_dry();
        let counters = bench.shard.ingress_counters(A);
        assert_eq!(counters.received.iter().map(|it| it.frames).sum::<u64>(), 0);
        assert_eq!(counters.consumed[Consumed::Pfc.index()].frames, 10);
        assert_eq!(counters.consumed[Consumed::Pfc.index()].bytes, Bytes(600));
        assert_eq!(counters.consumed[Consumed::Pause.index()].frames, 1);
        assert_eq!(bench.dropped_in_all().frames, 0);
        assert!([A, B, C, D].iter().all(|port| bench.sent(*port).is_empty()));
    }
}

#[test]
fn a_mac_control_frame_that_is_cut_or_unknown_is_dropped_by_name_and_pauses_nothing() {
    let mut pfc = TestFrame::pfc(PrioritySet::ALL, PauseQuanta::MAX).bytes;
    let mut bench = Testbench::new(two_ports());
    bench.inject(B, (14..34).map(|kept| TestFrame::new(pfc[..kept].to_vec())));
    pfc[15] = 0x02;
    bench.inject(B, [TestFrame::new(pfc)]);
    assert_eq!(bench.dropped(B, Priority::default(), DropReason::MalformedControl).frames, 21);
    bench.inject(A, [at(P3).udp(60)]);
    bench.turn();
    assert_eq!(starts(&bench), [0]);
}

#[test]
fn a_pause_that_is_shorter_than_a_frame_is_dropped_by_name_and_pauses_nothing() {
    let pfc = TestFrame::pfc(PrioritySet::ALL, PauseQuanta::MAX);
    let mut global = pfc.clone();
    global.bytes[14..20].copy_from_slice(&[0x00, 0x01, 0xff, 0xff, 0, 0]);
    let mut settings = two_ports();
    settings.ports[1].pfc.obey_global_pause = true;
    for frame in [pfc, global] {
        let mut bench = Testbench::new(settings.clone());
        for length in [36, 40, 59] {
            bench.inject(
                B,
                [
                    TestFrame { length, ..frame.clone() },
                    TestFrame::new(frame.bytes[..length as usize].to_vec()),
                ],
            );
        }
        assert_eq!(bench.dropped(B, Priority::default(), DropReason::MalformedControl).frames, 6);
        bench.inject(A, [at(P3).udp(60)]);
        bench.turn();
        assert_eq!(starts(&bench), [0]);
        // A capture may have kept the first bytes of a whole one.
        bench.inject(B, [frame.clone().cut_to(36)]);
        bench.inject(A, [at(P3).udp(60)]);
        bench.run_for(Interval(1_000));
        assert_eq!(starts(&bench), [0], "of the least length, it counts");
    }
}

#[test]
fn a_pause_that_is_tagged_or_sent_to_another_station_pauses_nothing() {
    let mut untagged = TestFrame::pfc(PrioritySet::ALL, PauseQuanta::MAX).bytes;
    let mut tagged = untagged.clone();
    tagged.splice(12..12, [0x81, 0x00, 0x60, 0x64]);
    let mut astray = untagged.clone();
    astray[..6].copy_from_slice(&port_mac(C).0);
    let mut bench = Testbench::new(two_ports());
    bench.inject(B, [tagged, astray].map(TestFrame::new));
    assert_eq!(bench.dropped(B, Priority::default(), DropReason::MalformedControl).frames, 2);
    bench.inject(A, [at(P3).udp(60)]);
    bench.turn();
    assert_eq!(starts(&bench), [0]);
    untagged[..6].copy_from_slice(&port_mac(B).0);
    bench.inject(B, [TestFrame::new(untagged)]);
    bench.inject(A, [at(P3).udp(60)]);
    bench.run_for(Interval(1_000));
    assert_eq!(starts(&bench), [0], "sent to the port itself, it counts");
}

#[test]
fn pauses_that_change_with_every_frame_wait_for_the_link_and_do_not_pile_up() {
    let mut settings = two_ports();
    settings.ports[0].rate = BitRate::gigabits(1);
    settings.ports[0].groups[3] = lossless(60, 60, 1_000_000);
    let mut bench = Testbench::new(settings);
    for _ in 0..10_000 {
        bench.inject_singly(A, [at(P3).udp(60)]);
        bench.run_for(Interval(10));
    }
    bench.run_dry();
    let sent = bench.sent(A);
    let on_the_wire = BitRate::gigabits(1).serialization().time_of(WireBytes(84));
    assert!(sent.len() as u64 <= 100_000 / on_the_wire.0 + 2, "{} frames in 100 us", sent.len());
    assert!(sent.last().unwrap().start <= Nanos(100_000) + on_the_wire + on_the_wire);
    assert_eq!(bench.pauses(A, P3).last().unwrap().1, PauseQuanta::ZERO, "the last word is the truth");
}

#[test]
fn after_a_pause_no_frame_starts_later_than_the_transmit_window() {
    for (window, length) in [(0, 9_000), (2_000, 60), (2_000, 1_500), (2_000, 9_000)] {
        let mut settings = two_ports();
        settings.ports[1].tx_window = Interval(window);
        settings.ports[0].groups[3] = lossless(200_000, 100_000, 50_000);
        let mut bench = Testbench::new(settings);
        bench.inject(A, at(P3).udps(120_000 / length as u64, length));
        for tick in 0..50 {
            bench.run_until(Nanos(100 * tick));
        }
        bench.inject_pfc(B, only(P3), PauseQuanta::MAX);
        let now = bench.now().0;
        bench.run_until(Nanos(now + 300_000));
        let frame = WireBytes::of_frame(Bytes(length as u64));
        let frame_time = BitRate::gigabits(100).serialization().time_of(frame).0;
        let last = *starts(&bench).last().unwrap();
        assert!(last <= now + window, "window {window}: at {last}, {} late", last - now);
        let after = starts(&bench).iter().filter(|start| **start > now).count() as u64;
        assert!(after * (frame_time - 1) <= window + frame_time, "{after} frames, window {window}");
        assert!(last + frame_time + frame_time >= now + window, "the window is used");
    }
}

#[test]
fn a_pause_is_refreshed_before_it_runs_out_even_behind_a_long_frame_on_a_slow_link() {
    let mut settings = two_ports();
    for port in &mut settings.ports {
        port.rate = BitRate::gigabits(1);
        port.pfc.pause = PauseQuanta(400);
    }
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.inject(A, at(P3).udps(150, 1_000));
    // The way back is busy with the longest frames.
    bench.inject(B, Flow::new(B, A).udps(500, 9_216));
    for _ in 0..16 {
        bench.run_for(Interval::from_millis(2));
        bench.block(B, P3);
    }
    let pauses = bench.pauses(A, P3);
    let lasts = PauseQuanta(400).interval_at(BitRate::gigabits(1)).0;
    let ends = bench.now().0;
    assert!(pauses[0].0 == Nanos::ZERO && ends - pauses[pauses.len() - 1].0.0 < lasts, "from first to last");
    for pair in pauses.windows(2) {
        let [(first, time), (second, _)] = pair else { continue };
        assert_eq!(*time, PauseQuanta(400));
        let gap = second.0 - first.0;
        assert!((lasts / 2..lasts).contains(&gap), "{gap} ns after a pause of {lasts}");
    }
    let sent = bench.shard.group(bench.now(), A, P3).pauses;
    assert_eq!((sent.xoff, sent.refresh, sent.xon), (1, pauses.len() as u64 - 1, 0));
}

#[test]
fn our_pause_goes_ahead_of_data_and_is_never_paused_itself() {
    let mut bench = Testbench::new(two_ports());
    bench.inject_pfc(A, PrioritySet::ALL, PauseQuanta::MAX);
    bench.block(B, P3);
    bench.inject(B, Flow::new(B, A).at(P3).udps(10, 1_500));
    bench.inject(B, Flow::new(B, A).udps(10, 1_500));
    bench.turn();
    bench.inject(A, at(P3).udps(100, 1_000));
    bench.run_until(Nanos(100_000));
    let sent = bench.sent(A);
    assert!(!sent[0].control && sent[1].control, "behind the frame on the wire, ahead of all that waits");
    assert_eq!(sent[1].start, Nanos(122), "1,524 bytes at 100G are 121.92 ns");
    assert_eq!(sent[2].start, Nanos(129), "and 84 more end at 128.64");
}

#[test]
fn of_a_pause_and_data_that_are_due_at_the_same_instant_the_pause_goes_first() {
    let mut bench = Testbench::new(two_ports());
    bench.block(B, P3);
    bench.inject(B, Flow::new(B, A).udps(10, 9_000));
    bench.inject(A, at(P3).udps(100, 1_000));
    bench.turn();
    assert_eq!(bench.pauses(A, P3), [(Nanos(0), PauseQuanta::MAX)]);
    assert!(bench.data(A).all(|sent| sent.start >= Nanos(7)));
}

#[test]
fn one_frame_speaks_for_all_priorities_that_changed_and_has_the_ports_address() {
    let mut bench = Testbench::new(two_ports());
    bench.block(B, P3);
    bench.block(B, P4);
    bench.inject(A, at(P3).udps(100, 1_000).chain(at(P4).udps(100, 1_000)));
    bench.turn();
    let [sent] = bench.sent(A) else { panic!("one frame") };
    let times = sent.pfc().unwrap();
    assert_eq!(times.iter().flatten().count(), 2);
    assert_eq!((times[3], times[4]), (Some(PauseQuanta::MAX), Some(PauseQuanta::MAX)));
    // As Wireshark and scapy agree on it.
    let mut expected = vec![0x01, 0x80, 0xc2, 0, 0, 0x01, 2, 0, 0, 0, 0, 0, 0x88, 0x08, 0x01, 0x01, 0, 0x18];
    expected.extend([0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    expected.resize(60, 0);
    assert_eq!(sent.frame.bytes, expected);
}

#[test]
fn pause_time_is_accounted_once_and_ends_with_the_frame_that_says_so() {
    // The group is resumed and stopped again, for another cause, before the neighbour hears of it: for
    // the neighbour it is one pause.
    let mut settings = patched(4);
    settings.buffer.shared = Bytes(120 * cost(1_000));
    settings.buffer.egress_lossy = settings.buffer.shared;
    settings.ports[3].pfc.obey_global_pause = true;
    settings.ports[3].queues[1].lossy =
        LossyQueue { reserved: Bytes::ZERO, threshold: Threshold::Static(Bytes::MAX) };
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.inject_global_pause(D, PauseQuanta::MAX);
    bench.inject(A, at(P3).udps(100, 1_000));
    bench.turn();
    bench.run_until(Nanos(10_000));
    bench.release(B, P3);
    // Down to just below XON, without a word from port A.
    while bench.shard.group(bench.now(), A, P3).paused.is_some() {
        bench.egress(B, 1);
        bench.run_clock_to(bench.shard.port_deadline(B));
    }
    bench.block(B, P3);
    // Others fill the pool, and one frame of A finds it full.
    bench.inject(C, Flow::new(C, D).at(P1).udps(90, 1_000));
    bench.inject(A, at(P3).udps(1, 1_000));
    assert_eq!(bench.shard.group(bench.now(), A, P3).paused, Some(PauseCause::PoolFull));
    bench.run_until(Nanos(300_000));
    let refreshed = bench.pauses(A, P3).len();
    assert!(refreshed >= 2 && bench.pauses(A, P3).iter().all(|(_, time)| *time == PauseQuanta::MAX));
    bench.run_dry();
    let (end, last) = *bench.pauses(A, P3).last().unwrap();
    assert_eq!(last, PauseQuanta::ZERO);
    let begin = bench.pauses(A, P3)[0].0;
    let accounted: u64 = bench.shard.group(Nanos(10_000_000), A, P3).paused_for.iter().map(|it| it.0).sum();
    assert_eq!(accounted, end.0 - begin.0);
}
