//! Explicit congestion notification: who is marked, how often, and by which queue (items 18 to 20).

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::two_ports;
use conformance::{A, B, Flow, P1, P3, TestFrame, Testbench};
use etherparse::{NetHeaders, PacketHeaders};
use switch::program::{MarkAt, Red, Settings};
use units::{Bytes, Nanos, Priority};
use wire::ip::Ecn;
use wire::vlan::{Tag, VlanId};

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

/// Two ports that mark priority 3 by these figures.
fn marking(kmin: u64, kmax: u64, pmax: f64, mark_at: MarkAt) -> Settings {
    let mut settings = two_ports();
    let red = Red { kmin: Bytes(kmin), kmax: Bytes(kmax), pmax, mark_at, adaptive: None };
    settings.ports[1].queues[3].red = Some(red);
    settings
}

/// A flow in every form in which a frame can carry ECN bits.
fn forms(flow: Flow) -> [Flow; 4] {
    let tag = Tag { priority: P3, drop_eligible: true, id: VlanId::new(7).unwrap() };
    [flow, flow.v6(), flow.tagged(tag), flow.v6().tagged(tag)]
}

/// The ECN bits, as an independent parser reads them, which finds the IPv4 checksum right.
fn ecn(frame: &TestFrame) -> u8 {
    match PacketHeaders::from_ethernet_slice(&frame.bytes).unwrap().net {
        Some(NetHeaders::Ipv4(ip, _)) => {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            ip.ecn.value()
        }
        Some(NetHeaders::Ipv6(ip, _)) => ip.traffic_class & 3,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_packets_that_understand_ecn_are_marked_and_nothing_else_of_them_changes() {
    for mark_at in [MarkAt::Dequeue, MarkAt::Enqueue] {
        let mut bench = Testbench::new(marking(0, 1, 1.0, mark_at));
        bench.block(B, P3);
        let mut arrived = Vec::new();
        for code in ALL {
            arrived.extend(forms(Flow::new(A, B).at(P3).ecn(code)).map(|flow| flow.udp(200)));
        }
        // One before and one behind, so that every frame in between sees a queue either way.
        let around = || [Flow::new(A, B).at(P3).udp(200)];
        bench.inject(A, around().into_iter().chain(arrived.clone()).chain(around()));
        bench.release(B, P3);
        bench.run_dry();
        let sent: Vec<_> = bench.data(B).map(|sent| sent.frame.clone()).collect();
        for (before, after) in arrived.iter().zip(&sent[1..]) {
            let (was, is) = (ecn(before), ecn(after));
            assert_eq!(is, if was == 0 { 0 } else { 3 });
            let changed: Vec<_> =
                (0..200).filter(|index| before.bytes[*index] != after.bytes[*index]).collect();
            let allowed = if was == 0 || was == 3 { 0 } else { 3 };
            assert!(changed.len() <= allowed, "bytes {changed:?}");
        }
        let counters = bench.shard.queue(bench.now(), B, P3).counters;
        assert_eq!((counters.marked, counters.already_marked), (8, 4));
    }
}

#[test]
fn a_frame_of_which_only_headers_are_there_is_marked_too() {
    let mut bench = Testbench::new(marking(0, 1, 1.0, MarkAt::Dequeue));
    for flow in forms(Flow::new(A, B).at(P3).ecn(Ecn::Ect0)) {
        bench.inject(A, [flow.headers(1_500)]);
    }
    bench.inject(A, [Flow::new(A, B).at(P3).udp(200)]);
    bench.run_dry();
    assert_eq!(bench.shard.queue(bench.now(), B, P3).counters.marked, 4);
}

#[test]
fn a_checksum_that_was_wrong_is_not_made_right_by_marking() {
    let mut frame = Flow::new(A, B).at(P3).ecn(Ecn::Ect0).udp(200);
    frame.bytes[24] ^= 0x10;
    let mut bench = Testbench::new(marking(0, 1, 1.0, MarkAt::Dequeue));
    bench.inject(A, [frame, Flow::new(A, B).at(P3).udp(200)]);
    bench.run_dry();
    let sent = &bench.data(B).next().unwrap().frame;
    let ip = wire::ipv4::View::parse_head(&sent.bytes[14..], 186).unwrap();
    assert_eq!(ip.ecn(), Ecn::Ce);
    assert!(!ip.verify_checksum());
}

#[test]
fn incremental_checksums_are_right_for_every_header() {
    let mut bench = Testbench::new(marking(0, 1, 1.0, MarkAt::Dequeue));
    for identification in 0..=u16::MAX {
        let mut frame =
            Flow::new(A, B).at(P3).ecn(Ecn::from_low_bits(1 + (identification & 1) as u8)).udp(60);
        frame.bytes[18..20].copy_from_slice(&identification.to_be_bytes());
        wire::ipv4::View::parse_head(&mut frame.bytes[14..], 46).unwrap().fill_checksum();
        bench.inject(A, [frame, Flow::new(A, B).at(P3).udp(60)]);
        bench.run_dry();
    }
    assert_eq!(bench.data(B).filter(|sent| ecn(&sent.frame) == 3).count(), 65_536);
}

/// Sends `count` frames of 1,000 bytes, each past a queue of exactly `level`, and says how many were
/// marked.
fn marked_at_level(settings: &Settings, level: u64, count: u64) -> u64 {
    let mut bench = Testbench::new(settings.clone());
    let at_enqueue = settings.ports[1].queues[3].red.unwrap().mark_at == MarkAt::Enqueue;
    let flow = Flow::new(A, B).at(P3).ecn(Ecn::Ect0);
    bench.block(B, P3);
    // The frames that fill the queue cannot be marked themselves.
    let filling = Flow::new(A, B).at(P3);
    bench.inject(A, filling.udps(level / 1_000, 1_000));
    bench.inject(A, (!level.is_multiple_of(1_000)).then(|| filling.udp((level % 1_000) as usize)));
    bench.release(B, P3);
    let warm_up = bench.shard.queue(bench.now(), B, P3).waiting.frames;
    for _ in 0..count + warm_up {
        bench.inject(A, [flow.headers(1_000)]);
        bench.egress(B, 1);
        bench.run_clock_to(bench.shard.port_deadline(B));
    }
    let queue = bench.shard.queue(bench.now(), B, P3);
    assert_eq!(queue.counters.transmitted.frames, count + warm_up);
    // Frames of equal length follow each other: the level stays, whichever frame is looked at.
    let looked_at = if at_enqueue { count + warm_up } else { count };
    queue.counters.marked * count / looked_at
}

fn assert_within_band(marked: u64, count: u64, probability: f64, what: &str) {
    let mean = count as f64 * probability;
    let deviation = f64::sqrt(mean * (1.0 - probability));
    assert!((marked as f64 - mean).abs() <= 4.0 * deviation, "{what}: {marked} of {count}, not {mean}");
}

#[test]
fn the_probability_rises_linearly_from_kmin_to_pmax_at_kmax() {
    for mark_at in [MarkAt::Dequeue, MarkAt::Enqueue] {
        for (pmax, count) in [(0.2, 40_000), (1.0, 20_000), (0.01, 60_000)] {
            let settings = marking(10_000, 30_000, pmax, mark_at);
            for (level, share) in [(11_000, 0.05), (15_000, 0.25), (20_000, 0.5), (30_000, 1.0)] {
                let marked = marked_at_level(&settings, level, count);
                assert_within_band(
                    marked,
                    count,
                    pmax * share,
                    &format!("{level}, Pmax {pmax}, {mark_at:?}"),
                );
            }
        }
    }
}

#[test]
fn nothing_is_marked_up_to_kmin_and_everything_above_kmax() {
    for mark_at in [MarkAt::Dequeue, MarkAt::Enqueue] {
        let settings = marking(10_000, 30_000, 0.01, mark_at);
        assert_eq!(marked_at_level(&settings, 0, 2_000), 0);
        assert_eq!(marked_at_level(&settings, 10_000, 5_000), 0, "at Kmin");
        assert_eq!(marked_at_level(&settings, 31_000, 2_000), 2_000);
        let a_byte_more = marking(9_999, 30_000, 1.0, mark_at);
        let marked = marked_at_level(&a_byte_more, 10_000, 60_000);
        assert_within_band(marked, 60_000, 1.0 / 20_001.0, "a byte above Kmin");
        let a_byte_less = marking(1_000, 29_999, 0.000_001, mark_at);
        assert_eq!(marked_at_level(&a_byte_less, 30_000, 2_000), 2_000, "a byte above Kmax");
    }
}

/// Which of ten frames, that all wait, are marked.
fn marked_of_ten(settings: Settings) -> Vec<u64> {
    let mut bench = Testbench::new(settings);
    bench.block(B, P3);
    bench.inject(A, Flow::new(A, B).at(P3).ecn(Ecn::Ect1).udps(10, 1_000));
    bench.release(B, P3);
    bench.run_dry();
    bench.data(B).filter(|sent| ecn(&sent.frame) == 3).map(|sent| sent.frame.label).collect()
}

#[test]
fn marking_at_dequeue_goes_by_the_queue_that_is_left_and_at_enqueue_by_the_one_that_is_found() {
    assert_eq!(marked_of_ten(marking(4_500, 4_501, 1.0, MarkAt::Dequeue)), [0, 1, 2, 3, 4]);
    assert_eq!(marked_of_ten(marking(4_500, 4_501, 1.0, MarkAt::Enqueue)), [5, 6, 7, 8, 9]);
}

#[test]
fn marking_at_dequeue_uses_what_has_arrived_meanwhile() {
    let mut bench = Testbench::new(marking(4_500, 4_501, 1.0, MarkAt::Dequeue));
    bench.block(B, P3);
    bench.inject(A, [Flow::new(A, B).at(P3).ecn(Ecn::Ect0).udp(1_000).labelled(99)]);
    bench.run_until(Nanos(50_000));
    bench.inject(A, Flow::new(A, B).at(P3).udps(5, 1_000));
    bench.release(B, P3);
    bench.run_dry();
    let first = bench.data(B).next().unwrap();
    assert_eq!((first.frame.label, ecn(&first.frame)), (99, 3));
}

#[test]
fn a_queue_is_judged_by_itself_and_only_where_it_is_told_to_mark() {
    let mut bench = Testbench::new(marking(1_000, 1_001, 1.0, MarkAt::Dequeue));
    bench.block(B, P3);
    bench.inject(A, Flow::new(A, B).at(P1).ecn(Ecn::Ect0).udps(100, 1_000));
    bench.inject(A, Flow::new(A, B).at(P3).ecn(Ecn::Ect0).udps(2, 1_000));
    bench.release(B, P3);
    bench.run_dry();
    for priority in Priority::all() {
        assert_eq!(bench.shard.queue(bench.now(), B, priority).counters.marked, 0);
    }
}

#[test]
fn the_same_seed_marks_the_same_frames_and_another_seed_others() {
    let marked = |seed: u64| {
        let mut settings = marking(0, 1_000_000, 0.5, MarkAt::Dequeue);
        settings.seed = seed;
        settings.ports[0].groups[3] = conformance::settings::lossless(10_000_000, 5_000_000, 50_000);
        let mut bench = Testbench::new(settings);
        bench.inject(A, Flow::new(A, B).at(P3).ecn(Ecn::Ect0).udps(2_000, 1_000));
        bench.run_dry();
        bench.data(B).filter(|sent| ecn(&sent.frame) == 3).map(|sent| sent.frame.label).collect::<Vec<_>>()
    };
    assert_eq!(marked(1), marked(1));
    assert_ne!(marked(1), marked(2));
}

#[test]
fn thresholds_that_change_under_load_hold_for_frames_that_wait_already() {
    let mut bench = Testbench::new(marking(50_000, 50_001, 1.0, MarkAt::Dequeue));
    bench.block(B, P3);
    bench.inject(A, Flow::new(A, B).at(P3).ecn(Ecn::Ect0).udps(10, 1_000));
    bench.install(|settings| {
        settings.ports[1].queues[3].red = Some(Red {
            kmin: Bytes(4_500),
            kmax: Bytes(4_501),
            pmax: 1.0,
            mark_at: MarkAt::Dequeue,
            adaptive: None,
        });
    });
    bench.release(B, P3);
    bench.run_dry();
    assert_eq!(bench.shard.queue(bench.now(), B, P3).counters.marked, 5);
    bench.install(|settings| settings.ports[1].queues[3].red = None);
    bench.inject(A, Flow::new(A, B).at(P3).ecn(Ecn::Ect0).udps(10, 1_000));
    bench.run_dry();
    assert_eq!(bench.shard.queue(bench.now(), B, P3).counters.marked, 5);
}
