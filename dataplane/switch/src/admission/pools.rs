//! The pools that all groups and queues share.

use crate::ledger::PoolUse;
use crate::program::BufferSettings;
use crate::watermark::Watermark;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// One shard's view of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub size: u64,
    /// The bytes that this shard holds; `watermark` is the most of them.
    pub held: Bytes,
    pub watermark: Watermark,
    /// The bytes that the other shards held when this one last looked.
    pub others: Bytes,
}

impl Pool {
    /// Bytes that all shards hold.
    #[inline]
    pub fn held_by_all(&self) -> u64 {
        self.held.0 + self.others.0
    }

    #[inline]
    pub fn free(&self) -> u64 {
        self.size.saturating_sub(self.held_by_all())
    }

    #[inline]
    pub fn take(&mut self, bytes: u64) {
        self.held += Bytes(bytes);
        self.watermark.note(self.held.0);
    }
}

/// One shard's view of the pools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pools {
    /// Shared part of the ingress pool.
    pub shared: Pool,
    pub headroom: Pool,
    /// Egress pool of lossy queues.
    pub egress_lossy: Pool,
    /// Whether memory for received frames runs low. Then lossless groups stay paused, and lossy frames are dropped.
    pub memory_low: bool,
}

impl Pools {
    pub fn new(settings: &BufferSettings) -> Self {
        let mut pools = Self::default();
        pools.configure(settings);
        pools
    }

    /// Applies new sizes; charges stay.
    pub fn configure(&mut self, settings: &BufferSettings) {
        self.shared.size = settings.shared.0;
        self.headroom.size = settings.headroom.0;
        self.egress_lossy.size = settings.egress_lossy.0;
    }

    /// Whether no shard holds any of the ingress pools.
    pub fn are_empty(&self) -> bool {
        self.shared.held_by_all() + self.headroom.held_by_all() == 0
    }

    /// The bytes that this shard holds.
    #[inline]
    pub fn held(&self) -> PoolUse {
        let Self { shared, headroom, egress_lossy, .. } = self;
        PoolUse { shared: shared.held, headroom: headroom.held, egress_lossy: egress_lossy.held }
    }

    /// Notes what the other shards hold.
    #[inline]
    pub fn note_others(&mut self, others: PoolUse) {
        self.shared.others = others.shared;
        self.headroom.others = others.headroom;
        self.egress_lossy.others = others.egress_lossy;
    }

    /// Restarts the cleared watermarks at the present levels.
    pub fn clear_watermarks(&mut self) {
        for pool in [&mut self.shared, &mut self.headroom, &mut self.egress_lossy] {
            pool.watermark.clear(pool.held.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: BufferSettings = BufferSettings {
        shared: Bytes(1_000),
        headroom: Bytes(500),
        egress_lossy: Bytes(700),
        packing: None,
    };

    fn free(pools: &Pools) -> [u64; 3] {
        [pools.shared.free(), pools.headroom.free(), pools.egress_lossy.free()]
    }

    #[test]
    fn what_all_shards_hold_is_not_free() {
        let mut pools = Pools::new(&SIZE);
        assert_eq!(free(&pools), [1_000, 500, 700]);
        pools.shared.take(300);
        pools.headroom.take(200);
        pools.egress_lossy.take(100);
        assert_eq!(free(&pools), [700, 300, 600]);
        pools.note_others(PoolUse { shared: Bytes(50), headroom: Bytes(40), egress_lossy: Bytes(30) });
        assert_eq!(free(&pools), [650, 260, 570]);
        pools.configure(&BufferSettings { shared: Bytes(2_000), headroom: Bytes(100), ..SIZE });
        assert_eq!(free(&pools), [1_650, 0, 570], "what is held stays, and may be more than there is");
    }

    #[test]
    fn the_ingress_pools_are_empty_where_no_shard_holds_any_of_them() {
        let mut pools = Pools::new(&SIZE);
        pools.egress_lossy.take(1);
        assert!(pools.are_empty());
        let one = Bytes(1);
        for holds in [
            |pools: &mut Pools, one| pools.shared.held = one,
            |pools: &mut Pools, one| pools.headroom.held = one,
            |pools: &mut Pools, one| pools.shared.others = one,
            |pools: &mut Pools, one| pools.headroom.others = one,
        ] {
            holds(&mut pools, one);
            assert!(!pools.are_empty());
            holds(&mut pools, Bytes::ZERO);
        }
        assert!(pools.are_empty());
    }

    #[test]
    fn watermarks_are_the_highest_level_since_they_were_cleared() {
        let mut pools = Pools::new(&SIZE);
        pools.shared.take(300);
        pools.headroom.take(200);
        pools.egress_lossy.take(100);
        let marks = |pools: &Pools| {
            let each = [&pools.shared, &pools.headroom, &pools.egress_lossy];
            each.map(|pool| pool.watermark.since_cleared().0)
        };
        (pools.shared.held, pools.headroom.held, pools.egress_lossy.held) = (Bytes(3), Bytes(2), Bytes(1));
        assert_eq!(marks(&pools), [300, 200, 100]);
        pools.clear_watermarks();
        assert_eq!(marks(&pools), [3, 2, 1]);
    }
}
