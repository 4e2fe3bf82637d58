//! What events tell of repair.

use serde::{Deserialize, Serialize};

units::named! {
    /// Why repair of a link was lost.
    RepairLoss [serde] {
        /// The other end was silent for too long.
        Silence = "silence",
        /// The other end began anew.
        NewSession = "new_session",
    }
}

/// A change of the repair of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RepairChange {
    /// Both ends have met: from now on frames are numbered and kept.
    Met,
    /// From now on frames leave as they are.
    Lost {
        /// The reason.
        cause: RepairLoss,
        /// Frames that were kept and are given up.
        abandoned: u64,
    },
}

/// What leads to a [`RepairChange`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Standing {
    pub is_up: bool,
    pub sessions: u64,
    pub outages: u64,
    /// All frames that were given up.
    pub abandoned: u64,
}

impl Standing {
    /// Takes the standing of `now`. Returns what has changed, in its order.
    pub fn follow(&mut self, now: Self) -> impl Iterator<Item = RepairChange> + use<> {
        let before = core::mem::replace(self, now);
        let goes_on = (now.sessions, now.outages) == (before.sessions, before.outages);
        let cause = if now.outages > before.outages { RepairLoss::Silence } else { RepairLoss::NewSession };
        let abandoned = now.abandoned.saturating_sub(before.abandoned);
        let is_lost = before.is_up && !goes_on;
        let has_met = now.is_up && !(before.is_up && goes_on);
        if !is_lost {
            // They may be given up before a new session counts.
            self.abandoned = before.abandoned;
        }
        let lost = is_lost.then_some(RepairChange::Lost { cause, abandoned });
        lost.into_iter().chain(has_met.then_some(RepairChange::Met))
    }
}
