//! Connection management: when data may leave, and what is repeated.

use super::bench::*;
use crate::*;
use proptest::prelude::*;
use units::{Bytes, Interval, Nanos};
use wire::roce::cm::{self, AttributeId, CommunicationId, Message};
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
    assert_eq!(counters.map(|it| (it.strays, it.timeouts, it.messages_repeated)), [(0, 0, 0); 2]);
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
        let counters = [0, 1].map(|host| bench.hosts[host].counters());
        let repeated = if again == AttributeId::REQ { [1, 0] } else { [0, 1] };
        assert_eq!(
            (counters.map(|it| it.messages_repeated), counters.map(|it| it.timeouts)),
            (repeated, [0; 2])
        );
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

/// The frame `sent`, with another message of the connection manager.
fn forged(sent: &Sent, message: Message) -> Vec<u8> {
    let mut headers = sent.headers.clone();
    message.emit(1, &mut headers[62..]).unwrap();
    icrc::fill(&mut headers[14..]).unwrap();
    headers
}

#[test]
fn an_end_takes_only_the_messages_of_the_other_end_and_rtu_only_when_it_has_sent_rep() {
    let mut open = managed();
    open.flow(1, P3, None, 0);
    open.run_until(Nanos(5 * TRIP));
    let [request, reply] = [open.sent[0].clone(), open.sent[1].clone()];
    let said = |sent: &Sent| cm::View::in_packet(&sent.bth()).unwrap().message();
    let (
        Message::Request { local: sender, qp: sender_qp, .. },
        Message::Reply { local: receiver, qp: receiver_qp, starting_psn, .. },
    ) = (said(&request), said(&reply))
    else {
        panic!("{request:?} {reply:?}")
    };
    let ready = |local, remote| Message::ReadyToUse { local, remote };
    let (service_id, flow_label) = (1, 0);
    let to_sender =
        Message::Request { local: receiver, service_id, qp: receiver_qp, starting_psn, flow_label };
    let to_receiver = Message::Reply { local: sender, remote: receiver, qp: sender_qp, starting_psn };
    let mut early = managed();
    early.weather = Box::new(|_, _| Fate::Lost);
    early.flow(1, P3, None, 0);
    early.run_until(Nanos(1_000));
    // An end that has heard nothing yet calls the far end's name zero.
    let nobody = CommunicationId(0);
    for (bench, rtus) in [
        (&mut early, &[(0, ready(nobody, sender)), (1, ready(nobody, receiver))][..]),
        (&mut open, &[(0, ready(receiver, sender))]),
    ] {
        let before = bench.hosts.each_ref().map(Host::next_deadline);
        let wrong = [(0, to_sender), (1, to_receiver)];
        for (host, message) in wrong.iter().chain(rtus) {
            let carrier = if *host == 0 { &reply } else { &request };
            bench.hosts[*host].ingress(bench.now, &forged(carrier, *message), carrier.length);
        }
        let strays = bench.hosts.iter().map(|host| host.counters().strays).sum::<u64>();
        assert_eq!(strays, 2 + rtus.len() as u64);
        assert_eq!(
            bench.hosts.each_ref().map(Host::next_deadline),
            before,
            "no one answers or starts to send"
        );
    }
    early.hosts[1].ingress(early.now, &request.headers, request.length);
    assert_eq!(early.hosts[1].next_deadline(), early.now, "the receiver still waits for REQ, and answers it");
}

#[test]
fn one_message_of_a_connection_waits_at_most_however_often_it_is_due() {
    let mut bench = Bench::new(|settings| settings.connection_management = Some(Interval(1)));
    bench.pause(P3, 200);
    (0..3).for_each(|number| _ = bench.flow(number, P3, Some(10), 0));
    bench.run();
    let requests = messages(&bench).into_iter().filter(|(.., kind)| *kind == AttributeId::REQ);
    let (resumed, last) = (200 * 512 / 100, requests.map(|(_, at, _)| at).max().unwrap());
    // From the end of the pause to the answers, requests follow each other. Then no old one is left.
    assert!(last < resumed + 2 * TRIP + 10 * (TRIP - DELAY.0), "{last}");
    bench.assert_whole_and_once(&[10; 3]);
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
