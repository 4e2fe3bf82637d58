//! Connection management: when data may leave, and what is repeated.

use super::bench::*;
use crate::*;
use proptest::prelude::*;
use units::{Bytes, Interval, Nanos};
use wire::roce::cm::{self, AttributeId, Message};
use wire::roce::icrc;

const TIMEOUT: Interval = Interval::from_micros(50);
/// A message of the connection manager on the wire, and the time until it has arrived.
const MESSAGE: u64 = 322 + 24;
const TRIP: u64 = (MESSAGE * 8).div_ceil(100) + DELAY.0;

fn managed() -> Bench {
    Bench::new(|settings| settings.connection_management = Some(TIMEOUT))
}

/// The messages sent so far: from, when, and which.
fn messages(bench: &Bench) -> Vec<(usize, u64, AttributeId)> {
    let kind = |sent: &Sent| cm::View::in_packet(&sent.bth()).map(|it| it.attribute_id());
    bench.sent.iter().filter_map(|sent| Some((sent.from, sent.start.0, kind(sent)?))).collect()
}

#[test]
fn data_leaves_a_round_trip_after_the_request_and_right_behind_the_third_message() {
    let mut bench = managed();
    let flow = bench.flow(1, P3, Some(5_000), 77);
    bench.run();
    let (req, rep, rtu) = (AttributeId::REQ, AttributeId::REP, AttributeId::RTU);
    assert_eq!(messages(&bench), [(0, 0, req), (1, TRIP, rep), (0, 2 * TRIP, rtu)]);
    let first = bench.data().next().unwrap();
    assert_eq!((first.start, first.psn()), (Nanos(2 * TRIP + TRIP - DELAY.0), 77));
    for sent in bench.sent.iter().filter(|sent| !sent.is_data()) {
        assert_eq!(
            (sent.length, icrc::verify(&sent.headers[14..])),
            (Bytes(sent.headers.len() as u64), Ok(true))
        );
    }
    assert!(bench.when(Event::Acknowledged { flow, retransmitted: 0 }).is_some());
    let counters = [0, 1].map(|host| bench.hosts[host].counters());
    assert_eq!(counters.map(|it| (it.strays, it.timeouts)), [(0, 0); 2]);
    assert_eq!(bench.hosts.each_ref().map(Host::next_deadline), [Nanos::NEVER; 2], "nothing is left behind");
}

#[test]
fn the_messages_name_both_queue_pairs_as_data_and_acknowledgements_do() {
    let mut bench = managed();
    bench.flow(1, P3, Some(10), 77);
    bench.run();
    let said = |sent: &Sent| cm::View::in_packet(&sent.bth()).map(|it| it.message());
    let said: Vec<_> = bench.sent.iter().filter_map(said).collect();
    let [Message::Request { local, qp: sender, .. }, Message::Reply { remote, qp, starting_psn, .. }, _] =
        said[..]
    else {
        panic!("{said:?}")
    };
    assert_eq!((remote, starting_psn.number()), (local, 77));
    let destinations = bench.sent[3..].iter().map(|sent| sent.bth().destination_qp());
    assert_eq!(destinations.collect::<Vec<_>>(), [qp, sender]);
}

#[test]
fn each_message_that_is_lost_is_repeated_after_the_timeout() {
    for (lost, again) in [(0, AttributeId::REQ), (1, AttributeId::REQ), (2, AttributeId::REP)] {
        let mut bench = managed();
        bench.weather = Box::new(move |index, _| if index == lost { Fate::Lost } else { Fate::Arrives });
        let flow = bench.flow(1, P3, None, 0);
        bench.run_until(Nanos(200_000));
        bench.hosts[0].stop(Nanos(200_000), flow);
        bench.run();
        let sent = messages(&bench);
        let (_, at, _) = *sent.iter().filter(|(.., kind)| *kind == again).nth(1).unwrap();
        let first = if again == AttributeId::REQ { 0 } else { TRIP };
        assert_eq!(at, first + TIMEOUT.0, "message {lost}: {sent:?}");
        assert!(bench.when(Event::Acknowledged { flow, retransmitted: 0 }).is_some());
        assert_eq!(sent.last().unwrap().2, AttributeId::RTU);
    }
}

#[test]
fn messages_go_ahead_of_data_and_wait_while_their_priority_is_paused() {
    let mut bench = managed();
    bench.pause(P3, 200);
    bench.flow(1, P3, Some(10), 0);
    bench.run();
    assert_eq!(messages(&bench)[0].1, 200 * 512 / 100, "a priority that is paused sends no request");
    let mut bench = managed();
    bench.flow(1, P3, None, 0);
    bench.run_until(Nanos(10_000));
    bench.flow(2, P3, Some(10), 0);
    bench.run_until(Nanos(10_200));
    let (_, request, _) = *messages(&bench).last().unwrap();
    assert!(request < 10_000 + 89, "the packet on the wire ends first, and no other: {request}");
}

#[test]
fn a_message_of_a_stranger_or_about_another_queue_pair_opens_nothing() {
    let mut bench = managed();
    bench.weather = Box::new(|index, _| if index == 0 { Fate::Lost } else { Fate::Arrives });
    bench.flow(1, P3, Some(10), 0);
    bench.run_until(Nanos(1_000));
    let request = bench.sent[0].clone();
    // The sender's address; the queue pair in REQ; the transaction.
    for at in [29, 62 + 24 + 34, 62 + 15] {
        let mut forged = request.headers.clone();
        forged[at] ^= 0x40;
        bench.hosts[1].ingress(bench.now, &forged, request.length);
    }
    assert_eq!(bench.hosts[1].counters().strays, 3);
    assert_eq!(bench.hosts[1].next_deadline(), Nanos::NEVER);
    bench.hosts[1].ingress(bench.now, &request.headers, request.length);
    assert_eq!((bench.hosts[1].counters().strays, bench.hosts[1].next_deadline()), (3, bench.now));
}

#[test]
fn hosts_without_connection_management_send_none_and_take_none() {
    let mut bench = Bench::new(|_| {});
    bench.flow(1, P3, Some(10), 0);
    bench.run();
    assert_eq!((messages(&bench).len(), bench.data().next().unwrap().start), (0, Nanos(0)));
    let mut asked = managed();
    asked.flow(1, P3, Some(10), 0);
    asked.run_until(Nanos(10));
    let request = asked.sent[0].clone();
    bench.hosts[1].ingress(bench.now, &request.headers, request.length);
    assert_eq!(bench.hosts[1].counters().strays, 1);
}

proptest! {
    #[test]
    fn every_flow_is_opened_and_arrives_whole_whatever_is_lost(
        losses in prop::collection::vec(any::<bool>(), 0..60),
        lengths in prop::collection::vec(0_u64..20_000, 1..6),
    ) {
        let mut bench = managed();
        bench.weather = Box::new(move |index, _| match losses.get(index) {
            Some(true) => Fate::Lost,
            _ => Fate::Arrives,
        });
        for (number, length) in lengths.iter().enumerate() {
            bench.flow(number as u32, P3, Some(*length), 0);
        }
        bench.run();
        bench.assert_whole_and_once(&lengths);
    }
}
