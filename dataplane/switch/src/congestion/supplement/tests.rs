//! One flow and its CNPs, and arbitrary orders of marks, CNPs and calls.

use super::*;
use crate::flows::Origin;
use proptest::prelude::*;
use units::{BitRate, Interval, WireBytes};
use wire::ethernet::MacAddress;

const RATE: BitRate = BitRate::gigabits(25);
const TIMER: Interval = Interval::from_micros(300);
/// An eighth of the timer, by which a CNP may be later.
const GRAIN: Interval = Interval(TIMER.0 / 8);
const QUEUE: QueueId = QueueId::from_low_bits(3);
const START: Nanos = Nanos(1_000_000_000);

fn severe() -> QueueSet {
    [QUEUE].into_iter().collect()
}

/// The scheme with its flows. Senders of flows below 100 are known.
struct Scene {
    scheme: Supplement,
    flows: Flows,
    now: Nanos,
    severe: QueueSet,
    room: bool,
}

impl Scene {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::PLAIN;
        change(&mut settings);
        let flows = Flows::new(settings.notifier.table(RATE), 7);
        let scheme = Supplement::new(&settings, settings.notifier.flows);
        Self { scheme, flows, now: START, severe: severe(), room: true }
    }

    fn flow(&mut self, number: u32) -> Slot {
        let origin = Self::origin(9);
        match number < 100 {
            true => self.flows.enter_known(number, self.now, origin, WireBytes(1)),
            false => self.flows.enter_from(number, self.now, origin),
        }
    }

    fn origin(station: u8) -> Origin {
        Origin::new(PortId(1), MacAddress([2, 0, 0, 0, 0, station]), 0)
    }

    fn mark(&mut self, slot: Slot) {
        let way = ReturnPath::of(&[2; 64], 0xc000).unwrap();
        self.scheme.mark(self.now, QUEUE, slot, way, &mut self.flows);
    }

    /// Lets a CNP of the receiver come; returns whether it passes.
    fn receiver(&mut self, slot: Slot) -> bool {
        self.notified(Some(slot), 9)
    }

    /// Lets a CNP of `station` come for a flow; returns whether it passes.
    fn notified(&mut self, flow: Option<Slot>, station: u8) -> bool {
        self.scheme.receive_cnp(self.now, flow, &mut self.flows, Self::origin(station))
    }

    /// Lets time pass, with calls at their deadlines. Returns the times of the CNPs made, since the start.
    fn pass(&mut self, time: Interval) -> Vec<u64> {
        let (end, mut times) = (self.now + time, Vec::new());
        while self.scheme.deadline() <= end {
            self.now = self.now.max(self.scheme.deadline());
            self.call(&mut times);
        }
        self.now = end;
        times
    }

    fn call(&mut self, times: &mut Vec<u64>) {
        let Self { scheme, flows, now, severe, room, .. } = self;
        let since = now.since(START).0;
        scheme.notify(*now, *severe, flows, &mut |_, _| match *room {
            true => {
                times.push(since);
                Offer::Taken
            }
            false => Offer::Full,
        });
    }
}

fn within_grain(times: &[u64], expected: &[Interval]) {
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (time, expected) in times.iter().zip(expected) {
        assert!((expected.0..=expected.0 + GRAIN.0 * 2).contains(time), "{time} for {expected:?}");
    }
}

#[test]
fn a_flow_whose_marked_packets_are_too_far_apart_gets_the_missing_cnp_and_no_more_once_marks_have_ended() {
    let mut scene = Scene::new(|it| it.mark_lasts = Interval::from_micros(700));
    let slot = scene.flow(1);
    assert_eq!(scene.scheme.deadline(), Nanos::NEVER);
    scene.mark(slot);
    within_grain(&scene.pass(Interval::from_millis(5)), &[TIMER, TIMER * 2]);
    assert_eq!(scene.scheme.deadline(), Nanos::NEVER, "an idle flow costs nothing");
    assert_eq!(scene.scheme.counters.supplemented, 2);
}

#[test]
fn nothing_is_missing_while_marked_packets_or_cnps_come_more_often_than_the_timer() {
    let mut scene = Scene::new(|_| ());
    let slot = scene.flow(1);
    for _ in 0..20 {
        scene.mark(slot);
        assert_eq!(scene.pass(Interval::from_micros(250)), []);
    }
    let told = scene.flow(2);
    scene.mark(told);
    for _ in 0..4 {
        assert!(scene.receiver(told));
        assert!(scene.receiver(slot));
        assert_eq!(scene.pass(Interval::from_micros(250)), []);
    }
}

#[test]
fn a_queue_that_is_not_severely_congested_supplements_nothing() {
    let mut scene = Scene::new(|_| ());
    let slot = scene.flow(1);
    scene.severe = QueueSet::EMPTY;
    scene.mark(slot);
    assert_eq!(scene.pass(Interval::from_micros(500)), []);
    assert_eq!(scene.scheme.deadline(), Nanos::NEVER, "the flow costs nothing until its next mark");
    scene.severe = severe();
    assert_eq!(scene.pass(Interval::from_micros(500)), []);
    scene.mark(slot);
    within_grain(&scene.pass(Interval::from_micros(400)), &[Interval::from_micros(1_300)]);
}

#[test]
fn no_cnp_is_made_for_a_sender_whose_queue_pair_is_unknown() {
    let mut scene = Scene::new(|_| ());
    let slot = scene.flow(100);
    scene.mark(slot);
    assert_eq!(scene.pass(Interval::from_millis(5)), []);
    assert_eq!(scene.scheme.counters.not_notified, 1, "and it is left alone until its next mark");
}

#[test]
fn the_next_flow_in_a_slot_inherits_no_marks_and_the_one_before_is_counted_as_forgotten() {
    let mut scene = Scene::new(|it| it.notifier.flows = 1);
    let slot = scene.flow(100);
    scene.mark(slot);
    assert_eq!(scene.flow(101), slot, "the only slot");
    assert_eq!(scene.pass(Interval::from_millis(5)), []);
    assert_eq!(scene.scheme.counters.not_notified, 0, "no one can tell whether one was missing");
    assert_eq!(scene.scheme.counters.forgotten, 1);
}

#[test]
fn a_flow_that_was_forgotten_is_counted_once_though_the_next_one_in_its_slot_is_marked_as_well() {
    let mut scene = Scene::new(|it| it.notifier.flows = 1);
    let slot = scene.flow(100);
    scene.mark(slot);
    assert_eq!(scene.flow(1), slot, "the only slot");
    scene.mark(slot);
    scene.mark(slot);
    within_grain(&scene.pass(TIMER + GRAIN), &[TIMER]);
    let SupplementCounters { supplemented, forgotten, .. } = scene.scheme.counters;
    assert_eq!((supplemented, forgotten), (1, 1));
}

#[test]
fn flows_that_a_reload_forgets_before_their_cnp_is_due_are_counted() {
    let mut scene = Scene::new(|_| ());
    for number in [1, 2] {
        let slot = scene.flow(number);
        scene.mark(slot);
    }
    let settings = scene.scheme.settings;
    let mut spare = Supplement::new(&settings, settings.notifier.flows);
    scene.scheme.configure(&mut spare, false);
    assert_eq!(scene.scheme.counters.forgotten, 0, "the table stays");
    scene.scheme.configure(&mut spare, true);
    assert_eq!((scene.scheme.counters.forgotten, scene.scheme.deadline()), (2, Nanos::NEVER));
}

#[test]
fn the_cnps_that_are_lost_with_the_scheme_are_those_that_are_missing_however_many_and_no_others() {
    let lost = |told: usize, severe: QueueSet| {
        let mut scene = Scene::new(|it| it.notifier.flows = 1_024);
        let slots: Vec<_> = (0..130).map(|number| scene.flow(number)).collect();
        slots.iter().for_each(|slot| scene.mark(*slot));
        // No one calls while all of them become due.
        scene.now += TIMER - Interval(1);
        scene.mark(slots[99]);
        for slot in &slots[..told] {
            assert!(scene.receiver(*slot));
        }
        let Scene { scheme, flows, now, .. } = &mut scene;
        assert!(scheme.waiting() > 0 && !scheme.is_blocked());
        let lost = scheme.lose(*now + Interval(1), severe, flows, &mut |_, _| true);
        assert_eq!(scheme.waiting(), 0);
        lost
    };
    assert_eq!(lost(0, severe()), 99, "senders below 100 are known, and one was marked again");
    assert!(lost(0, severe()) > HANDLED_PER_CALL as u64);
    assert_eq!(lost(0, QueueSet::EMPTY), 0);
    assert_eq!(lost(40, severe()), 59, "their receivers have told 40 of them");
}

#[test]
fn a_scheme_that_ends_looks_at_a_bounded_number_of_flows_and_takes_the_others_for_lost() {
    let lost = |severe: QueueSet| {
        let mut scene = Scene::new(|it| it.notifier.flows = 4_096);
        let slots: Vec<_> = (0..3_000).map(|number| scene.flow(number)).collect();
        slots.iter().for_each(|slot| scene.mark(*slot));
        let Scene { scheme, flows, now, .. } = &mut scene;
        let mut asked = 0;
        let lost = scheme.lose(*now + TIMER, severe, flows, &mut |_, _| {
            asked += 1;
            true
        });
        let looked_at = asked + scheme.counters.not_notified;
        (lost - asked, looked_at)
    };
    let bound = LOOKED_AT_LAST as u64;
    assert_eq!(lost(severe()), (3_000 - bound, bound));
    assert_eq!(lost(QueueSet::EMPTY), (0, 0));
}

#[test]
fn a_cnp_that_finds_no_room_is_made_when_there_is_room_again() {
    let mut scene = Scene::new(|_| ());
    let slot = scene.flow(1);
    scene.mark(slot);
    scene.room = false;
    assert_eq!(scene.pass(Interval::from_micros(400)), []);
    assert!(scene.scheme.is_blocked());
    scene.room = true;
    let mut times = Vec::new();
    scene.call(&mut times);
    times.extend(scene.pass(GRAIN));
    assert_eq!(times.len(), 1);
}

#[test]
fn thinning_alone_passes_one_cnp_of_a_receiver_in_an_interval_and_makes_none() {
    let thinning = Some(Interval::from_micros(100));
    let mut scene = Scene::new(|it| (it.threshold, it.thinning) = (None, thinning));
    let slot = scene.flow(1);
    let mut passed = Vec::new();
    for _ in 0..5 {
        passed.push(scene.receiver(slot));
        assert_eq!(scene.pass(Interval::from_micros(60)), []);
    }
    assert_eq!(passed, [true, false, true, false, true]);
    assert!(scene.notified(None, 9));
    let SupplementCounters { passed, unknown, suppressed, .. } = scene.scheme.counters;
    assert_eq!((passed, unknown, suppressed), (3, 1, 2));
}

#[test]
fn a_cnp_that_does_not_come_from_the_receiver_takes_the_place_of_no_other() {
    let mut scene = Scene::new(|it| it.thinning = Some(Interval::from_micros(100)));
    let slot = scene.flow(1);
    assert!(scene.notified(Some(slot), 8), "its sender may discard it");
    assert!(scene.receiver(slot), "so the true one passes");
    assert!(!scene.receiver(slot));
    assert_eq!(scene.scheme.counters.unknown, 1);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Mark(u32),
    Receiver(u32),
    Severe(bool),
    Room(bool),
    Pass(u64),
    /// A call that no one asked for.
    Call,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0_u32..3).prop_map(Event::Mark),
        4 => (0_u32..3).prop_map(Event::Receiver),
        1 => any::<bool>().prop_map(Event::Severe),
        1 => any::<bool>().prop_map(Event::Room),
        6 => (0_u64..400_000).prop_map(Event::Pass),
        1 => Just(Event::Call),
    ];
    proptest::collection::vec(event, 1..400)
}

/// Per flow, the times of CNPs to its sender, and whether the switch made each.
#[derive(Default)]
struct Told([Vec<(u64, bool)>; 3]);

impl Told {
    /// The times from which the switch may make the next CNP to each flow: they change with each CNP.
    fn levels(scene: &Scene, slots: [Slot; 3]) -> [Nanos; 3] {
        let Scene { scheme, flows, .. } = scene;
        slots.map(|slot| scheme.states.may_supplement_from(flows, slot, &scheme.settings))
    }

    /// Runs a part that makes no more than one CNP per flow, and notes those that it makes.
    fn note(&mut self, scene: &mut Scene, slots: [Slot; 3], part: impl FnOnce(&mut Scene)) {
        let before = Self::levels(scene, slots);
        part(scene);
        for (index, level) in Self::levels(scene, slots).into_iter().enumerate() {
            if level != before[index] {
                self.0[index].push((level.0 - TIMER.0 - START.0, true));
            }
        }
    }
}

proptest! {
    /// The invariant of both parts together: a CNP that the switch made is at least a timer away from every other one
    /// to its sender, and with thinning any two are at least its interval apart.
    #[test]
    fn no_order_of_events_gives_a_sender_two_cnps_within_an_interval(
        events in events(),
        thinning in proptest::option::of(1_u64..=300),
    ) {
        let thinning = thinning.map(Interval::from_micros);
        let mut scene = Scene::new(|it| it.thinning = thinning);
        let slots = [1, 2, 3].map(|number| scene.flow(number));
        let mut told = Told::default();
        for event in events {
            match event {
                Event::Mark(flow) => scene.mark(slots[flow as usize]),
                Event::Receiver(flow) => {
                    if scene.receiver(slots[flow as usize]) {
                        told.0[flow as usize].push((scene.now.0 - START.0, false));
                    }
                }
                Event::Severe(on) => scene.severe = if on { severe() } else { QueueSet::EMPTY },
                Event::Room(room) => scene.room = room,
                Event::Pass(time) => {
                    let end = scene.now + Interval(time);
                    while scene.now < end {
                        let step = end.since(scene.now).min(Interval(20_000));
                        told.note(&mut scene, slots, |scene| drop(scene.pass(step)));
                    }
                }
                Event::Call => told.note(&mut scene, slots, |scene| scene.call(&mut Vec::new())),
            }
        }
        let own = told.0.iter().flatten().filter(|(_, own)| *own).count();
        prop_assert_eq!(own as u64, scene.scheme.counters.supplemented);
        for times in &told.0 {
            for pair in times.windows(2) {
                let [(first, own), (second, own_too)] = [pair[0], pair[1]];
                let least = if own || own_too { TIMER } else { thinning.unwrap_or(Interval::ZERO) };
                prop_assert!(second - first >= least.0, "{pair:?} with {thinning:?}");
            }
        }
    }
}
