//! The invariants of a run. What costs little is checked after every event, sums every now and then and at
//! the end.

pub(crate) mod pause;
mod switch_sums;

use crate::engine::{Engine, Switch};
use crate::outcome::{Balance, Checks};
use crate::violation::{Broken, Pool};
use switch::program::BufferSettings;
use switch::{Program, Volume};
use units::Bytes;

/// Events between two times at which the sums of a switch are taken.
const SUMS_EVERY: u32 = 1 << 14;

/// What is known of all frames, and how often it was checked.
#[derive(Debug)]
pub(crate) struct Checker {
    pub balance: Balance,
    pub checks: Checks,
    /// Of each switch, the most that it may hold.
    capacities: Vec<Capacity>,
    until_sums: u32,
    /// The switch whose sums are taken next.
    next_switch: usize,
}

/// What a switch may hold.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    buffer: BufferSettings,
    /// Pools and reservations together.
    all: Bytes,
}

impl Capacity {
    fn of(program: &Program) -> Self {
        let settings = program.settings();
        let groups = settings.ports.iter().flat_map(|port| &port.groups);
        let reserved: Bytes = groups.filter_map(|group| group.lossless()).map(|it| it.reserved).sum();
        let buffer = settings.buffer;
        Self { buffer, all: buffer.shared + buffer.headroom + reserved }
    }
}

impl Checker {
    pub fn new(switches: &[Switch]) -> Self {
        Self {
            balance: Balance::default(),
            checks: Checks::default(),
            capacities: switches.iter().map(|switch| Capacity::of(&switch.program)).collect(),
            until_sums: SUMS_EVERY,
            next_switch: 0,
        }
    }

    /// What a switch holds, and `passing` bytes that it has let through, are not more than its buffer has; and its
    /// pools never held more.
    #[inline]
    pub fn check_buffer(&mut self, number: usize, it: &Switch, passing: Bytes) -> Result<(), Broken> {
        self.checks.buffer += 1;
        let capacity = &self.capacities[number];
        let pools = it.shard.pools();
        let levels = [
            (Pool::Shared, pools.shared.watermark.persistent(), capacity.buffer.shared),
            (Pool::Headroom, pools.headroom.watermark.persistent(), capacity.buffer.headroom),
            (Pool::EgressLossy, pools.egress_lossy.watermark.persistent(), capacity.buffer.egress_lossy),
            (Pool::All, it.held.bytes + passing, capacity.all),
        ];
        for (pool, held, limit) in levels {
            if held > limit {
                return Err(Broken::Buffer { node: it.node, pool, held, limit });
            }
        }
        Ok(())
    }
}

impl Engine {
    /// What is checked after each event: no frame has come from nowhere or gone nowhere.
    #[inline]
    pub(crate) fn check_event(&mut self) -> Result<(), Broken> {
        let checker = &mut self.checker;
        checker.checks.conservation += 1;
        let (expected, found) = (checker.balance.inside, self.pool.live());
        if expected != found {
            return Err(Broken::Conservation { expected, found });
        }
        checker.until_sums -= 1;
        if checker.until_sums == 0 { self.check_now_and_then() } else { Ok(()) }
    }

    #[cold]
    fn check_now_and_then(&mut self) -> Result<(), Broken> {
        self.checker.until_sums = SUMS_EVERY;
        if !self.switches.is_empty() {
            let switch = self.checker.next_switch % self.switches.len();
            self.checker.next_switch = switch + 1;
            self.check_switch(switch)?;
        }
        self.check_balance()
    }

    /// All that can be checked.
    pub(crate) fn check_everything(&mut self) -> Result<(), Broken> {
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

    /// What is in flight is on some link.
    fn check_links(&mut self) -> Result<(), Broken> {
        self.checker.checks.sums += 1;
        let found: Volume = self.directions.iter().map(crate::link::Direction::in_flight).sum();
        let held: Volume = self.switches.iter().map(|switch| switch.held).sum();
        let expected = self.checker.balance.inside - held;
        if expected == found { Ok(()) } else { Err(Broken::Conservation { expected, found }) }
    }

    /// Every frame that a switch has taken has a name, and none was lossless; unless the faults of its links explain
    /// it, or a watchdog, or whoever runs this wants to see it.
    #[cold]
    pub(crate) fn check_drops(&mut self, switch: usize) -> Result<(), Broken> {
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
