//! IRN and NewReno between two hosts.

use super::bench::*;
use crate::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use units::{Bytes, Interval};
use wire::roce::extended::Aeth;
use wire::{ipv4, tcp};

fn irn() -> Transport {
    Transport::Irn(Irn {
        window: 64,
        rto_low: Interval::from_micros(20),
        rto_high: Interval::from_micros(50),
    })
}

fn new_reno() -> Transport {
    let (rto_initial, rto_least) = (Interval::from_micros(100), Interval::from_micros(20));
    Transport::NewReno(NewReno { rto_initial, rto_least })
}

fn over(transport: Transport) -> Bench {
    Bench::new(|settings| settings.transport = transport)
}

/// Loses the data frames with these indices.
fn losing(lost: &[usize]) -> Weather {
    let mut lost: BTreeSet<_> = lost.iter().copied().collect();
    let mut count = 0;
    Box::new(move |_, sent| {
        let number = count;
        count += usize::from(sent.is_data());
        if sent.is_data() && lost.remove(&number) { Fate::Lost } else { Fate::Arrives }
    })
}

fn segment(sent: &Sent) -> tcp::View<&[u8]> {
    tcp::View::parse(&sent.headers[34..]).unwrap()
}

#[test]
fn irn_sends_again_what_was_lost_and_nothing_else() {
    let mut bench = over(irn());
    // Two recoveries, the second after the end of the first.
    bench.weather = losing(&[3, 17, 18, 80]);
    let flow = bench.flow(0, P3, Some(150 * 1_024), 0xff_fff0);
    bench.run();
    bench.assert_whole_and_once(&[150 * 1_024]);
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 4 }).is_some());
    assert_eq!(bench.hosts[0].counters().timeouts, 0);
}

#[test]
fn an_irn_receiver_reports_the_expected_and_the_received_packet() {
    let mut bench = over(irn());
    bench.weather = losing(&[1]);
    bench.flow(0, P3, Some(4 * 1_024), 100);
    bench.run();
    let answers: Vec<_> = bench
        .sent
        .iter()
        .filter(|sent| !sent.is_data())
        .map(|sent| {
            let aeth = Aeth::parse(sent.bth().into_payload()).unwrap();
            (sent.psn(), aeth.syndrome, aeth.message_sequence_number.number())
        })
        .collect();
    let expected = [(100, 0x1f, 0), (101, 0x7f, 102), (101, 0x7f, 103), (103, 0x1f, 1)];
    assert_eq!(answers, expected);
    assert_eq!(bench.hosts[1].counters().naks_sent, 2);
}

#[test]
fn no_more_than_the_window_of_irn_is_on_its_way() {
    let mut bench = over(irn());
    let flow = bench.flow(0, P3, None, 0);
    bench.weather = Box::new(|_, sent| if sent.is_data() { Fate::Arrives } else { Fate::Lost });
    bench.run_until(units::Nanos(15_000));
    assert_eq!(bench.data().count(), 64);
    assert_eq!(bench.hosts[0].flow(flow).unwrap().window, Some(64 * 1_024));
}

#[test]
fn a_window_of_congestion_control_does_not_keep_irn_from_recovering() {
    let hpcc = Hpcc { base_rtt: Interval::from_micros(1), ..Hpcc::default() };
    let mut bench = Bench::new(|settings| {
        settings.transport = irn();
        settings.congestion_control = CongestionControl::Hpcc(hpcc);
    });
    bench.weather = losing(&[20]);
    bench.flow(0, P3, Some(100 * 1_024), 0);
    bench.run();
    bench.assert_whole_and_once(&[100 * 1_024]);
    assert_eq!(bench.hosts[0].counters().timeouts, 0);
}

#[test]
fn new_reno_sends_a_lost_segment_again_without_waiting_for_the_timer() {
    let mut bench = over(new_reno());
    bench.weather = losing(&[20]);
    let flow = bench.flow(0, P3, Some(200 * 1_024), 0xff_ffff);
    bench.run();
    bench.assert_whole_and_once(&[200 * 1_024]);
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 1 }).is_some());
    assert_eq!(bench.hosts[0].counters().timeouts, 0);
}

#[test]
fn new_reno_recovers_several_losses_of_a_window_one_by_one() {
    let mut bench = over(new_reno());
    bench.weather = losing(&[60, 62, 66]);
    let flow = bench.flow(0, P3, Some(400 * 1_024), 9);
    bench.run();
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 3 }).is_some());
    assert_eq!(bench.hosts[0].counters().timeouts, 0);
}

#[test]
fn the_segments_of_a_connection_have_valid_checksums_and_end_with_fin() {
    let mut bench = over(new_reno());
    let flow = bench.flow(0, P3, Some(2_500), 7);
    bench.run();
    for sent in &bench.sent {
        let packet = &sent.headers[14..];
        let ip = ipv4::View::parse_head(packet, sent.length.0 as usize - 14).unwrap();
        assert!(ip.verify_checksum());
        let length = (ip.total_len() - 20) as u16;
        assert!(segment(sent).verify_checksum_ipv4(ip.source(), ip.destination(), length));
        assert!(sent.length >= Bytes(60));
    }
    let shape = |sent: &Sent| {
        let tcp = segment(sent);
        (tcp.sequence().0, tcp.acknowledgement().0, tcp.flags().0)
    };
    let data: Vec<_> = bench.data().map(shape).collect();
    assert_eq!(data, [(0x700, 0, 0x10), (0xb00, 0, 0x10), (0xf00, 0, 0x11)]);
    let acks: Vec<_> = bench.sent.iter().filter(|sent| !sent.is_data()).map(shape).collect();
    assert_eq!(acks, [(0, 0xb00, 0x10), (0, 0xf00, 0x10), (0, 0x700 + 2_500 + 1, 0x10)]);
    assert!(bench.when(Event::Received { flow }).is_some());
}

#[test]
fn a_segment_that_is_none_of_a_connection_is_a_stray() {
    let mut bench = over(new_reno());
    bench.flow(0, P3, Some(2_500), 7);
    bench.run_until(units::Nanos(150));
    let good = bench.sent[0].clone();
    let change = |at: usize, value: u8| {
        let mut headers = good.headers.clone();
        headers[at] ^= value;
        headers
    };
    // Source port, destination port, one byte further, SYN, RST, no ACK.
    let bad = [(35, 1), (37, 1), (41, 1), (47, 0x02), (47, 0x04), (47, 0x10)];
    for (at, value) in bad {
        let strays = bench.hosts[1].counters().strays;
        bench.hosts[1].ingress(bench.now, &change(at, value), good.length);
        assert_eq!(bench.hosts[1].counters().strays, strays + 1, "byte {at}");
    }
    bench.run();
    bench.assert_whole_and_once(&[2_500]);
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        1 => (1..20_000_u64).prop_map(|nanos| Fate::Late(Interval(nanos))),
    ]
}

proptest! {
    #[test]
    fn every_message_arrives_whole_and_once_whatever_is_lost_or_overtaken(
        transport in prop::sample::select(vec![irn(), new_reno()]),
        fates in prop::collection::vec(any_fate(), 1..400),
        lengths in prop::collection::vec(0..40_000_u64, 1..6),
        first_psn in 0..0x100_0000_u32,
    ) {
        let mut bench = over(transport);
        // Each fate occurs once; after that, all frames arrive.
        bench.weather = Box::new(move |index, _| fates.get(index).copied().unwrap_or(Fate::Arrives));
        for (number, length) in lengths.iter().enumerate() {
            bench.flow(number as u32, P3, Some(*length), first_psn);
        }
        bench.run();
        bench.assert_whole_and_once(&lengths);
    }
}

fn any_settings() -> impl Strategy<Value = (Transport, CongestionControl)> {
    let transports = vec![irn(), new_reno(), Transport::GoBackN(GoBackN::default())];
    let controls = vec![
        CongestionControl::None,
        CongestionControl::Timely(Timely::default()),
        CongestionControl::Hpcc(Hpcc::default()),
    ];
    (prop::sample::select(transports), prop::sample::select(controls))
}

proptest! {
    #[test]
    fn damaged_frames_are_taken_or_counted(
        (transport, congestion_control) in any_settings(),
        damages in prop::collection::vec((any::<bool>(), any::<u16>(), 12..106_usize, 1..=255_u8), 1..60),
        first_psn in 0..0x100_0000_u32,
    ) {
        let mut bench = Bench::new(|settings| {
            settings.transport = transport;
            settings.congestion_control = congestion_control;
        });
        for number in 0..3 {
            bench.flow(number, P3, Some(30_000), first_psn);
        }
        for (step, (to, frame, at, value)) in (1..).zip(damages) {
            bench.run_until(units::Nanos(200 * step));
            let Sent { mut headers, length, .. } = bench.sent[usize::from(frame) % bench.sent.len()].clone();
            if let Some(byte) = headers.get_mut(at) {
                *byte ^= value;
            }
            let now = bench.now;
            bench.hosts[usize::from(to)].ingress(now, &headers, length);
            let _ = bench.hosts[usize::from(to)].next_deadline();
        }
        bench.run_until(units::Nanos(10_000_000));
    }
}
