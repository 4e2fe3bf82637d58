//! Copies of flooded lossless frames: no sender was told to leave room for them, so they are best effort.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use config::{HeadroomSum, HeadroomTerms, response_quanta};
use conformance::long_haul::lscc;
use conformance::settings::{alpha, bridged, group_of, host_mac};
use conformance::{A, B, C, Flow, Network, P3, P4, Peer, TestFrame, Testbench};
use proptest::prelude::*;
use switch::program::{GroupSettings, Threshold};
use switch::{DropReason, Frame};
use units::{BitRate, Bytes, Distance, Interval, Nanos, PauseQuanta, PortId, Priority, WireBytes};
use wire::ethernet::MacAddress;

/// The first lossy priority.
const P0: Priority = Priority::from_low_bits(0);

/// The longest frame of all ports here.
const LONGEST: u64 = 1_500;
/// Fibre from each port to its neighbour.
const DISTANCE: Distance = Distance(300);
const DELAY: Interval = Interval(1_516);
/// Senders begin nothing after this.
const END: Nanos = Nanos(200_000);

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// To the station behind port B, which the bridge knows.
    Victim,
    Broadcast,
    Multicast,
    /// To a station that the bridge does not know.
    Unknown,
}

impl To {
    fn address(self) -> MacAddress {
        match self {
            Self::Victim => host_mac(B),
            Self::Broadcast => MacAddress::BROADCAST,
            Self::Multicast => MacAddress([0x01, 0, 0x5e, 1, 2, 3]),
            Self::Unknown => MacAddress([0x02, 0, 0, 0, 0, 0x77]),
        }
    }

    fn frame(self, from: PortId, length: usize) -> TestFrame {
        Flow { destination_mac: self.address(), ..Flow::new(from, B).at(P3) }.headers(length)
    }
}

/// What the neighbour behind a port sends in turn, at the rate of its link.
type Turn = (PortId, u64, Vec<(To, usize)>);

/// The headroom of a port at `gigabits` as the configuration computes it.
fn headroom(gigabits: u64) -> u64 {
    let terms = HeadroomTerms {
        repaired: WireBytes(0),
        rate: BitRate::gigabits(gigabits),
        distance: DISTANCE,
        max_frame: Bytes(LONGEST),
        longest_sent: Bytes(LONGEST),
        tx_window: Interval::ZERO,
        interface_delay: Interval::ZERO,
        cell_occupancy: 1.125,
        lanes: 1,
    };
    HeadroomSum::new(&terms).total().0
}

/// A bridge of `ports` among neighbours that stop as late after a pause as they may. Port B is at `egress` gigabits.
fn network(ports: u16, xoff: Threshold, shared: u64, egress: u64, turns: &[Turn]) -> Network {
    let mut settings = bridged(ports);
    let rate = |port: PortId| match turns.iter().find(|(from, ..)| *from == port) {
        Some((_, gigabits, _)) => *gigabits,
        None if port == B => egress,
        None => 25,
    };
    let numbers = (0..ports).map(PortId);
    (settings.buffer.shared, settings.buffer.egress_lossy) = (Bytes(shared), Bytes(shared));
    settings.buffer.headroom = Bytes(numbers.clone().map(|port| headroom(rate(port))).sum());
    for port in numbers {
        let gigabits = rate(port);
        let each = &mut settings.ports[port.index()];
        (each.rate, each.max_frame) = (BitRate::gigabits(gigabits), Bytes(LONGEST));
        each.groups[P4.index()] = GroupSettings::Lossy;
        each.pfc.obey = each.lossless();
        let group = group_of(&mut settings, port, P3);
        (group.reserved, group.xoff, group.xon) = (Bytes(LONGEST), xoff, Bytes(LONGEST));
        group.headroom = Bytes(headroom(gigabits));
    }
    let mut bench = Testbench::new(settings);
    bench.inject(B, [Flow::new(B, A).bridged().udp(60)]);
    bench.run_dry();
    let peers = turns.iter().map(|(from, gigabits, frames)| {
        let rate = BitRate::gigabits(*gigabits);
        let quanta = PauseQuanta(u16::try_from(response_quanta(rate)).unwrap());
        let mut frames = frames.iter().map(|(to, length)| to.frame(*from, *length));
        let first = Peer::new(frames.next().unwrap(), P3, rate, DELAY, END);
        let peer =
            frames.fold(first, Peer::in_turn_with).as_late_as(Interval::ZERO, quanta.interval_at(rate));
        (*from, peer)
    });
    let peers = peers.collect();
    Network::new(bench, peers)
}

/// The frames for the victim that were sent, and those that arrived there.
fn for_the_victim(network: &Network, turns: &[Turn]) -> (u64, u64) {
    let sent = network.peers.iter().zip(turns).map(|((_, peer), (_, _, frames))| {
        let of_turn = |label: &u64| frames[*label as usize % frames.len()].0 == To::Victim;
        (0..peer.sent()).filter(of_turn).count() as u64
    });
    let arrived = network.bench.data(B).filter(|sent| sent.frame.headers()[..6] == host_mac(B).0);
    (sent.sum(), arrived.count() as u64)
}

/// Lossless frames that were dropped for any other reason than as copies.
fn lost(bench: &Testbench) -> Vec<(PortId, &'static str, u64)> {
    let reasons = || DropReason::ALL.into_iter().filter(|reason| *reason != DropReason::FloodLimit);
    let at =
        |port| reasons().map(move |reason| (port, reason.name(), bench.dropped(port, P3, reason).frames));
    bench.ports().flat_map(at).filter(|(.., frames)| *frames > 0).collect()
}

#[test]
fn a_flood_at_a_lossless_priority_loses_copies_and_no_frame_of_another_host() {
    for (ports, to) in [(3, To::Broadcast), (8, To::Broadcast), (16, To::Broadcast), (8, To::Unknown)] {
        let turns = [(A, 100, vec![(To::Victim, 1_082), (to, 1_082)])];
        let mut network = network(ports, alpha(-3), 4 << 20, 25, &turns);
        network.run_dry();
        assert_eq!(lost(&network.bench), [], "{ports} ports");
        let (sent, arrived) = for_the_victim(&network, &turns);
        assert!(sent > 500 && arrived == sent, "{arrived} of {sent}");
        // The control: as charges to the group, the copies would have taken more than its headroom.
        let copies = network.bench.shard.ingress_counters(A).copies[P0.index()];
        assert!(copies.bytes.0 > headroom(100), "{copies:?}");
    }
}

#[test]
fn a_frame_to_all_or_to_an_unknown_station_at_a_lossless_priority_reaches_every_port() {
    for to in [To::Broadcast, To::Unknown] {
        let mut bench = Testbench::new(bridged(8));
        let request = |label| to.frame(A, 60).labelled(label);
        bench.inject(A, (0..100).map(request));
        bench.run_dry();
        for port in bench.ports().filter(|port| *port != A) {
            assert_eq!(bench.labels(port), (0..100).collect::<Vec<_>>(), "{port}");
        }
        assert_eq!(bench.dropped_in_all().frames, 0);
    }
}

#[test]
fn of_a_flooded_frame_one_copy_takes_headroom_and_the_others_are_best_effort() {
    let mut bench = Testbench::new(bridged(4));
    for port in bench.ports().collect::<Vec<_>>() {
        bench.block(port, P3);
    }
    bench.inject(B, [Flow::new(B, A).bridged().udp(60)]);
    bench.run_for(Interval(1_000));
    while bench.pauses(A, P3).is_empty() {
        bench.inject_singly(A, [Flow::new(A, B).bridged().at(P3).udp(1_000)]);
    }
    let held = |bench: &Testbench| [P0, P3].map(|priority| bench.shard.group(bench.now(), A, priority));
    let before = held(&bench);
    bench.inject_singly(A, [To::Broadcast.frame(A, 1_000)]);
    let after = held(&bench);
    assert_eq!((after[1].headroom - before[1].headroom).0, conformance::cost(1_000));
    assert_eq!((after[0].occupancy - before[0].occupancy).0, 2 * conformance::cost(1_000));
    let copies = bench.shard.ingress_counters(A).copies;
    assert_eq!((copies[P0.index()].frames, copies[P3.index()].frames), (2, 0));
}

#[test]
fn a_copy_that_leaves_through_a_long_link_fills_its_pseudo_queue_like_the_frame_itself() {
    let filled = |ports| {
        let mut settings = bridged(ports);
        let rate = settings.ports[B.index()].rate;
        settings.ports[B.index()].notifiers.lscc = Some(lscc(rate));
        let mut bench = Testbench::new(settings);
        bench.inject(A, [To::Unknown.frame(A, 1_000)]);
        bench.run_dry();
        bench.shard.notifiers(B).lscc.unwrap().longest_pseudo_queue
    };
    // Through the last of two ports leaves the frame itself, through the second of three a copy.
    assert_eq!(filled(2), filled(3));
    assert_eq!(filled(3), WireBytes::of_frame(Bytes(1_000)));
}

#[test]
fn a_port_whose_priorities_are_all_lossless_sends_a_flooded_frame_through_one_port() {
    let mut settings = bridged(4);
    let lossless = settings.ports[A.index()].groups[P3.index()];
    settings.ports[A.index()].groups = [lossless; 8];
    let mut bench = Testbench::new(settings);
    bench.inject(A, [To::Broadcast.frame(A, 60)]);
    bench.run_dry();
    assert_eq!(bench.dropped(A, P3, DropReason::FloodLimit).frames, 2);
    assert_eq!(bench.data(PortId(3)).count(), 1);
}

fn any_turn(from: PortId) -> impl Strategy<Value = Turn> {
    let to = prop::sample::select(vec![To::Victim, To::Broadcast, To::Multicast, To::Unknown]);
    let length = prop_oneof![Just(60_usize), Just(65), 60..=LONGEST as usize, Just(LONGEST as usize)];
    let frames = proptest::collection::vec((to, length), 1..8);
    (prop::sample::select(vec![10_u64, 25, 100]), frames).prop_map(move |(rate, frames)| (from, rate, frames))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lossless_frames_of_hosts_that_obey_are_not_lost_whatever_others_flood_at_their_priority(
        ports in 3_u16..=16,
        turns in (any_turn(A), any_turn(C)),
        xoff in prop_oneof![
            (2_u64..20).prop_map(|frames| Threshold::Static(Bytes(frames * LONGEST))),
            (-4_i8..=1).prop_map(alpha),
        ],
        shared in 24_u64..200,
        egress in prop::sample::select(vec![1_u64, 10, 25]),
    ) {
        let turns = [turns.0, turns.1];
        let mut network = network(ports, xoff, shared * LONGEST, egress, &turns);
        network.run_dry();
        prop_assert_eq!(lost(&network.bench), []);
        let (sent, arrived) = for_the_victim(&network, &turns);
        prop_assert_eq!(arrived, sent);
    }
}
