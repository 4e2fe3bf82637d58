//! Frames of lengths that someone chose: the shortest, beside lossless ones, and any mix of them.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::{HeadroomSum, HeadroomTerms};
use conformance::settings::{lossless, routed, two_ports};
use conformance::{A, B, C, Flow, Network, P1, P3, P4, Peer, TestFrame, Testbench, cost};
use proptest::prelude::*;
use std::path::Path;
use switch::DropReason;
use switch::program::{Classification, PortSettings, Settings};
use units::{BitRate, Bytes, Cells, Distance, Interval, Nanos, PortId, Priority, WireBytes};

const P0: Priority = Priority::from_low_bits(0);
const RATE: BitRate = BitRate::gigabits(100);
/// 2 km of fibre.
const DELAY: Interval = Interval(10_100);

/// The gateway for E810 cards as it is shipped, with a long link of 10 Gb/s.
fn shipped() -> Settings {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/gateways/wire-e810.toml");
    let text = std::fs::read_to_string(&path).unwrap().replacen(
        "name = \"lh0\"\nrate = \"100G\"",
        "name = \"lh0\"\nrate = \"10G\"",
        1,
    );
    let mut settings = config::parse(&text, "wire-e810.toml").unwrap().program.settings().clone();
    assert_eq!(settings.ports[B.index()].rate, BitRate::gigabits(10));
    // Of the conformance tests.
    for port in &mut settings.ports {
        port.classification = Classification::default();
    }
    settings
}

/// The frames of `priority` that were dropped, anywhere.
fn lost(bench: &Testbench, priority: Priority) -> u64 {
    let at_ingress = |port: PortId| {
        let dropped = &bench.shard.ingress_counters(port).dropped[priority.index()];
        dropped.iter().map(|volume| volume.frames).sum::<u64>()
    };
    let at_egress = |port| bench.shard.queue(bench.now(), port, priority).dropped;
    let both = |port| at_ingress(port) + at_egress(port).iter().map(|volume| volume.frames).sum::<u64>();
    bench.ports().map(both).sum()
}

#[test]
fn a_flood_of_the_shortest_best_effort_frames_costs_no_lossless_frame() {
    // 300 m of fibre. The flood has filled what it may have when the lossless sender begins.
    let (delay, begin, end) = (Interval(1_516), Nanos(2_000_000), Nanos(3_000_000));
    let flood = Peer::new(Flow::new(A, B).at(P0).headers(60), P0, RATE, delay, end);
    let lossless = Peer::new(Flow::new(A, B).at(P3).headers(1_082), P3, RATE, delay, end).starting_at(begin);
    let mut network = Network::new(Testbench::new(shipped()), vec![(A, flood), (A, lossless)]);
    network.run_dry();
    let bench = &network.bench;
    let reasons = DropReason::ALL.map(|reason| (reason.name(), bench.dropped(A, P3, reason).frames));
    let lost_at: Vec<_> = reasons.into_iter().filter(|(_, frames)| *frames > 0).collect();
    let (sent, lost_of_flood) = (network.peers[1].1.sent(), lost(bench, P0));
    assert_eq!(
        lost(bench, P3),
        0,
        "of {sent} lossless frames: {lost_at:?}, {} pauses",
        bench.pauses(A, P3).len()
    );
    assert_eq!(bench.shard.ledger().departed(A, B, P3).frames, sent);
    // 10 Gb/s carry 44,642 of them in 3 ms, and the buffer holds no more than 16 MiB in cells of theirs.
    let flooded = network.peers[0].1.sent();
    assert!(lost_of_flood > flooded - 44_643 - (16 << 20) / 80, "{lost_of_flood} of {flooded}");
    // Its sender was paused in time. Unpaused it would have sent ten times what left within the millisecond, beside
    // which there is only what the group held.
    let group = bench.shard.group(bench.now(), A, P3);
    let held = (group.watermark.persistent() + group.headroom_watermark.persistent()).0 / cost(1_082);
    let left = BitRate::gigabits(10).bytes_in(end.since(begin)) / WireBytes::of_frame(Bytes(1_082)).0;
    assert!((held..=held + left + 1).contains(&sent), "{sent}: {held} held and {left} sent");
    assert!(group.pauses.xoff > 0 && group.pauses.xon == group.pauses.xoff, "{:?}", group.pauses);
}

/// Two senders on ports A and B for C, of frames of these lengths in turn, whose neighbours obey; C is slower than
/// either. XOFF leaves room for the longest frame and no more, and headroom is the product's own sum.
fn mixed(lengths: [&[usize]; 2], egress: BitRate, flood: usize) -> (Network, u64) {
    let until = Nanos(400_000);
    let mut settings = routed(3);
    let longest = Cells::of_frame(PortSettings::LARGEST_FRAME).bytes().0;
    let terms = HeadroomTerms {
        repaired: WireBytes(0),
        rate: RATE,
        distance: Distance(2_000),
        max_frame: PortSettings::LARGEST_FRAME,
        longest_sent: PortSettings::LARGEST_FRAME,
        tx_window: Interval::ZERO,
        interface_delay: Interval::ZERO,
        cell_occupancy: 1.08,
        lanes: 1,
    };
    let headroom = HeadroomSum::new(&terms).total().0;
    for port in &mut settings.ports {
        for priority in [P3, P4] {
            port.groups[priority.index()] = lossless(longest, longest / 2, headroom);
        }
    }
    settings.ports[C.index()].rate = egress;
    // Best effort fills its pool, and its queue goes first.
    settings.buffer.shared = Bytes(4 * longest);
    settings.buffer.egress_lossy = Bytes(longest);
    let sender = |from: PortId, lengths: &[usize]| {
        let frame = |length: usize| Flow::new(from, C).at(P3).headers(length);
        let first = Peer::new(frame(lengths[0]), P3, RATE, DELAY, until);
        lengths[1..].iter().fold(first, |peer, length| peer.in_turn_with(frame(*length)))
    };
    let best_effort: TestFrame = Flow::new(A, C).at(P1).headers(flood);
    let peers = vec![
        (A, sender(A, lengths[0])),
        (B, sender(B, lengths[1])),
        (A, Peer::new(best_effort, P1, RATE, DELAY, until)),
    ];
    (Network::new(Testbench::new(settings), peers), headroom)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lossless_frames_of_any_lengths_in_any_order_are_not_lost_beside_best_effort(
        one in proptest::collection::vec(60_usize..=9_216, 1..12),
        other in proptest::collection::vec(prop_oneof![Just(60_usize), Just(65), Just(81), 60..=300_usize], 1..12),
        egress in prop::sample::select(vec![1_u64, 10, 40]),
        flood in prop_oneof![Just(60_usize), 60..=9_216_usize],
    ) {
        let (mut network, headroom) = mixed([&one, &other], BitRate::gigabits(egress), flood);
        network.run_dry();
        prop_assert_eq!(lost(&network.bench, P3), 0);
        let sent: u64 = network.peers[..2].iter().map(|(_, peer)| peer.sent()).sum();
        let ledger = network.bench.shard.ledger();
        let arrived: u64 = [A, B].map(|from| ledger.departed(from, C, P3).frames).iter().sum();
        prop_assert_eq!(arrived, sent);
        for port in [A, B] {
            let mark = network.bench.shard.group(network.bench.now(), port, P3).headroom_watermark;
            prop_assert!(mark.persistent().0 <= headroom);
        }
    }
}

#[test]
fn a_threshold_counts_short_frames_as_the_memory_that_they_take() {
    // As many bytes of 60-byte frames as of 1,082-byte ones cost more, since each is remembered.
    let frames = |length: usize| {
        let mut bench = Testbench::new(two_ports());
        bench.block(B, P3);
        let mut count = 0_u64;
        while bench.pauses(A, P3).is_empty() {
            bench.inject_singly(A, Flow::new(A, B).at(P3).udps(1, length));
            count += 1;
        }
        count * length as u64
    };
    let xoff = conformance::settings::XOFF;
    assert_eq!(frames(60), xoff.div_ceil(80) * 60);
    assert_eq!(frames(1_082), xoff.div_ceil(1_104) * 1_082);
}
