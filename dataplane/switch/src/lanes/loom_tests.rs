//! What lanes tell each other, under every order in which they may observe it. Each claim has its control: the same without
//! what makes it hold.
//!
//! The threads are loom's: it runs them in turn, as a model of two cores, and only in this test. They are here and not in
//! `worker`, because a control leaves out the fence, which no caller of a shard can.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p switch --lib loom_tests`, with a separate target directory.

use super::*;
use horizon::Horizon;
use loom::thread;

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
    let mut levels = [Level::default(); Priority::COUNT];
    levels[P3.index()] = Level { shared: Cells(5), ..Level::default() };
    lane.show(PORT, &levels, Waiting::default());
    if with_fence {
        lane.end_turn(PoolUse::default());
    }
    lane.level_of_others(PORT, P3, Bytes(1_082)).shared > 0
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
        let mut look = |now| three.hear_pauses(Nanos(now), PORT, |_, left| stands = Some(left));
        look(4_800);
        first.join().unwrap();
        second.join().unwrap();
        look(6_400);
        assert_eq!(stands, Some(Interval::ZERO), "the older one does not stop the port again");
    });
}
