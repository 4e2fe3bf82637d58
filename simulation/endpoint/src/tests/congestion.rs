//! Marks, notifications and rates between two hosts.

use super::bench::*;
use crate::*;
use units::{BitRate, Interval, Nanos, Priority};
use wire::roce::icrc;

/// The wire bits of a full packet and of a notification.
const PACKET_BITS: u64 = (58 + 1_024 + 24) * 8;

/// A bench that marks all packets of priority 3.
fn marking(cnp_interval: Option<Interval>) -> Bench {
    let mut bench = Bench::new(|settings| {
        settings.congestion_control =
            CongestionControl::Dcqcn(Dcqcn { minimum_rate: BitRate::gigabits(1), ..Dcqcn::default() });
        settings.cnp_interval = cnp_interval;
        settings.control_priority = Some(Priority::from_low_bits(6));
    });
    bench.weather = Box::new(|_, sent| if sent.is_data() { Fate::Marked } else { Fate::Arrives });
    bench
}

fn notifications(bench: &Bench) -> Vec<&Sent> {
    bench.sent.iter().filter(|sent| !sent.is_data() && sent.opcode().is_cnp()).collect()
}

#[test]
fn each_flow_gets_one_notification_per_interval_at_most() {
    let mut bench = marking(Some(Interval::from_micros(50)));
    let flows = [1, 2, 3].map(|number| bench.flow(number, P3, None, 0));
    bench.run_until(Nanos(1_000_000));
    let sent = notifications(&bench);
    assert_eq!(bench.hosts[1].counters().cnps_sent, sent.len() as u64);
    assert_eq!(bench.hosts[0].counters().cnps_received, sent.len() as u64);
    assert!((19 * flows.len()..=20 * flows.len()).contains(&sent.len()), "{}", sent.len());
    let mut pairs: Vec<_> = sent.iter().map(|cnp| cnp.bth().destination_qp()).collect();
    pairs.sort();
    pairs.dedup();
    assert_eq!(pairs.len(), 3, "each goes to the sender's queue pair");
    for pair in pairs {
        let times: Vec<_> =
            sent.iter().filter(|cnp| cnp.bth().destination_qp() == pair).map(|cnp| cnp.start).collect();
        // The previous one may have waited for a frame on the wire: 7 ns for an acknowledgement or a
        // notification.
        assert!(times.windows(2).all(|two| two[1].since(two[0]) >= Interval(50_000 - 15)), "{times:?}");
    }
}

#[test]
fn a_notification_is_a_whole_frame_with_the_code_point_of_its_priority() {
    let mut bench = marking(Some(Interval::from_micros(50)));
    bench.flow(1, P3, Some(10), 0);
    bench.run();
    let sent = notifications(&bench);
    assert_eq!(sent[0].length.0, 74);
    assert_eq!(icrc::verify(&sent[0].headers[14..]), Ok(true));
    assert_eq!(sent[0].headers[15] >> 2, 48);
}

#[test]
fn without_an_interval_there_is_no_notification_and_with_none_at_all_one_for_each_mark() {
    for (interval, expected) in [(None, 0), (Some(Interval::ZERO), 100)] {
        let mut bench = marking(interval);
        bench.flow(1, P3, Some(100 * 1_024), 0);
        bench.run();
        assert_eq!(notifications(&bench).len(), expected);
        assert_eq!(bench.hosts[1].counters().marked, 100);
    }
}

#[test]
fn behind_a_notification_packets_are_spaced_by_the_rate_to_the_nanosecond() {
    let mut bench = marking(Some(Interval::from_secs(1)));
    let flow = bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(50_000));
    let state = bench.hosts[0].flow(flow).unwrap();
    assert_eq!((state.rate, state.window), (BitRate::gigabits(50), None));
    // The notification is back after 2 us. Then a packet starts every 176.96 ns, until the timer expires.
    let starts: Vec<_> = bench.data().map(|sent| sent.start).filter(|start| *start > Nanos(3_000)).collect();
    assert!(starts.len() > 200);
    let exact = |count: usize| count as u64 * PACKET_BITS * 100 / 5_000;
    for (count, start) in starts.iter().enumerate() {
        let since = start.since(starts[0]).0;
        assert!(since.abs_diff(exact(count)) <= 1, "packet {count} starts at {start}");
    }
}

#[test]
fn a_flow_that_is_marked_for_ever_goes_down_to_the_least_rate_and_still_ends() {
    let mut bench = Bench::new(|settings| {
        settings.congestion_control = CongestionControl::Dcqcn(Dcqcn {
            minimum_rate: BitRate::megabits(100),
            rate_timer: Interval::from_micros(1_500),
            ..Dcqcn::default()
        });
        settings.cnp_interval = Some(Interval::from_micros(50));
    });
    bench.weather = Box::new(|_, sent| if sent.is_data() { Fate::Marked } else { Fate::Arrives });
    let flow = bench.flow(1, P3, Some(2_000_000), 0);
    bench.run_until(Nanos(1_000_000));
    assert_eq!(bench.hosts[0].flow(flow).unwrap().rate, BitRate::megabits(100));
    bench.run();
    assert_eq!(bench.count(|event| *event == Event::Received { flow }), 1);
}

#[test]
fn queue_pairs_share_a_port_by_their_rates() {
    let mut bench = marking(Some(Interval::from_secs(1)));
    let mut slow = true;
    bench.weather = Box::new(move |_, sent| {
        let mark = slow && sent.flow == Some(FlowId(1));
        slow &= !mark;
        if mark { Fate::Marked } else { Fate::Arrives }
    });
    let flows = [1, 2].map(|number| bench.flow(number, P3, None, 0));
    bench.run_until(Nanos(50_000));
    let after = |flow| {
        bench.data().filter(move |sent| sent.flow == Some(flow) && sent.start > Nanos(5_000)).count() as i64
    };
    // The first may use 50 of 100 Gb/s, which is also its share of the round robin.
    assert!((after(flows[0]) - after(flows[1])).abs() <= 2, "{} {}", after(flows[0]), after(flows[1]));
}
