//! The checks after each event, at intervals, and at the end.

use super::Engine;
use crate::check::switch_sums;
use crate::link::Direction;
use crate::violation::Broken;
use switch::Volume;

impl Engine {
    /// Checks after each event that the frames and bytes in existence are those of the balance.
    #[inline]
    pub(super) fn check_event(&mut self) -> Result<(), Broken> {
        self.events += 1;
        self.until_progress = self.until_progress.saturating_sub(1);
        let checker = &mut self.checker;
        checker.checks.conservation += 1;
        let (expected, found) = (checker.balance.inside, self.pool.live());
        if expected != found {
            return Err(Broken::Conservation { expected, found });
        }
        if checker.sums_are_due() { self.check_now_and_then() } else { Ok(()) }
    }

    #[cold]
    fn check_now_and_then(&mut self) -> Result<(), Broken> {
        if let Some(switch) = self.checker.switch_in_turn(self.switches.len()) {
            self.check_switch(switch)?;
        }
        self.check_balance()
    }

    /// Runs all checks.
    pub(super) fn check_everything(&mut self) -> Result<(), Broken> {
        (0..self.switches.len()).try_for_each(|switch| self.check_switch(switch))?;
        self.check_balance()?;
        self.check_links()
    }

    /// Checks that all frames that came in have gone out or are still inside.
    fn check_balance(&mut self) -> Result<(), Broken> {
        let balance = self.checker.balance;
        let (expected, found) = (balance.credit(), balance.debit());
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// Checks that all frames inside are on links or in switches.
    fn check_links(&mut self) -> Result<(), Broken> {
        self.checker.checks.sums += 1;
        let found: Volume = self.directions.iter().map(Direction::in_flight).sum();
        let held: Volume = self.switches.iter().map(|switch| switch.held).sum();
        let (expected, found) = (self.checker.balance.inside, found + held);
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// Checks that the counters of a switch name every frame that it has taken, and that no lossless frame is
    /// among them, unless the PFC watchdog or faults of its links explain the drop, or the options tolerate
    /// it.
    #[cold]
    pub(super) fn check_drops(&mut self, switch: usize) -> Result<(), Broken> {
        self.checker.checks.drops += 1;
        let it = &self.switches[switch];
        let named = switch_sums::named(it);
        if it.taken != named {
            return Err(Broken::UnnamedDrop { node: it.node, taken: it.taken, named });
        }
        if self.options.tolerate_loss {
            return Ok(());
        }
        match switch_sums::lossless_drop(it) {
            None => Ok(()),
            Some((port, priority, reason)) => {
                Err(Broken::LosslessDrop { node: it.node, port, priority, reason })
            }
        }
    }

    /// Checks that a switch holds the frames that came in and did not leave, by its ledger, queues and
    /// groups.
    fn check_switch(&mut self, switch: usize) -> Result<(), Broken> {
        self.checker.checks.ledger += 1;
        switch_sums::check_ledger(&self.switches[switch], self.now)?;
        switch_sums::check_deadlines(&self.switches[switch])?;
        self.check_drops(switch)
    }
}
