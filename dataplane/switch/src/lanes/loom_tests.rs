//! What lanes tell each other, under every order in which they may observe it. Each claim has its control: the same without
//! what makes it hold.
//!
//! The threads are loom's: it runs them in turn, as a model of two cores, and only in this test. They are here and not in
//! `worker`, because a control leaves out the fence, which no caller of a shard can.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p switch --lib loom_tests`, with a separate target directory.

use super::*;
use crate::ledger::Load;
use horizon::Horizon;
use loom::thread;
use sightings::Sightings;

const PORT: PortId = PortId(0);
const P3: Priority = Priority::from_low_bits(3);

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn lanes() -> [Lane; 2] {
    let board = Arc::new(Board::new(2, 1));
    [0, 1].map(|number| Lane::new(board.clone(), number))
}

/// Shows a level, and with `fence` ends the turn; then looks at the other lane. Returns whether it saw something.
fn show_and_look(mut lane: Lane, with_fence: bool) -> bool {
    let level = |_| Level { shared: Cells(5), ..Level::default() };
    lane.show(PORT, PrioritySet::EMPTY.with(P3), level, Own::default());
    if with_fence {
        lane.end_turn(PoolUse::default());
    }
    lane.has_news(PORT) && lane.level_of_others(PORT, P3, Bytes(1_082)).shared > 0
}

fn two_that_show_and_look(with_fence: bool) {
    check(move || {
        let [one, two] = lanes();
        let other = thread::spawn(move || show_and_look(two, with_fence));
        let seen = show_and_look(one, with_fence);
        assert!(seen || other.join().unwrap(), "neither saw the other");
    });
}

#[test]
fn of_two_lanes_that_show_and_look_at_least_one_sees_the_other() {
    two_that_show_and_look(true);
}

#[test]
#[should_panic(expected = "neither saw the other")]
fn without_the_fence_neither_may_see_the_other() {
    two_that_show_and_look(false);
}

#[test]
fn control_frames_come_to_the_lead_whole_and_in_order() {
    check(|| {
        let board = Arc::new(Board::new(2, 1));
        let [lead, follower] = [0, 1].map(|number| Lane::new(board.clone(), number));
        let other = thread::spawn(move || {
            for number in 1..=2 {
                assert!(follower.post(Nanos(number), PORT, Bytes(number), &[number as u8; 9]));
            }
        });
        let mut next = 1;
        let mut take = || {
            while let Some(letter) = lead.next_letter(PORT) {
                assert_eq!((letter.at, letter.length), (Nanos(next), Bytes(next)));
                assert_eq!(letter.headers(), [next as u8; 9]);
                next += 1;
            }
        };
        take();
        other.join().unwrap();
        take();
        assert_eq!(next, 3);
    });
}

/// What a lead that counts `received` first, or last, finds in neither figure of a frame that the other lane takes meanwhile.
fn a_frame_that_comes_as_a_slot_ends(received_first: bool) {
    check(move || {
        let board = Arc::new(Board::new(2, 1));
        let [lead, mut follower] = [0, 1].map(|number| Lane::new(board.clone(), number));
        let ledger = board.ledger(1).clone();
        let other = thread::spawn(move || {
            ledger.admit(PORT, PORT, P3, Load::of_frame(Bytes(60)));
            follower.show_received(PORT, |_| WireBytes(84));
        });
        let received = || lead.received(PORT, P3) > WireBytes(0);
        let waits = || board.ledger(1).ingress_queue(PORT, P3).frames > 0;
        let (counts, waits) = if received_first {
            let counts = received();
            (counts, waits())
        } else {
            let waits = waits();
            (received(), waits)
        };
        assert!(!counts || waits, "it is neither under way nor inside");
        other.join().unwrap();
    });
}

#[test]
fn a_frame_that_comes_as_a_slot_ends_is_under_way_or_inside() {
    a_frame_that_comes_as_a_slot_ends(true);
}

#[test]
#[should_panic(expected = "neither under way nor inside")]
fn a_lead_that_counts_what_came_last_misses_a_frame() {
    a_frame_that_comes_as_a_slot_ends(false);
}

const WINDOW: u64 = 10_000;
const LONGEST: u64 = 1_000;

/// Claims for two lanes at once, each of which sends all that it claims. Returns what both may send.
fn two_claims(claim: impl Fn(&Horizon) -> u64 + Copy + Send + Sync + 'static) {
    check(move || {
        let horizon = Arc::new(Horizon::default());
        let others = horizon.clone();
        let other = thread::spawn(move || claim(&others));
        let sum = claim(&horizon) + other.join().unwrap();
        assert!(sum <= WINDOW + LONGEST, "the link was given twice");
    });
}

#[test]
fn two_lanes_claim_no_more_than_the_window_and_a_frame_together() {
    two_claims(|horizon| horizon.claim(0, WINDOW, LONGEST, 8_000).map_or(0, |claim| claim.bytes));
}

#[test]
#[should_panic(expected = "the link was given twice")]
fn lanes_that_look_without_a_claim_give_the_link_twice() {
    two_claims(|horizon| {
        let free = WINDOW + LONGEST - horizon.lead(0).min(WINDOW + LONGEST);
        let bytes = free.min(8_000);
        horizon.settle(0, bytes);
        bytes
    });
}

#[test]
fn what_is_given_back_adds_up() {
    check(|| {
        let horizon = Arc::new(Horizon::default());
        let send_half = |horizon: &Horizon| {
            let claimed = horizon.claim(0, WINDOW, LONGEST, 4_000).map_or(0, |claim| claim.bytes);
            horizon.settle(claimed, claimed / 2);
            claimed / 2
        };
        let others = horizon.clone();
        let other = thread::spawn(move || send_half(&others));
        let sum = send_half(&horizon) + other.join().unwrap();
        assert_eq!(horizon.lead(0), sum);
    });
}

#[test]
fn the_newest_pause_stands_whoever_hears_which_first() {
    check(|| {
        let board = Arc::new(Board::new(3, 1));
        let [mut one, mut two, mut three] = [0, 1, 2].map(|number| Lane::new(board.clone(), number));
        let first = thread::spawn(move || one.tell_pause(Nanos(1_600), PORT, P3, Interval(16_000)));
        let second = thread::spawn(move || two.tell_pause(Nanos(3_200), PORT, P3, Interval::ZERO));
        let mut stands = None;
        let mut look = |now| three.hear_pauses(Nanos(now), PORT, |_, left, _| stands = Some(left));
        look(4_800);
        first.join().unwrap();
        second.join().unwrap();
        look(6_400);
        assert_eq!(stands, Some(Interval::ZERO), "the older one does not stop the port again");
    });
}

/// Three stations that one lane tells by `put`, which returns whether there was room, and that another hears meanwhile.
fn a_lane_hears_stations(put: impl Fn(&Sightings, u64, Sighting) -> bool + Copy + Sync + Send + 'static) {
    check(move || {
        let ring = Arc::new(Sightings::new(2));
        let of =
            |number: u64| Sighting { name: number, port: Some(PortId(number as u16)), seen: Nanos(number) };
        let writers = ring.clone();
        let other = thread::spawn(move || {
            let mut told = 0;
            for number in 1..=3 {
                told += u64::from(put(&writers, told, of(number)));
            }
            told
        });
        let (mut taken, mut last) = (0, 0);
        let mut take = || {
            while let Some(sighting) = ring.take(1) {
                assert!(sighting == of(sighting.name) && sighting.name > last, "it is not whole");
                (taken, last) = (taken + 1, sighting.name);
            }
            taken
        };
        take();
        let told = other.join().unwrap();
        assert_eq!(take(), told);
    });
}

#[test]
fn stations_are_heard_whole_and_in_order_and_none_that_was_told_is_lost() {
    a_lane_hears_stations(|ring, _, sighting| ring.put(0, sighting));
}

#[test]
#[should_panic(expected = "it is not whole")]
fn a_station_that_is_published_before_it_is_written_is_not_heard_whole() {
    a_lane_hears_stations(|ring, number, sighting| {
        let has_room = ring.has_room(number);
        if has_room {
            ring.publish(0, number);
            ring.write(number, sighting);
        }
        has_room
    });
}

#[test]
#[should_panic(expected = "it is not whole")]
fn a_lane_that_does_not_wait_for_room_writes_over_what_is_being_heard() {
    a_lane_hears_stations(|ring, number, sighting| {
        ring.write(number, sighting);
        ring.publish(0, number);
        true
    });
}
