//! The time for which a message limits a port that follows grants.

use super::peer::{REPEAT, SILENCE};
use crate::flow_control::sequence::Sequence;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};
use wire::grants::slot::{Head, Kind};

/// The limit of a port, and the time until which it holds.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::flow_control) struct Term {
    /// The time from the end of a slot until its first granted byte arrives.
    round_trip: Interval,
    /// The limit of the port, according to the last message.
    pub kind: Kind,
    /// The end of the slot for which the grant is good. A port that was freed is limited again when the grant for
    /// its first frame is due. A limit never outlasts [`Term::silent_at`]: what it closes is looked at again then.
    good_until: Nanos,
    /// The slot of the last message, as long as the round trip at most.
    slot: Interval,
    /// The first and the last frame of those that were sent without a pause for a round trip between them.
    sent: Option<(Nanos, Nanos)>,
    heard_at: Nanos,
    /// The numbers of the messages.
    pub numbers: Sequence,
    /// Times at which the peer fell silent while its grants limited the port.
    pub silences: u64,
}

/// The state of the port that a message begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow_control) enum Beginning {
    /// Pauses alone limit the port.
    Pauses,
    /// The port may send until the grant for its first frame is due. `anew` if it has sent nothing that the peer could
    /// not know of.
    Free { anew: bool },
    /// The port may send what is granted.
    Slot {
        /// The part of the last slot that is not over; `None` if that was none.
        early: Option<Interval>,
    },
}

impl Term {
    /// That of a port that has heard nothing yet. Both directions of its link have the same round trip.
    pub fn new(round_trip: Interval, slot: Interval) -> Self {
        Self {
            round_trip,
            kind: Kind::Pauses,
            good_until: Nanos::NEVER,
            slot,
            sent: None,
            heard_at: Nanos::ZERO,
            numbers: Sequence::default(),
            silences: 0,
        }
    }

    /// Applies another round trip; the limit in force stays.
    pub fn configure(&mut self, round_trip: Interval) {
        self.round_trip = round_trip;
        if self.kind != Kind::Pauses {
            self.hold_until(self.good_until);
        }
    }

    /// Whether the grant is over at `now`.
    #[inline]
    pub fn is_over(&self, now: Nanos) -> bool {
        now >= self.good_until
    }

    /// Ends a grant that is over. Returns whether the peer has been silent for so long that it pauses instead.
    pub fn expire(&mut self, now: Nanos) -> bool {
        let silent = now >= self.silent_at();
        if silent {
            self.silences += 1;
            self.obey_pauses();
        }
        silent
    }

    /// The time at which a silent peer is taken to pause this port. It may still hear it: its pauses are here a round
    /// trip after this port has said that it no longer follows.
    pub fn silent_at(&self) -> Nanos {
        self.heard_at + SILENCE + REPEAT + self.round_trip
    }

    fn obey_pauses(&mut self) {
        (self.kind, self.good_until) = (Kind::Pauses, Nanos::NEVER);
    }

    /// Lets the limit in force hold until `until`, or until the peer counts as silent.
    fn hold_until(&mut self, until: Nanos) {
        self.good_until = until.min(self.silent_at());
    }

    /// Takes a message, unless it is old. A grant may come a little before the last slot is over. The new slot then
    /// begins where that one ends.
    ///
    /// Its slot is cut to the round trip of this port. Neither end may have a longer one, and both have the same link: their
    /// slots may differ by that much, and their round trips by the reaction times that they count with. A slot that is cut
    /// delays data and leaks none.
    pub fn begin(&mut self, now: Nanos, head: &Head) -> Option<Beginning> {
        if !self.numbers.take(now, head.sequence) {
            return None;
        }
        (self.heard_at, self.slot) = (now, head.slot.min(self.round_trip));
        Some(match head.kind {
            Kind::Pauses => {
                self.obey_pauses();
                Beginning::Pauses
            }
            Kind::Free => {
                self.kind = Kind::Free;
                let unknown = self.sent.filter(|(_, last)| now < *last + self.answer());
                let due = unknown.map(|(first, _)| (first + self.answer()).max(now + self.slot));
                self.hold_until(due.unwrap_or(Nanos::NEVER));
                Beginning::Free { anew: unknown.is_none() }
            }
            Kind::Grant => {
                let followed = core::mem::replace(&mut self.kind, Kind::Grant) == Kind::Grant;
                let early = followed.then(|| self.good_until.since(now).min(most_early(self.slot)));
                self.hold_until(now + early.unwrap_or(Interval::ZERO) + self.slot);
                Beginning::Slot { early }
            }
        })
    }

    /// Notes a frame that leaves at `now` and is limited.
    #[inline]
    pub fn note_sent(&mut self, now: Nanos) {
        match self.sent {
            Some((first, last)) if now < last + self.answer() => self.sent = Some((first, now)),
            _ => {
                self.sent = Some((now, now));
                if self.kind == Kind::Free {
                    self.hold_until(now + self.answer());
                }
            }
        }
    }

    fn answer(&self) -> Interval {
        answer(self.round_trip, self.slot)
    }
}

/// The time within which the first frame to an idle peer is answered by a grant.
pub(in crate::flow_control) fn answer(round_trip: Interval, slot: Interval) -> Interval {
    round_trip + slot + most_early(slot)
}

/// The longest time by which a message may come before the end of the last slot of this length. The round trip that
/// the downstream side counts with is longer by it.
pub(in crate::flow_control) const fn most_early(slot: Interval) -> Interval {
    Interval(slot.0 / 4)
}
