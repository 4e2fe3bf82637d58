//! Long fat links, and hosts that speak in the name of others.

use super::*;

/// The hosts of packets that a host behind this end sends in the name of Y.
const FORGED: Hosts = Hosts { way: Way::Out, ..Y_TO_X };

fn psn(number: u64) -> u32 {
    START.wrapping_add(number as u32) & 0x00ff_ffff
}

fn link(millis: u64) -> FlowSettings {
    FlowSettings { round_trip: Interval::from_millis(millis), ..settings(1_000) }
}

#[test]
fn one_queue_pair_at_100g_over_100_ms_stays_bound() {
    let mut port = Port::with(link(100));
    // The packets that a link of 100 Gb/s carries in 100 ms, at 1,106 bytes on the wire each.
    let in_flight = 100_000_000_000_u64 / 10 / 8 / 1_106;
    let mut unbound = 0;
    for sent in 0..6 * in_flight {
        port.now = Nanos(sent * 1_106 * 8 / 100);
        port.write(X_TO_Y, 0x20, psn(sent));
        if sent >= in_flight && sent % 16 == 0 {
            port.ack(Y_TO_X, 0x10, psn(sent - in_flight));
            // Responses count only after a round trip, and then some.
            unbound += u64::from(sent > in_flight * 11 / 10 && port.source(X_TO_Y, 0x20).is_none());
        }
    }
    let counters = port.flows.report().resolver;
    assert_eq!((counters.resolved_by_psn, counters.suspended, unbound), (1, 0, 0), "{counters:?}");
}

#[test]
fn where_psns_cannot_cover_the_link_connection_management_alone_binds() {
    // At 100 Gb/s it would take 187 ms and packets of 1,106 bytes.
    let mut port = Port::with(link(200));
    port.connect(X_TO_Y, 0x11, 0x21, 1);
    for sent in 0..10_000 {
        port.now += Interval::from_millis(1);
        port.write(X_TO_Y, 0x20, psn(sent));
        port.write(X_TO_Y, 0x21, psn(sent));
        port.ack(Y_TO_X, 0x10, psn(sent));
        port.ack(Y_TO_X, 0x11, psn(sent));
    }
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(X_TO_Y, 0x21)), (None, Some(0x11)));
    let counters = port.flows.report().resolver;
    assert_eq!((counters.resolved_by_psn, counters.resolved_by_cm, counters.suspended), (0, 1, 0));
}

#[test]
fn a_flood_of_requests_of_one_host_leaves_those_of_others_in_the_table() {
    let mut port = Port::new();
    let hosts = |number: u32| hosts(u64::from(number), 1 << 32);
    for number in 1..=500 {
        port.request(hosts(number), 0x1000 + number, number);
    }
    for id in 0..10_000 {
        port.request(hosts(1_000), 0x1000 + id, id);
    }
    for number in 1..=500 {
        port.reply(hosts(number).reversed(), 0x8000 + number, number);
    }
    assert_eq!(port.flows.report().resolver.resolved_by_cm, 500);
}

#[test]
fn what_crosses_the_wrong_way_answers_nothing() {
    let mut port = Port::new();
    for psn in START..START + 40 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(FORGED, 0x666, psn);
        // Nor does it end a pair, or bring one about with what is forged by the other side.
        port.ack(FORGED, 0x10, psn + 1_000);
        port.write(Hosts { way: Way::In, ..X_TO_Y }, 0x20, psn + 2_000);
    }
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(FORGED, 0x666)), (None, None));
    assert_eq!(port.flows.report().resolver.resolved_by_psn, 0);
    for psn in START + 30..START + 40 {
        port.ack(Y_TO_X, 0x10, psn);
        port.ack(FORGED, 0x10, psn + 1_000);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    assert_eq!(port.flows.report().resolver.contradicted, 0);
}

#[test]
fn responses_within_the_first_round_trip_are_not_believed_and_later_ones_compete() {
    let mut port = Port::with(link(10));
    let send = |port: &mut Port, from: u64, to: u64| {
        for sent in from..to {
            port.now = Nanos(sent * 100_000);
            port.write(X_TO_Y, 0x20, psn(sent));
            // Someone behind the far end, who guesses.
            port.ack(Y_TO_X, 0x666, psn(sent));
            if sent >= 100 {
                port.ack(Y_TO_X, 0x10, psn(sent - 100));
            }
        }
    };
    send(&mut port, 0, 100);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
    send(&mut port, 100, 1_000);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
    assert!(port.flows.report().resolver.ambiguous > 800);
}

#[test]
fn packets_of_another_port_or_station_neither_suspend_nor_contradict_a_pair() {
    for (ingress, station) in [(1, 1), (0, 9), (1, 9)] {
        let mut port = bound();
        for psn in [START, START + 5, START + 10, START + 9_000, START - (1 << 22), 0] {
            port.at(ingress, station).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]);
            port.packet(X_TO_Y, Opcode::RC_ACKNOWLEDGE, 0x20, psn, 0, &[0; 4]);
            port.packet(Y_TO_X, Opcode::RC_ACKNOWLEDGE, 0x10, psn, 0, &[0; 4]);
            assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
        }
        let cold = *port.flows.cold(port.slot(X_TO_Y, 0x20).unwrap());
        assert_eq!((cold.ingress, cold.source), (PortId(0), MacAddress([2, 0, 0, 0, 0, 1])));
        port.at(0, 1).write(X_TO_Y, 0x20, START + 10);
        assert_eq!(port.flows.report().resolver.suspended, 0);
    }
}

#[test]
fn a_half_flow_follows_its_sender_when_the_former_place_is_silent_and_the_numbers_of_its_pair_go_on() {
    let moved = |port: &mut Port, psn| {
        let seen = port.at(1, 1).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]);
        seen.is_some_and(|slot| port.flows.cold(slot).ingress == PortId(1))
    };
    let mut port = bound();
    assert!(!moved(&mut port, START + 10), "the former place was heard a moment ago");
    port.now += Interval::from_secs(2);
    for psn in [START + 9, START + 20_000, 0] {
        assert!(!moved(&mut port, psn), "{psn:#x} is no continuation");
    }
    assert!(moved(&mut port, START + 10));
    assert_eq!(port.source(X_TO_Y, 0x20), None, "two answers must confirm it anew");
    // The pair had strangers: packets that did not continue its numbers.
    port.now += Interval::from_millis(1_100);
    for (psn, found) in [(START + 10, None), (START + 11, Some(0x10))] {
        port.at(1, 1).write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
        assert_eq!(port.source(X_TO_Y, 0x20), found);
    }
    assert_eq!(port.at(0, 1).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, START + 12, 0, &[]), None);
    // One that is not bound follows whatever the numbers are.
    port.at(0, 1).write(X_TO_Y, 0x21, START);
    port.now += Interval::from_secs(2);
    assert!(port.at(1, 1).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x21, 0, 0, &[]).is_some());
}

#[test]
fn what_was_not_looked_at_may_be_what_is_answered() {
    let mut port = Port::new();
    // An attacker was first on 0x21, so the packets of its sender are not looked at; 0x20 starts at the same PSN.
    port.at(1, 9).write(X_TO_Y, 0x21, 0xe0_0000);
    for psn in START..START + 40 {
        port.at(0, 1).write(X_TO_Y, 0x20, psn);
        assert_eq!(port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x21, psn, 0, &[]), None);
        port.ack(Y_TO_X, 0x11, psn);
    }
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(X_TO_Y, 0x21)), (None, None));
}

/// A host at another port is the first to send on the managed pair of 0x10 and 0x30, so the pair outlives its
/// connection. Then 0x10 sends to 0x35, and 0x11 to 0x30, where it is a stranger: 0x11 is answered.
#[test]
fn a_packet_that_was_not_looked_at_on_a_pair_may_be_what_is_answered() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x30, 1);
    port.at(1, 9).write(X_TO_Y, 0x30, START);
    port.at(0, 1).disconnect(X_TO_Y, 0x30, 1);
    for psn in START..START + 40 {
        port.write(X_TO_Y, 0x35, psn);
        assert_eq!(port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x30, psn, 0, &[]), None);
        port.ack(Y_TO_X, 0x11, psn);
        assert_eq!(port.source(X_TO_Y, 0x35), None);
    }
    assert_eq!(port.source(X_TO_Y, 0x30), Some(0x10), "strangers do not part a pair");
}

#[test]
fn strangers_on_a_pair_keep_other_flows_of_the_hosts_in_doubt_until_they_have_been_silent_for_a_second() {
    let stranger = |port: &mut Port| {
        let seen = port.at(1, 9).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, START, 0, &[]);
        assert_eq!(seen, None);
        port.at(0, 1);
    };
    let exchange = |port: &mut Port, psn| {
        for qp in 0..2 {
            port.write(X_TO_Y, 0x20 + qp, psn);
            port.ack(Y_TO_X, 0x10 + qp, psn);
        }
    };
    // They come after the pair was bound, or before.
    for mut port in [bound(), Port::new()] {
        port.write(X_TO_Y, 0x20, START + 10);
        stranger(&mut port);
        for psn in START + 11..START + 20 {
            port.write(X_TO_Y, 0x20, psn);
            port.ack(Y_TO_X, 0x10, psn);
        }
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
        for psn in START + 20..START + 30 {
            exchange(&mut port, psn);
        }
        assert_eq!(port.source(X_TO_Y, 0x21), None);
        port.now += Interval::from_millis(1_100);
        for psn in START + 30..START + 33 {
            exchange(&mut port, psn);
        }
        assert_eq!([0x20, 0x21].map(|qp| port.source(X_TO_Y, qp)), [Some(0x10), Some(0x11)]);
    }
}

#[test]
fn a_half_flow_that_management_ends_may_yet_be_answered() {
    for stranger in [false, true] {
        let mut port = Port::new();
        let origin = if stranger { (1, 9) } else { (0, 1) };
        port.at(origin.0, origin.1).ack(X_TO_Y, 0x21, START);
        // Both start alike. 0x11 sends to 0x21, where it may be a stranger.
        port.at(0, 1);
        for psn in START..START + 40 {
            port.write(X_TO_Y, 0x20, psn);
            port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x21, psn, 0, &[]);
        }
        port.at(origin.0, origin.1).disconnect(X_TO_Y, 0x21, 1);
        for psn in START..START + 40 {
            port.ack(Y_TO_X, 0x11, psn);
            assert_eq!(port.source(X_TO_Y, 0x20), None);
        }
        port.now += Interval::from_millis(1_100);
        for psn in START + 40..START + 43 {
            port.at(0, 1).write(X_TO_Y, 0x20, psn);
            port.ack(Y_TO_X, 0x10, psn);
        }
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    }
}

#[test]
fn a_half_flow_that_is_forgotten_to_make_room_may_yet_be_answered() {
    let mut port = Port::with(settings(4));
    for psn in START..START + 40 {
        port.write(X_TO_Y, 0x20, psn);
        port.write(X_TO_Y, 0x21, psn);
    }
    // Both start alike; then the sender of the responses is forgotten before they come.
    port.now += Interval::from_micros(100);
    port.write(X_TO_Y, 0x20, START + 40);
    for qp in 0..2 {
        port.now += Interval::from_micros(100);
        port.write(X_TO_Y, 0x20, START + 41 + qp);
        port.write(hosts(7, 8), 0x30 + qp, 0);
    }
    port.ack(Y_TO_X, 0x11, START);
    assert!(port.slot(X_TO_Y, 0x21).is_none() && port.slot(X_TO_Y, 0x20).is_some());
    for psn in START..START + 40 {
        port.ack(Y_TO_X, 0x11, psn);
        assert_eq!(port.source(X_TO_Y, 0x20), None);
    }
}

#[test]
fn who_did_not_make_a_connection_does_not_end_it_at_once() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    port.write(X_TO_Y, 0x20, START);
    port.at(1, 9).disconnect(X_TO_Y, 0x20, 5);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    port.at(1, 9).disconnect(FORGED, 0x10, 5);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    // Had it been true, the next life of the queue pair would show it.
    port.at(0, 1).write(X_TO_Y, 0x20, START + (1 << 22));
    assert_eq!(port.source(X_TO_Y, 0x20), None);
    let counters = port.flows.report().resolver;
    assert_eq!((counters.ended, counters.suspended), (0, 1));
}

#[test]
fn who_takes_a_pair_before_its_sender_does_not_leave_it_to_the_next_user_of_the_queue_pair() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    port.at(1, 9).write(X_TO_Y, 0x20, START);
    port.at(0, 1).disconnect(X_TO_Y, 0x20, 5);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10), "it is not proven");
    port.now += Interval::from_secs(2);
    port.write(X_TO_Y, 0x20, START + 1);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}

#[test]
fn two_replies_in_the_name_of_a_host_leave_it_without_a_pair() {
    // Y asks X; a host beside X answers first, and makes the pair distrusted.
    let mut port = Port::new();
    port.request(Y_TO_X, 0x20, 5);
    port.at(1, 9).reply(X_TO_Y, 0x666, 5);
    port.at(1, 9).disconnect(X_TO_Y, 0x20, 9);
    port.at(0, 1).reply(X_TO_Y, 0x10, 5);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
    assert_eq!(port.flows.report().resolver.resolved_by_cm, 1);
}

/// A host at another port says something in the name of X.
fn forge(port: &mut Port, say: impl FnOnce(&mut Port) -> Slot) {
    say(port.at(1, 9));
    port.at(0, 1);
}

/// 0x20 of Y sends to 0x10 of X, which sends nothing. Then both have other partners, and 0x11 of X sends to 0x20.
#[test]
fn numbers_of_a_former_origin_do_not_hide_the_next_user_of_a_queue_pair() {
    let mut port = Port::new();
    forge(&mut port, |port| port.write(X_TO_Y, 0x20, START - 9));
    port.now += Interval::from_secs(2);
    for psn in START..START + 5 {
        port.write(Y_TO_X, 0x10, psn);
        port.ack(X_TO_Y, 0x20, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    port.write(X_TO_Y, 0x20, START);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}

/// Y has sent from 0x20 to 0x10, and more from 0x21 to 0x11. X has not answered yet.
fn two_of_y() -> Port {
    let mut port = Port::new();
    for psn in START..START + 11 {
        if psn < START + 3 {
            port.write(Y_TO_X, 0x10, psn);
        }
        port.write(Y_TO_X, 0x11, psn);
    }
    port
}

#[test]
fn what_a_former_origin_has_excluded_is_a_candidate_of_the_next_one() {
    let mut port = two_of_y();
    forge(&mut port, |port| port.ack(X_TO_Y, 0x20, START + 3));
    port.now += Interval::from_secs(2);
    port.write(X_TO_Y, 0x20, 0);
    for psn in START + 3..START + 10 {
        port.write(Y_TO_X, 0x10, psn);
        port.ack(X_TO_Y, 0x20, psn);
        assert_eq!(port.source(X_TO_Y, 0x20), None, "0x11 fits as well");
    }
}

#[test]
fn a_pair_that_a_former_origin_has_made_is_not_that_of_the_next_one() {
    for by_request in [false, true] {
        let mut port = two_of_y();
        for psn in START..START + 5 {
            forge(&mut port, |port| port.write(X_TO_Y, 0x20, psn));
        }
        for psn in START + 3..START + 5 {
            forge(&mut port, |port| port.ack(X_TO_Y, 0x20, psn));
        }
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x11), "the forger's own");
        port.now += Interval::from_secs(2);
        let sent = match by_request {
            true => port.write(X_TO_Y, 0x20, START + 5),
            false => port.ack(X_TO_Y, 0x20, START + 5),
        };
        assert_eq!((port.flows.cold(sent).ingress, port.source(X_TO_Y, 0x20)), (PortId(0), None));
    }
}
