//! What the PSN of a response says about whose it is.
//!
//! A response on a half-flow (Y to X, S) carries the PSN of a request that X sent to the other half,
//! (X to Y, D). So D is one of the half-flows on which that PSN was sent; and one on which it has not been sent yet is
//! not D, and never will be.
//!
//! **A pair is bound when one candidate is left.** As long as requests and responses of all connections between the
//! two hosts pass here, that candidate is the right one, whatever the PSNs: the right one passed here before the
//! response to it, so it is among the candidates and is never excluded. It takes connections of which only the responses
//! pass here (routes differ by direction) to be deceived: they find only the wrong ones. What protects from
//! those are three rules, none of which is proof:
//!
//! - Confirmations. The PSN at which a connection starts is random with most libraries, so a wrong candidate
//!   whose range of PSNs is `w` wide fits with a probability of `w / 2^24`. More confirmations do not multiply it, since
//!   both sides move on together; they only outlast what moves at another speed. So [`FEW`] are
//!   enough where `w` is below [`NARROW`], one false match in 16384, as good as the UDP source port, after
//!   which [`ONE`] is enough. PSNs near zero say nothing, since NCCL starts there, and wide
//!   ranges little: those take [`MANY`].
//! - Contests. While another half-flow has the same only candidate, neither is bound.
//! - Exclusions are for good. A response that fits nothing has excluded everything that is known by then.
//!
//! What cannot be told apart in principle:
//!
//! - between the same two hosts, one connection of which only requests pass here and one of which only
//!   responses do, which start at the same PSN and proceed in step;
//! - a queue pair that is used again for another partner, with PSNs where those of its former life were sent and
//!   not yet acknowledged here. It is taken for its former self until they leave that range.

use super::chains::{Chains, is_recent};
use crate::congestion::lscc::flow_table::{Cold, Flags, FlowTable, Hot, Link, Slot, Tick};
use units::Nanos;
use wire::roce::{Psn, source_port_of_queue_pairs};

/// Confirmations when the UDP source port is the one that follows from the two queue pairs.
const ONE: u8 = 1;
/// Confirmations when the range is narrow and far from zero.
const FEW: u8 = 2;
/// Confirmations otherwise.
const MANY: u8 = 16;
/// A range of PSNs narrower than this is narrow.
const NARROW: u32 = 1 << 10;
/// A PSN less than this from zero is near it.
const NEAR_ZERO: u32 = 1 << 16;
/// What lies further ahead or behind is not the same sequence of PSNs. In flight there is less: at 400 Gb/s,
/// 100 ms and 4 KiB 1.2 million packets.
pub(super) const JUMP: u32 = 1 << 20;
/// The widest range of PSNs that is remembered.
const WIDEST: u32 = 1 << 22;
/// A half-flow that was quiet for so long, about a second, may be another one.
const QUIET: u32 = 1 << 14;

/// What a response says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Response {
    pub now: Nanos,
    /// Whose PSN it repeats.
    pub psn: Psn,
    /// Up to which requests are acknowledged: it differs from `psn` in a NAK.
    pub acknowledged: Psn,
    /// When the half-flow was seen before.
    pub before: Tick,
}

/// What follows from a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing yet.
    Nothing,
    /// Several candidates, or a contest.
    Ambiguous,
    /// The other half.
    Bound(Slot),
}

/// Where a PSN lies to what was sent on a half-flow.
enum Place {
    Within,
    /// Sent before the half-flow was known, if it is on it at all.
    Before,
    /// It cannot be on it.
    Elsewhere,
}

/// Looks at a response on a half-flow that stands in its chain.
pub(super) fn look(chains: &mut Chains, table: &mut FlowTable, slot: Slot, response: Response) -> Finding {
    let confirms = note(table, slot, response);
    let tries = table.cold(slot).tries;
    table.cold_mut(slot).tries = tries.saturating_add(1);
    if tries == u8::MAX && Tick::of(response.now) == response.before {
        // It costs the walk of a chain: for one that is hard to tell, it is enough every 65 us.
        return Finding::Nothing;
    }
    let hosts = table.hot(slot).key().hosts;
    let Ok(candidate) = only_candidate(chains, table, slot, response) else { return Finding::Ambiguous };
    if chains.leaves_out(table, &hosts.reversed()) {
        return Finding::Ambiguous;
    }
    let Some(candidate) = candidate else { return Finding::Nothing };
    let needed = needed(table, slot, candidate, response.psn);
    if table.cold(slot).other != Link::to(candidate) {
        chains.claim(table, slot, candidate);
    }
    let cold = table.cold_mut(slot);
    cold.confirmations = cold.confirmations.saturating_add(u8::from(confirms));
    if cold.confirmations < needed {
        return Finding::Nothing;
    }
    let contests = |other: Slot| other != slot && table.cold(other).other == Link::to(candidate);
    match chains.members(table, &hosts).any(contests) {
        true => Finding::Ambiguous,
        false => Finding::Bound(candidate),
    }
}

/// Notes the response; says whether it is one more than those before it. Where it does not continue them, the queue pair
/// has been used again: what was found out is forgotten.
pub(super) fn note(table: &mut FlowTable, slot: Slot, response: Response) -> bool {
    let quiet = Tick::of(response.now).since(response.before) > QUIET;
    let cold = table.cold_mut(slot);
    let step = response.acknowledged.distance_from(cold.answered);
    let continues = cold.flags.has(Flags::ANSWERED) && !quiet && (0..=JUMP as i32).contains(&step);
    if !continues {
        (cold.excluded, cold.other, cold.confirmations, cold.tries) = (0, Link::NONE, 0, 0);
    }
    cold.answered = response.acknowledged;
    cold.flags.set(Flags::ANSWERED, true);
    !continues || step > 0
}

/// The only half-flow that the response may be about, if it is within what was sent there; an error where there
/// are several, or it may yet turn out that there are. Excludes those that it cannot be about.
fn only_candidate(
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
        if excluded & bit != 0
            || hot.key().hosts != hosts
            || !hot.progress.has_requests()
            || table.has_aged(other, Tick::of(response.now))
        {
            continue;
        }
        match place(hot, cold, response) {
            Place::Within => (found, rivals) = (Some(other), rivals + 1),
            Place::Before => rivals += 1,
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

fn place(hot: &Hot, cold: &Cold, response: Response) -> Place {
    let offset = distance(cold.first, response.psn);
    if offset <= width(hot, cold) {
        return Place::Within;
    }
    // After a second what was in flight has come.
    match distance(response.psn, cold.first) <= JUMP && is_recent(response.now, cold.joined) {
        true => Place::Before,
        false => Place::Elsewhere,
    }
}

/// How many PSNs there are from the first request to the last.
fn width(hot: &Hot, cold: &Cold) -> u32 {
    distance(cold.first, hot.progress.reach())
}

/// How many PSNs `to` is ahead of `from`, 0 to 2^24 - 1.
fn distance(from: Psn, to: Psn) -> u32 {
    Psn::from_low_bits(to.number().wrapping_sub(from.number())).number()
}

/// How many responses must confirm that `candidate` is the other half of `slot`.
fn needed(table: &FlowTable, slot: Slot, candidate: Slot, psn: Psn) -> u8 {
    let (hot, cold) = (table.hot(candidate), table.cold(candidate));
    if cold.source_port == source_port_of_queue_pairs(table.hot(slot).key().qp, hot.key().qp) {
        return ONE;
    }
    let from_zero = psn.distance_from(Psn::from_low_bits(0)).unsigned_abs();
    if from_zero >= NEAR_ZERO && width(hot, cold) < NARROW { FEW } else { MANY }
}

/// Notes a request on a half-flow that is not bound and comes neither for the first time nor right after the last.
/// Says whether it still is the same sequence of PSNs.
pub(super) fn widen(table: &mut FlowTable, slot: Slot, psn: Psn, packets: u32) -> bool {
    let progress = table.hot(slot).progress;
    let ahead = psn.distance_from(progress.last());
    let beyond =
        if ahead > 0 { (ahead as u32).saturating_sub(progress.tail()) } else { ahead.unsigned_abs() };
    if beyond > JUMP {
        return false;
    }
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
