//! P-PFC: pauses that come before the buffer fills, for the ports that fill it.
//!
//! "P-PFC: Reducing Tail Latency with Predictive PFC in Lossless Data Center Networks", section 4, algorithms 1 to
//! 3. At each tick, a port that holds frames predicts when the shared pool will be full at the rate at which it fills
//! (algorithm 1). If that is within the horizon, the port looks at the congested egress queue that holds most of its
//! frames. The ports whose parts of it grow are drawn at random in proportion to their parts, until those drawn cover
//! most of the queue (algorithm 2). A port that is drawn pauses its upstream for the time that its part and its
//! growth take on the link (algorithm 3).
//!
//! Each port decides for itself, and for all ports alike: they read the same ledger at the same ticks, and the draw
//! follows from a key of the switch (`draw`). So it works with any number of shards, and nothing is exchanged.
//!
//! Parts are counted in cells, the unit of the buffer, so short frames weigh what they take of it.
//!
//! Differences from the paper:
//!
//! - The increase of the whole (algorithm 1, line 3) is that of the shared pool, which is what runs out. Lossy frames
//!   count there too.
//! - A port grows (algorithm 2, line 3) if its part of this egress queue grows, not its ingress queue. A port whose
//!   frames pile up elsewhere is not the cause.
//! - The transmission speed (algorithm 3, line 3) is that of the paused link, which the paper does not say.
//! - The first look at an egress queue only notes the parts, because no one keeps them while there is no alarm.
//! - A port looks at one egress queue for each priority at a tick.

mod draw;
pub(crate) mod figures;
pub mod settings;
mod suspect;

#[cfg(test)]
mod tests;

use super::look::Look;
use super::sender::{Directive, PauseCause, PauseSender};
use crate::hash::HashKey;
use draw::Draw;
use serde::{Deserialize, Serialize};
use suspect::Suspect;
use units::{BitRate, Cells, Interval, Nanos, Priority, PrioritySet, WireBytes};

/// Counters of P-PFC on one port, as plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PPfcReport {
    /// Ticks at which it predicted. A port without frames inside has none.
    pub ticks: u64,
    /// Ticks at which the pool would have been full within the horizon.
    pub alarms: u64,
    /// Pauses that it asked for.
    pub pauses: u64,
    /// The longest of them.
    pub longest_pause: Interval,
}

/// The shared pool at a tick.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Level {
    at: Nanos,
    held: u64,
}

/// P-PFC on one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PPfc {
    settings: settings::PPfc,
    rate: BitRate,
    draw: Draw,
    /// The next tick; never while nothing is inside.
    pub next: Nanos,
    /// The pool at the tick before.
    last: Option<Level>,
    /// The egress queue that each priority is suspected of congesting.
    suspects: [Suspect; Priority::COUNT],
    pub report: PPfcReport,
}

impl PPfc {
    /// P-PFC at rest, on a port of `rate` that `look` shows. `key` is that of the switch.
    pub fn new(settings: settings::PPfc, rate: BitRate, key: HashKey, look: Look<'_>) -> Self {
        Self {
            settings,
            rate,
            draw: Draw::new(key),
            next: Nanos::NEVER,
            last: None,
            suspects: core::array::from_fn(|_| Suspect::new(look.accounts.ledger.ports())),
            report: PPfcReport::default(),
        }
    }

    /// Applies new settings, from the next tick on. It never restarts, so it returns `false`.
    pub fn configure(&mut self, settings: settings::PPfc, rate: BitRate, key: HashKey) -> bool {
        (self.settings, self.rate, self.draw) = (settings, rate, Draw::new(key));
        false
    }

    /// Wakes it, because frames come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.next == Nanos::NEVER {
            self.next = self.tick_after(now);
        }
    }

    /// The ticks of all ports are at multiples of the interval, so that they draw at the same time.
    fn tick_after(&self, now: Nanos) -> Nanos {
        let interval = self.settings.interval.0;
        Nanos((now.0 / interval + 1).saturating_mul(interval))
    }

    /// Predicts (algorithm 1), and pauses the priorities that are drawn.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>, pauses: &mut PauseSender) {
        self.report.ticks += 1;
        let level = Level { at: now, held: look.shared_held.0 };
        let last = self.last.replace(level);
        if last.is_some_and(|last| self.is_full_soon(last, level, look.shared_free.0)) {
            self.report.alarms += 1;
            for priority in look.lossless.iter() {
                if let Some(time) = self.pause_for(now, priority, look)
                    && !pauses.is_paused(priority, now)
                {
                    let (priorities, cause) = (PrioritySet::EMPTY.with(priority), PauseCause::Predicted);
                    pauses.follow(Directive::PauseFor { priorities, time, cause });
                    self.report.pauses += 1;
                    self.report.longest_pause = self.report.longest_pause.max(time);
                }
            }
        } else {
            self.suspects.iter_mut().for_each(Suspect::clear);
        }
        let holds = !look.holding.intersection(look.lossless).is_empty();
        if holds {
            self.next = self.tick_after(now);
        } else {
            self.next = Nanos::NEVER;
            self.last = None;
            self.suspects.iter_mut().for_each(Suspect::clear);
        }
    }

    /// Whether `free` bytes of the pool would last less than the horizon (lines 5 and 6), if it goes on to fill as it
    /// did since `last`.
    fn is_full_soon(&self, last: Level, now: Level, free: u64) -> bool {
        let (growth, elapsed) = (now.held.saturating_sub(last.held), now.at.since(last.at));
        let wide = u128::from;
        growth > 0 && wide(free) * wide(elapsed.0) < wide(self.settings.horizon.0) * wide(growth)
    }

    /// The time for which to pause `priority` (algorithms 2 and 3); `None` if it is not drawn.
    fn pause_for(&mut self, now: Nanos, priority: Priority, look: Look<'_>) -> Option<Interval> {
        let tick = now.0 / self.settings.interval.0;
        let suspect = &mut self.suspects[priority.index()];
        let drawn = suspect.look(tick, priority, look, &self.draw, &self.settings)?;
        let bytes = Cells(drawn.part.0 + drawn.growth.0).bytes();
        Some(self.rate.serialization().time_of(WireBytes(bytes.0)))
    }
}
