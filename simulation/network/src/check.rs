//! The invariants of a run. Cheap ones are checked after every event, sums at intervals and at the end.

pub(crate) mod pause;
pub(crate) mod switch_sums;

use crate::nodes::Switch;
use crate::outcome::{Balance, Checks};
use crate::violation::{Broken, Pool};
use switch::Shard;
use switch::lanes::beyond_pools;
use switch::program::BufferSettings;
use units::Bytes;

/// The balance of all frames, and the number of checks.
#[derive(Debug)]
pub(crate) struct Checker {
    pub balance: Balance,
    pub checks: Checks,
    /// The capacity of each switch.
    capacities: Vec<Capacity>,
}

/// The most that a switch may hold.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    buffer: BufferSettings,
    /// Pools and reservations together.
    all: Bytes,
}

impl Capacity {
    fn of(switch: &Switch) -> Self {
        let (settings, lanes) = (switch.program.settings(), switch.driver.lanes().len() as u64);
        let groups = settings.ports.iter().flat_map(|port| &port.groups);
        let reserved: Bytes = groups.filter_map(|group| group.lossless()).map(|it| it.reserved).sum();
        // Of each group, lanes do not see of each other what is reserved and what is in pools; of each port, what is lossy.
        let beyond = settings.ports.iter().map(|port| {
            let groups = port.lossless().iter().count() as u64;
            Bytes(beyond_pools(lanes, port.max_frame).0 * (2 * groups + 1))
        });
        let buffer = settings.buffer;
        Self { buffer, all: buffer.shared + buffer.headroom + reserved + beyond.sum() }
    }
}

impl Checker {
    pub fn new(switches: &[Switch]) -> Self {
        Self {
            balance: Balance::default(),
            checks: Checks::default(),
            capacities: switches.iter().map(Capacity::of).collect(),
        }
    }

    /// Checks that a switch holds no more than its buffer, together with `passing` bytes that left in the
    /// same call.
    #[inline]
    pub fn check_buffer(&mut self, number: usize, it: &Switch, passing: Bytes) -> Result<(), Broken> {
        self.checks.buffer += 1;
        let (held, limit) = (it.held.bytes + passing, self.capacities[number].all);
        if held > limit {
            return Err(Broken::Buffer { node: it.node, pool: Pool::All, held, limit });
        }
        Ok(())
    }

    /// Checks that no lane of a switch ever held more of its pools than their sizes.
    #[inline]
    pub fn check_pools(&self, number: usize, it: &Switch) -> Result<(), Broken> {
        let capacity = &self.capacities[number];
        for pools in it.driver.lanes().iter().map(Shard::pools) {
            let levels = [
                (Pool::Shared, pools.shared.watermark.persistent(), capacity.buffer.shared),
                (Pool::Headroom, pools.headroom.watermark.persistent(), capacity.buffer.headroom),
                (Pool::EgressLossy, pools.egress_lossy.watermark.persistent(), capacity.buffer.egress_lossy),
            ];
            for (pool, held, limit) in levels {
                if held > limit {
                    return Err(Broken::Buffer { node: it.node, pool, held, limit });
                }
            }
        }
        Ok(())
    }
}
