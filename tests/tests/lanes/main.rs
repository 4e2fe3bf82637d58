//! Whole switches with several lanes, under seeded schedules of their turns: nothing lossless is lost, each flow keeps its
//! order, the link is never oversubscribed, and the bounds of `switch::lanes` hold. The control is the same switch whose
//! lanes do not see each other.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod bifrost;
mod bridge;

use config::{HeadroomSum, HeadroomTerms};
use conformance::settings::{lossless, routed, switch};
use conformance::{A, B, Flow, Lanes, P1, P3, Peer, TestFrame, cost};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use switch::lanes::{beyond_pools, unseen};
use switch::program::{LossyQueue, Scheduling, Settings, Threshold, Watchdog, WatchdogAction};
use switch::{DropReason, ForwardingSettings, Program, Volume};
use units::{
    BitRate, Bytes, Cells, Distance, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet, WireBytes,
};

const RATE: BitRate = BitRate::gigabits(100);
const LENGTH: u64 = 1_082;
const STEP: Interval = Interval(50);
/// The longest time between two steps of a lane of which it learns nothing: its turn.
const AWAY: Interval = Interval::from_micros(4);
const DELAY: Interval = Interval::from_micros(5);
const WINDOW: Interval = Interval::from_micros(2);
const XOFF: u64 = 300 * cost(LENGTH);

/// The lane of a frame: by its UDP source port, which stands for the host.
fn home(frame: &TestFrame, lanes: usize) -> usize {
    usize::from(frame.bytes[35]) % lanes
}

fn flow(host: u16) -> Flow {
    Flow { source_port: host, ..Flow::new(A, B) }
}

/// Headroom: all that arrives until the neighbour has stopped, with a turn in which a frame is unread and one in
/// which its pause waits.
fn headroom_of(away: Interval, lanes: u64) -> Bytes {
    let terms = HeadroomTerms {
        repaired: WireBytes(0),
        rate: RATE,
        distance: Distance((DELAY.0 * (Distance::FIBRE_SPEED / 1_000)).div_ceil(1_000_000)),
        max_frame: Bytes(LENGTH),
        longest_sent: Bytes(LENGTH),
        tx_window: WINDOW,
        interface_delay: Interval(2 * away.0),
        cell_occupancy: cost(LENGTH) as f64 / WireBytes::of_frame(Bytes(LENGTH)).0 as f64,
        lanes: lanes as usize,
    };
    HeadroomSum::new(&terms).total()
}

/// A patched pair whose second port is `slower` times slower, with the headroom that `lanes` lanes need.
fn settings(lanes: u64, slower: u64) -> Settings {
    let mut settings = switch(2, RATE, ForwardingSettings::Patch(vec![(A, B)]));
    let most = headroom_of(AWAY, lanes);
    for port in &mut settings.ports {
        port.max_frame = Bytes(LENGTH);
        port.tx_window = WINDOW;
        port.groups[P3.index()] = lossless(XOFF, XOFF / 2, most.0);
    }
    settings.ports[B.index()].rate = BitRate::new(RATE.bits_per_second() / slower).unwrap();
    settings
}

/// The memory that `lanes` lanes have for the group of port A.
fn memory(lanes: u64) -> Bytes {
    Bytes(XOFF) + headroom_of(AWAY, lanes)
}

/// What came of a neighbour.
struct Outcome {
    /// Frames that it sent.
    sent: u64,
    /// The most that all lanes held of them at once.
    most_held: Bytes,
}

/// Runs `lanes` with a neighbour at port A that always has another frame and obeys pauses, until `until`.
fn run_with_neighbour(lanes: &mut Lanes, hosts: impl Iterator<Item = u16>, until: Nanos) -> Outcome {
    run_beside(lanes, hosts, until, |_| ())
}

/// The same, with what `beside` lets arrive in each step.
fn run_beside(
    lanes: &mut Lanes,
    hosts: impl Iterator<Item = u16>,
    until: Nanos,
    mut beside: impl FnMut(&mut Lanes),
) -> Outcome {
    let frame = |host| flow(host).at(P3).headers(LENGTH as usize);
    let mut frames = hosts.map(frame);
    let first = frames.next().unwrap();
    let peer = Peer::new(first, P3, RATE, DELAY, until - Interval::from_micros(100));
    let mut peer = frames.fold(peer, Peer::in_turn_with);
    let (count, mut told, mut most_held) = (lanes.lanes.len(), 0, Bytes::ZERO);
    while lanes.now < until {
        lanes.step();
        beside(lanes);
        for frame in peer.live(lanes.now) {
            lanes.arrive(home(&frame, count), A, frame);
        }
        let held: u64 = lanes.lanes.iter().map(|lane| lane.group(lanes.now, A, P3).occupancy.0).sum();
        most_held = most_held.max(Bytes(held));
        while let Some(sent) = lanes.sent[A.index()].get(told) {
            told += 1;
            if let Some(times) = sent.pfc() {
                peer.hear(sent.start, times);
            }
        }
    }
    // Twice what is inside, at the rate of the slow port.
    let end = lanes.now + Interval::from_millis(1);
    lanes.run_until(end);
    Outcome { sent: peer.sent(), most_held }
}

/// The labels that left through B by host, in their order.
fn by_host(lanes: &Lanes) -> BTreeMap<u8, Vec<u64>> {
    let mut hosts: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for sent in lanes.sent[B.index()].iter().filter(|sent| !sent.control) {
        hosts.entry(sent.frame.bytes[35]).or_default().push(sent.frame.label);
    }
    hosts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn obeying_neighbours_lose_nothing_and_keep_their_order_with_one_two_and_four_lanes(
        seed in any::<u64>(), hosts in 1_u16..40, slower in 2_u64..20,
    ) {
        for count in [1, 2, 4] {
            let mut lanes = Lanes::new(settings(count as u64, slower), count, seed, STEP, AWAY);
            let Outcome { sent, most_held } = run_with_neighbour(&mut lanes, 0..hosts, Nanos(1_500_000));
            prop_assert!(most_held > Bytes(XOFF) && most_held <= memory(count as u64), "{} lanes", count);
            prop_assert_eq!(lanes.dropped(), BTreeMap::new());
            lanes.assert_conserved();
            let left = by_host(&lanes);
            prop_assert_eq!(left.values().map(Vec::len).sum::<usize>() as u64, sent, "{} lanes", count);
            prop_assert!(left.values().all(|labels| labels.is_sorted()));
            // The neighbour was resumed, and the link was not idle for long.
            let rate = RATE.bits_per_second() / slower;
            let share = sent * 8 * WireBytes::of_frame(Bytes(LENGTH)).0 * 1_000_000_000 / rate;
            prop_assert!(share > 1_300_000, "{} of 1,400,000 ns used with {} lanes", share, count);
        }
    }

    #[test]
    fn lanes_together_send_no_more_than_the_link_and_its_window(
        seed in any::<u64>(), count in 2_usize..5, length in 60_u64..1_082,
    ) {
        let mut lanes = Lanes::new(settings(count as u64, 4), count, seed, STEP, AWAY);
        let frames = (0..6_000).map(|label| flow(label as u16).at(P3).headers(length as usize).labelled(label));
        for frame in frames {
            lanes.arrive(home(&frame, count), A, frame);
        }
        let rate = RATE.bits_per_second() / 4;
        let window = rate * WINDOW.0 / 8_000_000_000;
        // Calls are steps, so no lane is suspended within one; a frame of each call may end behind the window, rounded up.
        let longest = WireBytes::of_frame(Bytes(LENGTH)).0;
        let (mut given, mut counted) = (0, 0);
        while lanes.now < Nanos(400_000) {
            lanes.step();
            for sent in &lanes.sent[B.index()][counted..] {
                given += WireBytes::of_frame(Bytes(sent.frame.length)).0;
            }
            counted = lanes.sent[B.index()].len();
            let most = rate * lanes.now.0 / 8_000_000_000 + window + longest;
            prop_assert!(given <= most, "{} bytes by {}, of {}", given, lanes.now, most);
        }
    }
}

#[test]
fn a_lane_whose_level_the_lead_does_not_see_loses_frames() {
    let lost = |mut lanes: Lanes| {
        // All hosts on the follower.
        run_with_neighbour(&mut lanes, (0..16).map(|host| 2 * host + 1), Nanos(1_500_000));
        lanes.dropped().values().map(|volume| volume.frames).sum::<u64>()
    };
    assert_eq!(lost(Lanes::new(settings(2, 10), 2, 7, STEP, AWAY)), 0);
    assert!(lost(Lanes::blind(settings(2, 10), 2, 7, STEP, AWAY)) > 0);
}

#[test]
fn lanes_that_send_pauses_for_themselves_take_more_than_the_memory_for_the_group() {
    let most = |mut lanes: Lanes| run_with_neighbour(&mut lanes, 0..16, Nanos(1_500_000)).most_held;
    let allowed = memory(4);
    let joint = most(Lanes::new(settings(4, 10), 4, 7, STEP, AWAY));
    assert!(joint <= allowed, "{joint} of {allowed}");
    let apart = most(Lanes::all_leads(settings(4, 10), 4, 7, STEP, AWAY));
    assert!(apart > allowed, "{apart} of {allowed}: an XON of one lane ends the XOFF of another");
}

#[test]
fn one_that_ignores_pauses_takes_its_own_headroom_and_no_more_on_any_number_of_lanes() {
    for count in [1, 2, 4] {
        let settings = settings(count as u64, 20);
        // Both parts are judged by what others have shown, and the headroom with as much leave for those who obey.
        let leave = 3 * beyond_pools(count as u64, Bytes(LENGTH)).0;
        let allowed = memory(count as u64) + Bytes(leave);
        let mut lanes = Lanes::new(settings, count, 17, STEP, AWAY);
        let (mut most, mut label) = (0, 0_u64);
        while lanes.now < Nanos(1_000_000) {
            lanes.step();
            if lanes.now.0.is_multiple_of(100) {
                label += 1;
                let frame = flow(label as u16 % 64).at(P3).headers(LENGTH as usize);
                lanes.arrive(home(&frame, count), A, frame);
            }
            let held = lanes.lanes.iter().map(|lane| lane.group(lanes.now, A, P3).occupancy.0);
            most = most.max(held.sum());
        }
        assert!(!lanes.dropped().is_empty(), "it goes on and on");
        assert!(most <= allowed.0, "{most} of {allowed} with {count} lanes");
    }
}

#[test]
fn reserved_bytes_neither_bring_xoff_late_nor_let_it_alternate_with_xon() {
    for reserved in [1_500, 100_000] {
        let mut settings = settings(2, 10);
        let group = settings.ports[A.index()].groups[P3.index()].lossless_mut().unwrap();
        (group.reserved, group.xon) = (Bytes(reserved), Bytes(XOFF - 2 * cost(LENGTH)));
        let mut lanes = Lanes::new(settings, 2, 19, STEP, AWAY);
        // All hosts on the follower.
        let frame = |host| flow(2 * host + 1).at(P3).headers(LENGTH as usize);
        let (mut told, mut paused) = (0, Vec::new());
        for label in 0..500_u64 {
            lanes.arrive(1, A, frame(label as u16 % 8));
            lanes.step();
        }
        lanes.run_until(lanes.now + Interval::from_micros(20));
        while let Some(sent) = lanes.sent[A.index()].get(told) {
            told += 1;
            paused.extend(sent.pfc().and_then(|times| times[P3.index()]));
        }
        assert_eq!(paused.len(), 1, "one XOFF, and it stays while the port is slow: {paused:?}");
        assert!(lanes.dropped().is_empty());
    }
}

#[test]
fn an_idle_lane_knows_when_others_have_drained() {
    let mut settings = settings(2, 10);
    for queue in &mut settings.ports[B.index()].queues {
        queue.lossy = LossyQueue { reserved: Bytes(1_518), threshold: Threshold::Static(Bytes(100_000)) };
    }
    let mut lanes = Lanes::new(settings, 2, 23, STEP, AWAY);
    for _ in 0..200 {
        lanes.arrive(0, A, flow(0).at(P1).headers(LENGTH as usize));
    }
    lanes.arrive(1, A, flow(1).at(P1).headers(LENGTH as usize));
    lanes.run_until(Nanos(500_000));
    let before = lanes.dropped();
    lanes.arrive(1, A, flow(1).at(P1).headers(LENGTH as usize));
    lanes.run_until(Nanos(600_000));
    assert_eq!(lanes.dropped(), before);
}

/// What two lanes of a blocked switch hold above XOFF when the lead learns of it, at its worst: the follower holds a grain of
/// which it says nothing, and a burst that came after the lead had looked.
fn unseen_at_worst() -> Bytes {
    let mut lanes = Lanes::new(settings(2, 1), 2, 1, STEP, AWAY);
    let turn = |lanes: &mut Lanes, lane| (0..6).for_each(|_| lanes.step_of(lane));
    let give = |lanes: &mut Lanes, lane, cells: u64| {
        let length = ((cells - 1) * Cells::SIZE).min(LENGTH);
        let frame = flow(lane as u16).at(P3).headers(length as usize);
        lanes.arrive(lane, A, frame);
    };
    let held =
        |lanes: &Lanes, lane: usize| lanes.lanes[lane].group(lanes.now, A, P3).occupancy.0 / Cells::SIZE;
    for lane in [0, 1] {
        lanes.arrive(lane, B, TestFrame::pfc(PrioritySet::EMPTY.with(P3), PauseQuanta::MAX));
        turn(&mut lanes, lane);
    }
    // Shown once, and then a cell less than a grain more.
    give(&mut lanes, 1, 5);
    turn(&mut lanes, 1);
    (0..15).for_each(|_| give(&mut lanes, 1, 64));
    give(&mut lanes, 1, 63);
    turn(&mut lanes, 1);
    // The lead fills up to a cell below XOFF, with the five of which it knows.
    let below = XOFF / Cells::SIZE - 1 - 5;
    while held(&lanes, 0) < below {
        let left = below - held(&lanes, 0);
        let next = if left < 69 { left } else { 69.min(left - 5) };
        give(&mut lanes, 0, next);
        turn(&mut lanes, 0);
    }
    let is_paused = |lanes: &Lanes| lanes.lanes[0].group(lanes.now, A, P3).paused.is_some();
    assert!(!is_paused(&lanes));
    (0..32).for_each(|_| give(&mut lanes, 1, 69));
    (0..6).for_each(|_| lanes.step_of(1));
    assert!(!is_paused(&lanes), "nobody has told the lead yet");
    lanes.step_of(0);
    assert!(is_paused(&lanes), "its look tells it");
    assert!(lanes.dropped().is_empty());
    Bytes((held(&lanes, 0) + held(&lanes, 1)) * Cells::SIZE - XOFF)
}

#[test]
fn what_one_lane_takes_unseen_is_within_its_bound_and_a_frame_less_would_not_hold() {
    let (most, worst) = (unseen(Bytes(LENGTH)), unseen_at_worst());
    assert!(worst <= most && worst + Bytes(cost(LENGTH)) > most, "{worst} of {most}");
}

/// The share of port B's link that lane 0 has, in per mille, when it sends `own` and lane 1 `theirs`, as priorities.
fn share_of_lane_0(own: Priority, theirs: Priority, scheduling: impl Fn(Priority) -> Scheduling) -> u64 {
    let mut settings = settings(2, 4);
    for queue in &mut settings.ports[B.index()].queues {
        queue.scheduling = scheduling(queue.priority);
    }
    let mut lanes = Lanes::new(settings, 2, 3, STEP, AWAY);
    for (lane, priority) in [(0_usize, own), (1, theirs)] {
        for _ in 0..8_000 {
            lanes.arrive(lane, A, flow(lane as u16).at(priority).headers(LENGTH as usize));
        }
    }
    lanes.run_until(Nanos(300_000));
    let sent = |lane: u8| {
        lanes.sent[B.index()].iter().filter(|sent| !sent.control && sent.frame.bytes[35] == lane).count()
            as u64
    };
    sent(0) * 1_000 / (sent(0) + sent(1))
}

#[test]
fn a_strict_queue_on_one_lane_comes_before_weighted_ones_on_another() {
    let strict = |priority| if priority == P3 { Scheduling::Strict } else { Scheduling::Weighted(1) };
    let share = share_of_lane_0(P3, P1, strict);
    assert!(share > 950, "{share}");
}

#[test]
fn weights_hold_across_lanes() {
    let weighted = |priority| Scheduling::Weighted(if priority == P3 { 3 } else { 1 });
    let share = share_of_lane_0(P3, P1, weighted);
    assert!((720..=780).contains(&share), "{share}");
    let share = share_of_lane_0(P1, P3, weighted);
    assert!((220..=280).contains(&share), "{share}");
}

#[test]
fn a_pause_that_one_lane_receives_stops_all_of_them_within_a_turn() {
    let mut lanes = Lanes::new(settings(4, 1), 4, 5, STEP, AWAY);
    for label in 0..800 {
        lanes.arrive(label as usize % 4, A, flow(label as u16 % 4).at(P3).headers(LENGTH as usize));
    }
    lanes.run_until(Nanos(10_000));
    lanes.arrive(2, B, TestFrame::pfc(PrioritySet::EMPTY.with(P3), PauseQuanta::MAX));
    lanes.run_until(lanes.now + AWAY);
    // Frames whose time was claimed before may still start: within the window and one frame.
    let last = lanes.now + WINDOW + RATE.serialization().time_of(WireBytes::of_frame(Bytes(LENGTH))) + AWAY;
    lanes.run_until(Nanos(300_000));
    let late = lanes.sent[B.index()].iter().filter(|sent| sent.start > last).count();
    assert_eq!(late, 0);
    lanes.arrive(1, B, TestFrame::pfc(PrioritySet::EMPTY.with(P3), PauseQuanta::ZERO));
    lanes.run_until(Nanos(900_000));
    assert_eq!(
        lanes.sent[B.index()].iter().filter(|sent| !sent.control).count(),
        800,
        "and one lets them go on"
    );
}

#[test]
fn a_storm_is_found_on_each_lane_with_frames_and_ends_on_all_of_them() {
    let mut settings = settings(4, 1);
    let detection = Interval::from_millis(100);
    settings.ports[B.index()].watchdog =
        Some(Watchdog { action: WatchdogAction::Drop, detection, restoration: Interval::from_millis(100) });
    let mut lanes = Lanes::new(settings, 4, 21, STEP * 20, AWAY * 20);
    let give = |lanes: &mut Lanes, hosts: core::ops::Range<u16>| {
        hosts.for_each(|host| lanes.arrive(usize::from(host), A, flow(host).at(P3).headers(LENGTH as usize)));
    };
    let hear = |lanes: &mut Lanes, lane, time| {
        lanes.arrive(lane, B, TestFrame::pfc(PrioritySet::EMPTY.with(P3), time));
        lanes.run_until(lanes.now + AWAY * 40);
    };
    hear(&mut lanes, 2, PauseQuanta::MAX);
    give(&mut lanes, 0..3);
    while lanes.now < Nanos(detection.0 + 2_000_000) {
        hear(&mut lanes, 2, PauseQuanta::MAX);
    }
    let queue = |lanes: &Lanes| lanes.inspect(B).queues[P3.index()];
    assert_eq!((queue(&lanes).watchdog.storms, queue(&lanes).stormed), (1, true));
    let dropped = |lanes: &Lanes| lanes.dropped().get(&DropReason::PfcWatchdog).map_or(0, |it| it.frames);
    assert_eq!(dropped(&lanes), 3, "lane 3 has none");
    give(&mut lanes, 0..4);
    hear(&mut lanes, 1, PauseQuanta::ZERO);
    assert_eq!((queue(&lanes).watchdog.restored, queue(&lanes).stormed), (1, false));
    give(&mut lanes, 0..4);
    lanes.run_until(lanes.now + AWAY * 80);
    assert_eq!(queue(&lanes).waiting, Volume::ZERO, "all of them send again");
    lanes.assert_conserved();
}

#[test]
fn a_flood_of_best_effort_costs_lossless_frames_nothing() {
    for count in [2, 4] {
        let mut lanes = Lanes::new(settings(count as u64, 4), count, 9, STEP, AWAY);
        let end = Nanos(1_500_000);
        let flood = |host| flow(host).at(P1).headers(LENGTH as usize);
        let mut hosts = 0..;
        let outcome = run_beside(&mut lanes, 0..8, end, |lanes| {
            // As much again as the link of port A carries.
            if lanes.now.0.is_multiple_of(100) {
                let host = hosts.next().unwrap() % 64;
                lanes.arrive(usize::from(host) % count, A, flood(host));
            }
        });
        let dropped: Volume =
            lanes.lanes.iter().flat_map(|lane| lane.ingress_counters(A).dropped[3].iter().copied()).sum();
        assert_eq!(dropped, Volume::ZERO);
        assert!(outcome.most_held <= memory(count as u64));
        let best_effort: Volume = lanes.dropped().into_values().sum();
        assert!(best_effort.frames > 0, "the flood was one");
    }
}

#[test]
fn a_storm_of_pauses_on_all_lanes_loses_nothing() {
    let mut lanes = Lanes::new(settings(4, 2), 4, 11, STEP, AWAY);
    let mut count = 0_u32;
    run_beside(&mut lanes, 0..8, Nanos(1_500_000), |lanes| {
        count += 1;
        let time = if count.is_multiple_of(3) { PauseQuanta(1_000) } else { PauseQuanta::ZERO };
        let lane = lanes.any_lane();
        lanes.arrive(lane, B, TestFrame::pfc(PrioritySet::ALL, time));
    });
    assert_eq!(lanes.dropped(), BTreeMap::new());
    lanes.assert_conserved();
}

/// Frames that overflow the receive rings while lane 1 is half as fast as the others, and all that are lost.
fn lost_at_half_speed(hosts: u16, heeds_rings: bool) -> (u64, u64) {
    const SLOW: Interval = Interval(400);
    const LONG_AWAY: Interval = Interval::from_micros(40);
    let most = headroom_of(LONG_AWAY, 2);
    let mut settings = settings(2, 1);
    settings.ports[A.index()].groups[P3.index()] = lossless(XOFF, XOFF / 2, most.0);
    // A turn of the slow lane takes 10 us, and the link must not run dry meanwhile.
    settings.ports[B.index()].tx_window = Interval::from_micros(20);
    let mut lanes = Lanes::new(settings, 2, 13, SLOW, LONG_AWAY).with_rings(4_096);
    (lanes.slow, lanes.heeds_rings) = (Some(1), heeds_rings);
    run_with_neighbour(&mut lanes, 0..hosts, Nanos(20_000_000));
    (lanes.overflowed, lanes.dropped().into_values().map(|it| it.frames).sum())
}

#[test]
fn a_lane_at_half_speed_pauses_the_port_and_its_ring_loses_nothing() {
    // Of one host, and of hosts on both lanes.
    for hosts in [2, 16] {
        assert_eq!(lost_at_half_speed(hosts, true), (0, 0), "{hosts} hosts");
    }
    assert!(lost_at_half_speed(16, false).0 > 0, "without the pause the ring overflows");
}

#[test]
fn a_reload_of_one_lane_after_the_other_loses_nothing_whichever_way_the_threshold_moves() {
    for (seed, xoff) in [XOFF / 3, 2 * XOFF, XOFF / 2, XOFF].into_iter().enumerate() {
        let mut lanes = Lanes::new(settings(3, 4), 3, seed as u64, STEP, AWAY);
        let mut settings = settings(3, 4);
        let group = settings.ports[A.index()].groups[P3.index()].lossless().unwrap().headroom;
        settings.ports[A.index()].groups[P3.index()] = lossless(xoff, xoff / 2, group.0);
        let new = Arc::new(Program::new(settings).unwrap().for_lanes(3).unwrap());
        // The followers first, each at some instant, and the lead last.
        let mut left = vec![(0, 900_000), (2, 700_000), (1, 500_000)];
        run_beside(&mut lanes, 0..12, Nanos(1_500_000), |lanes| {
            if let Some((lane, _)) = left.pop_if(|(_, at)| lanes.now.0 >= *at) {
                lanes.lanes[lane].install(lanes.now, new.clone()).unwrap();
            }
        });
        assert!(left.is_empty());
        assert_eq!(lanes.dropped(), BTreeMap::new(), "XOFF at {xoff}");
        lanes.assert_conserved();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_routed_switch_sends_the_same_frames_through_any_number_of_lanes(
        seed in any::<u64>(), count in 1_usize..5,
        bursts in proptest::collection::vec((0_u16..4, 0_u16..4, 0_u8..8, 1_usize..40, 60_usize..1_082), 1..60),
    ) {
        let mut lanes = Lanes::new(routed(4), count, seed, STEP, AWAY);
        let mut expected: BTreeMap<(u16, u16, u8, u8), Vec<u64>> = BTreeMap::new();
        let mut label = 0;
        for (from, to, priority, frames, length) in bursts {
            for _ in 0..frames {
                label += 1;
                let flow = Flow {
                    source_port: label as u16 % 7,
                    ..Flow::new(PortId(from), PortId(to)).at(Priority::from_low_bits(priority))
                };
                let frame = flow.headers(length).labelled(label);
                expected.entry((from, to, priority, frame.bytes[35])).or_default().push(label);
                let lane = home(&frame, count);
                lanes.arrive(lane, PortId(from), frame);
            }
            lanes.step();
        }
        lanes.run_until(Nanos(3_000_000));
        lanes.assert_conserved();
        prop_assert_eq!(lanes.dropped(), BTreeMap::new());
        let mut left: BTreeMap<(u16, u16, u8, u8), Vec<u64>> = BTreeMap::new();
        for (to, sent) in (0..).zip(&lanes.sent) {
            for sent in sent.iter().filter(|sent| !sent.control) {
                let bytes = &sent.frame.bytes;
                left.entry((u16::from(bytes[28]), to, bytes[15] >> 5, bytes[35])).or_default().push(sent.frame.label);
            }
        }
        prop_assert_eq!(left, expected);
    }
}

#[test]
fn what_comes_after_the_pauses_of_a_lead_that_is_away_have_expired_takes_room_of_the_shared_pool() {
    let mut settings = settings(2, 4);
    settings.ports[A.index()].pfc.pause = PauseQuanta(2_000);
    let lasts = PauseQuanta(2_000).interval_at(RATE);
    let mut lanes = Lanes::new(settings, 2, 29, STEP, AWAY);
    let (away_from, until) = (100_000, Nanos(1_500_000));
    let away_until = away_from + 12 * lasts.0;
    let outcome = run_beside(&mut lanes, (0..16).map(|host| 2 * host + 1), until, |lanes| {
        let is_away = (away_from..away_until).contains(&lanes.now.0);
        lanes.stalled = is_away.then_some(0);
    });
    let announced = lanes.sent[A.index()].iter().any(|sent| sent.start.0 < away_from && sent.pfc().is_some());
    assert!(announced, "the neighbour was paused before");
    assert!(outcome.most_held > memory(2), "headroom alone would not have held {}", outcome.most_held);
    assert_eq!(lanes.dropped(), BTreeMap::new());
    lanes.assert_conserved();
}

#[test]
fn what_comes_while_the_lead_is_away_takes_room_of_the_shared_pool() {
    let mut lanes = Lanes::new(settings(2, 4), 2, 29, STEP, AWAY);
    let until = Nanos(1_500_000);
    let outcome = run_beside(&mut lanes, (0..16).map(|host| 2 * host + 1), until, |lanes| {
        let is_away = (10_000..200_000).contains(&lanes.now.0);
        lanes.stalled = is_away.then_some(0);
    });
    assert!(outcome.most_held > memory(2), "headroom alone would not have held {}", outcome.most_held);
    assert_eq!(lanes.dropped(), BTreeMap::new());
    lanes.assert_conserved();
}
