//! The checks after each event, at intervals, and at the end.

use super::part::Part;
use super::{Engine, SUMS_EVERY};
use crate::check::switch_sums;
use crate::link::Direction;
use crate::nodes::Place;
use crate::outcome::Balance;
use crate::violation::Broken;
use switch::Volume;

impl Engine {
    /// Checks the sums of one switch for each [`SUMS_EVERY`] events.
    pub(super) fn check_sums(&mut self) -> Result<(), Broken> {
        while self.events() >= self.sums_at {
            self.sums_at += SUMS_EVERY;
            self.check_now_and_then()?;
        }
        Ok(())
    }

    #[cold]
    fn check_now_and_then(&mut self) -> Result<(), Broken> {
        let switches = self.switches().count();
        if let Some(number) = self.next_switch.checked_rem(switches) {
            self.next_switch = number + 1;
            self.check_switch(number)?;
        }
        self.check_balance()
    }

    /// Checks a switch, by its number among all switches.
    fn check_switch(&mut self, number: usize) -> Result<(), Broken> {
        let node = self.switches().nth(number).map(|switch| switch.node);
        let Some(node) = node.map(|node| node.0 as usize) else { return Ok(()) };
        let part = &mut self.parts[self.homes[node]];
        let Place::Switch(switch) = part.places[node] else { return Ok(()) };
        part.check_switch(switch)
    }

    /// Runs all checks.
    pub(super) fn check_everything(&mut self) -> Result<(), Broken> {
        for part in &mut self.parts {
            part.now = self.now;
        }
        (0..self.switches().count()).try_for_each(|switch| self.check_switch(switch))?;
        self.check_balance()?;
        self.check_links()
    }

    /// The balance of the whole network.
    pub(super) fn balance(&self) -> Balance {
        self.parts.iter().map(|part| part.checker.balance).sum()
    }

    /// Checks that all frames that came in have gone out or are still inside.
    fn check_balance(&self) -> Result<(), Broken> {
        let balance = self.balance();
        let (expected, found) = (balance.credit(), balance.debit());
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// Checks that all frames inside are on links or in switches.
    fn check_links(&mut self) -> Result<(), Broken> {
        self.parts[0].checker.checks.sums += 1;
        let found = self.parts.iter().map(Part::found_inside).sum();
        let expected = self.balance().inside;
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }
}

impl Part {
    /// Checks after an event that the frames and bytes in existence are those of the balance.
    #[inline]
    pub(super) fn check_event(&mut self) -> Result<(), Broken> {
        self.note_event();
        self.check_existence()
    }

    /// Counts an event of a switch. [`Part::call`] has compared the frames and bytes in existence with those of the
    /// balance.
    #[inline]
    pub(super) fn note_event(&mut self) {
        self.events += 1;
        self.checker.checks.conservation += 1;
    }

    /// Checks that the frames and bytes in existence are those of the balance.
    #[inline]
    pub(super) fn check_existence(&self) -> Result<(), Broken> {
        let (expected, found) = (self.checker.balance.inside, self.pool.live());
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// The frames on links and in switches of this part, counted one by one.
    pub(super) fn found_inside(&self) -> Volume {
        let found: Volume = self.directions.iter().map(Direction::in_flight).sum();
        let held: Volume = self.switches.iter().map(|switch| switch.held).sum();
        found + held
    }

    /// Checks that the counters of a switch name every frame that it has taken, and that no lossless frame is
    /// among them, unless the PFC watchdog or faults of its links explain the drop, or the options tolerate
    /// it.
    #[cold]
    pub(super) fn check_drops(&mut self, switch: usize) -> Result<(), Broken> {
        self.checker.checks.drops += 1;
        let it = &self.switches[switch];
        let named = switch_sums::named(it);
        if it.taken != named && !it.may_await_lead(named) {
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
    pub(super) fn check_switch(&mut self, switch: usize) -> Result<(), Broken> {
        self.checker.checks.ledger += 1;
        switch_sums::check_ledger(&self.switches[switch], self.now)?;
        switch_sums::check_deadlines(&self.switches[switch])?;
        self.check_drops(switch)
    }
}
