//! Tests of the delay line with numbered frames.

use super::{Capacity, DelayLine, EmulationCounters, EmulationSettings};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::rc::Rc;
use switch::{Frame, Transmitter};
use units::{BitRate, Bytes, Interval, Nanos, WireBytes};

const DELAY: Interval = Interval::from_micros(400);
const REORDER_BY: Interval = Interval::from_micros(80);

const GOOD: EmulationSettings = EmulationSettings {
    delay: DELAY,
    rate: BitRate::gigabits(1),
    loss: 0.0,
    duplicate: 0.0,
    reorder: 0.0,
    reorder_by: REORDER_BY,
    control: false,
    seed: 7,
};

/// A line for `frames` frames of any length.
fn line_of(settings: &EmulationSettings, frames: usize) -> DelayLine<Numbered> {
    DelayLine::new(settings, Capacity { frames, data: WireBytes(u64::MAX) })
}

/// A numbered frame whose memory is counted.
struct Numbered {
    number: u32,
    can_be_copied: bool,
    memory: Rc<()>,
}

impl Frame for Numbered {
    fn headers(&self) -> &[u8] {
        &[]
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut []
    }

    fn length(&self) -> Bytes {
        Bytes(60)
    }

    fn duplicate(&self) -> Option<Self> {
        let Self { number, can_be_copied, ref memory } = *self;
        can_be_copied.then(|| Self { number, can_be_copied, memory: memory.clone() })
    }
}

/// A frame to put on the link; its index is its number.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: Nanos,
    is_control: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    number: u32,
    is_control: bool,
    due: Nanos,
    at: Nanos,
}

/// The device after the link.
struct FarEnd {
    now: Nanos,
    room: usize,
    received: Vec<Received>,
}

impl FarEnd {
    fn new(expected: usize) -> Self {
        Self { now: Nanos::ZERO, room: usize::MAX, received: Vec::with_capacity(expected) }
    }

    fn serve(&mut self, line: &mut DelayLine<Numbered>, now: Nanos) {
        self.now = now;
        line.release(now, self);
    }

    /// Serves every deadline up to `until`.
    fn serve_until(&mut self, line: &mut DelayLine<Numbered>, until: Nanos) {
        while line.next_deadline() <= until && line.counters().in_flight > 0 {
            self.serve(line, line.next_deadline());
        }
    }
}

impl Transmitter<Numbered> for FarEnd {
    fn room(&self) -> usize {
        self.room
    }

    fn frame(&mut self, due: Nanos, frame: Numbered) {
        self.room -= 1;
        self.received.push(Received { number: frame.number, is_control: false, due, at: self.now });
    }

    fn control(&mut self, due: Nanos, frame: &[u8]) {
        let number = u32::from_be_bytes(frame[..4].try_into().unwrap());
        self.received.push(Received { number, is_control: true, due, at: self.now });
    }
}

/// The near end, with the memory of its frames.
#[derive(Default)]
struct NearEnd {
    memory: Rc<()>,
}

impl NearEnd {
    fn send(&self, line: &mut DelayLine<Numbered>, number: usize, sent: Sent) {
        let number = u32::try_from(number).unwrap();
        if sent.is_control {
            let mut frame = [0; 60];
            frame[..4].copy_from_slice(&number.to_be_bytes());
            line.control(sent.start, &frame);
        } else {
            line.frame(sent.start, Numbered { number, can_be_copied: true, memory: self.memory.clone() });
        }
    }

    /// Data frames that exist.
    fn lent(&self) -> usize {
        Rc::strong_count(&self.memory) - 1
    }
}

/// Sends everything, each frame `ahead` of its start, and serves every deadline.
fn play(line: &mut DelayLine<Numbered>, traffic: &[Sent], ahead: Interval) -> Vec<Received> {
    let (near, mut far) = (NearEnd::default(), FarEnd::new(2 * traffic.len()));
    for (number, sent) in traffic.iter().enumerate() {
        far.serve_until(line, sent.start - ahead);
        near.send(line, number, *sent);
    }
    far.serve_until(line, Nanos::NEVER);
    assert_eq!(near.lent(), 0, "all memory came back");
    far.received
}

/// One frame every 10 ns, every tenth of them a control frame.
fn steady(frames: usize) -> Vec<Sent> {
    (0..frames as u64).map(|n| Sent { start: Nanos(1_000_000 + 10 * n), is_control: n % 10 == 9 }).collect()
}

fn numbers(received: &[Received]) -> Vec<u32> {
    received.iter().map(|it| it.number).collect()
}

fn traffic() -> impl Strategy<Value = Vec<Sent>> {
    prop::collection::vec((prop_oneof![Just(0), 0_u64..20_000], any::<bool>()), 1..200).prop_map(|frames| {
        let mut start = Nanos(1_000_000);
        let sent = frames.into_iter().map(|(gap, is_control)| {
            start += Interval(gap);
            Sent { start, is_control }
        });
        sent.collect()
    })
}

fn impairments() -> impl Strategy<Value = EmulationSettings> {
    let probability = || prop_oneof![Just(0.0), 0.0..=1.0];
    (probability(), probability(), probability(), any::<bool>(), any::<u64>()).prop_map(
        |(loss, duplicate, reorder, control, seed)| EmulationSettings {
            loss,
            duplicate,
            reorder,
            control,
            seed,
            ..GOOD
        },
    )
}

#[test]
fn an_announcement_arrives_the_delay_after_its_start_and_a_second_one_on_the_link_is_counted_as_lost() {
    let mut line = line_of(&GOOD, 200);
    let mut far = FarEnd::new(2);
    let start = Nanos(1_000_000);
    for number in [1_u32, 2] {
        line.control(start, &[&number.to_be_bytes()[..], &[0; 200]].concat());
    }
    assert_eq!((line.next_deadline(), line.counters().in_flight), (start + GOOD.delay, 1));
    far.serve_until(&mut line, Nanos::NEVER);
    let due = start + GOOD.delay;
    assert_eq!(far.received, [Received { number: 1, is_control: true, due, at: due }]);
    let counters = line.counters();
    assert_eq!((counters.entered, counters.delivered, counters.overflowed), (2, 1, 1));
    assert_eq!(line.next_deadline(), Nanos::NEVER);
}

proptest! {
    #[test]
    fn on_a_good_link_every_frame_arrives_once_in_its_place_and_exactly_the_delay_after_its_start(
        traffic in traffic(),
        delay in 0_u64..2_000_000,
        ahead in 0_u64..2_000,
    ) {
        let settings = EmulationSettings { delay: Interval(delay), ..GOOD };
        let mut line = line_of(&settings, 200);
        // With a delay shorter than the window, frames would arrive before they were handed over.
        let received = play(&mut line, &traffic, Interval(ahead.min(delay)));
        prop_assert_eq!(received.len(), traffic.len());
        for ((number, sent), received) in (0..).zip(&traffic).zip(received) {
            let at = sent.start + settings.delay;
            prop_assert_eq!(received, Received { number, is_control: sent.is_control, due: at, at });
        }
        prop_assert_eq!(line.counters().max_lateness, Interval::ZERO);
        prop_assert_eq!(line.next_deadline(), Nanos::NEVER);
    }

    #[test]
    fn a_device_that_is_full_makes_data_late_and_neither_lost_nor_disordered_nor_control_late(
        traffic in traffic(),
        calls in prop::collection::vec((0_u64..50_000, 0_usize..4), 1..200),
    ) {
        let (near, mut far) = (NearEnd::default(), FarEnd::new(200));
        let mut line = line_of(&GOOD, 200);
        traffic.iter().enumerate().for_each(|(number, sent)| near.send(&mut line, number, *sent));
        let mut now = traffic[0].start;
        for (later, room) in calls.into_iter().chain([(1_000_000_000, usize::MAX)]) {
            let last = now;
            now += Interval(later);
            far.room = room;
            let before = far.received.len();
            far.serve(&mut line, now);
            for it in &far.received[before..] {
                prop_assert!(it.due <= now);
                prop_assert!(!it.is_control || it.due > last);
            }
        }
        // The backlog leaves at the rate of the link.
        far.serve_until(&mut line, Nanos::NEVER);
        for is_control in [false, true] {
            let sent = (0..).zip(&traffic).filter(|(_, sent)| sent.is_control == is_control);
            let received = far.received.iter().filter(|it| it.is_control == is_control);
            let sent = sent.map(|(number, sent)| (number, sent.start + DELAY));
            prop_assert!(sent.eq(received.map(|it| (it.number, it.due))));
        }
        let latest = far.received.iter().map(|it| it.at.since(it.due)).max();
        prop_assert_eq!(Some(line.counters().max_lateness), latest);
        prop_assert_eq!(near.lent(), 0);
    }

    #[test]
    fn every_frame_is_accounted_for_whatever_becomes_of_it(
        settings in impairments(),
        traffic in traffic(),
        capacity in 1_usize..60,
    ) {
        let (near, mut far) = (NearEnd::default(), FarEnd::new(400));
        let mut line = line_of(&settings, capacity);
        for (number, sent) in traffic.iter().enumerate() {
            far.serve_until(&mut line, sent.start);
            near.send(&mut line, number, *sent);
            let it = line.counters();
            let arrived = it.delivered + it.lost + it.overflowed;
            prop_assert_eq!(arrived + it.in_flight, it.entered + it.duplicated);
            prop_assert_eq!(it.entered, number as u64 + 1);
            prop_assert_eq!(it.delivered, far.received.len() as u64);
            prop_assert_eq!(near.lent(), capacity - line.room(), "no frame is kept that is not in flight");
            prop_assert!(it.in_flight <= it.peak_in_flight && it.peak_in_flight <= 2 * capacity as u64);
        }
    }

    #[test]
    fn frames_that_are_held_back_arrive_just_so_much_later_and_the_others_in_order(
        settings in impairments(),
        traffic in traffic(),
    ) {
        let mut line = line_of(&settings, 400);
        let received = play(&mut line, &traffic, Interval::ZERO);
        let mut held_back = BTreeSet::new();
        for it in &received {
            let late = it.at.since(traffic[it.number as usize].start + DELAY);
            prop_assert!(late == Interval::ZERO || late == REORDER_BY, "{:?}", late);
            if late > Interval::ZERO {
                held_back.insert(it.number);
            }
        }
        prop_assert_eq!(held_back.len() as u64, line.counters().reordered);
        prop_assert!(settings.reorder > 0.0 || held_back.is_empty());
        let on_time: Vec<_> = received.iter().filter(|it| !held_back.contains(&it.number)).collect();
        prop_assert!(on_time.is_sorted_by_key(|it| it.number));
        prop_assert!(received.is_sorted_by_key(|it| it.at));
    }
}

#[test]
fn a_pause_that_is_not_impaired_keeps_its_distance_to_the_data_around_it() {
    let bad = EmulationSettings { loss: 0.1, duplicate: 0.1, reorder: 0.1, ..GOOD };
    let traffic = steady(1_000);
    let received = play(&mut line_of(&bad, 2_000), &traffic, Interval::ZERO);
    let control: Vec<_> = received.iter().filter(|it| it.is_control).collect();
    assert_eq!(control.len(), 100);
    assert!(control.iter().all(|it| it.at == traffic[it.number as usize].start + DELAY));
}

#[test]
fn control_frames_are_impaired_where_that_is_asked_for() {
    for (control, expected) in [(false, 10), (true, 0)] {
        let settings = EmulationSettings { loss: 1.0, control, ..GOOD };
        let received = play(&mut line_of(&settings, 100), &steady(100), Interval::ZERO);
        assert_eq!(received.len(), expected);
    }
    let settings = EmulationSettings { duplicate: 1.0, reorder: 1.0, control: true, ..GOOD };
    let received = play(&mut line_of(&settings, 200), &steady(10), Interval::ZERO);
    assert_eq!(numbers(&received), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]);
    assert!(received.iter().all(|it| it.at == Nanos(1_480_000 + 10 * u64::from(it.number))));
}

/// Allows five standard deviations around the expected count.
fn assert_share(count: u64, frames: u64, probability: f64) {
    let expected = frames as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    assert!((count as f64 - expected).abs() <= 5.0 * deviation, "{count} of {frames} at {probability}");
}

#[test]
fn as_many_frames_are_impaired_as_the_probabilities_say() {
    let settings = EmulationSettings { loss: 0.01, duplicate: 0.002, reorder: 0.1, ..GOOD };
    let frames = 200_000;
    let traffic: Vec<_> =
        steady(frames as usize).iter().map(|it| Sent { is_control: false, ..*it }).collect();
    let mut line = line_of(&settings, traffic.len());
    play(&mut line, &traffic, Interval::ZERO);
    let EmulationCounters { entered, lost, duplicated, reordered, .. } = line.counters();
    assert_eq!(entered, frames);
    assert_share(lost, frames, 0.01);
    // Lost frames are neither duplicated nor held back.
    assert_share(duplicated, frames, 0.002 * 0.99);
    assert_share(reordered, frames, 0.1 * 0.99);
}

#[test]
fn the_same_seed_and_frames_give_the_same_and_another_seed_does_not() {
    let settings = EmulationSettings { loss: 0.1, duplicate: 0.1, reorder: 0.1, ..GOOD };
    let play = |settings| play(&mut line_of(&settings, 4_000), &steady(2_000), Interval::ZERO);
    assert_eq!(play(settings), play(settings));
    assert_ne!(play(settings), play(EmulationSettings { seed: 8, ..settings }));
}

#[test]
fn the_frames_that_are_lost_are_the_same_when_others_are_impaired_or_more_pauses_are_sent() {
    let data = |settings: &EmulationSettings, traffic: &[Sent]| -> BTreeSet<Nanos> {
        let received = play(&mut line_of(settings, 4_000), traffic, Interval::ZERO);
        let data = received.iter().filter(|it| !it.is_control);
        data.map(|it| traffic[it.number as usize].start).collect()
    };
    let lossy = EmulationSettings { loss: 0.1, ..GOOD };
    let with_pauses = steady(2_000);
    let alone: Vec<_> = with_pauses.iter().filter(|it| !it.is_control).copied().collect();
    let arrived = data(&lossy, &alone);
    assert_share((alone.len() - arrived.len()) as u64, alone.len() as u64, 0.1);
    assert_eq!(data(&lossy, &with_pauses), arrived);
    assert_eq!(data(&EmulationSettings { duplicate: 0.3, reorder: 0.3, ..lossy }, &alone), arrived);
}

#[test]
fn a_full_line_has_no_room_and_drops_and_counts_further_frames() {
    let (near, mut far) = (NearEnd::default(), FarEnd::new(4));
    let mut line = line_of(&GOOD, 2);
    for (number, is_control) in [false, false, false, true, true, true].into_iter().enumerate() {
        near.send(&mut line, number, Sent { start: Nanos(number as u64), is_control });
    }
    assert_eq!((line.room(), near.lent()), (0, 2));
    let counters = line.counters();
    assert_eq!((counters.entered, counters.overflowed, counters.in_flight), (6, 2, 4));
    assert_eq!(counters.data_in_flight, 2);
    far.serve_until(&mut line, Nanos::NEVER);
    assert_eq!(numbers(&far.received), [0, 1, 3, 4], "data takes no room from control frames");
    assert_eq!((line.room(), line.counters().peak_in_flight), (2, 4));
}

#[test]
fn a_link_whose_device_is_full_holds_its_capacity_and_drains_at_its_rate() {
    // 400 us at 1G are 50,000 bytes on the wire: 595 frames of 84.
    let (near, mut far) = (NearEnd::default(), FarEnd::new(1_000));
    let mut line = DelayLine::new(&GOOD, Capacity { frames: 10_000, data: WireBytes(50_000) });
    far.room = 0;
    let mut sent = 0;
    while line.room() > 0 {
        near.send(&mut line, sent, Sent { start: Nanos(672 * sent as u64), is_control: false });
        sent += 1;
    }
    assert_eq!(sent, 596, "the one that reaches the limit is the last");
    // The peer takes nothing for a second.
    for now in (0..1_000).map(|millis| Nanos(1_000_000 * millis)) {
        far.serve(&mut line, now);
    }
    assert_eq!((far.received.len(), line.room()), (0, 0));
    assert!(line.next_deadline() < Nanos(1_000_000), "it is asked again and again");
    let back = Nanos(1_000_000_000);
    far.room = usize::MAX;
    for step in 0..1_000 {
        let now = back + Interval(step * 1_000);
        far.serve(&mut line, now);
        let most = 1 + now.since(back).0 / 672;
        assert_eq!(far.received.len() as u64, most.min(596), "one in 672 ns, at {now}");
    }
    assert!(numbers(&far.received).into_iter().eq(0..596));
    // Then frames are on time again.
    let start = back + Interval(2_000_000);
    (0..3).for_each(|number| near.send(&mut line, number, Sent { start, is_control: false }));
    far.serve(&mut line, start + DELAY - Interval(1));
    assert_eq!(far.received.len(), 596);
    far.serve(&mut line, start + DELAY);
    assert_eq!((far.received.len(), line.next_deadline()), (599, Nanos::NEVER));
}

#[test]
fn a_worker_that_comes_late_finds_all_that_is_due() {
    let (near, mut far) = (NearEnd::default(), FarEnd::new(100));
    let mut line = line_of(&GOOD, 100);
    steady(100).iter().enumerate().for_each(|(number, sent)| near.send(&mut line, number, *sent));
    far.serve(&mut line, Nanos(1_000_000) + DELAY + Interval::from_micros(500));
    assert_eq!(far.received.len(), 100, "the device had room all the time");
}

#[test]
fn a_link_that_becomes_faster_lets_out_faster_what_has_gathered() {
    let (near, mut far) = (NearEnd::default(), FarEnd::new(100));
    let mut line = line_of(&GOOD, 100);
    (0..100).for_each(|number| near.send(&mut line, number, Sent { start: Nanos(0), is_control: false }));
    (far.room, far.now) = (0, Nanos::ZERO);
    far.serve(&mut line, Nanos(0) + DELAY);
    far.room = usize::MAX;
    line.set_rate(BitRate::gigabits(10));
    far.serve(&mut line, Nanos(1_000_000));
    far.serve(&mut line, Nanos(1_000_000) + Interval(670));
    assert_eq!(far.received.len(), 10, "one in 67.2 ns");
}

#[test]
fn a_frame_for_whose_copy_there_is_no_memory_or_no_room_arrives_once() {
    let settings = EmulationSettings { duplicate: 1.0, ..GOOD };
    let near = NearEnd::default();
    for (capacity, can_be_copied, copies) in [(4, true, 1), (4, false, 0), (1, true, 0)] {
        let mut line = line_of(&settings, capacity);
        line.frame(Nanos::ZERO, Numbered { number: 0, can_be_copied, memory: near.memory.clone() });
        let mut far = FarEnd::new(2);
        far.serve_until(&mut line, Nanos::NEVER);
        assert_eq!(far.received.len(), 1 + copies);
        let counters = line.counters();
        assert_eq!((counters.duplicated, counters.overflowed), (copies as u64, 0));
    }
}

#[test]
fn a_line_that_is_dropped_gives_its_memory_back() {
    let near = NearEnd::default();
    let mut line = line_of(&GOOD, 100);
    steady(100).iter().enumerate().for_each(|(number, sent)| near.send(&mut line, number, *sent));
    assert_eq!(near.lent(), 90);
    drop(line);
    assert_eq!(near.lent(), 0);
}

#[test]
fn no_frame_costs_an_allocation_and_the_line_takes_what_it_says() {
    let bad = EmulationSettings { loss: 0.1, duplicate: 0.5, reorder: 0.5, control: true, ..GOOD };
    for settings in [GOOD, bad] {
        // Traffic for two and a half times the delay fills the line three times.
        let (near, mut far) = (NearEnd::default(), FarEnd::new(200_000));
        let traffic = steady(100_000);
        let mut made = None;
        let new = allocation_counter::measure(|| made = Some(line_of(&settings, 500)));
        assert_eq!(new.bytes_total, DelayLine::<Numbered>::memory(&settings, 500).0);
        let mut line = made.unwrap();
        let used = allocation_counter::measure(|| {
            for (number, sent) in traffic.iter().enumerate() {
                far.serve_until(&mut line, sent.start);
                near.send(&mut line, number, *sent);
            }
            far.serve_until(&mut line, Nanos::NEVER);
        });
        assert_eq!(used.count_total, 0);
        let counters = line.counters();
        // 500 places for data and 500 for control frames were each taken three times, and every frame is accounted
        // for.
        assert_eq!((counters.entered, counters.peak_in_flight), (100_000, 1_000));
        assert_eq!(counters.delivered, 3 * counters.peak_in_flight);
        assert_share(counters.lost, counters.entered, settings.loss);
        let overflowed = counters.entered + counters.duplicated - counters.delivered - counters.lost;
        assert_eq!(counters.overflowed, overflowed);
    }
}
