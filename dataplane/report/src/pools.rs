//! The buffer.

use serde::{Deserialize, Serialize};
use switch::PoolLevel;
use switch::program::BufferSettings;
use units::Bytes;

/// The pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolsReport {
    /// Shared part of the ingress pool.
    pub shared: PoolReport,
    /// Headroom pool.
    pub headroom: PoolReport,
    /// Egress pool of lossy queues.
    pub egress_lossy: PoolReport,
}

/// One pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolReport {
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The bytes that are held.
    pub held_bytes: u64,
    /// The most that was held.
    pub watermark_bytes: u64,
}

impl PoolsReport {
    /// The pools with the sizes of `buffer`. Each of `held` is what one shard holds of them; where there
    /// are several, their watermarks are of different instants, and the sum is never below the truth.
    pub fn new<'a>(buffer: &BufferSettings, held: impl IntoIterator<Item = &'a switch::PoolReport>) -> Self {
        let empty = |size: Bytes| PoolReport { size_bytes: size.0, held_bytes: 0, watermark_bytes: 0 };
        let mut pools = Self {
            shared: empty(buffer.shared),
            headroom: empty(buffer.headroom),
            egress_lossy: empty(buffer.egress_lossy),
        };
        for shard in held {
            pools.shared.add(&shard.shared);
            pools.headroom.add(&shard.headroom);
            pools.egress_lossy.add(&shard.egress_lossy);
        }
        pools
    }
}

impl PoolReport {
    fn add(&mut self, level: &PoolLevel) {
        self.held_bytes += level.held.0;
        self.watermark_bytes += level.watermark.persistent().0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_shards_hold_is_added_up_within_one_size() {
        let buffer = BufferSettings {
            shared: Bytes(100),
            headroom: Bytes(50),
            egress_lossy: Bytes(70),
            packing: None,
        };
        let holding = |held| switch::PoolReport {
            shared: PoolLevel { held: Bytes(held), ..Default::default() },
            ..Default::default()
        };
        let pools = PoolsReport::new(&buffer, &[holding(30), holding(4)]);
        assert_eq!(pools.shared, PoolReport { size_bytes: 100, held_bytes: 34, watermark_bytes: 0 });
        assert_eq!(pools.headroom, PoolReport { size_bytes: 50, held_bytes: 0, watermark_bytes: 0 });
    }
}
