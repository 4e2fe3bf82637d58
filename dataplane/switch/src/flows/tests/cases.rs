//! Single cases.

use super::*;

#[test]
fn a_pair_needs_two_responses_about_different_requests() {
    let mut port = Port::new();
    for psn in START..START + 4 {
        port.write(X_TO_Y, 0x20, psn);
    }
    port.ack(Y_TO_X, 0x10, START + 1);
    port.ack(Y_TO_X, 0x10, START + 1);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
    assert_eq!(port.flows.report().data, DataFlows { resolved: 0, unresolved: 1 });
    port.ack(Y_TO_X, 0x10, START + 3);
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(Y_TO_X, 0x10)), (Some(0x10), Some(0x20)));
    assert_eq!(port.flows.report().data, DataFlows { resolved: 1, unresolved: 0 });
    assert_eq!(port.flows.report().resolver.resolved_by_psn, 1);
}

#[test]
fn a_receiver_that_is_not_ready_acknowledges_what_came_before() {
    let mut port = Port::new();
    for psn in START..START + 4 {
        port.write(X_TO_Y, 0x20, psn);
    }
    // RNR NAKs.
    for psn in [START + 1, START + 2] {
        assert_eq!(port.source(X_TO_Y, 0x20), None);
        port.acknowledge(Y_TO_X, 0x10, psn, 0x20);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
}

/// Ten requests to 0x20 of Y, and their responses to 0x10 of X.
fn exchange(port: &mut Port) {
    for psn in START + 1..START + 11 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
}

#[test]
fn a_response_about_nothing_that_is_known_is_not_ambiguous() {
    let mut port = Port::new();
    port.ack(Y_TO_X, 0x10, START);
    assert_eq!(port.flows.report().resolver.ambiguous, 0);
}

#[test]
fn a_half_flow_without_requests_is_no_candidate_unless_strangers_spoke_on_it() {
    for (stranger, source) in [(false, Some(0x10)), (true, None)] {
        let mut port = Port::new();
        port.ack(X_TO_Y, 0x22, START);
        if stranger {
            assert_eq!(port.at(0, 2).packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x22, START, 0, &[]), None);
            port.at(0, 1);
        }
        exchange(&mut port);
        assert_eq!(port.source(X_TO_Y, 0x20), source);
    }
}

#[test]
fn a_half_flow_on_which_strangers_spoke_may_have_been_the_answering_one() {
    for (stranger, source) in [(false, Some(0x10)), (true, None)] {
        let mut port = Port::new();
        port.write(Y_TO_X, 0x11, START);
        if stranger {
            assert_eq!(port.at(0, 2).packet(Y_TO_X, Opcode::RC_WRITE_MIDDLE, 0x11, START, 0, &[]), None);
            port.at(0, 1);
        }
        exchange(&mut port);
        assert_eq!(port.source(X_TO_Y, 0x20), source);
    }
}

#[test]
fn a_flow_that_was_excluded_stays_so_when_its_range_grows() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, START);
    port.write(X_TO_Y, 0x21, START - 0x18_0000);
    port.ack(Y_TO_X, 0x10, START);
    // Both cover what comes now.
    port.write(X_TO_Y, 0x21, START - 0x8_0000);
    port.write(X_TO_Y, 0x21, START + 100);
    exchange(&mut port);
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(X_TO_Y, 0x21)), (Some(0x10), None));
}

#[test]
fn a_flow_met_in_the_middle_is_bound_with_what_it_sends_again_from_before() {
    let mut port = Port::new();
    for psn in [START + 5, START + 6, START] {
        port.write(X_TO_Y, 0x20, psn);
    }
    for psn in [START + 5, START + 6] {
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
}

#[test]
fn a_flow_whose_psns_leap_before_it_is_bound_begins_anew() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, START - 0x30_0000);
    port.write(X_TO_Y, 0x20, START);
    exchange(&mut port);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
}

#[test]
fn one_response_is_enough_where_the_source_port_confirms_it() {
    let mut port = Port::new();
    let usual = wire::roce::source_port_of_flow_label(0x20 * 0x10);
    port.packet(X_TO_Y, Opcode::RC_WRITE_ONLY, 0x20, 0, usual, &[]);
    port.ack(Y_TO_X, 0x10, 0);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
}

#[test]
fn the_source_port_of_a_former_life_confirms_nothing() {
    let mut port = Port::new();
    let usual = wire::roce::source_port_of_flow_label(0x20 * 0x10);
    for psn in 0..2 {
        port.packet(X_TO_Y, Opcode::RC_WRITE_ONLY, 0x20, psn, usual, &[]);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    port.packet(X_TO_Y, Opcode::RC_WRITE_ONLY, 0x20, 0, 0xc123, &[]);
    port.ack(Y_TO_X, 0x10, 0);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}

#[test]
fn psns_near_zero_and_wide_ranges_need_sixteen_responses() {
    for (start, step) in [(0, 1), (START, 100)] {
        let mut port = Port::new();
        for psn in 0..16 {
            let psn = start + step * psn;
            port.write(X_TO_Y, 0x20, psn);
            port.write(X_TO_Y, 0x20, psn + step * 15);
            assert_eq!(port.source(X_TO_Y, 0x20), None);
            port.ack(Y_TO_X, 0x10, psn);
        }
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    }
}

#[test]
fn pairs_in_step_from_zero_stay_unresolved_until_one_candidate_is_left() {
    let mut port = Port::new();
    let pairs = [(0x20, 0x10), (0x21, 0x11), (0x22, 0x12), (0x23, 0x13)];
    for psn in 0..100 {
        for (destination, _) in pairs {
            port.write(X_TO_Y, destination, psn);
        }
        for (destination, source) in pairs {
            port.ack(Y_TO_X, source, psn);
            assert_eq!(port.source(X_TO_Y, destination), None);
        }
    }
    assert_eq!(port.flows.report().resolver.ambiguous, 400);
    // They leave the step one by one; the last has no one left to be mistaken for.
    for (left, (destination, source)) in pairs.into_iter().enumerate() {
        for psn in 100..120 + 10 * (4 - left as u32) {
            port.write(X_TO_Y, destination, psn);
            port.ack(Y_TO_X, source, psn);
        }
        let known = pairs.map(|(destination, _)| port.source(X_TO_Y, destination));
        let expected = |(place, (_, source))| (place <= left).then_some(source);
        assert_eq!(known.to_vec(), pairs.into_iter().enumerate().map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn two_responders_contest_a_candidate_until_one_is_excluded() {
    let mut port = Port::new();
    for psn in START..START + 10 {
        port.write(X_TO_Y, 0x20, psn);
    }
    // Of 0x11 only the responses pass here.
    for psn in [START + 1, START + 2, START + 3] {
        port.ack(Y_TO_X, 0x11, psn - 1);
        port.ack(Y_TO_X, 0x10, psn - 1);
        if psn == START + 1 {
            continue;
        }
        assert_eq!(port.source(X_TO_Y, 0x20), None);
    }
    port.ack(Y_TO_X, 0x11, START + 10);
    port.ack(Y_TO_X, 0x10, START + 5);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    port.write(X_TO_Y, 0x20, START + 10);
    port.ack(Y_TO_X, 0x11, START + 10);
    assert_eq!(port.source(Y_TO_X, 0x11), None);
}

#[test]
fn what_answered_before_anything_was_sent_is_excluded_for_good() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, START);
    port.ack(Y_TO_X, 0x10, START + 1);
    for psn in START + 1..START + 30 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}

#[test]
fn a_flow_met_in_the_middle_may_get_responses_to_what_was_sent_before() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, START + 100);
    port.write(X_TO_Y, 0x21, START);
    for psn in START..START + 90 {
        port.write(X_TO_Y, 0x21, psn + 1);
        port.ack(Y_TO_X, 0x10, psn);
        assert_eq!(port.source(X_TO_Y, 0x21), None, "0x10 may answer 0x20");
    }
    port.ack(Y_TO_X, 0x10, START + 100);
    for psn in START + 101..START + 120 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(X_TO_Y, 0x21)), (Some(0x10), None));
}

#[test]
fn a_response_about_what_was_never_sent_takes_a_pair_apart_for_good() {
    let mut port = bound();
    port.ack(Y_TO_X, 0x10, START + 10);
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(Y_TO_X, 0x10)), (None, None));
    assert_eq!(port.flows.report().resolver.contradicted, 1);
    for psn in START + 10..START + 40 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), None);
}

#[test]
fn a_pair_is_in_doubt_when_requests_go_back_behind_what_was_acknowledged_or_leap() {
    for psn in [START + 9, START - (1 << 22), START + 10 + (1 << 12), START + (1 << 22)] {
        let mut port = bound();
        port.write(X_TO_Y, 0x20, psn);
        assert_eq!(port.source(X_TO_Y, 0x20), None);
        assert_eq!(port.flows.report().resolver.suspended, 1);
        assert_eq!(port.flows.report().data, DataFlows { resolved: 0, unresolved: 1 });
        for psn in psn + 1..psn + 40 {
            port.write(X_TO_Y, 0x20, psn);
            port.ack(Y_TO_X, 0x10, psn);
        }
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10), "it was the same pair after all");
    }
}

#[test]
fn retransmission_of_what_was_not_acknowledged_leaves_a_pair_alone() {
    let mut port = bound();
    for psn in START + 10..START + 20 {
        port.write(X_TO_Y, 0x20, psn);
    }
    // 0x60 is a NAK that waits for this PSN, 0x20 a receiver that is not ready for it.
    port.acknowledge(Y_TO_X, 0x10, START + 12, 0x60);
    port.acknowledge(Y_TO_X, 0x10, START + 12, 0x20);
    for psn in START + 12..START + 20 {
        port.write(X_TO_Y, 0x20, psn);
    }
    port.ack(Y_TO_X, 0x10, START + 19);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    assert_eq!(port.flows.report().resolver.suspended, 0);
}

#[test]
fn a_queue_pair_that_is_used_again_is_bound_to_its_new_partner() {
    let mut port = bound();
    for psn in 0..40 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x17, psn);
        assert_ne!(port.source(X_TO_Y, 0x20), Some(0x10));
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x17));
}

#[test]
fn data_of_a_read_come_from_where_its_requests_go() {
    let mut port = Port::new();
    let length = 4 * 1024_u32;
    let mut reth = [0; Reth::LEN];
    reth[12..].copy_from_slice(&length.to_be_bytes());
    for psn in [START, START + 4, START + 8] {
        port.packet(X_TO_Y, Opcode::RC_READ_REQUEST, 0x20, psn, 0, &reth);
        port.packet(Y_TO_X, Opcode::RC_READ_RESPONSE_FIRST, 0x10, psn, 0, &[0; 4]);
        port.packet(Y_TO_X, Opcode::RC_READ_RESPONSE_MIDDLE, 0x10, psn + 1, 0, &[]);
        port.packet(Y_TO_X, Opcode::RC_READ_RESPONSE_LAST, 0x10, psn + 3, 0, &[0; 4]);
        // It may be acknowledged up to the last packet of the response.
        port.ack(Y_TO_X, 0x10, psn + 3);
    }
    assert_eq!(port.source(Y_TO_X, 0x10), Some(0x20));
    assert_eq!(port.flows.report().resolver.contradicted, 0);
    assert_eq!(
        port.flows.report().data,
        DataFlows { resolved: 1, unresolved: 0 },
        "the requests are no data"
    );
}

#[test]
fn the_connection_manager_binds_before_there_is_data_and_ends_it_too() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(Y_TO_X, 0x10)), (Some(0x10), Some(0x20)));
    assert_eq!((port.flows.report().known, port.flows.report().data), (2, DataFlows::default()));
    let slot = port.packet(X_TO_Y, Opcode::UC_WRITE_ONLY, 0x20, 7, 0, &[]).unwrap();
    assert_eq!(port.flows.report().data, DataFlows { resolved: 1, unresolved: 0 });
    let notified = |port: &Port, qp| {
        let mut bytes = [0; 12];
        let qp = QueuePair::from_low_bits(qp);
        bth::Header::new(Opcode::CNP, qp).emit(&mut bytes).unwrap();
        let key = FlowKey { hosts: Y_TO_X, qp };
        let origin = Origin::new(PortId(0), MacAddress([0; 6]), 0);
        let bth = bth::View::parse(&bytes[..]).unwrap();
        port.flows.flow_notified(&Packet { key, source_port: 0, origin, bth })
    };
    assert_eq!((notified(&port, 0x10), notified(&port, 0x11)), (Some(slot), None));
    port.disconnect(X_TO_Y, 0x20, 5);
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(Y_TO_X, 0x10)), (None, None));
    assert_eq!(notified(&port, 0x10), None);
    assert_eq!(port.flows.report().data, DataFlows { resolved: 0, unresolved: 1 });
    let counters = port.flows.report().resolver;
    assert_eq!((counters.resolved_by_cm, counters.ended), (1, 1));
}

#[test]
fn a_pair_of_the_connection_manager_ends_only_by_it_or_by_a_contradiction() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    for psn in [START, 0, START + 9, START + 2] {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    }
    port.ack(Y_TO_X, 0x10, START + 10);
    assert_eq!(port.source(X_TO_Y, 0x20), None);
    port.connect(X_TO_Y, 0x10, 0x20, 6);
    port.connect(X_TO_Y, 0x11, 0x20, 7);
    assert_eq!((port.source(X_TO_Y, 0x20), port.source(Y_TO_X, 0x10)), (Some(0x11), None));
}

#[test]
fn what_is_no_flow_enters_nothing() {
    let mut port = Port::new();
    for opcode in [Opcode::CNP, Opcode::UD_SEND_ONLY, Opcode(0x1f), Opcode(0x3f), Opcode(0xc0)] {
        assert_eq!(port.packet(X_TO_Y, opcode, 0x20, 0, 0, &[0; 300]), None);
    }
    assert_eq!(port.packet(X_TO_Y, Opcode::RC_SEND_ONLY, 1, 0, 0, &[]), None);
    port.connect(X_TO_Y, 1, 0x20, 5);
    assert_eq!(port.flows.report().known, 0);
}

#[test]
fn a_datagram_that_is_not_of_the_connection_manager_changes_nothing() {
    let mut port = Port::new();
    let datagram = |message: management::Message| {
        let mut datagram = [0; 8 + management::DATAGRAM_LEN];
        message.emit(1, &mut datagram[8..]).unwrap();
        datagram
    };
    let (local, remote) = (management::CommunicationId(9), management::CommunicationId(5));
    port.connect(X_TO_Y, 0x10, 0x20, 5);
    let end = management::Message::DisconnectRequest {
        local: remote,
        remote: local,
        remote_qp: QueuePair::from_low_bits(0x20),
    };
    for broken in [8, 9, 10] {
        let mut bytes = datagram(end);
        bytes[broken] ^= 0xff;
        port.packet(X_TO_Y, Opcode::UD_SEND_ONLY, 1, 0, 0, &bytes);
    }
    port.packet(X_TO_Y, Opcode::UD_SEND_ONLY, 1, 0, 0, &datagram(end)[..200]);
    port.packet(X_TO_Y, Opcode::UD_SEND_ONLY, 2, 0, 0, &datagram(end));
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
}

#[test]
fn when_one_half_goes_the_other_is_no_longer_bound() {
    let mut port = Port { flows: Flows::new(settings(16), KEY), ..bound() };
    for psn in START..START + 2 {
        port.write(X_TO_Y, 0x20, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    for qp in 0..100 {
        port.now += Interval::from_millis(1);
        port.write(X_TO_Y, 0x20, START + 2 + qp);
        port.write(X_TO_Y, 0x100 + qp, 0);
        assert_eq!(port.source(X_TO_Y, 0x20).is_some(), port.slot(Y_TO_X, 0x10).is_some());
    }
    let data = port.flows.report().data;
    assert_eq!(
        (port.flows.report().known, data.resolved + data.unresolved),
        (16, 15),
        "0x10 only acknowledges"
    );
}

#[test]
fn more_than_64_unresolved_flows_between_two_hosts_are_not_told_apart() {
    let mut port = Port::new();
    for qp in 0..65 {
        port.write(X_TO_Y, 0x100 + qp, qp << 14 | 1 << 20);
    }
    for psn in 1 << 20..(1 << 20) + 40 {
        port.write(X_TO_Y, 0x100, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x100), None);
    assert!(port.flows.report().resolver.ambiguous >= 40);
    port.connect(X_TO_Y, 0x11, 0x101, 5);
    port.write(X_TO_Y, 0x140, 64 << 14 | 1 << 20 | 1);
    for psn in (1 << 20) + 40..(1 << 20) + 80 {
        port.write(X_TO_Y, 0x100, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x100), None, "for a second, these may answer what was sent before");
    port.now += Interval::from_secs(2);
    for psn in (1 << 20) + 80..(1 << 20) + 120 {
        port.write(X_TO_Y, 0x100, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x100), Some(0x10));
}

#[test]
fn a_flow_for_which_there_was_no_room_may_be_the_one_that_is_answered() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x100, START);
    for qp in 1..64 {
        port.write(X_TO_Y, 0x100 + qp, 0xe0_0000);
    }
    for psn in START..START + 40 {
        port.write(X_TO_Y, 0x100, psn);
        port.write(X_TO_Y, 0x200, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x100), None);
}

#[test]
fn what_was_excluded_says_nothing_about_a_flow_that_comes_later() {
    let mut port = Port::new();
    port.write(X_TO_Y, 0x20, START);
    port.ack(Y_TO_X, 0x10, START + 5);
    // It leaves its place in the chain to the next.
    port.connect(X_TO_Y, 0x99, 0x20, 5);
    for psn in START + 6..START + 10 {
        port.write(X_TO_Y, 0x21, psn);
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!(port.source(X_TO_Y, 0x21), Some(0x10));
}

#[test]
fn when_the_other_half_goes_none_of_those_that_are_there_takes_its_place() {
    let mut port = bound();
    for psn in START..START + 40 {
        port.write(X_TO_Y, 0x21, psn);
    }
    let slot = port.slot(X_TO_Y, 0x20).unwrap();
    let Flows { table, resolver, .. } = &mut port.flows;
    resolver.release(table, slot, port.now);
    for psn in START + 10..START + 40 {
        port.ack(Y_TO_X, 0x10, psn);
    }
    assert_eq!((port.source(Y_TO_X, 0x10), port.source(X_TO_Y, 0x21)), (None, None));
}

#[test]
fn the_next_packet_of_a_flow_that_was_idle_for_too_long_begins_a_new_one() {
    let mut port = Port::new();
    port.connect(X_TO_Y, 0x11, 0x21, 1);
    port.write(X_TO_Y, 0x21, 1);
    port.write(X_TO_Y, 0x21, 2);
    assert_eq!(port.source(X_TO_Y, 0x21), Some(0x11));
    port.now += Interval::from_secs(11);
    port.write(X_TO_Y, 0x21, 3);
    assert_eq!(port.source(X_TO_Y, 0x21), None, "the queue pair may be used by another by now");
    assert_eq!(port.flows.report().table.aged, 2, "both halves");
}
