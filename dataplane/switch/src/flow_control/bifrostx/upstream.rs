//! The upstream side: a port that sends what the other end grants.

use super::term::{Beginning, Term};
use crate::flow_control::bifrost::settings::Bifrost;
use crate::flow_control::sequence::Sequence;
use serde::{Deserialize, Serialize};
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
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Upstream {
    rate: BitRate,
    /// Priorities that are lossless here. No message limits others.
    lossless: PrioritySet,
    term: Term,
    /// The priorities that may not send until the next grant.
    closed: PrioritySet,
    /// The priorities that the last message limits.
    priorities: PrioritySet,
    /// The rest of each priority's grant, in wire bytes; negative if a frame used part of the next grant.
    left: [i64; Priority::COUNT],
    dealt: WireBytes,
    declined: WireBytes,
}

impl Upstream {
    /// A port of `rate` with these `lossless` priorities that has heard nothing yet. Both directions of its link have the
    /// same round trip.
    pub fn new(settings: &Bifrost, rate: BitRate, lossless: PrioritySet) -> Self {
        Self {
            rate,
            lossless,
            term: Term::new(settings.round_trip, settings.slot),
            closed: PrioritySet::EMPTY,
            priorities: lossless,
            left: [0; Priority::COUNT],
            dealt: WireBytes(0),
            declined: WireBytes(0),
        }
    }

    /// Applies new settings; the grant in force stays.
    pub fn configure(&mut self, settings: &Bifrost, rate: BitRate, lossless: PrioritySet) {
        self.term.configure(settings.round_trip);
        (self.rate, self.lossless) = (rate, lossless);
        self.priorities = self.priorities.intersection(lossless);
        self.closed = self.closed.intersection(lossless);
    }

    /// The priorities that may not send at `now`.
    #[inline]
    pub fn closed(&mut self, now: Nanos) -> PrioritySet {
        if self.term.is_over(now) {
            self.expire(now);
        }
        self.closed
    }

    /// The priorities that may not send, and the time at which they will if no message comes.
    #[inline]
    pub fn closed_until(&self) -> (PrioritySet, Nanos) {
        (self.closed, self.term.silent_at())
    }

    /// Closes all priorities, because the grant is over; opens them once the peer has been silent for so long that
    /// it pauses instead.
    #[cold]
    fn expire(&mut self, now: Nanos) {
        if self.term.expire(now) {
            self.closed = PrioritySet::EMPTY;
        } else {
            self.left = self.left.map(|left| left.min(0));
            self.closed = self.priorities;
        }
    }

    /// Charges a frame of `priority` that leaves at `now`.
    #[inline]
    pub fn spend(&mut self, now: Nanos, priority: Priority, bytes: WireBytes) {
        if !self.priorities.contains(priority) {
            return;
        }
        self.term.note_sent(now);
        if self.term.kind == Kind::Grant {
            let left = &mut self.left[priority.index()];
            *left -= bytes.0 as i64;
            if *left <= 0 {
                self.closed = self.closed.with(priority);
            }
        }
    }

    /// Takes a message, while `waiting` bytes on the wire wait at each priority. Returns whether it was a new one.
    pub fn receive(&mut self, now: Nanos, message: &Message, waiting: [WireBytes; Priority::COUNT]) -> bool {
        let Some(beginning) = self.term.begin(now, &message.head) else { return false };
        self.priorities = message.head.priorities.intersection(self.lossless);
        self.closed = PrioritySet::EMPTY;
        if let Beginning::Slot { early } = beginning {
            if early.is_none() {
                self.left = [0; Priority::COUNT];
            }
            self.deal(early.unwrap_or(Interval::ZERO), message, waiting);
        }
        true
    }

    /// Deals a grant out to the priorities, from the highest down (algorithm 3). Bytes that the link could still have
    /// sent in an `early` end of the last slot are not lost.
    fn deal(&mut self, early: Interval, message: &Message, waiting: [WireBytes; Priority::COUNT]) {
        let (mut rest, mut kept) = (message.head.total.0, self.rate.bytes_in(early));
        for priority in Priority::all().rev().filter(|it| self.priorities.contains(*it)) {
            let index = priority.index();
            let left = self.left[index].min(kept as i64);
            kept -= left.max(0) as u64;
            // Bytes that a frame has used before their time come out of the share of its priority.
            let wanted = waiting[index].0.saturating_add_signed(-left);
            let share = wanted.min(message.each[index].0).min(rest);
            rest -= share;
            self.dealt.0 += share;
            self.left[index] = left + share as i64;
            if self.left[index] <= 0 {
                self.closed = self.closed.with(priority);
            }
        }
        self.declined.0 += rest;
    }

    /// Its counters.
    pub fn counters(&self) -> UpstreamCounters {
        let Self { dealt, declined, .. } = *self;
        UpstreamCounters { numbers: self.term.numbers, dealt, declined, silences: self.term.silences }
    }
}
