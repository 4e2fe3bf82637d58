//! The sample, and what a quiet port sees.

use super::*;
use proptest::prelude::*;
use units::Bytes;

/// A port that learns from one PSN of 16.
fn sampled() -> Port {
    Port::taught(Taught::AsSampled)
}

/// The PSNs from [`START`] on that are in the sample of two hosts, in an order of its own.
fn in_sample(port: &Port, hosts: Hosts, psns: u32) -> Vec<u32> {
    let opcode = Opcode::RC_WRITE_MIDDLE;
    let learns = |psn: &u32| {
        port.flows.decide(false, hosts.difference(), opcode, Psn::from_low_bits(*psn)) == Attention::Learn
    };
    (START..START + psns).filter(learns).collect()
}

#[test]
fn a_sample_has_one_of_each_16_numbers_and_is_the_same_both_ways() {
    let port = sampled();
    let psns = in_sample(&port, X_TO_Y, 1 << 16);
    assert_eq!(psns, in_sample(&port, Y_TO_X, 1 << 16));
    assert_eq!(psns.len(), 1 << 12);
    assert!(psns.iter().zip((START >> 4)..).all(|(psn, group)| *psn >> 4 == group));
    let most = psns.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert_eq!(most, 31);
}

#[test]
fn numbers_are_drawn_evenly_and_differ_between_pairs_of_hosts_and_keys() {
    let of = |key: u64| Flows::new(FlowSettings { learn: 16, ..settings(1) }, key);
    let drawn = |flows: &Flows, host, group: u32| {
        let learns = |it: &u32| {
            let psn = Psn::from_low_bits(group << 4 | it);
            let hosts = hosts(1, host).difference();
            flows.decide(false, hosts, Opcode::RC_WRITE_MIDDLE, psn) == Attention::Learn
        };
        (0..16).find(learns).unwrap()
    };
    let (one, other) = (of(7), of(8));
    let mut counts = [0; 16];
    let mut same = [0; 2];
    for group in 0..1 << 14 {
        let place = drawn(&one, 2, group);
        counts[place as usize] += 1;
        same[0] += u32::from(place == drawn(&one, 3, group));
        same[1] += u32::from(place == drawn(&other, 2, group));
    }
    // 1,024 each; five standard deviations are 155.
    assert!(counts.iter().all(|count| (869..1_179).contains(count)), "{counts:?}");
    assert!(same.iter().all(|same| (869..1_179).contains(same)), "{same:?}");
}

#[test]
fn acknowledgements_at_any_even_distance_are_in_the_sample_as_often_as_others() {
    let port = sampled();
    for distance in [4_u32, 64, 128, 256, 512] {
        let psns = in_sample(&port, X_TO_Y, 1 << 20);
        let hit = psns.iter().filter(|psn| *psn % distance == distance - 1).count() as u32;
        let all = (1 << 20) / distance;
        let expected = all / 16;
        assert!(hit.abs_diff(expected) < expected / 4 + 20, "{distance}: {hit} of {all}");
    }
}

#[test]
fn all_packets_are_in_a_sample_of_everything() {
    let port = Port::new();
    assert!(!port.flows.samples() && port.flows.is_watched(port.now));
    assert_eq!(in_sample(&port, X_TO_Y, 5_000).len(), 5_000);
}

#[test]
fn a_quiet_port_has_no_trace_of_what_is_outside_of_the_sample() {
    let mut port = sampled();
    let psns = in_sample(&port, X_TO_Y, 4_096);
    for psn in (START..START + 4_096).filter(|psn| !psns.contains(psn)) {
        assert_eq!(port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]), None);
        assert_eq!(port.packet(Y_TO_X, Opcode::RC_ACKNOWLEDGE, 0x10, psn, 0, &[0; 4]), None);
    }
    assert_eq!(port.flows.report().known, 0);
    port.write(X_TO_Y, 0x20, psns[0]);
    assert_eq!(port.flows.report().known, 1);
}

#[test]
fn reads_connections_and_notifications_are_always_seen() {
    let port = sampled();
    let outside =
        START + (0..4_096).find(|at| !in_sample(&port, X_TO_Y, 4_096).contains(&(START + at))).unwrap();
    for (opcode, seen) in [
        (Opcode::RC_READ_REQUEST, Attention::Learn),
        (Opcode::UD_SEND_ONLY, Attention::Learn),
        (Opcode::CNP, Attention::Learn),
        (Opcode::DIRECT_INT, Attention::Learn),
        (Opcode::RC_WRITE_ONLY, Attention::Pass),
        (Opcode::RC_ACKNOWLEDGE, Attention::Pass),
        (Opcode::RC_READ_RESPONSE_FIRST, Attention::Pass),
    ] {
        assert_eq!(
            port.flows.decide(false, X_TO_Y.difference(), opcode, Psn::from_low_bits(outside)),
            seen,
            "{opcode:?}"
        );
    }
}

/// A sampled port at which (X to Y, 0x20) and (Y to X, 0x10) are bound, and the next PSN.
fn bound_in_sample() -> (Port, u32) {
    let mut port = sampled();
    let mut psn = START;
    while port.source(X_TO_Y, 0x20).is_none() {
        port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]);
        port.packet(Y_TO_X, Opcode::RC_ACKNOWLEDGE, 0x10, psn, 0, &[0; 4]);
        psn += 1;
        assert!(psn < START + 64, "two confirmations are enough");
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
    (port, psn)
}

#[test]
fn a_sender_is_found_by_two_answers_in_the_sample() {
    let (_, psn) = bound_in_sample();
    assert!(psn - START <= 32);
}

#[test]
fn a_pair_of_connection_management_that_sends_a_packet_every_few_seconds_stays_bound() {
    let mut port = sampled();
    port.connect(X_TO_Y, 0x10, 0x20, 1);
    let sample = in_sample(&port, X_TO_Y, 64);
    for psn in START..START + 64 {
        port.now += Interval::from_secs(4);
        let slot = port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]);
        port.packet(Y_TO_X, Opcode::RC_ACKNOWLEDGE, 0x10, psn, 0, &[0; 4]);
        assert_eq!(slot.is_some(), sample.contains(&psn));
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10), "{}", psn - START);
    }
    port.now += Interval::from_secs(16 * 10 + 1);
    let slot = port.packet(X_TO_Y, Opcode::RC_READ_REQUEST, 0x20, START + 64, 0, &[]).unwrap();
    assert_eq!(port.flows.source_of(slot), None, "it ages still");
}

#[test]
fn an_awake_port_looks_up_packets_outside_of_the_sample_and_learns_nothing() {
    let (mut port, psn) = bound_in_sample();
    port.awake = true;
    let sample = in_sample(&port, X_TO_Y, 8_192);
    let outside: Vec<_> = (psn..psn + 64).filter(|psn| !sample.contains(psn)).collect();
    let progress = port.flows.hot(port.slot(X_TO_Y, 0x20).unwrap()).progress;
    for psn in &outside {
        let slot = port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, *psn, 0, &[]).unwrap();
        assert_eq!(port.flows.source_of(slot).map(QueuePair::number), Some(0x10));
        assert_eq!(port.flows.hot(slot).progress, progress);
    }
    // A new flow is entered, and binds nobody.
    let slot = port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x21, outside[0], 0, &[]).unwrap();
    assert!(!port.flows.hot(slot).progress.has_requests());
    port.packet(Y_TO_X, Opcode::RC_ACKNOWLEDGE, 0x11, outside[0], 0, &[0; 4]);
    assert_eq!(port.slot(Y_TO_X, 0x11), None);
}

#[test]
fn a_missing_request_teaches_nothing_as_what_came_after_it_may_be_outside_of_the_sample() {
    let mut port = sampled();
    let psns = in_sample(&port, X_TO_Y, 4_096);
    // One is lost before the port, and the ones after it are not seen.
    let last = psns[10];
    for psn in psns.iter().filter(|psn| **psn < last) {
        port.write(X_TO_Y, 0x20, *psn);
    }
    port.acknowledge(Y_TO_X, 0x10, last, 0x60);
    let port_of_the_sender = port.slot(Y_TO_X, 0x10).unwrap();
    assert_eq!(port.flows.cold(port_of_the_sender).excluded, 0);
    port.ack(Y_TO_X, 0x10, psns[8]);
    port.ack(Y_TO_X, 0x10, psns[9]);
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10));
}

#[test]
fn a_packet_in_the_sample_counts_for_those_before_it_on_a_quiet_port_and_for_itself_on_an_awake_one() {
    for (awake, marked) in [(false, false), (false, true), (true, false)] {
        let (mut port, start) = bound_in_sample();
        (port.awake, port.marked) = (awake, marked);
        let slot = port.slot(X_TO_Y, 0x20).unwrap();
        let before = port.flows.hot(slot).sent().0;
        for psn in start..start + 16_384 {
            port.length = WireBytes(100);
            port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]);
        }
        let sent = (port.flows.hot(slot).sent().0 - before) / 100;
        let error = if awake { 0 } else { 31 };
        assert!(sent.abs_diff(16_384) <= error, "{awake} {marked} {sent}");
    }
}

#[test]
fn a_sender_that_avoids_the_sample_is_never_known_and_is_marked() {
    let mut port = sampled();
    port.awake = true;
    let sample = in_sample(&port, X_TO_Y, 1 << 15);
    let mut known = Vec::new();
    for psn in (START..START + (1 << 15)).filter(|psn| !sample.contains(psn)) {
        let slot = port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]).unwrap();
        port.packet(Y_TO_X, Opcode::RC_ACKNOWLEDGE, 0x10, psn, 0, &[0; 4]);
        known.push(port.flows.source_of(slot));
    }
    assert!(known.iter().all(Option::is_none), "no CNP, so its packets are marked");
    assert_eq!(port.flows.report().known, 1);
}

#[test]
fn a_queue_pair_that_is_used_again_outside_of_the_sample_is_not_taken_for_its_former_self() {
    let (mut port, psn) = bound_in_sample();
    port.awake = true;
    port.flows.watch(port.now, true);
    let (again, far) = (START - (1 << 20), psn + 100_000);
    let outside = |port: &Port, from: u32| {
        (from..).find(|psn| {
            port.attention(X_TO_Y, Opcode::RC_WRITE_MIDDLE, Psn::from_low_bits(*psn)) == Attention::Look
        })
    };
    for from in [again, START - 5_000, far] {
        let psn = outside(&port, from).unwrap();
        assert_eq!(port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]), None, "{from:#x}");
    }
    assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10), "it is the sample that ends the pair");
}

/// A packet of the bound flow from another station.
fn moved(port: &mut Port, psn: u32) -> Option<Slot> {
    port.station = 9;
    let slot = port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, psn, 0, &[]);
    port.station = 1;
    slot
}

#[test]
fn a_pin_moves_when_the_silence_of_the_former_origin_was_watched_for_a_second() {
    let (mut port, psn) = bound_in_sample();
    let sample = in_sample(&port, X_TO_Y, 1 << 15);
    let mut next = sample.into_iter().filter(|it| *it >= psn);
    let seconds = |port: &mut Port, millis| port.now += Interval::from_millis(millis);
    seconds(&mut port, 1_500);
    assert_eq!(moved(&mut port, next.next().unwrap()), None, "the sample shows no silence");
    assert!(port.flows.is_watched(port.now + Interval(1)));
    seconds(&mut port, 500);
    assert_eq!(moved(&mut port, next.next().unwrap()), None);
    seconds(&mut port, 700);
    assert!(moved(&mut port, next.next().unwrap()).is_some());
    seconds(&mut port, 1_500);
    port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, 0, 0, &[]);
    assert!(!port.flows.is_watched(port.now), "it is quiet again");
}

#[test]
fn a_pin_stays_while_the_former_origin_sends_outside_of_the_sample() {
    let (mut port, psn) = bound_in_sample();
    let sample = in_sample(&port, X_TO_Y, 1 << 15);
    let outside = (psn..).find(|it| !sample.contains(it)).unwrap();
    let mut next = sample.into_iter().filter(|it| *it >= psn);
    for _ in 0..40 {
        port.now += Interval::from_millis(500);
        port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, outside, 0, &[]);
        assert_eq!(moved(&mut port, next.next().unwrap()), None);
    }
}

#[test]
fn a_pin_stays_while_the_former_origin_sends_numbers_that_are_doubted() {
    let (mut port, psn) = bound_in_sample();
    port.awake = true;
    let sample = in_sample(&port, X_TO_Y, 1 << 15);
    let old = (START - 5_000..).find(|it| {
        port.attention(X_TO_Y, Opcode::RC_WRITE_MIDDLE, Psn::from_low_bits(*it)) == Attention::Pass
    });
    let mut next = sample.into_iter().filter(|it| *it >= psn);
    for _ in 0..40 {
        port.now += Interval::from_millis(500);
        assert_eq!(port.packet(X_TO_Y, Opcode::RC_WRITE_MIDDLE, 0x20, old.unwrap(), 0, &[]), None);
        assert_eq!(moved(&mut port, next.next().unwrap()), None);
    }
}

#[test]
fn a_packet_that_teaches_nothing_hides_no_silence_from_the_resolver() {
    let (write, ack) = (Opcode::RC_WRITE_MIDDLE, Opcode::RC_ACKNOWLEDGE);
    for (millis, opcode, tries) in
        [(100, write, 3), (100, ack, 3), (1_500, write, 1), (1_500, ack, 1), (1_500, Opcode::CNP, 1)]
    {
        let mut port = sampled();
        let sample = in_sample(&port, X_TO_Y, 4_096);
        let outside = (sample[0] + 1..).find(|it| !sample.contains(it)).unwrap();
        for psn in &sample[..4] {
            // Two candidates, so that nothing is bound.
            port.write(X_TO_Y, 0x20, *psn);
            port.write(X_TO_Y, 0x21, *psn);
        }
        port.write(Y_TO_X, 0x10, sample[0]);
        port.ack(Y_TO_X, 0x10, sample[0]);
        let slot = port.ack(Y_TO_X, 0x10, sample[1]);
        assert_eq!(port.flows.cold(slot).tries, 2);
        port.awake = true;
        port.now += Interval::from_millis(millis);
        if opcode != Opcode::CNP {
            assert_eq!(port.packet(Y_TO_X, opcode, 0x10, outside, 0, &[0; 4]), Some(slot));
        }
        port.ack(Y_TO_X, 0x10, sample[2]);
        assert_eq!(port.flows.cold(slot).tries, tries, "{millis} {opcode:?}");
    }
}

#[test]
fn a_request_after_a_read_may_be_of_another_life_and_ends_a_pair_that_numbers_have_made() {
    for next_reads in [false, true] {
        let (mut port, psn) = bound_in_sample();
        let sample = in_sample(&port, X_TO_Y, 1 << 13);
        let next = *sample.iter().find(|it| **it > psn + 8).unwrap();
        let mut reth = [0; Reth::LEN];
        reth[12..].copy_from_slice(&2_048_u32.to_be_bytes());
        port.packet(X_TO_Y, Opcode::RC_READ_REQUEST, 0x20, psn, 0, &reth);
        assert_eq!(port.source(X_TO_Y, 0x20), Some(0x10), "all before it were of the sample");
        match next_reads {
            true => drop(port.packet(X_TO_Y, Opcode::RC_READ_REQUEST, 0x20, psn + 2, 0, &reth)),
            false => drop(port.write(X_TO_Y, 0x20, next)),
        }
        assert_eq!(port.source(X_TO_Y, 0x20), None);
    }
}

/// The network layer of a packet.
#[derive(Clone, Copy, Debug)]
enum Network {
    V4,
    V4WithOptions,
    V6,
}

/// A frame of RoCEv2 from the first of two hosts to the second.
fn frame_of(network: Network, tagged: bool, hosts: [[u8; 16]; 2], (opcode, psn): (u8, u32)) -> Vec<u8> {
    let [source, destination] = hosts;
    let tag: &[u8] = if tagged { &[0x81, 0, 0x20, 5] } else { &[] };
    let v4 = |first, length| {
        let start = [first, 2, 0, length, 0, 1, 0x40, 0, 64, 17, 0, 0];
        [&[8, 0], &start[..], &source[..4], &destination[..4]].concat()
    };
    let ip = match network {
        Network::V4 => v4(0x45, 66),
        Network::V4WithOptions => [v4(0x46, 70), vec![1; 4]].concat(),
        Network::V6 => [&[0x86, 0xdd, 0x60, 2, 0, 0, 0, 46, 17, 64][..], &source, &destination].concat(),
    };
    let mut bth = [0; 38];
    let qp = QueuePair::from_low_bits(0x20);
    let header = bth::Header { psn: Psn::from_low_bits(psn), ..bth::Header::new(Opcode(opcode), qp) };
    header.emit(&mut bth).unwrap();
    let stations = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1];
    [&stations, tag, &ip, &[0xc0, 0xa2, 0x12, 0xb7, 0, 46, 0, 0], &bth].concat()
}

proptest! {
    #[test]
    fn a_packet_and_one_that_crosses_the_other_way_are_both_in_the_sample_or_neither(
        network in prop_oneof![Just(Network::V4), Just(Network::V4WithOptions), Just(Network::V6)],
        tagged in any::<bool>(),
        [one, other] in any::<[[u8; 16]; 2]>(),
        opcode in prop_oneof![Just(0x07_u8), Just(0x11), any::<u8>()],
        psns in prop::collection::vec(any::<u32>(), 32),
        looks in any::<bool>(),
    ) {
        let flows = Flows::new(FlowSettings { learn: 16, ..settings(1) }, KEY);
        for psn in psns {
            let decide = |way, hosts| {
                let bytes = frame_of(network, tagged, hosts, (opcode, psn));
                let descriptor = Descriptor::parse(&bytes, Bytes(bytes.len() as u64)).unwrap();
                let found = Packet::find(way, PortId(0), &descriptor, &bytes).unwrap();
                let difference = found.key.hosts.difference();
                if let Some(head) = packet::ipv4_of(&descriptor, &bytes).and_then(roce::Head::parse) {
                    assert_eq!(u64::from(head.address_difference()), difference);
                } else {
                    assert!(!matches!(network, Network::V4), "it is found by the short way");
                }
                let attention = flows.attention(way, looks, &descriptor, &bytes);
                assert_eq!(attention, flows.decide(looks, difference, Opcode(opcode), found.bth.psn()));
                let leaves_out = flows.sample.unwrap().leaves_out(&descriptor, &bytes);
                assert!(!leaves_out || attention != Attention::Learn);
                attention
            };
            prop_assert_eq!(decide(Way::Out, [one, other]), decide(Way::In, [other, one]));
        }
    }
}
