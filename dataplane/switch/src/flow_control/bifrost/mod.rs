//! Bifrost: lossless over any distance with a buffer of little more than one BDP.
//!
//! "Minimizing Buffer Utilization for Lossless Inter-DC Links", section IV and algorithm 1. Time is
//! cut into slots. At the end of each, the downstream port knows its queue `L` and what may still
//! come in, `F` (bytes that it granted within the last round trip). What is free beyond both is
//! granted for the slot that the upstream will live through half a round trip later, as a pause
//! for the rest of it: an ordinary PFC frame, which any PFC-capable upstream obeys.
//!
//! All figures here are bytes on the wire: grants stand for time on a link, and a scheme that
//! counted what it grants and what it receives in different bytes would drift.
//!
//! Where the paper is followed and where not:
//!
//! - Line 10 as printed comes before the arrivals of the slot are taken off F (line 15), so they
//!   count twice and a slot of the buffer is left. They are taken off first here.
//! - Line 13 as printed deducts `L + F - H` also where it is negative, and so grants more than `F`
//!   records whenever the buffer has room. Only a positive excess may be deducted.
//! - `c` is negative after a leak (line 10); it is zero here. So while there is an excess nothing is
//!   granted, in every slot, and line 13 finds nothing to deduct from: k is only the number of
//!   frames that the buffer provides for.
//! - A slot is elapsed time. When one ends late, the upstream was free meanwhile, and what it may
//!   have sent is charged as granted. The buffer has room for that which is never granted otherwise.

pub(crate) mod figures;
pub mod settings;
mod virtual_incoming;

#[cfg(test)]
mod tests;

use super::look::Look;
use super::sender::{Directive, PauseCause};
use crate::histogram::DelayHistogram;
use crate::program;
use units::{BitRate, Interval, Nanos, PrioritySet, WireBytes};
use virtual_incoming::VirtualIncoming;

/// What the slots of one port have come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotCounters {
    /// Slots that have ended. A port without traffic counts none.
    pub slots: u64,
    /// Slots that the upstream was paused for in part.
    pub paused_slots: u64,
    /// Slots that it was paused for entirely.
    pub fully_paused_slots: u64,
    /// The longest time over which successive slots granted nothing.
    pub longest_full_pause: Interval,
    /// Wire bytes that were granted.
    pub granted: WireBytes,
    /// Wire bytes that were charged because slots ended late.
    pub late_charge: WireBytes,
    /// How late slots ended.
    pub lateness: DelayHistogram,
    /// Slots that ended later than the buffer provides for.
    pub late_slots: u64,
    /// The longest queue at the end of a slot, in wire bytes.
    pub longest_queue: WireBytes,
    /// The most that queue and virtual incoming bytes came to, in wire bytes: above the reserved
    /// buffer only after a leak.
    pub peak: WireBytes,
}

/// What the end of a slot found and granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// L: the lossless frames inside.
    pub queue: WireBytes,
    /// F: what may still come in of what was granted before.
    pub incoming: WireBytes,
    /// The grant for the slot that begins, at most `Rs T`.
    pub grant: WireBytes,
}

/// Bifrost on one port, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BifrostReport {
    /// What its slots have come to.
    pub slots: SlotCounters,
    /// The slot that ended last; `None` before one has.
    pub last: Option<SlotState>,
}

/// The downstream side of one port.
#[derive(Debug)]
pub(crate) struct Bifrost {
    settings: program::Bifrost,
    rate: BitRate,
    /// What it pauses.
    priorities: PrioritySet,
    /// `Rs T`, in wire bytes.
    line_per_slot: u64,
    /// What of the buffer may be granted, in wire bytes: all but what comes in while a slot is late.
    grantable: u64,
    incoming: VirtualIncoming,
    /// When the running slot began; `None` while nothing comes in and all is granted.
    began: Option<Nanos>,
    /// The port's total of lossless wire bytes at that time.
    received: u64,
    /// Whether the last pause may reach beyond its slot.
    held_over: bool,
    /// The slot that ended last.
    last: Option<SlotState>,
    /// Since when successive slots have granted nothing.
    fully_paused_since: Option<Nanos>,
    counters: SlotCounters,
}

impl Bifrost {
    /// A port at rest, of `rate`, that `look` shows.
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
            priorities: look.lossless,
            settings,
            rate,
        }
    }

    /// A change of the settings, or of what it counts, starts it anew as if everything were granted: it grants nothing
    /// more until the buffer has room beyond that. Returns whether it did.
    pub fn configure(&mut self, settings: program::Bifrost, rate: BitRate, look: Look<'_>) -> bool {
        if (self.settings, self.rate, self.priorities) == (settings, rate, look.lossless) {
            return false;
        }
        let counters = core::mem::take(&mut self.counters);
        *self = Self { counters, ..Self::new(settings, rate, look) };
        true
    }

    /// When the running slot ends: never while nothing comes in.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.began.map_or(Nanos::NEVER, |began| began + self.settings.slot)
    }

    /// Bytes come in at `now`: a port at rest begins its first slot.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.began.is_none() {
            self.began = Some(now);
            self.incoming.refill(now);
        }
    }

    /// The slot has ended.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>) -> Option<Directive> {
        let time = self.end_slot(now, look.queue().0, look.received().0)?;
        Some(Directive::PauseFor { priorities: self.priorities, time, cause: PauseCause::Slot })
    }

    /// Ends the slot (algorithm 1, lines 3 to 8). `queue` is L and `received` the total of all
    /// lossless bytes that ever came in, both on the wire. Returns the pause to send: `None`
    /// where the upstream is free and knows it, zero where it must be told.
    fn end_slot(&mut self, now: Nanos, queue: u64, received: u64) -> Option<Interval> {
        let began = self.began.unwrap_or(now);
        let late = now.since(began + self.settings.slot);
        let arrived = received - core::mem::replace(&mut self.received, received);
        self.note_lateness(late);
        self.incoming.settle(now, arrived);

        let incoming = self.incoming.bytes(now);
        let grant = self.grant(queue, incoming);
        self.incoming.grant(now, grant);
        self.note_slot(queue, incoming, grant);
        self.note_full_pause(now, grant);

        let at_rest = queue == 0 && arrived == 0 && self.incoming.is_full(now);
        self.began = (!at_rest).then_some(now);
        self.pause_for(grant)
    }

    /// Lines 10 to 13. What the queue and the virtual incoming bytes have in excess of the buffer
    /// leaves nothing to grant, so there is nothing left to deduct it from.
    fn grant(&self, queue: u64, incoming: u64) -> u64 {
        self.grantable.saturating_sub(queue + incoming).min(self.line_per_slot)
    }

    /// Line 14. Time that is granted is rounded down, so the pause is rounded up.
    fn pause_for(&mut self, grant: u64) -> Option<Interval> {
        if grant == self.line_per_slot {
            return core::mem::take(&mut self.held_over).then_some(Interval::ZERO);
        }
        let free = self.rate.serialization().time_within(WireBytes(grant));
        let pause = self.settings.slot - free;
        self.held_over = grant == 0 && self.settings.holdover > Interval::ZERO;
        Some(if self.held_over { pause + self.settings.holdover } else { pause })
    }

    /// The upstream was free for the time that the slot was late.
    fn note_lateness(&mut self, late: Interval) {
        self.counters.lateness.record(late);
        self.counters.late_slots += u64::from(late > self.settings.lateness);
        if late > Interval::ZERO {
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

    /// Nothing is granted until the slot that begins at `now` ends, or something is.
    fn note_full_pause(&mut self, now: Nanos, grant: u64) {
        let since = self.fully_paused_since.take().unwrap_or(now);
        if grant == 0 {
            self.fully_paused_since = Some(since);
            let paused = (now + self.settings.slot).since(since);
            self.counters.longest_full_pause = self.counters.longest_full_pause.max(paused);
        }
    }

    /// What it has come to.
    pub fn report(&self) -> BifrostReport {
        BifrostReport { slots: self.counters.clone(), last: self.last }
    }
}
