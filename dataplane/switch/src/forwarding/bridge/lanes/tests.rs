//! Tests of bridges that tell each other.

use super::*;
use crate::allowance::Allowance;
use crate::descriptor::Descriptor;
use crate::forwarding::{BridgeCounters, Verdict};
use crate::hash::HashKey;
use crate::lanes::Board;
use crate::program::BridgeSettings;
use units::PortId;
use wire::ethernet::MacAddress;

const PORTS: usize = 3;
const START: Nanos = Nanos(1_700_000_000_000_000_000);
const AGEING: Interval = Interval::from_secs(300);

fn station(number: u64) -> MacAddress {
    let [.., a, b, c, d] = number.to_be_bytes();
    MacAddress([2, 1, a, b, c, d])
}

/// A bridge of `capacity` stations.
fn bridge(capacity: u32) -> Bridge {
    let own = (0..PORTS as u8).map(|port| MacAddress([2, 0, 0, 0, 0, port])).collect();
    Bridge::new(&BridgeSettings { capacity, ageing: AGEING }, own, HashKey::from(1))
}

/// The bridges of `N` lanes, which have looked.
fn bridges<const N: usize>(capacity: u32) -> [Bridge; N] {
    let board = Board::new(N, PORTS);
    core::array::from_fn(|lane| {
        let mut bridge = bridge(capacity);
        bridge.share(board.stations(lane));
        bridge.hear(START);
        bridge
    })
}

fn look(bridges: &mut [Bridge], now: Nanos) {
    bridges.iter_mut().for_each(|bridge| bridge.hear(now));
}

/// Gives it a frame that comes in through `port`.
fn frame(bridge: &mut Bridge, now: Nanos, port: u16, from: MacAddress, to: MacAddress) -> Verdict {
    let mut headers = [0; 64];
    headers[..6].copy_from_slice(&to.0);
    headers[6..12].copy_from_slice(&from.0);
    headers[12..14].copy_from_slice(&[0x88, 0xb5]);
    let descriptor = Descriptor::parse(&headers, units::Bytes(64)).expect("it is whole");
    bridge.verdict::<true>(now, PortId(port), &descriptor, &headers)
}

/// Lets `bridge` see station `number` behind `port`.
fn see(bridge: &mut Bridge, now: Nanos, port: u16, number: u64) {
    frame(bridge, now, port, station(number), MacAddress([0xff; 6]));
}

/// Where a bridge has station `number`.
fn place(bridge: &Bridge, number: u64) -> Option<u16> {
    bridge.find(Name::new(0, station(number))).map(|slot| bridge.stations[slot].port.0)
}

#[test]
fn a_station_that_one_lane_sees_is_known_to_all_that_have_looked() {
    let mut all = bridges::<4>(64);
    see(&mut all[0], START, 1, 7);
    let to_it = |bridge: &mut Bridge| frame(bridge, START, 0, station(8), station(7));
    assert_eq!(to_it(&mut all[3]), Verdict::Flood, "it has not looked");
    look(&mut all, START);
    assert_eq!(all.each_mut().map(to_it), [Verdict::Forward(PortId(1)); 4]);
    assert_eq!(all.each_ref().map(|it| it.counters(PortId(1))), [BridgeCounters::default(); 4]);
}

#[test]
fn lanes_follow_a_station_that_moves_and_the_lane_that_saw_it_counts_it() {
    let mut all = bridges::<3>(64);
    for (turn, (lane, port)) in (0..).zip([(0, 1), (0, 2), (1, 0), (2, 1)]) {
        see(&mut all[lane], START + Interval(turn), port, 7);
        look(&mut all, START + Interval(turn));
        look(&mut all, START + Interval(turn));
        assert_eq!(all.each_ref().map(|it| place(it, 7)), [Some(port); 3]);
    }
    let moved = |bridge: &Bridge| [0, 1, 2].map(|port| bridge.counters(PortId(port)).moved);
    assert_eq!(all.each_ref().map(moved), [[0, 0, 1], [1, 0, 0], [0, 1, 0]]);
}

#[test]
fn of_two_lanes_that_see_a_station_behind_two_ports_the_later_is_right() {
    for (one, other, right) in [(5, 4, 1), (4, 5, 2), (4, 4, 2)] {
        let mut all = bridges::<2>(64);
        see(&mut all[0], START + Interval(one), 1, 7);
        see(&mut all[1], START + Interval(other), 2, 7);
        (0..3).for_each(|_| look(&mut all, START + Interval(6)));
        assert_eq!(all.each_ref().map(|it| place(it, 7)), [Some(right); 2]);
        let waits = all.iter().map(|it| it.others.as_ref().unwrap().waiting());
        assert_eq!(waits.sum::<usize>(), 0, "they agree");
    }
}

#[test]
fn a_forged_frame_on_another_lane_misleads_it_no_longer_than_until_the_station_is_seen_again() {
    for is_refused in [false, true] {
        let mut all = bridges::<3>(64);
        see(&mut all[0], START, 1, 7);
        look(&mut all, START);
        // Port 2 may move no station any more on the lane of the true one.
        while is_refused && all[0].changes[2].0.take(START) {}
        let after = |time| START + Interval(time);
        see(&mut all[1], after(4), 2, 7);
        if !is_refused {
            // Before that lane looks.
            see(&mut all[0], after(5), 1, 7);
        }
        (0..2).for_each(|_| look(&mut all, after(6)));
        if is_refused {
            assert_eq!(place(&all[1], 7), Some(2));
            see(&mut all[0], after(7), 1, 7);
            look(&mut all, after(8));
        }
        assert_eq!(all.each_ref().map(|it| place(it, 7)), [Some(1); 3], "{is_refused}");
    }
}

#[test]
fn a_station_is_told_once_in_a_quarter_of_the_ageing_time_and_stays_known_as_long_as_it_is_seen() {
    let mut all = bridges::<3>(64);
    let (mut told, listener) = (0, all[2].others.take().unwrap());
    for second in 0..3_000 {
        let now = START + Interval::from_secs(second);
        look(&mut all, now);
        (0..5).for_each(|_| see(&mut all[0], now, 1, 7));
        look(&mut all, now);
        let is_it = |sighting: Sighting| sighting.name == Name::new(0, station(7)).0;
        listener.hear(9, |sighting| told += u64::from(is_it(sighting)));
        let to_it = frame(&mut all[1], now, 0, station(8), station(7));
        assert_eq!(to_it, Verdict::Forward(PortId(1)));
    }
    assert_eq!(told, 3_000 * ROUNDS / 300);
    let later = START + Interval::from_secs(3_000) + AGEING;
    look(&mut all, later);
    assert_eq!(frame(&mut all[1], later, 0, station(8), station(7)), Verdict::Flood, "it is silent");
}

#[test]
fn the_address_of_a_port_and_what_has_aged_are_not_learned_from_others() {
    let mut all = bridges::<2>(64);
    let tell = |bridge: &Bridge, mac, seen| {
        let name = Name::new(0, mac).0;
        assert!(bridge.others.as_ref().unwrap().tell(Sighting { name, port: Some(PortId(1)), seen }));
    };
    tell(&all[0], MacAddress([2, 0, 0, 0, 0, 2]), START);
    tell(&all[0], station(7), START);
    all[1].hear(START + AGEING + Interval(1));
    assert!(all[1].stations.is_empty());
}

#[test]
fn what_finds_no_room_is_told_with_a_later_frame_and_is_not_forgotten_meanwhile() {
    let mut all = bridges::<2>(2_048);
    let see_all = |bridge: &mut Bridge| (0..1_000).for_each(|number| see(bridge, START, 1, number));
    let known = |bridge: &Bridge| (0..1_000).filter(|number| place(bridge, *number) == Some(1)).count();
    see_all(&mut all[0]);
    (0..1_000).for_each(|_| look(&mut all, START));
    assert!((100..500).contains(&known(&all[1])), "{}", known(&all[1]));
    for _ in 0..4 {
        see_all(&mut all[0]);
        (0..100).for_each(|_| look(&mut all, START));
    }
    assert_eq!(all.each_ref().map(known), [1_000; 2]);
    assert_eq!(frame(&mut all[0], START, 0, station(2_000), station(999)), Verdict::Forward(PortId(1)));
}

#[test]
fn a_lane_with_a_new_table_asks_for_what_the_others_know() {
    let mut all = bridges::<3>(64);
    see(&mut all[0], START, 1, 7);
    look(&mut all, START);
    all[1].succeed(&mut bridge(65));
    let later = START + Interval::from_secs(60);
    let to_it = |bridge: &mut Bridge| frame(bridge, later, 0, station(8), station(7));
    assert_eq!(to_it(&mut all[1]), Verdict::Flood);
    look(&mut all, later);
    look(&mut all, later);
    assert_eq!(to_it(&mut all[1]), Verdict::Forward(PortId(1)));
    // The answer has made it no younger.
    let aged = START + AGEING + Interval(1);
    assert_eq!(frame(&mut all[1], aged, 0, station(8), station(7)), Verdict::Flood);
}

/// The most sightings that a look of the second lane takes while the first is flooded with forged sources from port 2, and its
/// table at the end.
fn flood_of_forged_sources(frames: u64, capacity: u32) -> (usize, Bridge) {
    let mut all = bridges::<2>(capacity);
    for number in 0..u64::from(capacity) {
        see(&mut all[1], START, 0, number);
        look(&mut all, START);
    }
    let mut most = 0;
    for number in 0..frames {
        see(&mut all[0], START + Interval(1), 2, 1_000_000 + number);
        if number % 32 == 0 {
            let waits = |bridge: &Bridge| bridge.others.as_ref().map_or(0, |it| it.waiting());
            let before = waits(&all[1]);
            all[1].hear(START + Interval(1));
            most = most.max(before - waits(&all[1]));
        }
    }
    (0..1_000).for_each(|_| all[1].hear(START + Interval(1)));
    let [_, other] = all;
    (most, other)
}

#[test]
fn a_flood_of_forged_sources_on_one_lane_costs_others_so_much_of_a_look_and_so_many_stations() {
    let (most, bridge) = flood_of_forged_sources(100_000, 4_096);
    assert_eq!(most, HEARD_AT_ONCE);
    let lost = (0..4_096).filter(|number| place(&bridge, *number) != Some(0)).count() as u64;
    assert!((1..=Allowance::BURST).contains(&lost), "{lost}");
    assert_eq!(bridge.counters(PortId(2)), BridgeCounters::default(), "it has seen no frame of them");
}

#[test]
fn questions_for_forged_destinations_leave_room_for_stations() {
    let mut all = bridges::<2>(64);
    for number in 0..50_000 {
        frame(&mut all[0], START, 2, station(1), station(1_000_000 + number));
    }
    // One round of looks makes room, and a frame uses it.
    for _ in 0..2 {
        (0..100).for_each(|_| look(&mut all, START));
        see(&mut all[0], START, 1, 7);
    }
    look(&mut all, START);
    assert_eq!(all.each_ref().map(|it| place(it, 7)), [Some(1); 2]);
}
