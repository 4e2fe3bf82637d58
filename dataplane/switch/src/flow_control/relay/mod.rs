//! A relay: pauses that one port receives leave through another.
//!
//! "SWING: Providing long-range lossless RDMA via PFC-relay" (Chen et al., TPDS 2023), as far as "Bifrost" (sections
//! II-B, III-B and VI-B) and "LSCC" (section IV-C) describe it: a device at each end of a long link, beside the switch
//! of its data center, has the buffer that the link needs and passes on the pauses of that switch, which keeps the
//! thresholds of its data center. We chose the rest:
//!
//! - A priority is paused through the port exactly while a pause for it is in force at the other port. The pauses are
//!   our own, with our own time and refreshes: the time of a pause is counted in bits of its link, and a long link needs
//!   refreshes of its own. A pause that runs out ends like one that is resumed.
//! - A pause is not in force while the watchdog of the other port drops or sends frames in spite of it.
//! - The port obeys what it passes on, so frames gather in the group of this port. They are never more than arrive in a
//!   round trip of its link: frames that arrive now could have left a round trip ago. XOFF stands there, and acts only if
//!   pauses are lost.
//!
//! Pauses never return through the port that they came in by, so two relays at one link send none in a circle.

pub(crate) mod figures;
pub mod settings;

#[cfg(test)]
mod tests;

use super::look::Look;
use super::sender::{Directive, PauseCause};
use serde::{Deserialize, Serialize};
use units::{Nanos, Priority, PrioritySet};

/// Counters of a relay on one port, as plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayReport {
    /// Pauses of the other port that it began to pass on, counted per priority, not per frame.
    pub passed_on: u64,
    /// Pauses of these that expired without a resume.
    pub expired: u64,
}

/// The ends of the pauses that are in force at a port, by priority; zero where none is.
pub(crate) type PauseEnds = [Nanos; Priority::COUNT];

/// A relay on one port.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Relay {
    pub settings: settings::Relay,
    /// The pauses of the other port, as last heard.
    heard: PauseEnds,
    /// The priorities for which it pauses the upstream.
    held: PrioritySet,
    /// The end of the first pause that is passed on, or the time when the other port last changed.
    pub next: Nanos,
    pub report: RelayReport,
}

impl Relay {
    /// A relay that has heard nothing.
    pub fn new(settings: settings::Relay) -> Self {
        let heard = [Nanos::ZERO; Priority::COUNT];
        Self { settings, heard, held: PrioritySet::EMPTY, next: Nanos::NEVER, report: RelayReport::default() }
    }

    /// Applies new settings. It forgets the pauses of a port that it no longer listens to, and considers the others
    /// again at once. It never restarts, so it returns `false`.
    pub fn configure(&mut self, settings: settings::Relay) -> bool {
        if self.settings != settings {
            self.heard = [Nanos::ZERO; Priority::COUNT];
        }
        (self.settings, self.next) = (settings, Nanos::ZERO);
        false
    }

    /// Takes the pauses that are in force at the other port from `now` on.
    pub fn hear_pauses(&mut self, now: Nanos, ends: &PauseEnds) {
        (self.heard, self.next) = (*ends, now);
    }

    /// Pauses the upstream for exactly what is in force at the other port.
    pub fn on_deadline(&mut self, now: Nanos, look: Look<'_>) -> Directive {
        let until = |priority: Priority| self.heard[priority.index()];
        let in_force: PrioritySet = look.lossless.iter().filter(|it| until(*it) > now).collect();
        let ended = self.held.difference(in_force);
        let expired = ended.iter().filter(|priority| until(*priority) != Nanos::ZERO).count();
        self.report.passed_on += in_force.difference(self.held).iter().count() as u64;
        self.report.expired += expired as u64;
        self.next = in_force.iter().map(until).min().unwrap_or(Nanos::NEVER);
        self.held = in_force;
        Directive::Hold { priorities: in_force, cause: PauseCause::Relayed }
    }
}
