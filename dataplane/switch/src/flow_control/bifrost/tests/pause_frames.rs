//! Theorem 1 with pause frames that are lost, late or overtaken: the upstream lives by what it has
//! heard, in nanoseconds and whole frames.
//!
//! A pause frame that does not act in its slot leaves the upstream free for a time in which it
//! should have been silent. The bytes that the line carries in that time have leaked, and there is no other
//! leak but the frame that it had begun, and what it had handed to its device:
//!
//! - a lost frame leaks at most `Rs T`: the next one is on time;
//! - a late frame leaks at most `Rs` times its lateness in its own slot, and where it is later than
//!   a slot, as much as `Rs T` in the slot in which it is heard instead of the right one;
//! - a holdover as long as a slot keeps all of it from an upstream that was paused entirely.
//!
//! Bifrost deducts what leaked from later grants, so
//! `L <= L + F <= H + leaked - drained - withheld` since the last slot in which that was at most H.
//! The bound is checked against what did leak, slot by slot, and each leak against its cause.

use super::model::{HISTORY, KINDS, Link, Model, kinds, rates, whole};
use crate::program;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use units::{BitRate, Distance, Interval, Nanos, PauseQuanta};

/// The fate of a pause frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    OnTime,
    Lost,
    /// By so many thousandths of a slot; beyond a whole one the next frame overtakes it.
    Late(u64),
}

/// An upstream that always has frames to send. Its clock is the downstream's: its frames take no
/// time, and pause frames take the round trip.
struct Upstream {
    now: Nanos,
    /// The time that a frame takes.
    frame: Interval,
    /// How far ahead of the line it begins frames, which no pause takes back.
    ahead: Interval,
    paused_until: Nanos,
    /// When the last frame that began has left.
    busy_until: Nanos,
    /// Pause frames under way, by the time at which they are heard; the later sent the later.
    pauses: BTreeMap<(Nanos, u64), Interval>,
    /// How long it has been sending, all in all.
    sent: Interval,
}

impl Upstream {
    fn new(frame: Interval, ahead: Interval) -> Self {
        let zero = Nanos::ZERO;
        let (pauses, sent) = (BTreeMap::new(), Interval::ZERO);
        Self { now: zero, frame, ahead, paused_until: zero, busy_until: zero, pauses, sent }
    }

    fn live(&mut self, until: Nanos) {
        while let Some(entry) = self.pauses.first_entry().filter(|entry| entry.key().0 < until) {
            let ((heard, _), pause) = entry.remove_entry();
            self.send(heard);
            self.paused_until = heard + pause;
        }
        self.send(until);
    }

    /// Sends up to `until`, before which nothing is heard. A frame that has begun is sent to its end.
    fn send(&mut self, until: Nanos) {
        self.sent += self.busy_until.min(until).since(self.now);
        let start = self.paused_until.max(self.busy_until).max(self.now);
        if start < until {
            self.sent += until.since(start);
            let begun = until.since(start) + self.ahead;
            self.busy_until = start + self.frame * begun.0.div_ceil(self.frame.0);
        }
        self.now = until;
    }
}

/// A link whose pause frames have fates.
struct Channel {
    model: Model,
    upstream: Upstream,
    slots: u64,
    /// Slots that a frame was lost or late for, or in which a late one was heard.
    disturbed: BTreeSet<u64>,
}

impl Channel {
    fn new(link: Link, settings: program::Bifrost, upstream: Upstream) -> Self {
        Self { model: Model::with(link, settings), upstream, slots: 0, disturbed: BTreeSet::new() }
    }

    /// Plays one slot, and gives the frame at its end its fate. Returns what leaked in it.
    fn step(&mut self, drain: u64, fate: Fate) -> u64 {
        let Link { rate, slot, slots_per_round_trip } = self.model.link;
        self.upstream.live(self.model.now + slot);
        let arrived = rate.bytes_in(self.upstream.sent) - self.model.received;
        let end = self.model.end_slot(arrived, drain);
        self.slots += 1;
        let Some(pause) = end.pause else { return end.leaked };

        let late = match fate {
            Fate::OnTime => Interval::ZERO,
            Fate::Late(thousandths) => Interval(slot.0 * thousandths / 1_000),
            Fate::Lost => Interval::ZERO,
        };
        if fate != Fate::OnTime {
            let own = self.slots + slots_per_round_trip;
            self.disturbed.extend([own, own + late.0 / slot.0]);
        }
        if fate != Fate::Lost {
            let heard = self.model.now + slot * slots_per_round_trip + late;
            let pause = PauseQuanta::covering(pause, rate).interval_at(rate);
            self.upstream.pauses.insert((heard, self.slots), pause);
        }
        end.leaked
    }

    /// Whether anything but a frame that had begun could leak in the last slot.
    fn was_disturbed(&self) -> bool {
        self.disturbed.contains(&(self.slots - 1))
    }
}

/// 1 km to 10,000 km, with slots that a pause can last three of.
fn links() -> impl Strategy<Value = Link> {
    let kilometres = prop_oneof![1_u64..10, 10_u64..100, 100_u64..1_000, 1_000_u64..=10_000];
    (rates(), kilometres, 2_u64..40).prop_map(|(rate, kilometres, slots)| {
        let round_trip = Distance(kilometres * 1_000).propagation() * 2;
        let longest = PauseQuanta::MAX.interval_at(rate).0 / 3;
        let slot = whole(Interval((round_trip.0 / slots).min(longest)));
        Link { rate, slot, slots_per_round_trip: round_trip.0 / slot.0 }
    })
}

/// Shares of three round trips, each at a level of the drain.
fn drains() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let level = prop_oneof![2 => Just(0), 1 => Just(1_000), 1 => Just(500), 1 => 0_u64..=1_000];
    proptest::collection::vec((level, 1_u64..=1_000), 1..8)
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        8 => Just(Fate::OnTime),
        1 => Just(Fate::Lost),
        1 => (1_u64..1_000).prop_map(Fate::Late),
        1 => (1_000_u64..3_000).prop_map(Fate::Late),
    ];
    proptest::collection::vec(fate, 1..60)
}

/// The drain of each slot.
fn each_slot(link: Link, drains: &[(u64, u64)]) -> impl Iterator<Item = u64> {
    let slots = move |share: u64| (3 * link.slots_per_round_trip * share).div_ceil(1_000);
    drains.iter().flat_map(move |(level, share)| core::iter::repeat_n(*level, slots(*share) as usize))
}

proptest! {
    #[test]
    fn pause_frames_that_are_lost_late_or_overtaken_cost_what_leaked_and_nothing_more(
        link in links(),
        drains in drains(),
        fates in fates(),
        frame in 1_u64..800,
        holdover in prop_oneof![Just(0), 0_u64..=2_000],
        kind in kinds(),
    ) {
        let holdover = Interval(link.slot.0 * holdover / 1_000);
        let settings = program::Bifrost { holdover, ..link.settings(kind) };
        let mut channel = Channel::new(link, settings, Upstream::new(Interval(frame), Interval::ZERO));
        // Bytes are whole and the times of grants are not.
        let begun = link.rate.bytes_in(Interval(frame)) + 2;
        for (drain, fate) in each_slot(link, &drains).zip(fates.into_iter().cycle()) {
            let leaked = channel.step(drain, fate);
            let most = begun + if channel.was_disturbed() { link.line() } else { 0 };
            prop_assert!(leaked <= most, "{leaked} leaked without a cause");
            let model = &channel.model;
            prop_assert!(model.sum() <= link.least_buffer() + model.excess);
            prop_assert!(model.starved <= model.withheld);
        }
    }

    /// The terms of [`program::Bifrost::overrun`]: the leak that the history notices, those at the ends of the slots of a
    /// round trip that were granted by then, and the one at the end of the slot that runs.
    #[test]
    fn pause_frames_that_are_on_time_leak_what_has_begun_in_each_slot_until_the_first_leak_is_noticed(
        link in links(),
        drains in drains(),
        frame in 1_u64..800,
        ahead in prop_oneof![Just(0), 1_u64..3_000],
    ) {
        let upstream = Upstream::new(Interval(frame), Interval(ahead));
        let mut channel = Channel::new(link, link.settings(HISTORY), upstream);
        let begun = link.rate.bytes_in(Interval(frame) + Interval(ahead).min(link.slot)) + 2;
        for drain in each_slot(link, &drains) {
            channel.step(drain, Fate::OnTime);
            let overrun = (link.slots_per_round_trip + 2) * begun;
            prop_assert!(channel.model.queue <= link.least_buffer() + overrun);
        }
    }
}

/// 100G over 80 km, with slots of 2,000 quanta, so that no pause is rounded.
const QUANTA: Link = Link { slot: Interval(10_240), ..Link::DEPLOYED };

/// A full buffer behind a drain that stands still, and one pause frame with `fate`: the queue above
/// H when it has had its effect, and how much less is granted until the buffer is full again.
fn after_one(fate: Fate, kind: program::VirtualIncoming, holdover: Interval) -> (u64, u64) {
    let settings = program::Bifrost { holdover, ..QUANTA.settings(kind) };
    let run = |fate| {
        let mut channel = Channel::new(QUANTA, settings, Upstream::new(Interval(1), Interval::ZERO));
        let still = |channel: &mut Channel, slots| {
            for _ in 0..slots {
                channel.step(0, Fate::OnTime);
            }
        };
        still(&mut channel, 200);
        channel.step(0, fate);
        still(&mut channel, 200);
        let above = channel.model.queue - QUANTA.least_buffer();
        let granted = channel.model.bifrost.counters.granted.0;
        for _ in 0..40 {
            channel.step(1_000, Fate::OnTime);
        }
        still(&mut channel, 200);
        assert_eq!(channel.model.queue, QUANTA.least_buffer(), "and the buffer is full again");
        (above, channel.model.bifrost.counters.granted.0 - granted)
    };
    let ((none, granted), (above, granted_after)) = (run(Fate::OnTime), run(fate));
    assert_eq!(none, 0);
    (above, granted - granted_after)
}

#[test]
fn one_lost_pause_frame_leaks_a_slot_of_the_line_and_a_holdover_of_a_slot_keeps_it() {
    let (slot, line) = (QUANTA.slot, QUANTA.line());
    for kind in KINDS {
        assert_eq!(after_one(Fate::Lost, kind, Interval::ZERO), (line, line), "{kind:?}");
        assert_eq!(after_one(Fate::Lost, kind, Interval(slot.0 / 2)), (line / 2, line / 2));
        assert_eq!(after_one(Fate::Lost, kind, slot), (0, 0));
    }
}

#[test]
fn one_late_pause_frame_leaks_its_lateness_and_one_that_is_overtaken_a_slot() {
    let line = QUANTA.line();
    for kind in KINDS {
        assert_eq!(after_one(Fate::Late(300), kind, Interval::ZERO).0, line * 3 / 10);
        assert_eq!(after_one(Fate::Late(300), kind, Interval(QUANTA.slot.0 * 3 / 10)).0, 0);
        // Heard half a slot after the next, it says the same: its own slot leaked.
        assert_eq!(after_one(Fate::Late(1_500), kind, Interval::ZERO).0, line);
    }
}

/// The frame that frees an upstream early from a holdover, overtaken by a pause, undoes that pause.
#[test]
fn a_frame_that_frees_the_upstream_and_is_overtaken_undoes_the_pause_that_overtook_it() {
    let mut upstream = Upstream::new(Interval(1), Interval::ZERO);
    upstream.pauses.insert((Nanos(10_000), 2), Interval(10_000));
    upstream.pauses.insert((Nanos(12_000), 1), Interval::ZERO);
    upstream.live(Nanos(10_000));
    let before = upstream.sent;
    upstream.live(Nanos(20_000));
    assert_eq!(upstream.sent - before, Interval(8_000), "all of the slot but what it was paused for");
    let leaked = BitRate::gigabits(100).bytes_in(upstream.sent - before);
    assert!(leaked <= Link::DEPLOYED.line(), "and less than what a slot carries");
}
