//! Conclusions from the PSN of a response about the other half of its half-flow.
//!
//! A response on a half-flow (Y to X, S) carries the PSN of a request that X sent to the other half, (X to Y, D).
//! So D is one of the half-flows on which that PSN was sent; a half-flow on which it has not been sent yet is not
//! D, and never will be.
//!
//! **A pair is bound when one candidate is left.** As long as requests and responses of all connections between the
//! two hosts pass here, that candidate is the right one, whatever the PSNs: it passed here before the response to
//! it, so it is among the candidates and is never excluded. Only connections whose responses alone pass here
//! (routes differ by direction) can deceive the resolver: all their candidates are wrong. Three rules protect from
//! these, though none is proof:
//!
//! - Confirmations. The PSN at which a connection starts is random with most libraries, so a wrong candidate whose
//!   range of PSNs is `w` wide fits with a probability of `w / 2^24`. More confirmations do not multiply it, since
//!   both sides move on together; they only outlast candidates that move at another speed. So [`FEW`] are enough if
//!   `w` is below [`NARROW`], one false match in 16384. That is as good as the UDP source port, after which [`ONE`]
//!   is enough. PSNs near zero prove nothing, since NCCL starts there, and wide ranges little: those take [`MANY`].
//! - Contests. While another half-flow has the same only candidate, neither is bound.
//! - Exclusions are for good. A response that fits nothing has excluded every half-flow known by then.
//!
//! Forged responses must also come at the right time. Half-flows cross the port one way, and only packets that
//! cross the other way answer them, so a host behind this end cannot answer for one behind the other. Responses
//! count only when the half-flow has been there for a round trip: earlier ones are forged, whoever sends them, and
//! later forgeries compete with the true ones. If packets of several origins came on a half-flow, all but those of
//! the first are ignored; so nothing excludes it, and a response half-flow with such a candidate leaves no room for
//! others.
//!
//! All this holds for a [sample](crate::flows::sample) of both directions as well.
//!
//! Two cases cannot be told apart in principle:
//!
//! - between the same two hosts, one connection of which only requests pass here and another of which only
//!   responses do, which start at the same PSN and proceed in step;
//! - a queue pair that is used again for another partner, with PSNs that its former life sent and that were not yet
//!   acknowledged here. It is taken for its former self until they leave that range.

use super::chains::{self, Chains, STAMP_SHIFT, is_recent};
use crate::flows::table::{Cold, Flags, FlowTable, Hot, Link, Progress, Slot, Tick};
use crate::program::FlowSettings;
use serde::{Deserialize, Serialize};
use units::Nanos;
use wire::roce::{Psn, source_port_of_queue_pairs};

/// Confirmations if the UDP source port is the one that follows from the two queue pairs.
const ONE: u8 = 1;
/// Confirmations if the range is narrow and far from zero.
const FEW: u8 = 2;
/// Confirmations otherwise.
const MANY: u8 = 16;
/// A range of PSNs narrower than this is narrow.
const NARROW: u32 = 1 << 10;
/// A PSN less than this from zero is near it.
const NEAR_ZERO: u32 = 1 << 16;
/// The widest range of PSNs that is kept: as many as can be in flight where PSNs are used at all.
const WIDEST: u32 = FlowSettings::MOST_PSNS;
const _: () = assert!(Windows::LEAST <= WIDEST);

/// The limits on PSNs that follow from the rate and the round trip of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Windows {
    /// A PSN further ahead or behind is not of the same sequence.
    pub jump: u32,
    /// Whether PSNs identify pairs: not if too many are in flight.
    pub pairs: bool,
    /// The age of a half-flow from which responses count, in units of stamps: at least a round trip.
    wait: u16,
}

impl Windows {
    /// A smaller window adds no certainty, and this one tolerates a long pause of a queue.
    const LEAST: u32 = 1 << 20;

    pub fn new(settings: &FlowSettings) -> Self {
        let in_flight = settings.psns_in_flight();
        let wait = settings.round_trip.0.div_ceil(1 << STAMP_SHIFT);
        Self {
            jump: u32::try_from(in_flight).unwrap_or(WIDEST).clamp(Self::LEAST, WIDEST),
            pairs: settings.pairs_by_psn(),
            // One more, since the first unit may have been nearly over.
            wait: if wait == 0 { 0 } else { u16::try_from(wait + 1).unwrap_or(u16::MAX) },
        }
    }

    /// Whether responses to a half-flow that joined its chain at `joined` may be true.
    fn may_answer(self, now: Nanos, joined: u16) -> bool {
        chains::age(now, joined) >= self.wait
    }
}

/// The content of a response.
#[derive(Clone, Copy, Debug)]
pub(in crate::flows) struct Response {
    pub now: Nanos,
    /// The PSN that it repeats.
    pub psn: Psn,
    /// The last acknowledged request: it differs from `psn` in a NAK.
    pub acknowledged: Psn,
    /// The time when the half-flow was seen before.
    pub before: Tick,
}

/// The conclusion from a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing yet.
    Nothing,
    /// Several candidates, or a contest.
    Ambiguous,
    /// The other half.
    Bound(Slot),
}

/// The position of a PSN relative to the requests on a half-flow.
enum Place {
    Within,
    /// Sent before the half-flow was known, if it is on it at all.
    Before,
    /// It cannot be on it.
    Elsewhere,
}

/// Evaluates a response on a half-flow that is in its chain.
pub(super) fn look(
    windows: Windows,
    chains: &mut Chains,
    table: &mut FlowTable,
    slot: Slot,
    response: Response,
) -> Finding {
    let confirms = note(windows, table, slot, response);
    let tries = table.cold(slot).tries;
    table.cold_mut(slot).tries = tries.saturating_add(1);
    if tries == u8::MAX && Tick::of(response.now) == response.before {
        // It costs the walk of a chain: for a hard case, once every 65 us is enough.
        return Finding::Nothing;
    }
    let hosts = table.hot(slot).key().hosts;
    let Ok(candidate) = only_candidate(windows, chains, table, slot, response) else {
        return Finding::Ambiguous;
    };
    if chains.leaves_out(table, &hosts.reversed(), response.now) {
        return Finding::Ambiguous;
    }
    let Some(candidate) = candidate else { return Finding::Nothing };
    let needed = needed(table, slot, candidate, response.psn);
    if table.cold(slot).other != Link::to(candidate) {
        chains.claim(table, slot, candidate);
    }
    // The claim stays, so that the first half-flow finds the others there.
    if !windows.may_answer(response.now, table.cold(candidate).joined) {
        return Finding::Nothing;
    }
    let cold = table.cold_mut(slot);
    cold.confirmations = cold.confirmations.saturating_add(u8::from(confirms));
    if cold.confirmations < needed {
        return Finding::Nothing;
    }
    let contests = |other: Slot| {
        let (hot, cold) = (table.hot(other), table.cold(other));
        let not_heard = cold.flags.has(Flags::STRANGERS) && hot.key().hosts == hosts;
        other != slot && (not_heard || cold.other == Link::to(candidate))
    };
    match chains.members(table, &hosts).any(contests) {
        true => Finding::Ambiguous,
        false => Finding::Bound(candidate),
    }
}

/// Notes the response. Returns whether it is new. If it does not continue the former ones, the queue pair has been
/// used again, and all findings are forgotten.
pub(super) fn note(windows: Windows, table: &mut FlowTable, slot: Slot, response: Response) -> bool {
    let quiet = Tick::of(response.now).since(response.before) > Tick::QUIET;
    let cold = table.cold_mut(slot);
    let step = response.acknowledged.distance_from(cold.answered);
    let continues = cold.flags.has(Flags::ANSWERED) && !quiet && (0..=windows.jump as i32).contains(&step);
    if !continues {
        start_over(cold);
    }
    cold.answered = response.acknowledged;
    cold.flags.set(Flags::ANSWERED, true);
    !continues || step > 0
}

/// Forgets all findings about a half-flow that is not bound.
const fn start_over(cold: &mut Cold) {
    (cold.excluded, cold.other, cold.confirmations, cold.tries) = (0, Link::NONE, 0, 0);
}

/// Notes that a half-flow was silent for [`Tick::QUIET`] until a packet that teaches nothing. The next response no longer
/// shows it, and must start over as if that packet had not come. A pair stays.
pub(in crate::flows) fn end_silence(table: &mut FlowTable, slot: Slot) {
    let is_bound = table.partner(slot).is_some();
    let cold = table.cold_mut(slot);
    match is_bound {
        true => cold.excluded = 0,
        false => start_over(cold),
    }
}

/// The only half-flow that the response may be about, if the PSN is within the requests there; an error if there
/// are several, or may turn out to be. Excludes half-flows that it cannot be about.
fn only_candidate(
    windows: Windows,
    chains: &mut Chains,
    table: &mut FlowTable,
    slot: Slot,
    response: Response,
) -> Result<Option<Slot>, ()> {
    let hosts = table.hot(slot).key().hosts.reversed();
    let Cold { excluded, other: mut claimed, .. } = *table.cold(slot);
    let mut excluded_now = 0;
    let (mut found, mut rivals) = (None, 0_u32);
    for other in chains.members(table, &hosts) {
        let (hot, cold) = (table.hot(other), table.cold(other));
        let bit = 1 << cold.ordinal;
        let not_heard = cold.flags.has(Flags::STRANGERS);
        if excluded & bit != 0
            || hot.key().hosts != hosts
            || !(hot.progress.has_requests() || not_heard)
            || has_gone(table, other, Tick::of(response.now))
        {
            continue;
        }
        match place(windows, hot, cold, response) {
            _ if !hot.progress.has_requests() => rivals += 1,
            Place::Within => (found, rivals) = (Some(other), rivals + 1),
            Place::Before => rivals += 1,
            // It may be about an ignored packet.
            Place::Elsewhere if not_heard => rivals += 1,
            Place::Elsewhere => {
                excluded_now |= bit;
                if claimed == Link::to(other) {
                    claimed = Link::NONE;
                }
            }
        }
    }
    table.cold_mut(slot).other = claimed;
    if excluded_now != 0 {
        chains.exclude(table, slot, excluded_now);
    }
    match (rivals, found) {
        (0, _) => Ok(None),
        (1, Some(_)) => Ok(found),
        _ => Err(()),
    }
}

/// Whether a half-flow has been idle for so long that nothing on it can be in flight.
fn has_gone(table: &FlowTable, slot: Slot, now: Tick) -> bool {
    now.since(table.hot(slot).last_seen) > Tick::QUIET && table.has_aged(slot, now)
}

fn place(windows: Windows, hot: &Hot, cold: &Cold, response: Response) -> Place {
    let offset = distance(cold.first, response.psn);
    if offset <= width(hot, cold) {
        return Place::Within;
    }
    // After a second, packets in flight have arrived.
    match distance(response.psn, cold.first) <= windows.jump && is_recent(response.now, cold.joined) {
        true => Place::Before,
        false => Place::Elsewhere,
    }
}

/// The number of PSNs from the first request to the last.
fn width(hot: &Hot, cold: &Cold) -> u32 {
    distance(cold.first, hot.progress.reach())
}

/// The number of PSNs by which `to` is ahead of `from`, 0 to 2^24 - 1.
fn distance(from: Psn, to: Psn) -> u32 {
    Psn::from_low_bits(to.number().wrapping_sub(from.number())).number()
}

/// The number of responses that must confirm `candidate` as the other half of `slot`.
fn needed(table: &FlowTable, slot: Slot, candidate: Slot, psn: Psn) -> u8 {
    let (hot, cold) = (table.hot(candidate), table.cold(candidate));
    if cold.source_port == source_port_of_queue_pairs(table.hot(slot).key().qp, hot.key().qp) {
        return ONE;
    }
    let from_zero = psn.distance_from(Psn::from_low_bits(0)).unsigned_abs();
    if from_zero >= NEAR_ZERO && width(hot, cold) < NARROW { FEW } else { MANY }
}

/// Whether a request with this PSN belongs to the same sequence as those before it.
pub(super) fn continues(windows: Windows, progress: Progress, psn: Psn) -> bool {
    let ahead = psn.distance_from(progress.last());
    let beyond =
        if ahead > 0 { (ahead as u32).saturating_sub(progress.tail()) } else { ahead.unsigned_abs() };
    beyond <= windows.jump
}

/// Notes a request on a half-flow that is not bound, which is neither the first nor right after the last. Returns
/// whether it is still of the same sequence of PSNs.
pub(super) fn widen(windows: Windows, table: &mut FlowTable, slot: Slot, psn: Psn, packets: u32) -> bool {
    let progress = table.hot(slot).progress;
    if !continues(windows, progress, psn) {
        return false;
    }
    let ahead = psn.distance_from(progress.last());
    if ahead > 0 {
        table.hot_mut(slot).progress.advance(psn, packets);
    }
    let last = table.hot(slot).progress.last();
    let first = &mut table.cold_mut(slot).first;
    if first.distance_from(psn) > 0 {
        *first = psn;
    }
    if distance(*first, last) > WIDEST {
        *first = last.advanced_by(WIDEST.wrapping_neg());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::packet::{Address, FlowKey, Hosts, Way};
    use units::{BitRate, Interval};
    use wire::roce::QueuePair;

    const START: u32 = 0x60_0000;
    const WINDOWS: Windows = Windows { jump: Windows::LEAST, pairs: true, wait: 0 };

    const fn psn(number: u32) -> Psn {
        Psn::from_low_bits(number)
    }

    const fn at(ticks: u32) -> Nanos {
        Nanos((ticks as u64) << Tick::SHIFT)
    }

    /// A table with one flow, on which a request for `packets` PSNs from START on went by at the start.
    fn requested(ageing: u32, packets: u32) -> (FlowTable, Slot) {
        let mut table = FlowTable::new(1, Interval(at(ageing).0), 7);
        let hosts = Hosts { source: Address::numbered(1), destination: Address::numbered(2), way: Way::Out };
        let key = FlowKey { hosts, qp: QueuePair::from_low_bits(0x20) };
        let slot = table.find_or_insert(table.hash(&key), &key, Nanos(0), |_, _| {}).0;
        table.hot_mut(slot).progress.advance(psn(START), packets);
        table.cold_mut(slot).first = psn(START);
        (table, slot)
    }

    #[test]
    fn a_sequence_goes_on_within_the_jump_of_its_tail_and_of_its_last_request() {
        let (table, slot) = requested(100, 1_024);
        let continues = |number| continues(WINDOWS, table.hot(slot).progress, psn(number));
        let (ahead, behind) = (START + WINDOWS.jump + 1_023, START - WINDOWS.jump);
        assert_eq!(
            [START, ahead, ahead + 1, behind, behind - 1].map(continues),
            [true, true, false, true, false]
        );
    }

    #[test]
    fn a_range_grows_at_both_ends_and_a_repetition_leaves_it() {
        let (mut table, slot) = requested(100, 1_024);
        let range = |table: &FlowTable| (table.cold(slot).first, table.hot(slot).progress.reach());
        assert!(widen(WINDOWS, &mut table, slot, psn(START), 1));
        assert_eq!(range(&table), (psn(START), psn(START + 1_023)));
        assert!(widen(WINDOWS, &mut table, slot, psn(START - 7), 1));
        assert_eq!(range(&table), (psn(START - 7), psn(START + 1_023)));
        assert!(widen(WINDOWS, &mut table, slot, psn(START + 2_000), 2));
        assert_eq!(range(&table), (psn(START - 7), psn(START + 2_001)));
        assert!(!widen(WINDOWS, &mut table, slot, psn(START - WINDOWS.jump), 1));
    }

    #[test]
    fn the_widest_range_moves_on_with_its_last_request() {
        let (mut table, slot) = requested(100, 1);
        let mut last = START;
        for _ in 0..6 {
            last += WINDOWS.jump;
            assert!(widen(WINDOWS, &mut table, slot, psn(last), 1));
            assert_eq!(table.cold(slot).first, psn(START.max(last - WIDEST)));
        }
    }

    #[test]
    fn a_half_flow_has_gone_when_it_was_quiet_for_a_second_and_has_aged() {
        for (ageing, goes_after) in [(100, Tick::QUIET), (2 * Tick::QUIET, 2 * Tick::QUIET)] {
            let (table, slot) = requested(ageing, 1);
            let gone = |ticks| has_gone(&table, slot, Tick::of(at(ticks)));
            assert!(!gone(goes_after) && gone(goes_after + 1), "{ageing}");
        }
    }

    #[test]
    fn few_confirmations_are_enough_in_a_narrow_range_far_from_zero() {
        let needed = |packets, number| {
            let (table, slot) = requested(100, packets);
            needed(&table, slot, slot, psn(number))
        };
        assert_eq!([needed(1_024, START), needed(1_025, START)], [FEW, MANY]);
        let (mut table, slot) = requested(100, 1);
        table.hot_mut(slot).progress.advance(psn(START + 1), 1_024);
        assert_eq!(super::needed(&table, slot, slot, psn(START)), MANY, "one wider than narrow");
        let near = [NEAR_ZERO - 1, NEAR_ZERO, NEAR_ZERO.wrapping_neg()];
        assert_eq!(near.map(|number| needed(1, number)), [MANY, FEW, FEW]);
    }

    #[test]
    fn what_was_confirmed_is_forgotten_after_more_than_a_quiet_second() {
        for (quiet, kept) in [(Tick::QUIET, 3), (Tick::QUIET + 1, 0)] {
            let (mut table, slot) = requested(100, 1);
            let cold = table.cold_mut(slot);
            (cold.answered, cold.confirmations) = (psn(START), 3);
            cold.flags.set(Flags::ANSWERED, true);
            let (psn, before) = (psn(START + 1), Tick::of(at(5)));
            let response = Response { now: at(5 + quiet), psn, acknowledged: psn, before };
            assert!(note(WINDOWS, &mut table, slot, response));
            assert_eq!(table.cold(slot).confirmations, kept);
        }
    }

    #[test]
    fn responses_count_after_the_round_trip() {
        let settings = |round_trip| FlowSettings {
            capacity: 1,
            ageing: Interval::from_secs(1),
            round_trip,
            rate: BitRate::gigabits(1),
            learn: 1,
        };
        let unit = |count: u64| Nanos(count << STAMP_SHIFT);
        let none = Windows::new(&settings(Interval::ZERO));
        assert!(none.may_answer(unit(5), 5));
        let two = Windows::new(&settings(Interval(2 << STAMP_SHIFT)));
        assert!(!two.may_answer(unit(7), 5) && two.may_answer(unit(8), 5));
    }
}
