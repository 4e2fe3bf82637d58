//! The invariants of a run. Cheap ones are checked after every event, sums at intervals and at the end.

pub(crate) mod pause;
pub(crate) mod switch_sums;

use crate::nodes::Switch;
use crate::outcome::{Balance, Checks};
use crate::violation::{Broken, Pool};
use switch::Program;
use switch::program::BufferSettings;
use units::Bytes;

/// Events between two checks of the sums of a switch.
const SUMS_EVERY: u32 = 1 << 14;

/// The balance of all frames, and the number of checks.
#[derive(Debug)]
pub(crate) struct Checker {
    pub balance: Balance,
    pub checks: Checks,
    /// The capacity of each switch.
    capacities: Vec<Capacity>,
    until_sums: u32,
    /// The switch whose sums are taken next.
    next_switch: usize,
}

/// The most that a switch may hold.
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

    /// Counts an event; returns whether the sums of a switch are due.
    #[inline]
    pub fn sums_are_due(&mut self) -> bool {
        self.until_sums -= 1;
        self.until_sums == 0
    }

    /// The switch, one of `switches`, whose sums are checked now; `None` without switches. Restarts the count
    /// of events.
    pub fn switch_in_turn(&mut self, switches: usize) -> Option<usize> {
        self.until_sums = SUMS_EVERY;
        let switch = self.next_switch.checked_rem(switches)?;
        self.next_switch = switch + 1;
        Some(switch)
    }

    /// Checks that a switch holds no more than its buffer, together with `passing` bytes that left in the
    /// same call, and that its pools never held more than their sizes.
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
