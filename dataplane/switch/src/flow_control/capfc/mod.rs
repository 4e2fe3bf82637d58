//! CaPFC: pauses for the ports that hold more than their share of a congested egress queue.
//!
//! "Congestion aware priority flow control in data center networks" (Avci, Li and Liu, IFIP Networking 2016), as far as
//! "P-PFC" describes it in public (sections 2.3, 5.6 and 7): a switch has counters per input at each egress queue, the
//! egress queue has a threshold WARN, and a fixed threshold on the counters pauses the input. We chose the rest:
//!
//! - The threshold of an input is its share of WARN: WARN by the number of inputs with frames in the queue.
//! - An input is paused while the queue is above WARN and its own frames are above its share, and resumed as soon as
//!   either is not so. The pause is as long as a frame can ask for, is refreshed, and ends by one of zero.
//! - The counters are the matrix of the ledger, which a port reads at each tick while it has frames inside. It looks at
//!   one egress queue for each priority at a tick: that for which it is paused, or the next of a `Rota`.
//!
//! Counters are in cells, the unit of the buffer.

pub(crate) mod figures;
pub mod settings;

#[cfg(test)]
mod tests;

use super::look::Look;
use super::rota::Rota;
use super::sender::{Directive, PauseCause, PauseSender};
use serde::{Deserialize, Serialize};
use units::{BitRate, Cells, Interval, Nanos, PauseQuanta, PortId, Priority, PrioritySet};

/// Counters of CaPFC on one port, as plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaPfcReport {
    /// Ticks. A port without frames inside has none.
    pub ticks: u64,
    /// Times at which an egress queue above WARN began to pause the upstream.
    pub warnings: u64,
}

/// An egress queue of one priority.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Watch {
    rota: Rota,
    /// The queue for which the upstream is paused.
    congested: Option<PortId>,
}

/// CaPFC on one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CaPfc {
    settings: settings::CaPfc,
    /// The longest pause that a frame can ask for.
    pause: Interval,
    /// The next tick; never while nothing is inside.
    pub next: Nanos,
    watches: [Watch; Priority::COUNT],
    pub report: CaPfcReport,
}

impl CaPfc {
    /// CaPFC at rest, on a port of `rate`.
    pub fn new(settings: settings::CaPfc, rate: BitRate) -> Self {
        let pause = PauseQuanta::MAX.interval_at(rate);
        Self {
            settings,
            pause,
            next: Nanos::NEVER,
            watches: Default::default(),
            report: CaPfcReport::default(),
        }
    }

    /// Applies new settings, from the next tick on. It never restarts, so it returns `false`.
    pub fn configure(&mut self, settings: settings::CaPfc, rate: BitRate) -> bool {
        (self.settings, self.pause) = (settings, PauseQuanta::MAX.interval_at(rate));
        false
    }

    /// Wakes it, because frames come in at `now`.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.next == Nanos::NEVER {
            self.next = now + self.settings.interval;
        }
    }

    /// Pauses and resumes the upstream.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>, pauses: &mut PauseSender) {
        self.report.ticks += 1;
        for priority in Priority::all() {
            let watch = &mut self.watches[priority.index()];
            let was_congested = watch.congested.is_some();
            if !was_congested && !look.holding.contains(priority) {
                continue;
            }
            if !look.lossless.contains(priority) {
                // A reload made it lossy: its pause ends.
                watch.congested = None;
            }
            let is_congested = look.lossless.contains(priority)
                && watch.is_congested(self.report.ticks, self.settings.warn, priority, look);
            self.report.warnings += u64::from(is_congested && !was_congested);
            let time = match (is_congested, was_congested) {
                // A threshold pauses it until further notice.
                (true, _) if pauses.paused().contains(priority) => continue,
                // Half of the time leaves room for a late or lost frame.
                (true, _) if pauses.paused_until(priority) < now + Interval(self.pause.0 / 2) => self.pause,
                (false, true) => Interval::ZERO,
                _ => continue,
            };
            let (priorities, cause) = (PrioritySet::EMPTY.with(priority), PauseCause::EgressWarning);
            pauses.follow(Directive::PauseFor { priorities, time, cause });
        }
        let holds = !look.holding.intersection(look.lossless).is_empty();
        self.next = if holds { now + self.settings.interval } else { Nanos::NEVER };
    }
}

impl Watch {
    /// Whether the port holds more than its share of a queue above `warn`.
    fn is_congested(&mut self, tick: u64, warn: units::Bytes, priority: Priority, look: Look<'_>) -> bool {
        let chosen = self.congested.take().or_else(|| self.rota.choose(tick, priority, look));
        let Some(egress) = chosen else { return false };
        let ports = (0..look.accounts.ledger.ports() as u16).map(PortId);
        let parts = ports.map(|ingress| look.accounts.ledger.cells(ingress, egress, priority));
        let (queue, inputs) = parts
            .filter(|part| *part > Cells::ZERO)
            .fold((Cells::ZERO, 0), |sum, part| (sum.0 + part, sum.1 + 1));
        let own = look.accounts.ledger.cells(look.port, egress, priority).bytes();
        if queue.bytes() > warn && own.0 * inputs > warn.0 {
            self.congested = Some(egress);
        } else {
            self.rota.was_short(egress);
        }
        self.congested.is_some()
    }
}
