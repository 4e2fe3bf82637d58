//! What is checked after events, every now and then, and at the end.

use super::Engine;
use crate::check::switch_sums;
use crate::link::Direction;
use crate::violation::Broken;
use switch::Volume;

impl Engine {
    /// What is checked after each event: no frame has come from nowhere or gone nowhere.
    #[inline]
    pub(super) fn check_event(&mut self) -> Result<(), Broken> {
        self.events += 1;
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

    /// All that can be checked.
    pub(super) fn check_everything(&mut self) -> Result<(), Broken> {
        (0..self.switches.len()).try_for_each(|switch| self.check_switch(switch))?;
        self.check_balance()?;
        self.check_links()
    }

    /// What came in is what went out and what is still there.
    fn check_balance(&mut self) -> Result<(), Broken> {
        let balance = self.checker.balance;
        let (expected, found) = (balance.credit(), balance.debit());
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// All frames inside are on some link or in some switch.
    fn check_links(&mut self) -> Result<(), Broken> {
        self.checker.checks.sums += 1;
        let found: Volume = self.directions.iter().map(Direction::in_flight).sum();
        let held: Volume = self.switches.iter().map(|switch| switch.held).sum();
        let (expected, found) = (self.checker.balance.inside, found + held);
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// Every frame that a switch has taken has a name, and none was lossless; unless the faults of its links explain
    /// it, or a watchdog, or whoever runs this wants to see it.
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

    /// What a switch holds is what came in and did not leave, by its ledger, its queues and its groups.
    fn check_switch(&mut self, switch: usize) -> Result<(), Broken> {
        self.checker.checks.ledger += 1;
        switch_sums::check_ledger(&self.switches[switch], self.now)?;
        switch_sums::check_deadlines(&self.switches[switch])?;
        self.check_drops(switch)
    }
}
