//! The upstream side: a port that sends what the other end grants.

use super::peer::{REPEAT, SILENCE};
use crate::flow_control::bifrost::settings::Bifrost;
use crate::flow_control::sequence::Sequence;
use units::{BitRate, Interval, Nanos, Priority, PrioritySet, WireBytes};
use wire::grants::slot::{Kind, Message};

/// Counters of grant frames that came in through one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamCounters {
    /// The numbers of its messages.
    pub numbers: Sequence,
    /// Bytes on the wire that were dealt out to queues.
    pub dealt: WireBytes,
    /// Bytes on the wire that were granted and that no queue needed.
    pub declined: WireBytes,
    /// Times at which the peer fell silent while its grants limited the port.
    pub silences: u64,
}

/// The upstream side of one port.
#[derive(Debug)]
pub(crate) struct Upstream {
    rate: BitRate,
    /// The time from the end of a slot until its first granted byte arrives.
    round_trip: Interval,
    /// What limits the port, as the last message said.
    kind: Kind,
    /// The priorities that may not send until the next grant.
    closed: PrioritySet,
    priorities: PrioritySet,
    /// The rest of each priority's grant, in wire bytes; negative if a frame used part of the next grant.
    left: [i64; Priority::COUNT],
    /// The end of the slot for which the grant is good. A port that was freed is limited again when the grant for
    /// its first frame is due; never before it sends one.
    good_until: Nanos,
    /// The slot of the last message.
    slot: Interval,
    /// The first and the last frame of those that were sent without a pause for a round trip between them.
    sent: Option<(Nanos, Nanos)>,
    heard_at: Nanos,
    pub counters: UpstreamCounters,
}

impl Upstream {
    /// A port of `rate` that has heard nothing yet. Both directions of its link have the same round trip.
    pub fn new(settings: &Bifrost, rate: BitRate) -> Self {
        Self {
            rate,
            round_trip: settings.round_trip,
            kind: Kind::Pauses,
            closed: PrioritySet::EMPTY,
            priorities: PrioritySet::ALL,
            left: [0; Priority::COUNT],
            good_until: Nanos::NEVER,
            slot: settings.slot,
            sent: None,
            heard_at: Nanos::ZERO,
            counters: UpstreamCounters::default(),
        }
    }

    /// Applies new settings; the grant in force stays.
    pub fn configure(&mut self, settings: &Bifrost, rate: BitRate) {
        (self.round_trip, self.rate) = (settings.round_trip, rate);
    }

    /// The priorities that may not send at `now`.
    #[inline]
    pub fn closed(&mut self, now: Nanos) -> PrioritySet {
        if now >= self.good_until {
            self.expire(now);
        }
        self.closed
    }

    /// The priorities that may not send, and the time at which they will if no message comes.
    #[inline]
    pub fn closed_until(&self) -> (PrioritySet, Nanos) {
        (self.closed, self.silent_at())
    }

    /// Closes all priorities, because the grant is over; opens them once the peer has been silent for so long that
    /// it pauses instead.
    #[cold]
    fn expire(&mut self, now: Nanos) {
        if now >= self.silent_at() {
            self.counters.silences += 1;
            self.obey_pauses();
        } else {
            self.left = self.left.map(|left| left.min(0));
            self.closed = self.priorities;
        }
    }

    /// The time at which a silent peer is taken to pause this port. It may still hear it: its pauses are here a round
    /// trip after this port has said that it no longer follows.
    fn silent_at(&self) -> Nanos {
        self.heard_at + SILENCE + REPEAT + self.round_trip
    }

    fn obey_pauses(&mut self) {
        (self.kind, self.closed, self.good_until) = (Kind::Pauses, PrioritySet::EMPTY, Nanos::NEVER);
    }

    /// Opens all priorities until the grant is due for the first frame that the peer could not know of.
    fn open(&mut self, now: Nanos) {
        (self.kind, self.closed) = (Kind::Free, PrioritySet::EMPTY);
        self.good_until = match self.sent {
            Some((first, last)) if now < last + self.answer() => (first + self.answer()).max(now + self.slot),
            _ => Nanos::NEVER,
        };
    }

    fn answer(&self) -> Interval {
        answer(self.round_trip, self.slot)
    }

    /// Charges a frame of `priority` that leaves at `now`.
    #[inline]
    pub fn spend(&mut self, now: Nanos, priority: Priority, bytes: WireBytes) {
        if !self.priorities.contains(priority) {
            return;
        }
        match self.sent {
            Some((first, last)) if now < last + self.answer() => self.sent = Some((first, now)),
            _ => {
                self.sent = Some((now, now));
                if self.kind == Kind::Free {
                    self.good_until = now + self.answer();
                }
            }
        }
        if self.kind == Kind::Grant {
            let left = &mut self.left[priority.index()];
            *left -= bytes.0 as i64;
            if *left <= 0 {
                self.closed = self.closed.with(priority);
            }
        }
    }

    /// Takes a message, while `waiting` bytes on the wire wait at each priority. Returns whether it was a new one.
    pub fn receive(&mut self, now: Nanos, message: &Message, waiting: [WireBytes; Priority::COUNT]) -> bool {
        if !self.counters.numbers.take(message.sequence) {
            return false;
        }
        (self.heard_at, self.slot, self.priorities) = (now, message.slot, message.priorities);
        match message.kind {
            Kind::Pauses => self.obey_pauses(),
            Kind::Free => self.open(now),
            Kind::Grant => self.deal(now, message, waiting),
        }
        true
    }

    /// Deals a grant out to the priorities, from the highest down (algorithm 3). A message may come a little before
    /// the last slot is over. The new slot then begins where that one ends, and bytes that the link could still have
    /// sent in it are not lost.
    fn deal(&mut self, now: Nanos, message: &Message, waiting: [WireBytes; Priority::COUNT]) {
        let mut early = Interval::ZERO;
        match core::mem::replace(&mut self.kind, Kind::Grant) {
            Kind::Grant => early = self.good_until.since(now).min(most_early(message.slot)),
            Kind::Pauses | Kind::Free => self.left = [0; Priority::COUNT],
        }
        (self.good_until, self.closed) = (now + early + message.slot, PrioritySet::EMPTY);
        let (mut rest, mut kept) = (message.total.0, self.rate.bytes_in(early));
        for priority in Priority::all().rev().filter(|it| message.priorities.contains(*it)) {
            let index = priority.index();
            let left = self.left[index].min(kept as i64);
            kept -= left.max(0) as u64;
            // What a frame has used before its time comes out of the share of its priority.
            let wanted = waiting[index].0.saturating_add_signed(-left);
            let share = wanted.min(message.each[index].0).min(rest);
            rest -= share;
            self.counters.dealt.0 += share;
            self.left[index] = left + share as i64;
            if self.left[index] <= 0 {
                self.closed = self.closed.with(priority);
            }
        }
        self.counters.declined.0 += rest;
    }
}

/// The time within which the first frame to an idle peer is answered by a grant.
pub(super) fn answer(round_trip: Interval, slot: Interval) -> Interval {
    round_trip + slot + most_early(slot)
}

/// The longest time by which a message may come before the end of the last slot of this length. The round trip that
/// the downstream side counts with is longer by it.
pub(super) const fn most_early(slot: Interval) -> Interval {
    Interval(slot.0 / 4)
}
