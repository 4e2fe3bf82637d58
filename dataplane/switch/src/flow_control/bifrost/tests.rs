//! Theorem 1 in a fluid model, slot by slot: arrivals of slot n are what was granted a round trip
//! before, less what the upstream does not use, plus what leaks.

use super::*;
use crate::program::VirtualIncoming as Kind;
use core::num::NonZeroU32;
use proptest::prelude::*;
use units::Distance;

const HISTORY: Kind = Kind::History { jitter: Interval::ZERO };

/// A link whose round trip is a whole number of slots.
#[derive(Clone, Copy, Debug)]
struct Link {
    rate: BitRate,
    slot: Interval,
    slots_per_round_trip: u64,
}

impl Link {
    fn line(&self) -> u64 {
        self.rate.bytes_in(self.slot)
    }

    fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.slot * self.slots_per_round_trip)
    }

    fn settings(&self, kind: Kind) -> program::Bifrost {
        program::Bifrost {
            buffer: WireBytes(self.bdp() + 2 * self.line()),
            slot: self.slot,
            round_trip: self.slot * self.slots_per_round_trip,
            check_every: NonZeroU32::MIN,
            virtual_incoming: kind,
            holdover: Interval::ZERO,
            lateness: Interval::ZERO,
        }
    }
}

/// What happens in one slot, in thousandths of what the line carries in it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// How much the downstream could drain.
    drain: u64,
    /// How much of its grant the upstream uses.
    used: u64,
    /// How much it sends beyond its grant.
    leaked: u64,
}

/// Both ends of a link in the fluid model.
struct Model {
    link: Link,
    bifrost: Bifrost,
    now: Nanos,
    /// Grants under way, oldest first.
    grants: std::collections::VecDeque<u64>,
    queue: u64,
    received: u64,
    /// Bytes that the downstream could have drained and did not have.
    starved: u64,
}

impl Model {
    fn new(link: Link, kind: Kind) -> Self {
        let mut bifrost = Bifrost::new(link.settings(kind), link.rate, 0);
        bifrost.wake(Nanos::ZERO);
        // The upstream was free before the first frame came.
        let grants = (0..=link.slots_per_round_trip).map(|_| link.line()).collect();
        Self { link, bifrost, now: Nanos::ZERO, grants, queue: 0, received: 0, starved: 0 }
    }

    /// Plays one slot and returns what leaked.
    fn step(&mut self, step: Step) -> u64 {
        let line = self.link.line();
        let granted = self.grants.pop_front().unwrap();
        let used = granted * step.used / 1_000;
        let leaked = (line - used).min(line * step.leaked / 1_000);
        let wanted = line * step.drain / 1_000;
        self.received += used + leaked;
        self.queue += used + leaked;
        self.starved += wanted.saturating_sub(self.queue);
        self.queue -= wanted.min(self.queue);
        self.now += self.link.slot;
        self.bifrost.wake(self.now - self.link.slot);
        let before = self.bifrost.counters().granted.0;
        self.bifrost.end_slot(self.now, self.queue, self.received);
        self.grants.push_back(self.bifrost.counters().granted.0 - before);
        leaked
    }

    fn incoming(&self) -> u64 {
        self.bifrost.incoming.bytes(self.now)
    }
}

fn links() -> impl Strategy<Value = Link> {
    let rate = prop_oneof![Just(10), Just(25), Just(100), Just(400)].prop_map(BitRate::gigabits);
    (rate, 1_u64..10_000, 2_u64..120).prop_map(|(rate, kilometres, slots)| {
        let round_trip = Distance(kilometres * 1_000).propagation() * 2;
        // Whole quanta of 80 ns keep whole bytes at every rate, so that the model has no rounding.
        let slot = Interval((round_trip.0 / slots / 80).max(1) * 80);
        Link { rate, slot, slots_per_round_trip: slots }
    })
}

fn drains() -> impl Strategy<Value = Vec<u64>> {
    let level = prop_oneof![Just(0), Just(1_000), Just(500), 0_u64..=1_000];
    // Levels that last, so that the loop has time to act, and some that do not.
    proptest::collection::vec((level, prop_oneof![1_usize..4, 50_usize..200]), 1..8).prop_map(|levels| {
        levels.into_iter().flat_map(|(level, slots)| core::iter::repeat_n(level, slots)).collect()
    })
}

proptest! {
    #[test]
    fn the_queue_stays_within_the_buffer_and_never_starves_who_could_drain(
        link in links(),
        drains in drains(),
        kind in prop_oneof![Just(Kind::Counter), Just(HISTORY)],
    ) {
        let mut model = Model::new(link, kind);
        for drain in drains {
            model.step(Step { drain, used: 1_000, leaked: 0 });
            let sum = model.queue + model.incoming();
            prop_assert!(sum <= link.bdp() + 2 * link.line(), "theorem 1, above");
            prop_assert!(sum >= link.bdp() + link.line(), "theorem 1, below");
            prop_assert_eq!(model.starved, 0);
        }
    }

    #[test]
    fn an_upstream_that_uses_less_than_it_was_granted_changes_nothing_of_the_bound(
        link in links(),
        steps in proptest::collection::vec((0_u64..=1_000, 0_u64..=1_000), 1..600),
        kind in prop_oneof![Just(Kind::Counter), Just(HISTORY)],
    ) {
        let mut model = Model::new(link, kind);
        for (drain, used) in steps {
            model.step(Step { drain, used, leaked: 0 });
            prop_assert!(model.queue + model.incoming() <= link.bdp() + 2 * link.line());
        }
    }

    #[test]
    fn without_leaks_the_history_never_grants_less_than_the_counter(
        link in links(),
        steps in proptest::collection::vec((0_u64..=1_000, 0_u64..=1_000), 1..600),
    ) {
        // The same arrivals and queues are shown to both, and the link lives by the counter.
        let mut model = Model::new(link, Kind::Counter);
        let mut history = Bifrost::new(link.settings(HISTORY), link.rate, 0);
        for (drain, used) in steps {
            let began = model.now;
            model.step(Step { drain, used, leaked: 0 });
            history.wake(began);
            history.incoming.settle(model.now, 0);
            let granted = history.grant(model.queue, history.incoming.bytes(model.now));
            let by_counter = *model.grants.back().unwrap();
            prop_assert!(granted >= by_counter, "{granted} < {by_counter}");
            // What the counter granted is what is under way.
            history.incoming.grant(model.now, by_counter);
        }
    }

    #[test]
    fn the_queue_exceeds_the_buffer_by_no_more_than_leaked_since_all_grants_fitted_it(
        link in links(),
        drains in drains(),
        leaks in proptest::collection::vec(prop_oneof![3 => Just(0), 1 => 0_u64..=1_000], 1..50),
    ) {
        let mut model = Model::new(link, HISTORY);
        let (buffer, mut leaked) = (link.bdp() + 2 * link.line(), 0);
        for (drain, leak) in drains.into_iter().zip(leaks.into_iter().cycle()) {
            leaked += model.step(Step { drain, used: 1_000, leaked: leak });
            prop_assert!(model.queue + model.incoming() <= buffer + leaked);
            if model.queue + model.incoming() <= buffer {
                leaked = 0;
            }
        }
    }
}

#[test]
fn a_leak_stops_the_grants_of_the_history_at_once_and_those_of_the_counter_only_later() {
    let link =
        Link { rate: BitRate::gigabits(100), slot: Interval::from_micros(10), slots_per_round_trip: 80 };
    let [counter, history] = [Kind::Counter, HISTORY].map(|kind| {
        let mut model = Model::new(link, kind);
        // Half the drain until the loop has settled, with a leak of a tenth in every slot from then.
        for _ in 0..800 {
            model.step(Step { drain: 500, used: 1_000, leaked: 0 });
        }
        let settled = *model.grants.back().unwrap();
        model.step(Step { drain: 500, used: 1_000, leaked: 100 });
        settled - *model.grants.back().unwrap()
    });
    assert_eq!(history, link.line() / 10, "all of it is deducted in the slot in which it arrives");
    assert_eq!(counter, 0, "it was taken off as if it had been granted");
}

#[test]
fn a_late_slot_is_charged_for_the_time_that_the_upstream_was_free() {
    let link =
        Link { rate: BitRate::gigabits(100), slot: Interval::from_micros(10), slots_per_round_trip: 80 };
    for kind in [Kind::Counter, HISTORY] {
        let mut bifrost = Bifrost::new(link.settings(kind), link.rate, 0);
        bifrost.wake(Nanos::ZERO);
        // A full buffer: nothing is granted.
        let full = link.bdp() + 2 * link.line();
        bifrost.end_slot(Nanos(10_000), full, 125_000);
        let before = bifrost.incoming.bytes(Nanos(23_000));
        bifrost.end_slot(Nanos(23_000), full, 125_000);
        let after = bifrost.incoming.bytes(Nanos(23_000));
        assert_eq!(bifrost.counters().granted_late, WireBytes(37_501), "3 us at 100G, rounded up");
        assert_eq!(after - before, 37_501);
        assert_eq!(bifrost.deadline(), Nanos(33_000), "the next slot starts where this one ended");
    }
}

#[test]
fn a_port_at_rest_has_no_slots_and_wakes_with_everything_granted() {
    let link =
        Link { rate: BitRate::gigabits(100), slot: Interval::from_micros(10), slots_per_round_trip: 8 };
    for kind in [Kind::Counter, HISTORY] {
        let mut bifrost = Bifrost::new(link.settings(kind), link.rate, 0);
        assert_eq!(bifrost.deadline(), Nanos::NEVER);
        bifrost.wake(Nanos(1_000));
        assert_eq!(bifrost.deadline(), Nanos(11_000));
        assert_eq!(bifrost.end_slot(Nanos(11_000), 0, 0), None, "nothing to say");
        let mut now = Nanos(11_000);
        while bifrost.deadline() != Nanos::NEVER {
            now = bifrost.deadline();
            bifrost.end_slot(now, 0, 0);
        }
        assert!(now <= Nanos(11_000 + 10 * 10_000), "a round trip without traffic is enough");
    }
}

#[test]
fn a_pause_without_grant_can_hold_over_and_is_then_taken_back() {
    let link =
        Link { rate: BitRate::gigabits(100), slot: Interval::from_micros(10), slots_per_round_trip: 8 };
    let holdover = Interval::from_micros(5);
    let settings = program::Bifrost { holdover, ..link.settings(HISTORY) };
    let mut bifrost = Bifrost::new(settings, link.rate, 0);
    bifrost.wake(Nanos::ZERO);
    let full = settings.buffer.0;
    assert_eq!(bifrost.end_slot(Nanos(10_000), full, 0), Some(Interval::from_micros(15)));
    let free = loop {
        let pause = bifrost.end_slot(bifrost.deadline(), 0, 0);
        if pause != Some(Interval::from_micros(15)) {
            break pause;
        }
    };
    assert_eq!(free, Some(Interval::ZERO), "an upstream that is free again is told so");
}
