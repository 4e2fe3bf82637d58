//! Bifrost: lossless over any distance with a buffer of little more than one BDP.
//!
//! "Minimizing Buffer Utilization for Lossless Inter-DC Links", section IV and algorithm 1. Time is divided into
//! slots. At the end of each, the downstream port has its queue `L` and its virtual incoming bytes `F` (bytes
//! granted within the last round trip, which may still come in). It grants the free rest of the buffer for the slot
//! that reaches the upstream half a round trip later. The grant is sent as a pause for the rest of that slot: an
//! ordinary PFC frame, which any PFC-capable upstream obeys.
//!
//! All figures here are bytes on the wire: a grant stands for time on a link, and a scheme that counted grants and
//! arrivals in different bytes would drift.
//!
//! Differences from the paper:
//!
//! - Line 10 as printed comes before the arrivals of the slot are deducted from F (line 15), so they count twice
//!   and a slot of the buffer stays unused. Here they are deducted first.
//! - Line 13 as printed deducts `L + F - H` even if it is negative, and so grants more than `F` records whenever
//!   the buffer has room. Here only a positive excess counts.
//! - `c` is negative after a leak (line 10); here it is zero. While there is an excess, no slot grants anything,
//!   and line 13 has nothing to deduct from: k is only the number of frames that the buffer provides for.
//! - A slot is elapsed time. If a slot ends late, the upstream was free in the meantime, and the bytes that it may
//!   have sent are charged as granted. The buffer has room for them that is never granted otherwise.

pub(crate) mod figures;
pub mod settings;
mod virtual_incoming;

#[cfg(test)]
mod tests;

use super::look::Look;
use super::sender::{Directive, PauseCause};
use crate::histogram::DelayHistogram;
use crate::program;
use serde::{Deserialize, Serialize};
use units::{BitRate, Interval, Nanos, PrioritySet, WireBytes};
use virtual_incoming::VirtualIncoming;

/// Counters of the slots of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotCounters {
    /// Slots that have ended. A port without traffic counts none.
    pub slots: u64,
    /// Slots for part of which the upstream was paused.
    pub paused_slots: u64,
    /// Slots for the whole of which it was paused.
    pub fully_paused_slots: u64,
    /// The longest time over which successive slots granted nothing.
    pub longest_full_pause: Interval,
    /// Wire bytes that were granted.
    pub granted: WireBytes,
    /// Wire bytes that were charged because slots ended late.
    pub late_charge: WireBytes,
    /// Lateness of slot ends.
    pub lateness: DelayHistogram,
    /// Slots that ended later than the buffer allows for.
    pub late_slots: u64,
    /// The longest queue at the end of a slot, in wire bytes.
    pub longest_queue: WireBytes,
    /// The greatest sum of queue and virtual incoming bytes, in wire bytes: above the reserved buffer only after a
    /// leak.
    pub peak: WireBytes,
}

/// The state at the end of a slot, and its grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotState {
    /// L: the lossless frames inside.
    pub queue: WireBytes,
    /// F: bytes granted before that may still come in.
    pub incoming: WireBytes,
    /// The grant for the next slot, at most `Rs T`.
    pub grant: WireBytes,
}

/// Bifrost on one port, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BifrostReport {
    /// Counters of its slots.
    pub slots: SlotCounters,
    /// The latest slot that ended; `None` before the first one.
    pub last: Option<SlotState>,
}

/// What a repaired port does not have yet ([`crate::repair`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unrepaired {
    /// The most that its missing frames take. They come once more without a grant.
    pub missing: WireBytes,
    /// From when on nobody knows what is missing.
    pub blind_from: Nanos,
}

/// The downstream side of one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Bifrost {
    settings: program::Bifrost,
    rate: BitRate,
    /// The priorities that it pauses.
    priorities: PrioritySet,
    /// `Rs T`, in wire bytes.
    line_per_slot: u64,
    /// The grantable part of the buffer, in wire bytes: all but the bytes that may come in while a slot is late.
    grantable: u64,
    incoming: VirtualIncoming,
    /// The start of the running slot; `None` while no data comes in and all is granted.
    began: Option<Nanos>,
    /// The port's total of lossless wire bytes at that time.
    received: u64,
    /// Whether the last pause may reach beyond its slot.
    held_over: bool,
    /// The latest slot that ended.
    last: Option<SlotState>,
    /// The time since which successive slots have granted nothing.
    fully_paused_since: Option<Nanos>,
    counters: SlotCounters,
    /// M: what has yet to come once more, where the link is repaired.
    unrepaired: Option<Unrepaired>,
}

impl Bifrost {
    /// Bifrost at rest, on a port of `rate` that `look` shows.
    pub fn new(settings: program::Bifrost, rate: BitRate, look: Look<'_>) -> Self {
        Self {
            line_per_slot: rate.bytes_in(settings.slot),
            grantable: settings.buffer.0.saturating_sub(rate.bytes_in(settings.lateness)),
            incoming: VirtualIncoming::new(&settings, rate),
            began: None,
            received: look.received().0,
            held_over: false,
            last: None,
            fully_paused_since: None,
            counters: SlotCounters::default(),
            unrepaired: None,
            priorities: look.lossless,
            settings,
            rate,
        }
    }

    /// Applies new settings. A change of them, or of the bytes that it counts, restarts it as if everything were
    /// granted: it grants nothing more until the buffer has room beyond that. Returns whether it restarted.
    pub fn configure(&mut self, settings: program::Bifrost, rate: BitRate, look: Look<'_>) -> bool {
        if (self.settings, self.rate, self.priorities) == (settings, rate, look.lossless) {
            return false;
        }
        let counters = core::mem::take(&mut self.counters);
        *self = Self { counters, ..Self::new(settings, rate, look) };
        true
    }

    /// Takes what the port does not have yet.
    pub fn note_unrepaired(&mut self, unrepaired: Unrepaired) {
        self.unrepaired = Some(unrepaired);
    }

    /// The end of the running slot: never while no data comes in.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.began.map_or(Nanos::NEVER, |began| began + self.settings.slot)
    }

    /// Wakes it, because bytes come in at `now`: a port at rest begins its first slot.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.began.is_none() {
            self.began = Some(now);
            self.incoming.refill(now);
        }
    }

    /// As [`Bifrost::wake`], where bytes have come in before `now`, up to this total: F counts what comes from now on.
    pub fn wake_behind(&mut self, now: Nanos, received: WireBytes) {
        if self.began.is_none() {
            self.received = received.0;
        }
        self.wake(now);
    }

    /// Ends the slot.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>) -> Option<Directive> {
        // In this order: a frame that another lane takes in between is in F or in L, and may be in both.
        let received = look.received().0;
        let time = self.end_slot(now, look.queue().0, received)?;
        Some(Directive::PauseFor { priorities: self.priorities, time, cause: PauseCause::Slot })
    }

    /// Ends the slot. Returns the pause to send: zero to free the upstream, `None` if it is free already.
    fn end_slot(&mut self, now: Nanos, queue: u64, received: u64) -> Option<Interval> {
        let grant = self.grant_slot(now, queue, received, true);
        self.pause_for(grant)
    }

    /// Ends the slot (algorithm 1, lines 3 to 8). `queue` is L, and `received` the total of all lossless bytes that
    /// came in so far, both on the wire. `was_free` says whether the upstream may send while a slot is late. Returns
    /// the grant for the next slot, in wire bytes.
    pub fn grant_slot(&mut self, now: Nanos, queue: u64, received: u64, was_free: bool) -> u64 {
        let (queue, is_blind) = self.with_missing(now, queue);
        let began = self.began.unwrap_or(now);
        let late = now.since(began + self.settings.slot);
        let arrived = received - core::mem::replace(&mut self.received, received);
        self.note_lateness(late, was_free);
        self.incoming.settle(now, arrived);

        let incoming = self.incoming.bytes(now);
        let grant = if is_blind { 0 } else { self.grant(queue, incoming) };
        self.incoming.grant(now, grant);
        self.note_slot(queue, incoming, grant);
        self.note_full_pause(now, grant);

        let at_rest = queue == 0 && !is_blind && arrived == 0 && self.incoming.is_full(now);
        self.began = (!at_rest).then_some(now);
        grant
    }

    /// L and M, and whether M is unknown: what is missing comes without a grant, so its room is not granted to anything else.
    fn with_missing(&self, now: Nanos, queue: u64) -> (u64, bool) {
        self.unrepaired.map_or((queue, false), |it| (queue + it.missing.0, now >= it.blind_from))
    }

    /// `Rs T`, in wire bytes.
    pub fn line_per_slot(&self) -> u64 {
        self.line_per_slot
    }

    /// Lines 10 to 13. An excess of queue and virtual incoming bytes over the buffer leaves nothing to grant, and
    /// so nothing to deduct it from.
    fn grant(&self, queue: u64, incoming: u64) -> u64 {
        self.grantable.saturating_sub(queue + incoming).min(self.line_per_slot)
    }

    /// The pause that stands for `grant` (line 14): zero to free the upstream, `None` if it is free already. Granted
    /// time is rounded down, so the pause is rounded up.
    pub fn pause_for(&mut self, grant: u64) -> Option<Interval> {
        if grant == self.line_per_slot {
            return core::mem::take(&mut self.held_over).then_some(Interval::ZERO);
        }
        let free = self.rate.serialization().time_within(WireBytes(grant));
        let pause = self.settings.slot - free;
        self.held_over = grant == 0 && self.settings.holdover > Interval::ZERO;
        Some(if self.held_over { pause + self.settings.holdover } else { pause })
    }

    /// Charges the time by which the slot was late, if the upstream was free for it.
    fn note_lateness(&mut self, late: Interval, was_free: bool) {
        self.counters.lateness.record(late);
        self.counters.late_slots += u64::from(late > self.settings.lateness);
        if was_free && late > Interval::ZERO {
            let charged = self.rate.bytes_in(late) + 1;
            self.counters.late_charge.0 += charged;
            self.incoming.extend(late, charged);
        }
    }

    fn note_slot(&mut self, queue: u64, incoming: u64, grant: u64) {
        let counters = &mut self.counters;
        counters.slots += 1;
        counters.paused_slots += u64::from(grant < self.line_per_slot);
        counters.fully_paused_slots += u64::from(grant == 0);
        counters.granted.0 += grant;
        counters.longest_queue.0 = counters.longest_queue.0.max(queue);
        counters.peak.0 = counters.peak.0.max(queue + incoming);
        self.last = Some(SlotState {
            queue: WireBytes(queue),
            incoming: WireBytes(incoming),
            grant: WireBytes(grant),
        });
    }

    /// Notes a slot from `now` on without a grant, or the end of such slots.
    fn note_full_pause(&mut self, now: Nanos, grant: u64) {
        let since = self.fully_paused_since.take().unwrap_or(now);
        if grant == 0 {
            self.fully_paused_since = Some(since);
            let paused = (now + self.settings.slot).since(since);
            self.counters.longest_full_pause = self.counters.longest_full_pause.max(paused);
        }
    }

    /// Its report.
    pub fn report(&self) -> BifrostReport {
        BifrostReport { slots: self.counters.clone(), last: self.last }
    }
}
