//! Whole flows: completion, loss recovery and pauses.

use super::bench::*;
use crate::*;
use proptest::prelude::*;
use units::{Bytes, Interval, Nanos};
use wire::roce::{Opcode, icrc};

/// The wire bytes of a full packet and of an acknowledgement. 100 bytes take 8 ns.
const PACKET: u64 = 58 + 1_024 + 24;
const ACK: u64 = 62 + 24;

fn serialization(wire_bytes: u64) -> u64 {
    (wire_bytes * 8).div_ceil(100)
}

#[test]
fn a_flow_ends_when_its_last_bit_has_arrived() {
    for packets in [1, 2, 3, 1_000] {
        let mut bench = Bench::new(|_| {});
        let flow = bench.flow(7, P3, Some(packets * 1_024), 5);
        bench.run();
        // The start of the last packet is rounded up, and so is its end.
        let last = serialization((packets - 1) * PACKET) + serialization(PACKET) + DELAY.0;
        assert_eq!(bench.when(Event::Received { flow }), Some(Nanos(last)));
        let acknowledged = last + serialization(ACK) + DELAY.0;
        let event = Event::Acknowledged { flow, retransmitted: 0 };
        assert_eq!(bench.when(event), Some(Nanos(acknowledged)));
        let counters = bench.hosts[0].counters();
        assert_eq!((counters.data_sent, counters.retransmitted, counters.timeouts), (packets, 0, 0));
        assert_eq!(bench.hosts[1].counters().data_received, packets);
        assert_eq!(bench.hosts[0].next_deadline(), Nanos::NEVER, "nothing is left behind");
    }
}

#[test]
fn a_message_is_cut_into_first_middle_and_last() {
    let opcodes = |length| {
        let mut bench = Bench::new(|_| {});
        bench.flow(1, P3, Some(length), 0xff_fffe);
        bench.run();
        bench.data().map(|sent| (sent.opcode(), sent.length.0 - 58, sent.psn())).collect::<Vec<_>>()
    };
    assert_eq!(opcodes(0), [(Opcode::RC_SEND_ONLY, 0, 0xff_fffe)]);
    assert_eq!(opcodes(1_024), [(Opcode::RC_SEND_ONLY, 1_024, 0xff_fffe)]);
    let [first, middle] = [Opcode::RC_SEND_FIRST, Opcode::RC_SEND_MIDDLE];
    let expected = [
        (first, 1_024, 0xff_fffe),
        (middle, 1_024, 0xff_ffff),
        (middle, 1_024, 0),
        (Opcode::RC_SEND_LAST, 4, 1),
    ];
    assert_eq!(opcodes(3 * 1_024 + 1), expected, "padded to four bytes, and numbers wrap");
}

#[test]
fn the_receiver_counts_no_padding() {
    let mut bench = Bench::new(|_| {});
    let flow = bench.flow(1, P3, Some(2_001), 0);
    bench.run();
    let delivered = bench.events.iter().filter_map(|(_, event)| match event {
        Event::Delivered { flow: of, bytes } if *of == flow => Some(*bytes),
        _ => None,
    });
    assert_eq!(delivered.collect::<Vec<_>>(), [1_024, 2_001]);
}

#[test]
fn acknowledgements_come_every_so_many_packets_and_at_the_last() {
    let mut bench = Bench::new(|settings| {
        settings.transport = Transport::GoBackN(GoBackN {
            ack_every: core::num::NonZeroU32::new(4).unwrap(),
            ..GoBackN::default()
        });
    });
    bench.flow(1, P3, Some(10 * 1_024), 100);
    bench.run();
    let acks: Vec<_> = bench.sent.iter().filter(|sent| !sent.is_data()).collect();
    assert_eq!(acks.iter().map(|sent| sent.psn()).collect::<Vec<_>>(), [103, 107, 109]);
    for ack in acks {
        assert_eq!(ack.length, Bytes(ack.headers.len() as u64), "it is all there");
        assert_eq!(icrc::verify(&ack.headers[14..]), Ok(true));
    }
}

#[test]
fn a_lost_packet_is_reported_once_and_everything_from_it_on_is_sent_again() {
    let mut bench = Bench::new(|_| {});
    let mut lost = false;
    bench.weather = Box::new(move |_, sent| {
        let this = sent.is_data() && sent.psn() == 3 && !lost;
        lost |= this;
        if this { Fate::Lost } else { Fate::Arrives }
    });
    let flow = bench.flow(1, P3, Some(100 * 1_024), 0);
    bench.run();
    assert_eq!(bench.hosts[1].counters().naks_sent, 1);
    assert_eq!(bench.hosts[0].counters().timeouts, 0);
    let again = bench.hosts[0].counters().retransmitted;
    // Packet 4 starts at 353.92 ns and arrives at 1443 ns; its answer is back at 2450 ns. By then packets 3
    // to 27 have started, one every 88.48 ns.
    assert_eq!(again, 25);
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: again }).is_some());
}

#[test]
fn a_lost_last_packet_is_sent_again_after_the_timeout() {
    let mut bench = Bench::new(|_| {});
    bench.weather = Box::new(|index, _| if index == 0 { Fate::Lost } else { Fate::Arrives });
    let flow = bench.flow(1, P3, Some(10), 0);
    bench.run();
    let starts: Vec<_> = bench.data().map(|sent| sent.start).collect();
    assert_eq!(starts, [Nanos(0), Nanos(100_000)]);
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 1 }).is_some());
    assert_eq!(bench.hosts[0].counters().timeouts, 1);
}

#[test]
fn a_lost_last_acknowledgement_is_made_good_by_a_duplicate() {
    let mut bench = Bench::new(|_| {});
    let mut lost = 0;
    bench.weather = Box::new(move |_, sent| {
        lost += u32::from(!sent.is_data());
        if !sent.is_data() && lost <= 3 { Fate::Lost } else { Fate::Arrives }
    });
    let flow = bench.flow(1, P3, Some(10), 0);
    bench.run();
    assert_eq!(bench.count(|event| *event == Event::Received { flow }), 1);
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 3 }).is_some());
    assert_eq!(bench.hosts[1].counters().strays, 0);
}

#[test]
fn a_flow_without_end_ends_with_one_more_packet_after_it_was_stopped() {
    let mut bench = Bench::new(|_| {});
    let flow = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(10_000));
    let before = bench.data().count();
    assert_eq!(before as u64, 10_000 * 100 / 8 / PACKET + 1);
    bench.hosts[0].stop(Nanos(10_000), flow);
    bench.run();
    assert_eq!(bench.data().count(), before + 1);
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 0 }).is_some());
}

#[test]
fn a_pause_stops_its_priority_alone_from_the_next_frame_on_and_for_its_time() {
    let mut bench = Bench::new(|_| {});
    let [paused, other] = [bench.flow(1, P3, None, 0), bench.flow(2, P4, None, 0)];
    bench.run_until(Nanos(5_000));
    bench.pause(P3, 200);
    bench.run_until(Nanos(10_000));
    // 200 quanta of 5.12 ns.
    let end = Nanos(5_000 + 1_024);
    let starts = |flow| {
        let starts = bench.data().filter(move |sent| sent.flow == Some(flow)).map(|sent| sent.start);
        starts.collect::<Vec<_>>()
    };
    assert!(starts(paused).iter().all(|start| *start <= Nanos(5_000) || *start >= end));
    let resumed = starts(paused).into_iter().find(|start| *start > Nanos(5_000)).unwrap();
    assert!(resumed < end + Interval(2 * 89));
    let between = starts(other).into_iter().filter(|start| (Nanos(5_000)..end).contains(start)).count();
    assert!((11..=13).contains(&between), "the other one has the link to itself: {between}");
}

#[test]
fn a_lone_paused_flow_resumes_on_the_nanosecond() {
    let mut bench = Bench::new(|_| {});
    bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(5_000));
    bench.pause(P3, u16::MAX);
    bench.run_until(Nanos(6_000));
    bench.pause(P3, 1_000);
    bench.run_until(Nanos(20_000));
    let resumed = bench.data().map(|sent| sent.start).find(|start| *start > Nanos(5_100)).unwrap();
    assert_eq!(resumed, Nanos(6_000 + 5_120), "the later frame replaces the earlier one");
    let at = bench.now;
    bench.pause(P3, u16::MAX);
    bench.run_until(at + Interval(500));
    bench.pause(P3, 0);
    bench.run_until(at + Interval(600));
    let last = bench.data().last().unwrap().start;
    assert!(last >= at + Interval(500), "no time at all resumes it");
}

#[test]
fn a_pause_of_a_lossy_priority_is_not_obeyed() {
    let mut bench = Bench::new(|_| {});
    bench.flow(1, P0, None, 0);
    bench.pause(P0, u16::MAX);
    bench.run_until(Nanos(1_000));
    assert_eq!(bench.data().count(), 12);
    assert_eq!(bench.hosts[0].counters().pauses_received, 1);
}

#[test]
fn queue_pairs_take_turns() {
    let mut bench = Bench::new(|_| {});
    let flows: Vec<_> = (0..300).map(|number| bench.flow(number, P3, None, 0)).collect();
    bench.run_until(Nanos(300 * 885));
    let mut turns: Vec<_> = bench.data().map(|sent| sent.flow.unwrap()).take(3_000).collect();
    for round in turns.chunks_mut(300) {
        round.sort();
        assert_eq!(round, flows);
    }
}

#[test]
fn frames_for_others_and_malformed_ones_are_counted() {
    let mut bench = Bench::new(|_| {});
    let flow = bench.flow(1, P3, Some(5_000), 0);
    bench.run();
    let data = bench.data().next().unwrap().clone();
    let host = &mut bench.hosts[1];
    let strays = host.counters().strays;
    host.ingress(Nanos(1), &data.headers, data.length);
    assert_eq!(host.counters().strays, strays + 1, "{flow:?} is over");
    for cut in 0..data.headers.len() {
        host.ingress(Nanos(1), &data.headers[..cut], data.length);
    }
    assert_eq!(host.counters().strays, strays + 1 + data.headers.len() as u64);
}

#[test]
fn operations_that_no_sender_here_makes_are_strays() {
    let mut bench = Bench::new(|_| {});
    let flow = bench.flow(1, P3, Some(5_000), 0);
    bench.run_until(Nanos(100));
    let mut data = bench.data().next().unwrap().clone();
    for opcode in [Opcode::RC_WRITE_ONLY, Opcode::UC_SEND_ONLY, Opcode::UD_SEND_ONLY, Opcode(0xff)] {
        data.headers[42] = opcode.0;
        bench.hosts[1].ingress(bench.now, &data.headers, data.length);
    }
    assert_eq!(bench.hosts[1].counters().strays, 4);
    bench.run();
    assert_eq!(bench.count(|event| *event == Event::Received { flow }), 1);
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        1 => (0..20_000u64).prop_map(|by| Fate::Late(Interval(by))),
        1 => Just(Fate::Marked),
    ]
}

proptest! {
    #[test]
    fn every_message_arrives_whole_and_once_whatever_is_lost(
        fates in prop::collection::vec(any_fate(), 1..400),
        lengths in prop::collection::vec(0..40_000u64, 1..6),
        ack_every in 1..20u32,
        first_psn in 0..0x100_0000u32,
    ) {
        let mut bench = Bench::new(|settings| {
            settings.transport = Transport::GoBackN(GoBackN {
                ack_every: core::num::NonZeroU32::new(ack_every).unwrap(),
                retransmission_timeout: Interval::from_micros(50),
            });
        });
        // Each fate occurs once; after that, all frames arrive.
        bench.weather = Box::new(move |index, _| fates.get(index).copied().unwrap_or(Fate::Arrives));
        for (number, length) in lengths.iter().enumerate() {
            bench.flow(number as u32, P3, Some(*length), first_psn);
        }
        bench.run();
        bench.assert_whole_and_once(&lengths);
    }
}
