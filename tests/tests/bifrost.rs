//! Bifrost through the whole switch, against a neighbour that obeys PFC over 80 km of fibre.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use conformance::settings::{lossless, two_ports};
use conformance::{A, B, Flow, Network, P3, Peer, Testbench, cost};
use core::num::NonZeroU32;
use std::sync::Arc;
use switch::program::{Bifrost, FlowControl, Settings, VirtualIncoming};
use switch::{PauseCause, Program, SlotCounters};
use units::{BitRate, Bytes, Interval, Nanos, PauseQuanta, PrioritySet, WireBytes};

const RATE: BitRate = BitRate::gigabits(100);
const ONE_WAY: Interval = Interval(400_000);
const SLOT: Interval = Interval(10_000);
const FRAME: u64 = 4_170;
const KINDS: [VirtualIncoming; 2] =
    [VirtualIncoming::Counter, VirtualIncoming::History { jitter: Interval(1_000) }];

/// The settings of Bifrost on port A: the paper's deployment (section VI-A), with H of three slots
/// above the BDP and what frames that had begun leak within a round trip.
fn bifrost(kind: VirtualIncoming) -> Bifrost {
    let frame = RATE.serialization().time_of(WireBytes::of_frame(Bytes(FRAME)));
    let mut settings = Bifrost {
        buffer: WireBytes(0),
        slot: SLOT,
        // A pause waits behind a frame here, and acts behind one there.
        round_trip: ONE_WAY * 2 + frame * 3,
        check_every: NonZeroU32::MIN,
        virtual_incoming: kind,
        holdover: Interval(5_000),
        lateness: Interval::ZERO,
    };
    let least = settings.buffer_terms(RATE, Bytes(9_216)).total().0;
    settings.buffer = WireBytes(least + RATE.bytes_in(SLOT));
    settings
}

fn gateway(kind: VirtualIncoming) -> Settings {
    let mut settings = two_ports();
    let bifrost = bifrost(kind);
    settings.buffer.shared = Bytes(32_000_000);
    settings.ports[0].flow_control = FlowControl::Bifrost(bifrost);
    settings.ports[0].groups[3] =
        lossless(bifrost.buffer.0 + bifrost.overrun(RATE, Bytes(FRAME), Interval::ZERO).0, 1_000_000, 0);
    settings
}

/// A neighbour behind port A that always has frames for port B.
fn network(settings: Settings, until: Nanos) -> Network {
    let frame = Flow::new(A, B).at(P3).headers(FRAME as usize);
    Network::new(Testbench::new(settings), vec![(A, Peer::new(frame, P3, RATE, ONE_WAY, until))])
}

/// The most that may be inside: H, and the frames that had begun when their pauses arrived.
fn bound(kind: VirtualIncoming) -> u64 {
    let bifrost = bifrost(kind);
    bifrost.buffer.0 + bifrost.overrun(RATE, Bytes(FRAME), Interval::ZERO).0
}

/// Stops the drain of port B from `from` to `to`.
fn stop_drain(network: &mut Network, from: Nanos, to: Nanos) {
    network.run_until(from);
    while network.bench.now() < to {
        let rest = PauseQuanta::covering(to.since(network.bench.now()), RATE);
        network.bench.inject_pfc(B, PrioritySet::EMPTY.with(P3), rest);
        let end = network.bench.now() + rest.interval_at(RATE);
        network.run_until(end.min(to));
    }
}

fn slots(network: &Network) -> SlotCounters {
    network.bench.shard.flow_control(A).bifrost().unwrap().slots.clone()
}

/// Asserts that port B sent without a gap between `from` and `to`.
fn assert_line_rate(network: &Network, from: Nanos, to: Nanos) {
    let sent = network.bench.data(B).filter(|sent| from <= sent.start && sent.start < to).count() as u64;
    let line = RATE.bytes_in(to.since(from)) / (FRAME + WireBytes::OVERHEAD);
    assert!(sent + 1 >= line, "{sent} of {line} frames: the drain starved");
}

#[test]
fn a_drain_that_stops_and_restarts_costs_no_frame_and_finds_the_queue_filled() {
    for kind in KINDS {
        let mut network = network(gateway(kind), Nanos(9_000_000));
        stop_drain(&mut network, Nanos(2_000_000), Nanos(5_000_000));
        network.run_until(Nanos(9_000_000));
        let (buffer, bound, slots) = (bifrost(kind).buffer.0, bound(kind), slots(&network));
        assert!(slots.longest_queue.0 <= bound, "{kind:?}: {} of {bound}", slots.longest_queue.0);
        assert!(slots.longest_queue.0 > buffer - 3 * RATE.bytes_in(SLOT), "and the buffer was used");
        // The stop is 300 slots. Three fill the buffer, beside the one that runs. Each of the eight renewals of the
        // drain's pause lets a frame out, which a slot grants, and with a history another one as that grant expires.
        let fully_paused = slots.fully_paused_slots;
        assert!((300 - 4 - 2 * 8..=300 - 4 - 8).contains(&fully_paused), "{kind:?}: {fully_paused}");
        assert_line_rate(&network, Nanos(5_000_000), Nanos(9_000_000));
        network.run_dry();
        let bench = &network.bench;
        assert_eq!(bench.dropped_in_all().frames, 0);
        assert_eq!(bench.data(B).count() as u64, network.peers[0].1.sent(), "all that was sent arrived");
        bench.assert_conserved();
    }
}

#[test]
fn a_drain_that_oscillates_costs_no_frame_and_is_never_starved_while_it_is_open() {
    for kind in KINDS {
        let mut network = network(gateway(kind), Nanos(12_000_000));
        let mut at = Nanos(2_000_000);
        for period in [100_000, 300_000, 900_000, 50_000, 700_000, 2_000_000] {
            stop_drain(&mut network, at, at + Interval(period));
            let open = at + Interval(period);
            network.run_until(open + Interval(period));
            assert_line_rate(&network, open, open + Interval(period));
            at = open + Interval(period);
        }
        network.run_dry();
        assert!(slots(&network).longest_queue.0 <= bound(kind));
        assert_eq!(network.bench.dropped_in_all().frames, 0);
    }
}

#[test]
fn a_change_of_its_settings_keeps_what_was_counted() {
    let before = gateway(KINDS[1]);
    let mut network = network(before.clone(), Nanos(2_000_000));
    network.run_until(Nanos(2_000_000));
    let counted = slots(&network);
    // The first one begins with the first frame, which has a way of 400 us.
    let slots_of_bench = (2_000_000 - ONE_WAY.0) / SLOT.0;
    assert!(counted.slots.abs_diff(slots_of_bench) <= 1, "{}", counted.slots);
    let mut after = before;
    let FlowControl::Bifrost(bifrost) = &mut after.ports[0].flow_control else { panic!("Bifrost runs") };
    bifrost.lateness = Interval::from_micros(10);
    bifrost.buffer += WireBytes(RATE.bytes_in(Interval::from_micros(10)));
    network.bench.shard.install(network.bench.now(), Arc::new(Program::new(after).unwrap())).unwrap();
    assert_eq!(slots(&network), counted);
}

#[test]
fn a_drain_at_half_the_line_settles_and_keeps_its_link_busy() {
    for kind in KINDS {
        let mut settings = gateway(kind);
        settings.ports[1].rate = BitRate::gigabits(50);
        let mut network = network(settings, Nanos(12_000_000));
        network.run_until(Nanos(12_000_000));
        let sent = network.bench.data(B).filter(|sent| sent.start >= Nanos(2_000_000)).count() as u64;
        let line = BitRate::gigabits(50).bytes_in(Interval(10_000_000)) / (FRAME + WireBytes::OVERHEAD);
        assert!(sent + 2 >= line, "{sent} of {line}");
        assert!(slots(&network).longest_queue.0 <= bound(kind));
        network.run_dry();
        assert_eq!(network.bench.dropped_in_all().frames, 0);
    }
}

/// PFC in figure 2: the drain stops at 2 ms and is back at 5 ms. Returns what port A held at most, when
/// it first sent a pause, and for how long port B then had nothing to send.
fn figure_2(xoff: u64) -> (u64, Nanos, Interval) {
    let mut settings = two_ports();
    settings.buffer.shared = Bytes(32_000_000);
    let headroom = Peer::headroom(RATE, ONE_WAY, Bytes(FRAME));
    settings.buffer.headroom = Bytes(2 * headroom);
    settings.ports[0].groups[3] = lossless(xoff, xoff - cost(FRAME), headroom);
    let mut network = network(settings, Nanos(9_000_000));
    stop_drain(&mut network, Nanos(2_000_000), Nanos(5_000_000));
    network.run_until(Nanos(9_000_000));
    assert_eq!(network.bench.dropped_in_all().frames, 0);
    let group = network.bench.shard.group(network.bench.now(), A, P3);
    let held = group.watermark.persistent() + group.headroom_watermark.persistent();
    let paused = network.bench.pauses(A, P3)[0].0;
    let starts: Vec<_> = network.bench.data(B).map(|sent| sent.start).collect();
    let open = starts.windows(2).filter(|pair| pair[0] > Nanos(5_000_000));
    let gap = open.map(|pair| pair[1].since(pair[0])).max().unwrap();
    (held.0, paused, gap)
}

/// Figures 2 and 7 on the whole switch, for 100G and D = 400 us: a BDP of 10,000,000 wire bytes.
#[test]
fn pfc_needs_two_bdp_where_bifrost_needs_one_and_pauses_more_than_one_way_later() {
    let (bdp, frame) = (RATE.bytes_in(ONE_WAY * 2), Interval(336));
    // XOFF of one BDP, and one of headroom: no loss and no gap, at the price of two. Beside the BDP are the two
    // frames by which XON is passed, the one that is sent first, and the PFC frame.
    let (held, paused, gap) = figure_2(bdp + 4 * cost(FRAME));
    assert!(held > 2 * bdp - bdp / 100 && held < 2 * bdp + bdp / 100, "two BDP: {held}");
    assert!(gap <= frame, "the drain starved for {gap}");

    let kind = KINDS[1];
    let mut network = network(gateway(kind), Nanos(9_000_000));
    stop_drain(&mut network, Nanos(2_000_000), Nanos(5_000_000));
    network.run_until(Nanos(9_000_000));
    let longest = slots(&network).longest_queue.0;
    assert!(longest <= bound(kind) && longest * 100 < held * 56, "about half: {longest} of {held}");
    assert_line_rate(&network, Nanos(5_000_000), Nanos(9_000_000));
    let first = network.bench.pauses(A, P3)[0].0;
    assert!(
        first.since(Nanos(2_000_000)) <= SLOT * 5,
        "it takes three slots, and the one that runs: {first}"
    );
    assert!(paused.since(first) > ONE_WAY, "PFC has to wait for its XOFF: {paused}");

    // PFC with the buffer of Bifrost: what is left below XOFF drains, and nothing comes for the rest
    // of a round trip.
    let buffer = bifrost(kind).buffer.0;
    let (held, _, gap) = figure_2(buffer - bdp);
    assert!(
        held.abs_diff(buffer) <= 4 * cost(FRAME),
        "XOFF, and what a round trip brings: {held} of {buffer}"
    );
    let drained = RATE.serialization().time_of(WireBytes(buffer - bdp));
    assert!(gap.0.abs_diff((ONE_WAY * 2 - drained).0) <= 4 * frame.0, "the drain starved for {gap}");
}

/// How many wire bytes above H port A holds at most behind a drain of 50G that stops after 12 ms,
/// where no two frames in a row have the same length.
fn above_buffer_with_mixed_frames(kind: VirtualIncoming) -> u64 {
    let (stop, end) = (Nanos(12_000_000), Nanos(15_000_000));
    let mut settings = gateway(kind);
    settings.ports[1].rate = BitRate::gigabits(50);
    let frame = |length| Flow::new(A, B).at(P3).headers(length);
    let peer = Peer::new(frame(FRAME as usize), P3, RATE, ONE_WAY, end);
    let peer = (0..997).fold(peer, |peer, n| peer.in_turn_with(frame(200 + n * 7_919 % 3_967)));
    let mut network = Network::new(Testbench::new(settings), vec![(A, peer)]);
    stop_drain(&mut network, stop, end);
    let longest = slots(&network).longest_queue.0;
    network.run_dry();
    assert_eq!(network.bench.dropped_in_all().frames, 0);
    longest - bifrost(kind).buffer.0
}

/// With frames of one length the drain takes whole frames, and so whole frames are granted. With
/// mixed ones about half a frame leaks in every slot that is granted in part.
#[test]
fn frames_that_had_begun_add_up_unnoticed_by_the_counter_and_not_by_the_history() {
    let [counter, history] = KINDS.map(above_buffer_with_mixed_frames);
    let of_a_round_trip = bifrost(KINDS[1]).overrun(RATE, Bytes(FRAME), Interval::ZERO).0;
    assert!(history <= of_a_round_trip, "{history} of {of_a_round_trip}");
    assert!(counter > 3 * of_a_round_trip, "{counter}: k MTU says nothing of a counter");
    assert!(counter <= bifrost(KINDS[0]).overrun(RATE, Bytes(FRAME), Interval::ZERO).0);
}

#[test]
fn the_pauses_of_slots_are_ordinary_pfc_frames_for_the_lossless_priorities_alone() {
    let mut network = network(gateway(KINDS[1]), Nanos(4_000_000));
    stop_drain(&mut network, Nanos(1_000_000), Nanos(3_000_000));
    let frames: Vec<_> = network.bench.sent(A).iter().filter_map(|sent| sent.pfc()).collect();
    for times in &frames {
        let lossless = [3, 4];
        assert!((0..8).all(|priority| times[priority].is_some() == lossless.contains(&priority)));
        let pause = times[3].unwrap().interval_at(RATE);
        assert!(pause <= SLOT + Interval(5_000) + Interval(6), "a slot and its holdover: {pause}");
    }
    let group = network.bench.shard.group(network.bench.now(), A, P3);
    let slots = slots(&network);
    // The stop is 200 slots, of which three fill the buffer.
    assert!((190..=200).contains(&slots.paused_slots), "{}", slots.paused_slots);
    assert_eq!((group.pauses.slot, frames.len() as u64), (slots.paused_slots, slots.paused_slots));
    assert_eq!(group.pauses.xoff, 0, "no threshold was reached beneath it");
    let paused = group.paused_for[PauseCause::ALL.iter().position(|it| *it == PauseCause::Slot).unwrap()];
    let bounds = SLOT * slots.fully_paused_slots..=SLOT * slots.paused_slots;
    assert!(bounds.contains(&paused), "{paused} of {bounds:?}");
}

#[test]
fn a_port_without_traffic_has_no_slots_and_no_deadline() {
    let mut network = network(gateway(KINDS[1]), Nanos(1_000_000));
    assert_eq!(network.bench.shard.next_deadline(), Nanos::NEVER);
    network.run_dry();
    let ended = slots(&network).slots;
    assert_eq!(ended, 100 + 1, "frames come in for 1 ms, and in the last slot none does");
    assert_eq!(network.bench.shard.next_deadline(), Nanos::NEVER, "it has come to rest");
    network.bench.run_until(Nanos(1_000_000_000));
    assert_eq!(slots(&network).slots, ended);
}
