//! Which lane comes first at a port.

use crate::program::{QueueSettings, Scheduling};
use units::{Priority, PrioritySet};

/// The queues of a port that may send, as far as one lane knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queues<'a> {
    /// The settings of its queues, one for each priority.
    pub settings: &'a [QueueSettings],
    /// Priorities that no pause stops.
    pub open: PrioritySet,
    /// Cells that wait on this lane, by priority.
    pub own: [u32; Priority::COUNT],
    /// Bytes by which a lane may be ahead of its share, or behind it.
    pub slack: u64,
}

/// Whether a lane yields to others at a port, and the credit that decides it between lanes with equal rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Whether another lane comes first.
    pub yields: bool,
    /// Bytes that this lane may still send of its share, in 1/65,536; below zero it had more.
    credit: i128,
    /// What this lane and the others had claimed at the last look.
    seen: (u64, u64),
}

impl Turn {
    /// Decides whether this lane comes first. `theirs` are the cells that wait on other lanes, and `claimed` the bytes that this
    /// lane and the others have claimed so far.
    ///
    /// Of strict queues, the highest in which frames wait comes first. Weighted queues, and strict ones of one priority, have
    /// shares: a lane that has a part of what waits in a queue has that part of the share of the queue, so that frames wait
    /// equally long on all lanes.
    pub fn judge(&mut self, queues: &Queues<'_>, theirs: &[u64; Priority::COUNT], claimed: (u64, u64)) {
        let (own, others) = (claimed.0.wrapping_sub(self.seen.0), claimed.1.wrapping_sub(self.seen.1));
        self.seen = claimed;
        if *theirs == [0; Priority::COUNT] {
            *self = Self { seen: claimed, ..Self::default() };
            return;
        }
        let waits = |priority: &Priority| {
            let index = priority.index();
            queues.open.contains(*priority) && u64::from(queues.own[index]) + theirs[index] > 0
        };
        let strict = |priority: &Priority| queues.settings[priority.index()].scheduling == Scheduling::Strict;
        let highest = Priority::all().filter(|it| strict(it) && waits(it)).max();
        let (mut part, mut whole, mut has_any, mut alone) = (0_u128, 0_u128, false, true);
        for priority in Priority::all().filter(waits).filter(|it| highest.is_none_or(|first| first == *it)) {
            let (own, theirs) =
                (u128::from(queues.own[priority.index()]), u128::from(theirs[priority.index()]));
            let weight = u128::from(queues.settings[priority.index()].scheduling.weight().unwrap_or(1));
            part += (weight << 16) * own / (own + theirs);
            whole += weight;
            has_any |= own > 0;
            alone &= theirs == 0;
        }
        if alone || !has_any {
            // No one to share with, or nothing to share: frames that others outrank go on with a quarter of the window.
            (self.yields, self.credit) = (!alone, 0);
            return;
        }
        let earned = part * u128::from(own + others) / whole;
        let slack = i128::from(queues.slack) << 16;
        self.credit = (self.credit + earned as i128 - (i128::from(own) << 16)).clamp(-slack, slack);
        self.yields = self.credit < 0;
    }
}
