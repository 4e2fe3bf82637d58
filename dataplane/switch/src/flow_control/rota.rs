//! Which egress queue a port looks at, for schemes that look at one at a time.

use super::look::Look;
use serde::{Deserialize, Serialize};
use units::{Cells, PortId, PortSet, Priority};

/// Chooses the egress queue that holds most frames of a port, except for those that were short when they were looked at.
///
/// A look at one queue takes a row and a column of the ledger, whatever is inside, so a tick has one. And no one hides
/// behind frames in short queues: there are only so many of them, and each takes a tick.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rota {
    short: PortSet,
}

impl Rota {
    /// The queue to look at; `None` if the port has no frame in any.
    pub fn choose(&mut self, tick: u64, priority: Priority, look: Look<'_>) -> Option<PortId> {
        // Two ticks for each queue, so that all were looked at before one that was short is again.
        if tick.is_multiple_of(2 * (look.accounts.ledger.ports() as u64 + 1)) {
            self.short = PortSet::EMPTY;
        }
        if let Some(egress) = self.fullest(priority, look) {
            return Some(egress);
        }
        self.short = PortSet::EMPTY;
        self.fullest(priority, look)
    }

    /// Notes that a queue was short.
    pub fn was_short(&mut self, egress: PortId) {
        self.short.insert(egress);
    }

    fn fullest(&self, priority: Priority, look: Look<'_>) -> Option<PortId> {
        let ports = (0..look.accounts.ledger.ports() as u16).map(PortId);
        let others = ports.filter(|egress| !self.short.contains(*egress));
        let parts = others.map(|egress| (look.accounts.ledger.cells(look.port, egress, priority), egress));
        parts.filter(|(part, _)| *part > Cells::ZERO).max().map(|(_, egress)| egress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Ledger, Load, Volume};
    use units::{Bytes, PrioritySet};

    fn look_of(port: PortId, ledger: &Ledger) -> Look<'_> {
        Look {
            port,
            lossless: PrioritySet::ALL,
            received: &[Volume::ZERO; Priority::COUNT],
            accounts: ledger.into(),
            shared_free: Bytes::ZERO,
            shared_held: Bytes::ZERO,
            holding: PrioritySet::ALL,
        }
    }

    #[test]
    fn the_fullest_queue_comes_first_and_short_ones_take_turns_until_all_were_looked_at() {
        let (ledger, port) = (Ledger::new(4, 1), PortId(0));
        let priority = Priority::from_low_bits(3);
        let look = look_of(port, &ledger);
        let mut rota = Rota::default();
        assert_eq!(rota.choose(1, priority, look), None);
        for (egress, cells) in [(1, 5), (2, 7), (3, 6)] {
            ledger.admit(port, PortId(egress), priority, Load { cells: Cells(cells), volume: Volume::ZERO });
        }
        let mut next = |tick, is_short| {
            let egress = rota.choose(tick, priority, look);
            egress.filter(|_| is_short).into_iter().for_each(|egress| rota.was_short(egress));
            egress.map(|egress| egress.0)
        };
        let chosen = [1, 2, 3, 4].map(|tick| next(tick, true));
        assert_eq!(chosen, [Some(2), Some(3), Some(1), Some(2)]);
        assert_eq!([5, 6].map(|tick| next(tick, false)), [Some(3), Some(3)], "it is looked at on");
        assert_eq!(next(10, false), Some(2), "it may have grown");
    }

    #[test]
    fn a_long_queue_is_looked_at_however_many_short_ones_hold_more() {
        let (ledger, port) = (Ledger::new(64, 1), PortId(0));
        let priority = Priority::from_low_bits(3);
        let look = look_of(port, &ledger);
        for egress in 1..64 {
            let cells = Cells(if egress == 9 { 1 } else { 2 });
            ledger.admit(port, PortId(egress), priority, Load { cells, volume: Volume::ZERO });
        }
        for begin in [1, 40, 129, 130] {
            let mut rota = Rota::default();
            let looked = (begin..begin + 2 * 65).filter(|tick| {
                let egress = rota.choose(*tick, priority, look).unwrap();
                rota.was_short(egress);
                egress == PortId(9)
            });
            assert!(looked.count() > 0, "from tick {begin} on");
        }
    }
}
