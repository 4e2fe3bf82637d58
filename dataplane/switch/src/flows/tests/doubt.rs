//! Packets that put a pair in doubt, and packets that leave it alone.

use super::*;

/// Sends requests on the pair of [`bound`] up to `last`, at most 4,096 PSNs apart: as many may be lost.
fn send_up_to(port: &mut Port, opcode: Opcode, last: u32) {
    let mut psn = START + 9;
    while psn < last {
        psn = ((psn / 4_096 + 1) * 4_096).min(last);
        port.packet(X_TO_Y, opcode, 0x20, psn, 0, &[]);
    }
}

fn is_bound(port: &Port) -> bool {
    port.source(X_TO_Y, 0x20) == Some(0x10)
}

#[test]
fn requests_without_responses_are_checked_at_multiples_of_2_to_20() {
    // An atomic operation carries no data.
    for opcode in [Opcode::RC_WRITE_MIDDLE, Opcode::RC_FETCH_ADD] {
        let mut port = bound();
        // The first multiple is within the window of 2^20 after the last response, and the second is not.
        send_up_to(&mut port, opcode, START + (2 << 20) - 1);
        assert!(is_bound(&port), "{opcode:?}");
        port.packet(X_TO_Y, opcode, 0x20, START + (2 << 20), 0, &[]);
        assert!(!is_bound(&port), "{opcode:?}");
        assert_eq!(port.flows.report().resolver.suspended, 1);
    }
}

#[test]
fn a_response_more_than_a_window_behind_the_last_request_suspends_its_pair() {
    for (beyond, suspended) in [(0, 0), (1, 1)] {
        let mut port = bound();
        send_up_to(&mut port, Opcode::RC_WRITE_MIDDLE, START + 9 + (1 << 20) + beyond);
        port.ack(Y_TO_X, 0x10, START + 9);
        assert_eq!((is_bound(&port), port.flows.report().resolver.suspended), (suspended == 0, suspended));
    }
}

#[test]
fn a_response_behind_the_one_before_suspends_its_pair() {
    let mut port = bound();
    port.ack(Y_TO_X, 0x10, START + 9);
    assert!(is_bound(&port), "it repeats the last one");
    port.ack(Y_TO_X, 0x10, START + 8);
    assert_eq!((is_bound(&port), port.flows.report().resolver.suspended), (false, 1));
}

#[test]
fn a_repeated_request_leaves_those_after_it_to_be_acknowledged() {
    let mut port = bound();
    for psn in (START + 10..START + 20).chain([START + 12]) {
        port.write(X_TO_Y, 0x20, psn);
    }
    port.ack(Y_TO_X, 0x10, START + 19);
    assert_eq!((is_bound(&port), port.flows.report().resolver.contradicted), (true, 0));
}

#[test]
fn the_next_request_may_follow_the_response_to_the_longest_read() {
    let mut port = bound();
    let mut reth = [0; Reth::LEN];
    reth[12..].copy_from_slice(&(1_u32 << 31).to_be_bytes());
    port.packet(X_TO_Y, Opcode::RC_READ_REQUEST, 0x20, START + 10, 0, &reth);
    // 2 GiB in packets of 1,024 bytes.
    port.write(X_TO_Y, 0x20, START + 10 + (1 << 21));
    assert_eq!((is_bound(&port), port.flows.report().resolver.suspended), (true, 0));
}

#[test]
fn a_first_request_the_other_way_suspends_a_pair_unless_the_connection_manager_bound_it() {
    for managed in [false, true] {
        let mut port = if managed { Port::new() } else { bound() };
        if managed {
            port.connect(X_TO_Y, 0x10, 0x20, 5);
        }
        port.write(Y_TO_X, 0x10, 7);
        assert_eq!((is_bound(&port), port.flows.report().resolver.suspended), (managed, u64::from(!managed)));
    }
}

#[test]
fn a_contradicted_pair_stays_apart_whatever_its_number_in_the_chain() {
    for others in 0..3 {
        let mut port = Port::new();
        for qp in 0..others {
            port.write(X_TO_Y, 0x30 + qp, START + (1 << 22));
        }
        for psn in START..START + 10 {
            port.write(X_TO_Y, 0x20, psn);
            port.ack(Y_TO_X, 0x10, psn);
        }
        assert!(is_bound(&port));
        port.ack(Y_TO_X, 0x10, START + 10);
        for psn in START + 10..START + 40 {
            port.write(X_TO_Y, 0x20, psn);
            port.ack(Y_TO_X, 0x10, psn);
        }
        assert_eq!(port.source(X_TO_Y, 0x20), None, "{others} others");
    }
}

#[test]
fn a_pair_without_responses_follows_its_sender_with_the_next_request_only() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    port.write(X_TO_Y, 0x20, START);
    port.now += Interval::from_secs(2);
    let mut moved = |psn| port.at(1, 1).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]).is_some();
    assert_eq!([START, START + 1].map(&mut moved), [false, true]);
}

#[test]
fn a_half_flow_of_a_pair_follows_its_receiver_with_responses_to_what_is_in_flight_only() {
    let mut port = bound();
    port.now += Interval::from_secs(2);
    port.at(1, 1);
    let mut moved = |opcode, psn| port.packet(Y_TO_X, opcode, 0x10, psn, 0, &[0; 4]).is_some();
    assert!(!moved(Opcode::RC_WRITE_MIDDLE, 1), "it has sent no request so far");
    assert!(!moved(Opcode::RC_ACKNOWLEDGE, START + 10), "that was never sent");
    assert!(!moved(Opcode::RC_ACKNOWLEDGE, START + 8), "that was answered before");
    assert!(moved(Opcode::RC_ACKNOWLEDGE, START + 9));
    assert!(!is_bound(&port), "what the former origin has answered does not count");
}

#[test]
fn a_response_on_a_half_flow_for_which_its_chain_has_no_room_is_ambiguous() {
    let mut port = Port::new();
    for qp in 0..64 {
        port.ack(Y_TO_X, 0x100 + qp, START);
    }
    assert_eq!(port.flows.report().resolver.ambiguous, 0);
    port.ack(Y_TO_X, 0x140, START);
    assert_eq!(port.flows.report().resolver.ambiguous, 1);
}

#[test]
fn a_contradictory_request_ends_the_pair_of_its_connection_and_no_later_one() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    port.connect(X_TO_Y, 0x11, 0x21, 6);
    port.connect(X_TO_Y, 0x12, 0x21, 7);
    port.request(X_TO_Y, 0x99, 6);
    assert_eq!([0x20, 0x21].map(|qp| port.source(X_TO_Y, qp)), [Some(0x10), Some(0x12)]);
    port.request(X_TO_Y, 0x99, 5);
    assert_eq!([0x20, 0x21].map(|qp| port.source(X_TO_Y, qp)), [None, Some(0x12)]);
}

#[test]
fn a_half_flow_that_was_quiet_for_more_than_a_second_leaves_no_doubt_when_it_goes() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, 0);
    port.now += Interval::from_secs(11);
    // It has aged, so this is another one in its place.
    for psn in START..START + 3 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert!(is_bound(&port));
}

#[test]
fn after_the_end_of_a_connection_packets_of_any_origin_are_accepted() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    port.write(X_TO_Y, 0x20, START);
    assert_eq!(port.at(1, 9).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, START + 1, 0, &[]), None);
    port.at(0, 1).disconnect(X_TO_Y, 0x20, 5);
    assert!(port.at(1, 9).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, 7, 0, &[]).is_some());
}

#[test]
fn a_half_flow_of_which_only_strangers_sent_requests_is_not_bound_by_their_responses() {
    let mut port = Port::new();
    let usual = wire::roce::source_port_of_flow_label(0x20 * 0x10);
    port.packet(X_TO_Y, Opcode::RC_ACKNOWLEDGE, 0x20, START, usual, &[0; 4]);
    assert_eq!(port.at(0, 2).packet(X_TO_Y, Opcode::RC_WRITE_ONLY, 0x20, 0, usual, &[]), None);
    port.at(0, 1).ack(Y_TO_X, 0x10, 0);
    assert_eq!((port.source(X_TO_Y, 0x20), port.flows.report().resolver.ambiguous), (None, 1));
}

/// 0x10 sends to 0x20; then 0x20 to 0x11, then 0x11 to 0x21, and 0x10 to 0x20 again.
#[test]
fn an_answer_to_nothing_that_went_by_does_not_let_a_queue_pair_repeat_what_a_former_user_has_sent() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, START);
    port.ack(Y_TO_X, 0x10, START);
    for psn in START..START + 2 {
        port.write(Y_TO_X, 0x11, psn);
        port.ack(X_TO_Y, 0x20, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x11));
    port.write(X_TO_Y, 0x21, START);
    port.acknowledge(Y_TO_X, 0x11, START, 0x60);
    port.write(X_TO_Y, 0x20, START);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}
