//! LSCC on several lanes: one rate for what all of them take, flows where their hosts are, and CNPs to the senders.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::long_haul::{PSEUDO_REFERENCE, answer, feedback, lscc, lscc_of, nonce_in, rate_in};
use conformance::settings::{host_v4, lossless, routed};
use conformance::{A, B, C, Connection, D, Flow, Lanes, P3, Sent};
use proptest::prelude::*;
use std::collections::BTreeMap;
use switch::program::Settings;
use switch::{Consumed, DataFlows, DropReason, PortInspection};
use units::{BitRate, Bytes, Interval, Nanos, PortId, WireBytes};
use wire::ip::Ecn;
use wire::ipv4;
use wire::roce::{bth, icrc};

const SLOW: BitRate = BitRate::gigabits(1);
const PAYLOAD: usize = 4_096;
const STEP: Interval = Interval(50);
const AWAY: Interval = Interval::from_micros(4);

/// Four ports of a router; the long link is behind B.
fn settings() -> Settings {
    let mut settings = routed(4);
    settings.ports[B.index()].notifiers.lscc = Some(lscc(settings.ports[B.index()].rate));
    settings
}

fn connection(from: PortId, number: u32) -> Connection {
    Connection::new(Flow::new(from, B).at(P3).ecn(Ecn::Ect0), number)
}

/// The far end is slow, and answers the challenge of whoever does not believe it yet. Its messages come to `lane`.
fn introduce(lanes: &mut Lanes, lane: usize) {
    lanes.arrive(lane, B, feedback(1, SLOW));
    lanes.run_until(lanes.now + AWAY * 3);
    let nonce = lanes.sent[B.index()].iter().find_map(|sent| nonce_in(&sent.frame)).unwrap();
    lanes.arrive(lane, B, answer(nonce, 1, SLOW));
    lanes.run_until(lanes.now + AWAY * 3);
}

/// Lets both ends of `connections` exchange the messages of the connection manager.
fn connect(lanes: &mut Lanes, connections: &[Connection]) {
    for connection in connections {
        lanes.deliver(connection.flow.from, connection.request());
        lanes.run_until(lanes.now + AWAY * 2);
        lanes.deliver(B, connection.reply());
        lanes.run_until(lanes.now + AWAY * 2);
    }
}

/// Sends a packet of each of `connections` every `pause` for `time`, to the lanes that `deliver` chooses. The far end says its
/// rate to a lane that a device might choose.
fn send(
    lanes: &mut Lanes,
    connections: &[Connection],
    (pause, time): (Interval, Interval),
    mut deliver: impl FnMut(&mut Lanes, PortId, conformance::TestFrame),
) {
    let (end, mut psn, mut told) = (lanes.now + time, 0, lanes.now);
    while lanes.now < end {
        for connection in connections {
            deliver(lanes, connection.flow.from, connection.data(psn, PAYLOAD));
        }
        if lanes.now >= told {
            let lane = lanes.any_lane();
            lanes.arrive(lane, B, feedback(lanes.now.0, SLOW));
            told = lanes.now + Interval::from_micros(100);
        }
        psn += 1;
        lanes.run_until(lanes.now + pause);
    }
}

/// Direct CNPs, by the port through which they left and the queue pair.
fn cnps(lanes: &Lanes) -> BTreeMap<(PortId, u32), usize> {
    let mut cnps = BTreeMap::new();
    for port in lanes.ports().filter(|port| *port != B) {
        let own = lanes.sent[port.index()].iter().filter(|sent| sent.control && sent.pfc().is_none());
        for frame in own.map(|sent| &sent.frame.bytes[..]) {
            assert!(icrc::verify(&frame[14..]).unwrap());
            let queue_pair = bth::View::parse(&frame[42..]).unwrap().destination_qp().number();
            *cnps.entry((port, queue_pair)).or_default() += 1;
        }
    }
    cnps
}

fn is_marked(sent: &Sent) -> bool {
    ipv4::View::parse(&sent.frame.bytes[14..]).unwrap().ecn() == Ecn::Ce
}

fn marked(lanes: &Lanes) -> usize {
    lanes.sent[B.index()].iter().filter(|sent| !sent.control && is_marked(sent)).count()
}

fn pseudo_queue(of: &PortInspection) -> WireBytes {
    of.notifiers.lscc.unwrap().longest_pseudo_queue
}

/// Two senders on two lanes, each with less than the rate, and both together with more. Lane `hears` is introduced to the far end.
fn two_below_the_rate(mut lanes: Lanes, hears: usize) -> Lanes {
    introduce(&mut lanes, hears);
    let connections = on_both_lanes();
    connect(&mut lanes, &connections);
    // 0.7 Gb/s each.
    send(&mut lanes, &connections, (Interval::from_micros(48), Interval::from_millis(4)), Lanes::deliver);
    lanes
}

/// A connection of each of two lanes.
fn on_both_lanes() -> [Connection; 2] {
    let home = |from: PortId| {
        let difference = host_v4(from).to_bits() ^ host_v4(B).to_bits();
        switch::lanes::PairHash::default().lane(difference.into(), 2)
    };
    let on = |lane| [A, C, D].into_iter().find(|port| home(*port) == lane).unwrap();
    [connection(on(0), 0), connection(on(1), 1)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn senders_on_all_lanes_are_told_of_one_rate_whichever_lane_hears_the_far_end(seed in any::<u64>()) {
        let alone = two_below_the_rate(Lanes::new(settings(), 1, seed, STEP, AWAY), 0);
        let lanes = two_below_the_rate(Lanes::new(settings(), 2, seed, STEP, AWAY), 1);
        let (one, told) = (cnps(&alone), cnps(&lanes));
        let senders = on_both_lanes().map(|it| (it.flow.from, it.source_qp.number()));
        prop_assert_eq!(told.keys().copied().collect::<std::collections::BTreeSet<_>>(), senders.into());
        prop_assert!(one.values().all(|count| *count > 30), "{:?}", one);
        let alike = |(one, lanes): (&usize, &usize)| one.abs_diff(*lanes) <= 4;
        prop_assert!(one.values().zip(told.values()).all(alike), "{:?} and {:?}", one, told);
        let all = lanes.inspect(B);
        prop_assert_eq!(all.flows.unwrap().data, DataFlows { resolved: 2, unresolved: 0 });
        prop_assert_eq!(all.flows.unwrap().table.strays, 0);
        prop_assert!(pseudo_queue(&all) > PSEUDO_REFERENCE);
        prop_assert_eq!(marked(&lanes), 0);
        lanes.assert_conserved();
    }
}

#[test]
fn lanes_that_do_not_see_each_other_find_both_senders_below_the_rate() {
    let blind = two_below_the_rate(Lanes::blind(settings(), 2, 3, STEP, AWAY), 0);
    assert_eq!(cnps(&blind), BTreeMap::new());
}

#[test]
fn a_sender_whose_packets_come_astray_is_marked_and_never_told() {
    let mut lanes = Lanes::new(settings(), 2, 5, STEP, AWAY);
    introduce(&mut lanes, 0);
    let connections = on_both_lanes();
    let astray = |lanes: &mut Lanes, port, frame| lanes.arrive(0, port, frame);
    for connection in &connections {
        astray(&mut lanes, connection.flow.from, connection.request());
        lanes.run_until(lanes.now + AWAY * 2);
        astray(&mut lanes, B, connection.reply());
        lanes.run_until(lanes.now + AWAY * 2);
    }
    send(&mut lanes, &connections, (Interval::from_micros(20), Interval::from_millis(2)), astray);
    let told: Vec<_> = cnps(&lanes).into_keys().collect();
    assert_eq!(told, [(connections[0].flow.from, connections[0].source_qp.number())]);
    assert!(marked(&lanes) > 50);
    assert!(lanes.inspect(B).flows.unwrap().table.strays > 90);
}

#[test]
fn a_flood_of_messages_to_another_lane_leaves_the_lead_16_of_them() {
    let mut lanes = Lanes::new(settings(), 2, 7, STEP, AWAY);
    introduce(&mut lanes, 1);
    let before = lanes.inspect(B).ingress;
    lanes.stalled = Some(0);
    for sequence in 2..202 {
        lanes.arrive(1, B, feedback(sequence, SLOW));
    }
    lanes.run_until(lanes.now + AWAY * 20);
    lanes.stalled = None;
    // The lead takes a few in a turn, or a flood would hold it up.
    let heard = |lanes: &Lanes| lanes.inspect(B).ingress.consumed[Consumed::RateFeedback.index()].frames;
    let first = heard(&lanes);
    while heard(&lanes) == first {
        lanes.step_of(0);
    }
    assert_eq!(heard(&lanes) - first, 8);
    lanes.run_until(lanes.now + AWAY * 8);
    let after = lanes.inspect(B).ingress;
    let heard = Consumed::RateFeedback.index();
    assert_eq!(after.consumed[heard].frames - before.consumed[heard].frames, 16);
    let dropped = lanes.dropped();
    assert_eq!(
        dropped.into_iter().map(|(why, it)| (why, it.frames)).collect::<Vec<_>>(),
        [(DropReason::LeadBusy, 184)]
    );
    assert_eq!(lanes.inspect(B).notifiers.lscc.unwrap().feedback.accepted, 1 + 16);
}

/// The rates that the far end of a link says while lanes carry 2 Gb/s away through the first of these ports, of 3, and some more through the others.
fn told(to: &[PortId], make: impl FnOnce(Settings) -> Lanes) -> Vec<u64> {
    let mut settings = routed(4);
    settings.ports[A.index()].rate = BitRate::gigabits(2);
    // Lanes with frames take turns, and the link must not run dry meanwhile.
    settings.ports[A.index()].tx_window = AWAY * 4;
    settings.ports[B.index()].notifiers.lscc = Some(lscc(settings.ports[B.index()].rate));
    settings.ports[B.index()].groups[P3.index()] = lossless(5_000_000, 4_000_000, 50_000);
    lscc_of(&mut settings).calculation.reference = WireBytes(200_000);
    let mut lanes = make(settings);
    let mut frames = to.iter().map(|to| Flow::new(B, *to).at(P3).headers(PAYLOAD));
    let (first, others): (_, Vec<_>) = (frames.next().unwrap(), frames.collect());
    let each = BitRate::gigabits(3).serialization().time_of(WireBytes::of_frame(Bytes(PAYLOAD as u64)));
    let mut next = 0;
    while lanes.now < Nanos(3_000_000) {
        lanes.deliver(B, first.clone());
        next += 1;
        if next % 8 == 0 {
            others.iter().for_each(|frame| lanes.deliver(B, frame.clone()));
        }
        lanes.run_until(lanes.now + each);
    }
    assert!(lanes.dropped().is_empty());
    let rates = lanes.sent[B.index()].iter().filter_map(|sent| rate_in(&sent.frame));
    rates.map(BitRate::bits_per_second).collect()
}

fn mean(rates: &[u64]) -> u64 {
    rates.iter().sum::<u64>() / rates.len() as u64
}

#[test]
fn the_lead_tells_rates_for_all_that_the_lanes_carry_away() {
    let alone = told(&[A, C, D], |settings| Lanes::new(settings, 1, 9, STEP, AWAY));
    for count in [2, 4] {
        let lanes = told(&[A, C, D], |settings| Lanes::new(settings, count, 9, STEP, AWAY));
        assert!(alone.len().abs_diff(lanes.len()) <= 1, "{} of {}", lanes.len(), alone.len());
        let (one, other) = (mean(&alone), mean(&lanes));
        assert!(one.abs_diff(other) < one / 20, "{one} and {other} with {count} lanes");
        // 2.8 Gb/s for each other lane in a single interval.
        let most = 2_800_000_000 * (count as u64 - 1);
        assert!(alone.iter().zip(&lanes).all(|(one, lanes)| one.abs_diff(*lanes) <= most));
    }
    let follower = on_both_lanes()[1].flow.from;
    let blind = told(&[follower], |settings| Lanes::blind(settings, 2, 9, STEP, AWAY));
    assert!(blind.is_empty(), "the lead sees nothing of what passes through the follower");
}
