//! The upstream side alone.

use super::*;

fn upstream() -> Upstream {
    Upstream::new(&settings(), RATE, LOSSLESS)
}

/// Sends frames of `priority` at `now` for as long as it may. Returns how many.
fn sends(upstream: &mut Upstream, now: Nanos, priority: Priority) -> u64 {
    let mut frames = 0;
    while !upstream.closed(now).contains(priority) && frames < 100 {
        upstream.spend(now, priority, WireBytes(FRAME));
        frames += 1;
    }
    frames
}

#[test]
fn it_sends_freely_until_it_hears_a_grant_and_after_a_message_that_leaves_it_to_pauses() {
    let mut upstream = upstream();
    for sequence in [1, 3] {
        assert_eq!(upstream.closed(Nanos(1)), PrioritySet::EMPTY);
        assert!(upstream.receive(Nanos(1), &grant(sequence, 0, 0), waiting(9_000, 9_000)));
        assert_eq!(upstream.closed(Nanos(1)), LOSSLESS);
        let message = without_grant(sequence + 1, Kind::Pauses);
        upstream.receive(Nanos(1), &message, waiting(0, 0));
    }
}

#[test]
fn a_port_that_was_freed_is_limited_again_when_the_grant_for_its_first_frame_is_due() {
    let mut upstream = upstream();
    let free = |sequence| without_grant(sequence, Kind::Free);
    upstream.receive(Nanos(0), &free(1), waiting(0, 0));
    assert_eq!(upstream.closed(Nanos(900_000)), PrioritySet::EMPTY, "nothing was sent");
    upstream.spend(Nanos(1_000_000), HIGH, WireBytes(FRAME));
    let due = Nanos(1_000_000) + ROUND_TRIP + SLOT + Interval(SLOT.0 / 4);
    // The peer could not know of the frame when it sent this.
    upstream.receive(Nanos(1_050_000), &free(2), waiting(0, 0));
    upstream.spend(Nanos(1_060_000), LOW, WireBytes(FRAME));
    assert_eq!(upstream.closed(due - Interval(1)), PrioritySet::EMPTY);
    assert_eq!(upstream.closed(due), LOSSLESS);
    upstream.receive(due + ROUND_TRIP, &free(3), waiting(0, 0));
    assert_eq!(upstream.closed(due + ROUND_TRIP * 9), PrioritySet::EMPTY);
}

#[test]
fn a_port_that_is_freed_while_frames_are_under_way_waits_for_the_grant_that_they_cause() {
    // Sent a little before the first message; sent all along.
    for (first, due) in [(900_000, 900_000 + 92_500), (0, 960_000 + 10_000)] {
        let mut upstream = upstream();
        for at in (first..=960_000).step_by(60_000) {
            upstream.spend(Nanos(at), HIGH, WireBytes(FRAME));
        }
        let free = without_grant(1, Kind::Free);
        upstream.receive(Nanos(960_000), &free, waiting(0, 0));
        assert_eq!(upstream.closed(Nanos(due - 1)), PrioritySet::EMPTY, "{first}");
        assert_eq!(upstream.closed(Nanos(due)), LOSSLESS, "{first}");
    }
}

#[test]
fn a_grant_goes_to_the_highest_priority_first_and_no_further_than_it_needs() {
    // Queues, c_max and c_i; the frames that each priority sends.
    for (queues, total, each, sent) in [
        ((3_000, 9_000), 10_000, 10_000, [3, 7]),
        ((9_000, 9_000), 10_000, 10_000, [9, 1]),
        ((9_000, 9_000), 10_000, 4_000, [4, 4]),
        ((0, 2_000), 10_000, 10_000, [0, 2]),
        ((9_000, 9_000), 0, 10_000, [0, 0]),
    ] {
        let mut upstream = upstream();
        upstream.receive(Nanos(0), &grant(1, total, each), waiting(queues.0, queues.1));
        let frames = [HIGH, LOW].map(|priority| sends(&mut upstream, Nanos(5), priority));
        assert_eq!(frames, sent, "{queues:?} {total} {each}");
        let dealt: u64 = frames.iter().sum::<u64>() * FRAME;
        let counters = upstream.counters();
        assert_eq!((counters.dealt.0, counters.declined.0), (dealt, total - dealt));
    }
}

#[test]
fn a_frame_that_begins_within_its_grant_uses_some_of_the_next() {
    let mut upstream = upstream();
    upstream.receive(Nanos(0), &grant(1, 1_500, 1_500), waiting(9_000, 0));
    assert_eq!(sends(&mut upstream, Nanos(0), HIGH), 2, "500 bytes too many");
    upstream.receive(Nanos(10_000), &grant(2, 1_500, 1_500), waiting(7_000, 0));
    assert_eq!(sends(&mut upstream, Nanos(10_000), HIGH), 1);
}

#[test]
fn a_grant_is_good_for_one_slot_and_the_rest_of_it_for_none() {
    let mut upstream = upstream();
    upstream.receive(Nanos(0), &grant(1, 9_000, 9_000), waiting(9_000, 0));
    assert!(!upstream.closed(Nanos(9_999)).contains(HIGH));
    assert_eq!(upstream.closed(Nanos(10_000)), LOSSLESS);
    upstream.receive(Nanos(11_000), &grant(2, 1_000, 9_000), waiting(9_000, 0));
    assert_eq!(sends(&mut upstream, Nanos(11_000), HIGH), 1);
}

#[test]
fn a_grant_that_comes_early_begins_where_the_last_one_ends_and_keeps_what_the_link_can_still_send() {
    // Early by 2 us, and so 2,000 bytes are kept; early by more than a quarter of a slot; late.
    for (at, kept, good_until) in
        [(8_000, 2_000, 20_000), (2_000, 2_500, 14_500), (10_000, 0, 20_000), (12_000, 0, 22_000)]
    {
        let mut upstream = upstream();
        upstream.receive(Nanos(0), &grant(1, 9_000, 9_000), waiting(9_000, 0));
        upstream.closed(Nanos(at));
        upstream.receive(Nanos(at), &grant(2, 4_000, 4_000), waiting(9_000, 0));
        assert!(!upstream.closed(Nanos(good_until - 1)).contains(HIGH), "{at}");
        let frames = sends(&mut upstream, Nanos(good_until - 1), HIGH);
        assert_eq!(frames, u64::div_ceil(4_000 + kept, FRAME), "{at}");
        assert_eq!(upstream.closed(Nanos(good_until)), LOSSLESS, "{at}");
    }
}

#[test]
fn a_message_that_comes_twice_changes_nothing() {
    let mut upstream = upstream();
    assert!(upstream.receive(Nanos(0), &grant(7, 0, 0), waiting(0, 0)));
    let again = without_grant(7, Kind::Pauses);
    assert!(!upstream.receive(Nanos(0), &again, waiting(0, 0)));
    assert_eq!(upstream.closed(Nanos(0)), LOSSLESS);
}

/// Whatever one message says, among true ones in each slot.
#[test]
fn a_forged_message_is_outlived_by_a_slot_of_true_ones_whatever_its_slot_and_its_amounts() {
    for kind in [Kind::Pauses, Kind::Grant, Kind::Free] {
        for (slot, total) in [(0, 0), (0, 1 << 32), (1 << 32, 0), (1 << 32, 1 << 32)] {
            let mut upstream = upstream();
            upstream.receive(Nanos(0), &grant(1, 9_000, 9_000), waiting(90_000, 0));
            let mut forged = grant(2, total, total);
            (forged.head.kind, forged.head.slot) = (kind, Interval(slot));
            upstream.receive(Nanos(5_000), &forged, waiting(90_000, 0));
            upstream.receive(Nanos(10_000), &grant(3, 9_000, 9_000), waiting(90_000, 0));
            // What the link could still have sent in a quarter of the longest slot, beside the true grant.
            let sent = sends(&mut upstream, Nanos(10_000), HIGH) * FRAME;
            assert!((9_000..=9_000 + ROUND_TRIP.0 / 4 + FRAME).contains(&sent), "{kind:?} {slot} {sent}");
            let good_until = Nanos(10_000) + SLOT + Interval(SLOT.0 / 4);
            assert_eq!(upstream.closed(good_until), LOSSLESS, "{kind:?} {slot}");
        }
    }
}

#[test]
fn a_slot_is_cut_to_the_round_trip_and_closes_no_lossy_priority() {
    let mut upstream = upstream();
    let mut forged = grant(1, 1 << 32, 1 << 32);
    (forged.head.slot, forged.head.priorities) = (Interval(u32::MAX.into()), PrioritySet::ALL);
    upstream.receive(Nanos(0), &forged, waiting(9_000, 0));
    assert!(!upstream.closed(Nanos(ROUND_TRIP.0 - 1)).contains(HIGH));
    assert_eq!(upstream.closed(Nanos(ROUND_TRIP.0)), LOSSLESS);
}

#[test]
fn a_shorter_round_trip_brings_the_end_of_silence_forward() {
    let mut upstream = upstream();
    upstream.receive(Nanos(0), &without_grant(1, Kind::Free), waiting(0, 0));
    upstream.spend(Nanos(0) + SILENCE + REPEAT - Interval(10), HIGH, WireBytes(FRAME));
    let short = settings::Bifrost { round_trip: SLOT, ..settings() };
    upstream.configure(&short, RATE, LOSSLESS);
    assert_eq!(upstream.closed_until().1, Nanos(0) + SILENCE + REPEAT + SLOT);
    assert_eq!(upstream.closed(upstream.closed_until().1), PrioritySet::EMPTY);
    assert_eq!(upstream.counters().silences, 1);
}

#[test]
fn a_silent_peer_frees_it_a_round_trip_after_it_has_been_told_that_it_is_not_heard() {
    let mut upstream = upstream();
    upstream.receive(Nanos(7), &grant(1, 0, 0), waiting(9_000, 0));
    let silent = Nanos(7) + SILENCE + REPEAT + ROUND_TRIP;
    assert_eq!(upstream.closed_until(), (LOSSLESS, silent));
    assert_eq!(upstream.closed(silent - Interval(1)), LOSSLESS);
    assert_eq!(upstream.closed(silent), PrioritySet::EMPTY);
    assert_eq!(upstream.counters().silences, 1);
}
