//! BifrostX: Bifrost with grants for each priority, between two ends that both speak it.
//!
//! "Minimizing Buffer Utilization for Lossless Inter-DC Links", section IV-E. The downstream end computes the grant
//! of each slot as Bifrost does (`c_max`), and one for each priority from the growth of its queue (`c_i`, algorithm
//! 2). It sends both in a [grant frame](wire::grants) instead of a pause. The upstream end deals `c_max` out, from
//! the highest priority down (`Upstream`, algorithm 3).
//!
//! Both ends of a link run both sides, one for each direction. An end grants once it hears the other, and pauses as
//! Bifrost does until the other says that it follows, and again once it falls silent. So a peer that does not speak
//! BifrostX costs the grants of single priorities and nothing else.
//!
//! To a port that follows, a slot without a grant frame permits nothing. So a lost or late frame delays data and leaks
//! none, and late slots are not charged.
//!
//! Differences from the paper: a port that was idle for a round trip stops counting slots. It frees the upstream
//! ([`Kind::Free`]) from the first frame that it sends until the grant for that frame is due, a round trip and a slot
//! later.

pub(crate) mod figures;
pub(super) mod peer;
pub(super) mod term;
#[cfg(test)]
mod tests;
mod upstream;

pub(crate) use upstream::Upstream;
pub use upstream::UpstreamCounters;

use super::bifrost::{Bifrost, BifrostReport, settings};
use super::look::Look;
use super::sender::{Directive, PauseCause};
use peer::{Peer, REPEAT};
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, Priority, PrioritySet, WireBytes};
use wire::grants::slot::{Head, Kind, Message};

/// Successive slots in which an idle port frees its upstream, because a lost frame would stop it for [`REPEAT`].
const FREED_SLOTS: u8 = 3;

/// Counters of grant frames of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownstreamCounters {
    /// Frames sent that granted bytes, or none, for a slot.
    pub grants: u64,
    /// Frames sent of any other kind.
    pub others: u64,
    /// Times at which it began to pause again, because the peer no longer followed.
    pub fallbacks: u64,
}

/// BifrostX on one port, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BifrostXReport {
    /// The slots, as of Bifrost.
    pub slots: BifrostReport,
    /// Whether the upstream follows the grants; if not, it is paused as by Bifrost.
    pub is_followed: bool,
    /// Grant frames sent.
    pub downstream: DownstreamCounters,
    /// Grant frames received.
    pub upstream: UpstreamCounters,
}

/// The downstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BifrostX {
    slots: Bifrost,
    priorities: PrioritySet,
    slot: Interval,
    /// The time without arrivals after which the port rests.
    quiet: Interval,
    /// The bytes that had come in by the end of the last slot, on the wire.
    received: u64,
    /// The queue of each priority at the end of the last slot, in wire bytes.
    queues: [u64; Priority::COUNT],
    /// c_i of the last slot.
    each: [WireBytes; Priority::COUNT],
    peer: Peer,
    /// The time from which it rests, unless more comes in.
    rests_from: Nanos,
    /// Whether grants alone limit the upstream.
    is_followed: bool,
    sequence: u32,
    /// The next message that is not that of a slot.
    next: Nanos,
    /// Slots in a row that freed the upstream.
    freed: u8,
    /// The message that waits for the link.
    pub message: Option<Message>,
    counters: DownstreamCounters,
}

impl BifrostX {
    /// BifrostX at rest, on a port of `rate` that `look` shows.
    pub fn new(settings: settings::Bifrost, rate: BitRate, look: Look<'_>) -> Self {
        Self {
            slots: Bifrost::new(timed(settings), rate, look),
            priorities: look.lossless,
            slot: settings.slot,
            quiet: term::answer(settings.round_trip, settings.slot),
            received: look.received().0,
            queues: [0; Priority::COUNT],
            each: [WireBytes(0); Priority::COUNT],
            peer: Peer::default(),
            rests_from: Nanos::ZERO,
            is_followed: false,
            sequence: 0,
            next: Nanos::ZERO,
            freed: 0,
            message: None,
            counters: DownstreamCounters::default(),
        }
    }

    /// Applies new settings, as [`Bifrost::configure`] does. The peer stays known.
    pub fn configure(&mut self, settings: settings::Bifrost, rate: BitRate, look: Look<'_>) -> bool {
        (self.priorities, self.slot) = (look.lossless, settings.slot);
        self.quiet = term::answer(settings.round_trip, settings.slot);
        self.slots.configure(timed(settings), rate, look)
    }

    /// The end of the running slot, or the time of the next other message.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.slots.deadline().min(self.next)
    }

    /// Wakes it, because bytes come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.slots.wake(now);
    }

    /// Takes the head of a message of the peer.
    pub fn hear(&mut self, now: Nanos, head: &Head) {
        if self.peer.hear(now, head) {
            self.next = now;
        }
    }

    /// Whether it counts no slots.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.slots.deadline() == Nanos::NEVER
    }

    /// Whether a slot ends at `now`.
    #[inline]
    pub fn ends_slot(&self, now: Nanos) -> bool {
        self.slots.deadline() <= now
    }

    /// Whether the peer was heard within the last second.
    #[inline]
    pub fn hears(&self, now: Nanos) -> bool {
        self.peer.is_heard(now)
    }

    /// Ends the slot, or says what has changed since its end.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>) -> Option<Directive> {
        if self.ends_slot(now) {
            return self.end_slot(now, look);
        }
        // A grant leaves at the end of its slot alone.
        match (self.peer.is_heard(now), self.is_at_rest()) {
            (true, true) => self.announce(now, Kind::Free, WireBytes(0)),
            (true, false) => self.next = now + REPEAT,
            (false, _) => self.announce(now, Kind::Pauses, WireBytes(0)),
        }
        None
    }

    /// Ends the slot (algorithm 2). While the upstream does not follow, the grant leaves as a pause as well.
    fn end_slot(&mut self, now: Nanos, look: Look<'_>) -> Option<Directive> {
        let followed = core::mem::replace(&mut self.is_followed, self.peer.follows(now));
        self.counters.fallbacks += u64::from(followed && !self.is_followed);
        let grant = self.slots.grant_slot(now, look.queue().0, look.received().0, !followed);
        self.note_growth(look);
        self.stay_awake(now, look.received().0);
        match (self.peer.is_heard(now), self.is_at_rest()) {
            (true, true) => self.announce(now, Kind::Free, WireBytes(grant)),
            (true, false) => self.announce(now, Kind::Grant, WireBytes(grant)),
            (false, _) if self.next <= now => self.announce(now, Kind::Pauses, WireBytes(0)),
            (false, _) => {}
        }
        if self.is_followed {
            return None;
        }
        let time = self.slots.pause_for(grant)?;
        Some(Directive::PauseFor { priorities: self.priorities, time, cause: PauseCause::Slot })
    }

    /// Keeps the slots going until nothing has come in for a round trip and a slot. The frames that a port at rest could
    /// not know of then come after a gap of that length, by which the upstream finds the first of them.
    fn stay_awake(&mut self, now: Nanos, received: u64) {
        if core::mem::replace(&mut self.received, received) != received {
            self.rests_from = now + self.quiet;
        }
        if now < self.rests_from {
            self.slots.wake(now);
        }
    }

    /// Line 5: what a priority may send beside the others, less by the growth of its queue.
    fn note_growth(&mut self, look: Look<'_>) {
        let line = self.slots.line_per_slot();
        for priority in look.lossless.iter() {
            let (index, queue) = (priority.index(), look.queue_of(priority).0);
            let before = core::mem::replace(&mut self.queues[index], queue);
            self.each[index] = WireBytes(line.saturating_sub(queue.saturating_sub(before)));
        }
    }

    /// Leaves a message to be sent (line 6).
    fn announce(&mut self, now: Nanos, kind: Kind, total: WireBytes) {
        match kind {
            Kind::Grant => self.counters.grants += 1,
            Kind::Pauses | Kind::Free => self.counters.others += 1,
        }
        self.freed = if kind == Kind::Free { self.freed.saturating_add(1) } else { 0 };
        let repeats_soon = kind == Kind::Free && self.freed < FREED_SLOTS;
        self.next = now + if repeats_soon { self.slot } else { REPEAT };
        self.sequence = self.sequence.wrapping_add(1);
        let head = Head {
            kind,
            follows: self.peer.is_followed(now),
            priorities: self.priorities,
            sequence: self.sequence,
            slot: self.slot,
            total,
        };
        self.message = Some(Message { head, each: self.each });
    }

    /// Its report, with the counters of the other side of the port.
    pub fn report(&self, upstream: UpstreamCounters) -> BifrostXReport {
        BifrostXReport {
            slots: self.slots.report(),
            is_followed: self.is_followed,
            downstream: self.counters,
            upstream,
        }
    }
}

/// The settings of the slots beneath: bytes may arrive later than with pauses by the time that a grant may be early.
pub(super) fn timed(settings: settings::Bifrost) -> settings::Bifrost {
    settings::Bifrost { round_trip: settings.round_trip + term::most_early(settings.slot), ..settings }
}
