//! Bridges on lanes, of which one alone sees the way back.

use super::*;
use conformance::C;
use conformance::settings::bridged;

/// A bridge whose lanes see each other, or not.
fn bridge(count: usize, seed: u64, is_blind: bool) -> Lanes {
    let mut settings = bridged(3);
    for port in &mut settings.ports {
        port.max_frame = Bytes(LENGTH);
        port.tx_window = WINDOW;
    }
    let new = if is_blind { Lanes::blind } else { Lanes::new };
    new(settings, count, seed, STEP, AWAY)
}

/// Lets the station behind B send a frame through `port`, which comes to `lane`, until all lanes have looked.
fn hear(lanes: &mut Lanes, lane: usize, port: PortId) {
    lanes.arrive(lane, port, Flow::new(B, A).bridged().at(P3).headers(LENGTH as usize));
    lanes.run_until(lanes.now + AWAY * 4);
}

/// Sends 400 frames to that station from A, through every lane. Returns the copies that were flooded, and the frames that left
/// through B and C.
fn send(lanes: &mut Lanes) -> (u64, [usize; 2]) {
    let copies = |lanes: &Lanes| {
        let of_lane = |lane: &switch::Shard<TestFrame>| lane.ingress_counters(A).copies;
        lanes.lanes.iter().flat_map(of_lane).map(|copies| copies.frames).sum::<u64>()
    };
    let left =
        |lanes: &Lanes| [B, C].map(|port| lanes.sent[port.index()].iter().filter(|it| !it.control).count());
    let before = (copies(lanes), left(lanes));
    for host in 0..400 {
        let flow = Flow { source_port: host, ..Flow::new(A, B) };
        lanes.arrive(
            usize::from(host) % lanes.lanes.len(),
            A,
            flow.bridged().at(P3).headers(LENGTH as usize),
        );
        lanes.run_until(lanes.now + STEP * 4);
    }
    lanes.run_until(lanes.now + AWAY * 10);
    let after = left(lanes);
    (copies(lanes) - before.0, [0, 1].map(|port| after[port] - before.1[port]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_station_that_one_lane_sees_is_flooded_to_by_none_and_followed_by_all_when_it_moves(seed in any::<u64>()) {
        for count in [2, 4] {
            let mut lanes = bridge(count, seed, false);
            for (lane, port, left) in [(0, B, [400, 0]), (count - 1, C, [0, 400]), (count / 2, B, [400, 0])] {
                hear(&mut lanes, lane, port);
                prop_assert_eq!(send(&mut lanes), (0, left), "{} lanes, seen by {}", count, lane);
            }
            prop_assert_eq!(lanes.dropped(), BTreeMap::new());
            lanes.assert_conserved();
        }
    }
}

#[test]
fn lanes_that_tell_each_other_nothing_flood_all_that_they_send_to_a_station_that_one_of_them_sees() {
    for count in [2, 4] {
        let mut lanes = bridge(count, 31, true);
        hear(&mut lanes, 0, B);
        let (copies, _) = send(&mut lanes);
        assert_eq!(copies, 400 - 400 / count as u64);
    }
}
