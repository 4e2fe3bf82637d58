//! When announcements leave (the transmit timers of IEEE 802.1AB-2016 clause 9.2.10, simplified): one at the start, one for each
//! interval, a few in haste for a new neighbour, one after a change. No two leave within [`FAST`], so no credit is counted.

use serde::{Deserialize, Serialize};
use units::{Interval, Nanos};

/// The time between two announcements in haste (`msgFastTx`), and the least one between any two.
pub(super) const FAST: Interval = Interval::from_secs(1);
/// How many announcements leave in haste (`txFastInit`).
pub(super) const IN_HASTE: u8 = 4;

/// The timers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Announcer {
    /// When the next announcement is due.
    pub due: Nanos,
    /// The earliest time of the next one.
    earliest: Nanos,
    /// Announcements that are still to leave in haste.
    in_haste: u8,
    /// Whether the next one is the last, or that has left.
    pub ends: bool,
}

impl Announcer {
    /// Notes that one left at `now`.
    pub fn sent(&mut self, now: Nanos, interval: Interval) {
        if self.ends {
            self.due = Nanos::NEVER;
            return;
        }
        self.in_haste = self.in_haste.saturating_sub(1);
        self.earliest = now + FAST;
        self.due = now + if self.in_haste > 0 { FAST } else { interval };
    }

    /// Announces a few times in haste: someone is new here.
    pub fn hurry(&mut self) {
        if self.in_haste == 0 {
            self.in_haste = IN_HASTE;
            self.announce_soon();
        }
    }

    /// Announces as soon as it may.
    pub fn announce_soon(&mut self) {
        if !self.ends {
            self.due = self.due.min(self.earliest);
        }
    }

    /// Announces once more, at once, and never again.
    pub fn end(&mut self) {
        if !core::mem::replace(&mut self.ends, true) {
            self.due = Nanos::ZERO;
        }
    }
}
