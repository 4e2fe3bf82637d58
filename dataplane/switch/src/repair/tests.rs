//! Two ends and a link that loses, doubles and reorders.

use super::*;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use units::{PrioritySet, WireBytes};
use wire::repair::NEW_LEN;

const DELAY: Interval = Interval(50_000);
const PERIOD: Interval = Interval(10_000);
const FRAMES: u32 = 512;
/// Frames that waited and go on at once.
const RELEASED: usize = 3;
/// The place of a shim, behind both addresses.
const SHIM_AT: usize = 12;

/// A frame at the far end: its bucket, and its number in it.
type Held = (u16, u64);

#[derive(Clone)]
enum Item {
    Status(Message),
    Data(Vec<u8>),
}

/// What the link does, by chances in 1,024.
#[derive(Clone, Copy, Debug)]
struct Faults {
    loss: u32,
    twice: u32,
    jitter: Interval,
    /// Nothing arrives that is sent within it, in either direction.
    cut: (Nanos, Nanos),
    until: Nanos,
}

struct World {
    now: Nanos,
    rng: Pcg32,
    faults: Faults,
    ends: [End<Vec<u8>, Held>; 2],
    links: [Vec<(Nanos, Item)>; 2],
    buckets: u16,
    sent: Vec<u64>,
    delivered: Vec<u64>,
    all: u64,
}

fn settings() -> Repair {
    Repair {
        priorities: PrioritySet::from_bits(8),
        round_trip: DELAY * 2,
        retention: WireBytes(u64::MAX / 2),
        frames: FRAMES,
        period: PERIOD,
        outage: Interval::from_millis(50),
        keeps_order: true,
        key: None,
    }
}

/// The frame of this number in its bucket, with room for a shim.
fn frame(bucket: u16, number: u64) -> Vec<u8> {
    [&[0; SHIM_AT][..], &[0; NEW_LEN], &[8, 0], &bucket.to_be_bytes(), &number.to_be_bytes()].concat()
}

/// What [`frame`] made it of.
fn content(frame: &[u8]) -> Held {
    let (head, number) = frame.split_last_chunk().expect("a number");
    let bucket = head.last_chunk().expect("a bucket");
    (u16::from_be_bytes(*bucket), u64::from_be_bytes(*number))
}

impl World {
    fn new(seed: u64, faults: Faults, buckets: u16) -> Self {
        Self {
            now: Nanos(1),
            rng: Pcg32::seed_from_u64(seed),
            faults,
            ends: [(); 2].map(|()| End::new(settings())),
            links: [Vec::new(), Vec::new()],
            buckets,
            sent: vec![0; buckets.into()],
            delivered: vec![0; buckets.into()],
            all: 0,
        }
    }

    fn chance(&mut self, of: u32) -> bool {
        self.rng.next_u32() % 1_024 < of
    }

    fn put(&mut self, end: usize, item: Item) {
        let is_faulty = self.now < self.faults.until;
        let is_cut = (self.faults.cut.0..self.faults.cut.1).contains(&self.now);
        if is_cut || (is_faulty && self.chance(self.faults.loss)) {
            return;
        }
        let copies = if is_faulty && self.chance(self.faults.twice) { 2 } else { 1 };
        for _ in 0..copies {
            let late = if is_faulty { self.rng.next_u64() % (self.faults.jitter.0 + 1) } else { 0 };
            self.links[end].push((self.now + DELAY + Interval(late), item.clone()));
        }
    }

    /// A microsecond: arrivals, statuses, a frame that is sent again, and a new one while there are any.
    fn step(&mut self, new: bool) {
        for end in [0, 1] {
            let (mut due, rest): (Vec<_>, Vec<_>) =
                core::mem::take(&mut self.links[end]).into_iter().partition(|(at, _)| *at <= self.now);
            self.links[end] = rest;
            due.sort_by_key(|(at, _)| *at);
            due.into_iter().for_each(|(_, item)| self.arrive(1 - end, item));
        }
        for end in [0, 1] {
            self.ends[end].turn(self.now);
            self.release(end);
            if self.ends[end].status_due() <= self.now {
                let status = self.ends[end].status(self.now, MacAddress([2, 0, 0, 0, 0, end as u8]));
                self.put(end, Item::Status(status));
            }
        }
        let is_due = self.ends[0].again_due() <= self.now;
        let again = if is_due { self.ends[0].send_again(self.now) } else { None };
        if let Some(frame) = again {
            self.put(0, Item::Data(frame));
        } else if new && self.ends[0].is_up() && self.ends[0].takes(self.now) {
            let bucket = (self.rng.next_u32() % u32::from(self.buckets)) as u16;
            let mut frame = frame(bucket, self.sent[usize::from(bucket)]);
            self.sent[usize::from(bucket)] += 1;
            self.all += 1;
            self.ends[0].send(self.now, bucket, SHIM_AT as u8, &mut frame);
            self.put(0, Item::Data(frame));
        }
        self.now += Interval(1_000);
    }

    fn arrive(&mut self, end: usize, item: Item) {
        match item {
            Item::Status(status) => _ = self.ends[end].hear(self.now, &status),
            Item::Data(frame) => {
                let (shim, _) = Shim::find(&frame).expect("a whole frame").expect("a shim");
                match self.ends[end].receive(&shim) {
                    Arrival::Passes => self.deliver(content(&frame)),
                    Arrival::Waits => self.ends[end].hold(&shim, content(&frame)),
                    Arrival::Duplicate => {}
                    Arrival::Beyond => panic!("{shim:?} is beyond"),
                }
            }
        }
        self.release(end);
    }

    /// Lets some of what may go on go on.
    fn release(&mut self, end: usize) {
        for _ in 0..RELEASED {
            let Some(frame) = self.ends[end].take_released() else { return };
            self.deliver(frame);
        }
    }

    fn deliver(&mut self, (bucket, number): Held) {
        let next = &mut self.delivered[usize::from(bucket)];
        assert_eq!(number, *next, "bucket {bucket}: each frame once, in order");
        *next += 1;
    }

    /// Runs with new frames for so long, and then without faults until nothing is kept.
    fn run(&mut self, time: Interval) {
        let end = self.now + time;
        while self.now < end {
            self.step(true);
        }
        let patience = self.now.max(self.faults.until) + Interval::from_millis(20);
        while !(self.ends[0].near.is_empty() && self.ends[1].far.is_at_rest()) {
            assert!(self.now < patience, "stuck: {:?}", self.ends.each_ref().map(End::report));
            self.step(false);
        }
        assert_eq!(self.ends[1].missing(), 0);
    }
}

fn no_faults() -> Faults {
    Faults { loss: 0, twice: 0, jitter: Interval::ZERO, cut: (Nanos::ZERO, Nanos::ZERO), until: Nanos::ZERO }
}

#[test]
fn a_link_that_loses_nothing_sends_nothing_again_and_holds_nothing() {
    let mut world = World::new(1, no_faults(), 4);
    world.run(Interval::from_millis(2));
    assert!(world.all > 1_000 && world.sent == world.delivered, "{}", world.all);
    let [near, far] = [world.ends[0].report(), world.ends[1].report()];
    assert_eq!((near.near.sent_again, near.near.abandoned, near.near.settled), (0, 0, world.all));
    assert_eq!((far.far.held, far.far.duplicates, far.far.skipped), (0, 0, 0));
}

#[test]
fn only_the_bucket_that_lost_a_frame_waits() {
    let faults = Faults { loss: 10, until: Nanos(2_000_000), ..no_faults() };
    let held = [1, 64].map(|buckets| {
        let mut world = World::new(7, faults, buckets);
        world.run(Interval::from_millis(2));
        assert_eq!(world.sent, world.delivered);
        world.ends[1].far.counters.held as f64 / world.all as f64
    });
    assert!(held[0] > 0.3 && held[1] < held[0] / 4.0, "{held:?}");
}

#[test]
fn each_lost_frame_is_sent_again_once_unless_the_copy_is_lost_too() {
    // One in 512 of 20,000 is lost.
    let faults = Faults { loss: 2, until: Nanos(20_000_000), ..no_faults() };
    let mut world = World::new(3, faults, 16);
    world.run(Interval::from_millis(20));
    let (near, far) = (world.ends[0].report().near, world.ends[1].report().far);
    assert!((20..80).contains(&near.sent_again), "{near:?}");
    assert!(far.duplicates * 10 < near.sent_again, "{far:?} {near:?}");
}

#[test]
fn where_a_copy_may_well_be_lost_too_a_second_one_follows() {
    // One in 20, with 100 in flight.
    let faults = Faults { loss: 51, until: Nanos(2_000_000), ..no_faults() };
    let mut world = World::new(3, faults, 16);
    world.run(Interval::from_millis(2));
    let (near, far) = (world.ends[0].report().near, world.ends[1].report().far);
    // Some 88 are lost. The second copy of most is on its way before the first one is settled.
    assert!((120..250).contains(&near.sent_again), "{near:?}");
    assert!(far.duplicates > 30, "{far:?}");
}

#[test]
fn after_an_outage_the_frames_that_are_kept_are_given_up_and_the_rest_goes_on() {
    let cut = (Nanos(500_000), Nanos(60_000_000));
    let mut world = World::new(5, Faults { cut, until: Nanos(1), ..no_faults() }, 4);
    while world.now < cut.1 {
        world.step(true);
    }
    let report = world.ends[0].report();
    assert_eq!((report.is_up, report.counters.outages, report.kept), (false, 1, Volume::ZERO));
    assert!(report.near.abandoned > 0);
    while !world.ends[0].is_up() {
        world.step(false);
    }
    // No frame that was given up comes later.
    let missing: u64 = world.sent.iter().zip(&world.delivered).map(|(sent, came)| sent - came).sum();
    assert!(missing > 0 && missing <= report.near.abandoned, "some had come, and nobody could say so");
    world.delivered = world.sent.clone();
    world.run(Interval::from_millis(1));
    assert_eq!(world.sent, world.delivered);
    assert!(world.ends[0].report().counters.sessions >= 2, "both begin anew");
}

#[test]
fn a_far_end_that_restarts_is_met_anew_and_gets_what_follows() {
    let mut world = World::new(9, no_faults(), 4);
    world.run(Interval::from_millis(1));
    world.ends[1] = End::new(settings());
    world.links = [Vec::new(), Vec::new()];
    // Its statuses count once the session before is silent.
    while world.ends[0].report().counters.sessions < 2 || !world.ends[1].is_up() {
        world.step(false);
    }
    assert!(world.now < Nanos(50_000_000));
    world.run(Interval::from_millis(1));
    assert_eq!(world.sent, world.delivered);
}

#[test]
fn recorded_statuses_change_nothing_and_a_recorded_session_is_not_met() {
    let mac = MacAddress([2, 0, 0, 0, 0, 7]);
    let mut earlier: End<Vec<u8>, Held> = End::new(settings());
    let recorded: Vec<_> = (1..5).map(|at| earlier.status(Nanos(at), mac)).collect();
    let mut world = World::new(6, no_faults(), 4);
    let first = world.ends[1].status(Nanos(1), MacAddress([2, 0, 0, 0, 0, 1]));
    world.run(Interval::from_millis(1));
    let before = world.ends[0].report();
    for status in recorded.iter().chain([&first]) {
        assert!(!world.ends[0].hear(world.now, status));
    }
    let after = world.ends[0].report();
    assert_eq!((after.is_up, after.near, after.counters.sessions), (true, before.near, 1));
    // At an end that has met nobody, it never answers.
    let mut end: End<Vec<u8>, Held> = End::new(settings());
    for (at, status) in (1..).zip(&recorded) {
        end.hear(Nanos(at), status);
        end.status(Nanos(at), mac);
    }
    assert!(!end.is_up());
}

#[test]
fn a_stranger_that_speaks_during_a_silence_leaves_the_ends_together() {
    let cut = (Nanos(1_000_000), Nanos(46_000_000));
    let mut world = World::new(4, Faults { cut, until: Nanos(1), ..no_faults() }, 4);
    while world.now < Nanos(45_000_000) {
        world.step(true);
    }
    let mut stranger: End<Vec<u8>, Held> = End::new(settings());
    let status = stranger.status(Nanos(9), MacAddress([2, 0, 0, 0, 0, 7]));
    assert!(!world.ends[0].hear(world.now, &status));
    world.run(Interval::from_millis(2));
    assert_eq!(world.sent, world.delivered);
    let report = world.ends[0].report();
    assert_eq!((report.is_up, report.counters.sessions, report.near.abandoned), (true, 1, 0));
}

#[test]
fn a_number_that_was_never_sent_makes_nothing_missing_and_stops_nothing() {
    let mut world = World::new(8, no_faults(), 1);
    world.run(Interval::from_millis(1));
    let number = world.all as u32 + FRAMES - 2;
    let epoch = world.ends[0].epoch();
    let forged = Shim { bucket: 9, number, epoch, back: 0, copy: None };
    assert_eq!(world.ends[1].receive(&forged), Arrival::Passes);
    assert_eq!(world.ends[1].missing(), 0);
    for _ in 0..500 {
        world.step(true);
    }
    assert!(world.ends[0].report().near.settled > u64::from(number - FRAMES) + 200);
    assert_eq!(world.ends[0].report().counters.refused, 0);
}

#[test]
fn a_status_that_no_true_peer_sends_is_refused_and_changes_nothing() {
    let mut world = World::new(2, no_faults(), 1);
    for _ in 0..300 {
        world.step(true);
    }
    let mut status = world.ends[1].status(world.now, MacAddress([2, 0, 0, 0, 0, 1]));
    let kept = world.ends[0].report().kept;
    let changes: [fn(&mut Message); 3] = [
        |it| it.base = it.base.wrapping_add(10_000),
        |it| it.echo += 1,
        |it| it.number = it.number.wrapping_sub(100),
    ];
    for change in changes {
        let mut forged = status;
        change(&mut forged);
        assert!(!world.ends[0].hear(world.now, &forged));
    }
    assert_eq!(world.ends[0].report().kept, kept);
    assert_eq!(world.ends[0].report().counters.refused, 3);
    status.new.until = status.new.until.wrapping_add(10_000);
    assert!(world.ends[0].hear(world.now, &status), "it may have been led further");
}

#[test]
fn a_key_refuses_statuses_without_its_tag() {
    let key = Some(wire::rate_feedback::Key([7; 16]));
    let mut keyed: End<Vec<u8>, Held> = End::new(Repair { key, ..settings() });
    let mut other: End<Vec<u8>, Held> = End::new(Repair { key, ..settings() });
    let mut plain: End<Vec<u8>, Held> = End::new(settings());
    let mac = MacAddress([2, 0, 0, 0, 0, 9]);
    let here = MacAddress([2, 0, 0, 0, 0, 8]);
    for at in (1..9).map(Nanos) {
        plain.hear(at, &keyed.status(at, here));
        keyed.hear(at, &plain.status(at, mac));
    }
    assert!(!keyed.is_up());
    for at in (9..20).map(Nanos) {
        other.hear(at, &keyed.status(at, here));
        keyed.hear(at, &other.status(at, mac));
    }
    assert!(keyed.is_up() && other.is_up());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn each_frame_arrives_once_and_in_the_order_of_its_bucket_whatever_the_link_does(
        seed: u64,
        loss in 0_u32..300,
        twice in 0_u32..100,
        jitter in 0_u64..30_000,
        cut in (0_u64..1_500_000, 0_u64..400_000),
        buckets in 1_u16..20,
    ) {
        let cut = (Nanos(cut.0), Nanos(cut.0 + cut.1));
        let until = Nanos(2_000_000);
        let faults = Faults { loss, twice, jitter: Interval(jitter), cut, until };
        let mut world = World::new(seed, faults, buckets);
        world.run(Interval::from_millis(2));
        prop_assert_eq!(&world.sent, &world.delivered);
        prop_assert!(world.all > 100, "{:?}", world.ends.each_ref().map(End::report));
    }
}
