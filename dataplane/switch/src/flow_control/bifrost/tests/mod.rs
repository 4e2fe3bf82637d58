//! Theorem 1 in a fluid model, slot by slot: arrivals of slot n are what was granted a round trip
//! before, less what the upstream does not use, plus what leaks.

mod examples;
mod model;
mod pause_frames;
mod repaired;

use super::*;
use crate::program::VirtualIncoming as Kind;
use model::{HISTORY, KINDS, Link, Model, Step, at_rest, drains, kinds, links};
use proptest::prelude::*;

#[test]
fn the_last_slot_is_told_as_it_was_found_and_granted() {
    let link = Link { rate: BitRate::gigabits(10), slot: Interval::from_micros(50), slots_per_round_trip: 8 };
    let mut bifrost = at_rest(link.settings(HISTORY), link.rate);
    bifrost.wake(Nanos(1_000));
    assert_eq!(bifrost.last, None, "none has ended");
    let (queue, line) = (link.line() + link.line() / 4, link.line());
    bifrost.end_slot(bifrost.deadline(), queue, queue);
    let expected = SlotState {
        queue: WireBytes(queue),
        incoming: WireBytes(link.bdp()),
        grant: WireBytes(link.settings(HISTORY).buffer.0 - queue - link.bdp()),
    };
    assert_eq!((bifrost.last, expected.grant < WireBytes(line)), (Some(expected), true));
    let counters = &bifrost.counters;
    assert_eq!((counters.granted, counters.peak.0), (expected.grant, queue + link.bdp()));
    assert_eq!((counters.slots, counters.paused_slots, counters.fully_paused_slots), (1, 1, 0));
    assert_eq!(counters.longest_queue, WireBytes(queue));
}

#[test]
fn other_settings_start_it_anew_and_keep_what_was_counted() {
    let link = Link::DEPLOYED;
    let (ledger, received) = (crate::Ledger::new(1, 1), [crate::Volume::ZERO; 8]);
    let (port, none) = (units::PortId(0), units::Bytes::ZERO);
    let look = Look {
        port,
        lossless: PrioritySet::ALL,
        received: &received,
        accounts: (&ledger).into(),
        shared_free: none,
        shared_held: none,
        holding: PrioritySet::EMPTY,
    };
    let settings = link.settings(HISTORY);
    let mut bifrost = Bifrost::new(settings, link.rate, look);
    bifrost.wake(Nanos(5));
    bifrost.end_slot(bifrost.deadline(), link.line(), link.line());
    let deadline = bifrost.deadline();
    assert!(!bifrost.configure(settings, link.rate, look));
    assert_eq!((bifrost.deadline(), bifrost.counters.slots), (deadline, 1));
    let wider = program::Bifrost { buffer: WireBytes(settings.buffer.0 + 1), ..settings };
    assert!(bifrost.configure(wider, link.rate, look));
    assert_eq!((bifrost.deadline(), bifrost.counters.slots), (Nanos::NEVER, 1));
    let fewer = Look { lossless: PrioritySet::from_bits(8), ..look };
    assert!(bifrost.configure(wider, link.rate, fewer));
}

#[test]
fn a_slot_counts_as_late_above_the_lateness_that_the_settings_allow() {
    let link = Link::DEPLOYED;
    let mut bifrost = at_rest(link.settings(HISTORY), link.rate);
    let allowed = bifrost.settings.lateness;
    let counted = [Interval::ZERO, allowed, allowed + Interval(1), allowed + Interval(5)].map(|late| {
        bifrost.note_lateness(late, true);
        bifrost.counters.late_slots
    });
    assert_eq!(counted, [0, 0, 1, 2]);
}

proptest! {
    #[test]
    fn the_queue_stays_within_the_buffer_and_never_starves_who_could_drain(
        link in links(),
        drains in drains(),
        kind in kinds(),
    ) {
        let mut model = Model::new(link, kind);
        for drain in drains {
            model.step(Step { drain, used: 1_000, leaked: 0 });
            let sum = model.sum();
            prop_assert!(sum <= link.least_buffer(), "theorem 1, above");
            prop_assert!(sum >= link.bdp() + link.line(), "theorem 1, below");
            prop_assert_eq!(model.starved, 0);
        }
    }

    #[test]
    fn an_upstream_that_uses_less_than_it_was_granted_changes_nothing_of_the_bound(
        link in links(),
        steps in proptest::collection::vec((0_u64..=1_000, 0_u64..=1_000), 1..600),
        kind in kinds(),
    ) {
        let mut model = Model::new(link, kind);
        for (drain, used) in steps {
            model.step(Step { drain, used, leaked: 0 });
            prop_assert!(model.sum() <= link.least_buffer());
        }
    }

    #[test]
    fn without_leaks_the_history_never_grants_less_than_the_counter(
        link in links(),
        steps in proptest::collection::vec((0_u64..=1_000, 0_u64..=1_000), 1..600),
    ) {
        // The same arrivals and queues are shown to both, and the link lives by the counter.
        let mut model = Model::new(link, Kind::Counter);
        let mut history = at_rest(link.settings(HISTORY), link.rate);
        for (drain, used) in steps {
            let began = model.now;
            model.step(Step { drain, used, leaked: 0 });
            history.wake(began);
            history.incoming.settle(model.now, 0);
            let granted = history.grant(model.queue, history.incoming.bytes(model.now));
            let by_counter = model.last_grant();
            prop_assert!(granted >= by_counter, "{granted} < {by_counter}");
            // The bytes that the counter granted are those that are under way.
            history.incoming.grant(model.now, by_counter);
        }
    }

    /// Whatever leaks and whatever is not used, L + F is above H by no more than [`Model::excess`],
    /// and the drain lacks no more than did not arrive of what was granted.
    #[test]
    fn leaks_raise_the_bound_by_what_is_not_yet_worked_off_and_nothing_else_starves(
        link in links(),
        drains in drains(),
        uses in proptest::collection::vec((
            prop_oneof![3 => Just(1_000), 1 => 0_u64..=1_000],
            prop_oneof![3 => Just(0), 1 => 0_u64..=1_000],
        ), 1..50),
        kind in kinds(),
    ) {
        let mut model = Model::new(link, kind);
        for (drain, (used, leaked)) in drains.into_iter().zip(uses.into_iter().cycle()) {
            model.step(Step { drain, used, leaked });
            prop_assert!(model.sum() <= link.least_buffer() + model.excess);
            prop_assert!(model.starved <= model.withheld, "{} > {}", model.starved, model.withheld);
        }
    }

    /// Two links that differ in one leak: the history grants that much less in the slot in which it
    /// arrives, as far as it grants anything; the counter takes it off F, and grants the same except for
    /// what F does not cover.
    #[test]
    fn a_leak_is_deducted_by_the_history_in_its_slot_and_by_the_counter_only_where_f_does_not_cover_it(
        link in links(),
        drain in 1_u64..1_000,
        leaked in 0_u64..=1_000,
    ) {
        for kind in KINDS {
            let [(without, _), (with, deducted)] = [0, leaked].map(|leaked| {
                let mut model = Model::new(link, kind);
                // Until L + F is the whole buffer, and every grant under way is what drains.
                for _ in 0..2_000 + 3 * link.slots_per_round_trip {
                    model.step(Step { drain, used: 1_000, leaked: 0 });
                }
                let (incoming, received) = (model.incoming(), model.received);
                let leaked = model.step(Step { drain, used: 1_000, leaked });
                let uncovered = (model.received - received).saturating_sub(incoming);
                (model.last_grant(), if kind == HISTORY { leaked } else { uncovered })
            });
            prop_assert_eq!(without - with, deducted.min(without), "{:?}", kind);
        }
    }
}

/// Bytes that the link loses are granted and never arrive. In the history they expire with their grant and are
/// granted again, so the queue has them a round trip later. In the counter they stay in F for as long as
/// the drain is slow, until a round trip is granted in full and F is at its most.
#[test]
fn what_the_link_loses_is_regained_by_the_history_at_once_and_by_the_counter_when_all_is_granted() {
    let link = Link::DEPLOYED;
    for kind in KINDS {
        let mut model = Model::new(link, kind);
        let mut run = |slots: u64, drain, used| {
            for _ in 0..slots {
                model.step(Step { drain, used, leaked: 0 });
            }
            (model.queue, model.incoming(), model.starved)
        };
        let settled = run(800, 500, 1_000);
        let (most, half) = (link.bdp() + link.line(), (link.bdp() + link.line()) / 2);
        assert_eq!(settled, (link.least_buffer() - half, half, 0), "{kind:?}");
        // The data of ten slots is lost while no one drains.
        let lost = 10 * link.line() / 2;
        assert_eq!(run(10, 0, 0), settled);
        let (phantom, slots) = if kind == HISTORY { (0, 81) } else { (lost, 10_000) };
        let (queue, incoming, _) = run(slots, 500, 1_000);
        assert_eq!((queue, incoming), (settled.0 - phantom, half + phantom), "{kind:?}");
        // The drain opens: a counter has less in its queue to send, by no more than was lost.
        let (_, incoming, starved) = run(200, 1_000, 1_000);
        assert_eq!(incoming, most, "all is granted");
        assert!(starved <= lost, "{starved}");
        assert_eq!(run(800, 500, 1_000).0, settled.0, "and nothing is left of the loss");
    }
}

#[test]
fn a_leak_stops_the_grants_of_the_history_at_once_and_those_of_the_counter_only_later() {
    let link = Link::DEPLOYED;
    let [counter, history] = KINDS.map(|kind| {
        let mut model = Model::new(link, kind);
        // Half the drain until the loop has settled, with a leak of a tenth in every slot from then.
        for _ in 0..800 {
            model.step(Step { drain: 500, used: 1_000, leaked: 0 });
        }
        let settled = model.last_grant();
        model.step(Step { drain: 500, used: 1_000, leaked: 100 });
        settled - model.last_grant()
    });
    assert_eq!(history, link.line() / 10, "all of it is deducted in the slot in which it arrives");
    assert_eq!(counter, 0, "it was taken off as if it had been granted");
}

#[test]
fn a_late_slot_is_charged_for_the_time_that_the_upstream_was_free() {
    let link = Link::DEPLOYED;
    for kind in KINDS {
        let mut bifrost = at_rest(link.settings(kind), link.rate);
        bifrost.wake(Nanos::ZERO);
        // A full buffer: nothing is granted.
        let full = link.least_buffer();
        bifrost.end_slot(Nanos(10_000), full, 125_000);
        let before = bifrost.incoming.bytes(Nanos(23_000));
        bifrost.end_slot(Nanos(23_000), full, 125_000);
        let after = bifrost.incoming.bytes(Nanos(23_000));
        assert_eq!(bifrost.counters.late_charge, WireBytes(37_501), "3 us at 100G, rounded up");
        assert_eq!(after - before, 37_501);
        assert_eq!(bifrost.deadline(), Nanos(33_000), "the next slot starts where this one ended");
    }
}

#[test]
fn what_comes_in_while_a_slot_is_late_has_room_that_is_not_granted() {
    let link = Link::DEPLOYED;
    let lateness = Interval::from_micros(30);
    let buffer = WireBytes(link.least_buffer() + link.rate.bytes_in(lateness));
    for kind in KINDS {
        let mut model = Model::with(link, program::Bifrost { buffer, lateness, ..link.settings(kind) });
        for _ in 0..400 {
            model.step(Step { drain: 0, used: 1_000, leaked: 0 });
        }
        assert_eq!(model.sum(), link.least_buffer(), "{kind:?}: all that is granted");
        model.now = model.bifrost.deadline() + lateness;
        model.bifrost.end_slot(model.now, model.queue, model.received);
        let charged = model.bifrost.counters.late_charge.0;
        assert_eq!(
            model.sum(),
            link.least_buffer() + charged,
            "{kind:?}: and what may have been sent meanwhile"
        );
        assert!(model.sum() <= buffer.0 + 1, "{kind:?}: a charge is rounded up");
    }
}

#[test]
fn a_port_at_rest_has_no_slots_and_wakes_with_everything_granted() {
    let link = Link { slots_per_round_trip: 8, ..Link::DEPLOYED };
    for kind in KINDS {
        let mut bifrost = at_rest(link.settings(kind), link.rate);
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
    let link = Link { slots_per_round_trip: 8, ..Link::DEPLOYED };
    let holdover = Interval::from_micros(5);
    let settings = program::Bifrost { holdover, ..link.settings(HISTORY) };
    let mut bifrost = at_rest(settings, link.rate);
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

#[test]
fn a_port_does_not_rest_while_anything_is_queued_arrives_or_is_not_granted() {
    for kind in KINDS {
        let link = Link { slots_per_round_trip: 8, ..Link::DEPLOYED };
        let rests = |queue, arrived| {
            let mut model = Model::new(link, kind);
            for _ in 0..30 {
                model.bifrost.wake(model.now);
                model.now += link.slot;
                model.received += arrived;
                model.bifrost.end_slot(model.now, queue, model.received);
            }
            model.bifrost.deadline() == Nanos::NEVER
        };
        assert!(rests(0, 0), "{kind:?}");
        assert!(!rests(1, 0) && !rests(0, 1), "{kind:?}");

        let mut model = Model::new(link, kind);
        for _ in 0..3 {
            model.step(Step { drain: 0, used: 1_000, leaked: 0 });
        }
        assert_eq!(model.last_grant(), 0);
        let drained = model.bifrost.end_slot(model.now + link.slot, 0, model.received);
        assert_eq!(drained, None, "a whole slot is granted");
        assert_ne!(model.bifrost.deadline(), Nanos::NEVER, "and not yet a round trip of them");
    }
}

#[test]
fn a_counter_that_wakes_has_everything_granted_whatever_it_rested_with() {
    let link = Link::DEPLOYED;
    let mut incoming = VirtualIncoming::new(&link.settings(Kind::Counter), link.rate);
    incoming.settle(Nanos(10_000), link.line());
    incoming.refill(Nanos(20_000));
    assert_eq!(incoming.bytes(Nanos(20_000)), link.bdp() + link.line());
}

#[test]
fn a_grant_with_jitter_expires_so_much_later() {
    let link = Link::DEPLOYED;
    let kind = Kind::History { jitter: Interval(1_000) };
    let mut incoming = VirtualIncoming::new(&link.settings(kind), link.rate);
    incoming.grant(Nanos::ZERO, 1_000);
    let end = link.round_trip() + link.slot + Interval(1_000);
    for (before, bytes) in [(1_000, 1_000), (40, 500), (0, 0)] {
        let now = Nanos(end.0 - before);
        incoming.settle(now, 0);
        assert_eq!(incoming.bytes(now), bytes, "{before} ns before the last of it has arrived");
    }
}

#[test]
fn the_pause_of_a_slot_is_rounded_up_and_an_upstream_is_freed_once() {
    let link = Link { slots_per_round_trip: 8, ..Link::DEPLOYED };
    let mut bifrost = at_rest(link.settings(HISTORY), link.rate);
    // 12.5 bytes are a nanosecond: 13 bytes are 1.04 ns, of which one is granted.
    assert_eq!(bifrost.pause_for(13), Some(link.slot - Interval(1)));
    assert_eq!(bifrost.pause_for(0), Some(link.slot));
    assert_eq!(bifrost.pause_for(link.line()), None, "without a holdover nothing is to be taken back");
    bifrost.settings.holdover = Interval(5_000);
    assert_eq!(bifrost.pause_for(0), Some(link.slot + Interval(5_000)));
    assert_eq!(bifrost.pause_for(link.line()), Some(Interval::ZERO));
    assert_eq!(bifrost.pause_for(link.line()), None, "told once");
}

#[test]
fn the_counters_of_slots_say_what_slots_came_to() {
    let link = Link::DEPLOYED;
    let (full, half, line) = (link.least_buffer(), link.least_buffer() - link.bdp(), link.line());
    let mut bifrost = at_rest(link.settings(HISTORY), link.rate);
    bifrost.wake(Nanos::ZERO);
    // Whole, in part, and twice nothing; the last two end 1 us late.
    bifrost.end_slot(Nanos(10_000), half - line, 0);
    bifrost.end_slot(Nanos(20_000), half - line / 2, 0);
    bifrost.end_slot(Nanos(31_000), full, 0);
    bifrost.end_slot(Nanos(42_000), 0, 0);
    let counters = &bifrost.counters;
    assert_eq!((counters.slots, counters.paused_slots, counters.fully_paused_slots), (4, 2, 1));
    assert_eq!(counters.granted, WireBytes(line + line / 2 + line));
    assert_eq!(counters.late_charge, WireBytes(2 * 12_501));
    assert_eq!((counters.lateness.count(), counters.lateness.longest()), (4, Interval(1_000)));
    assert_eq!(counters.late_slots, 2, "no lateness is provided for");
    assert_eq!(counters.longest_queue, WireBytes(full));
    assert!(counters.peak > counters.longest_queue);
}

#[test]
fn the_longest_full_pause_is_that_of_successive_slots() {
    let link = Link::DEPLOYED;
    let (full, half) = (link.least_buffer(), link.least_buffer() - link.bdp());
    let mut bifrost = at_rest(link.settings(HISTORY), link.rate);
    bifrost.wake(Nanos::ZERO);
    let mut end_slot = |queue| {
        bifrost.end_slot(bifrost.deadline(), queue, 0);
        bifrost.counters.longest_full_pause
    };
    // Two slots and one, and something between them.
    let longest = [full, full, half - link.line(), full].map(&mut end_slot);
    let slots = |slots| Interval(link.slot.0 * slots);
    assert_eq!(longest, [slots(1), slots(2), slots(2), slots(2)]);
}
