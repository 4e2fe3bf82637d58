//! The pools that all groups and queues share.

use crate::ledger::PoolUse;
use crate::program::BufferSettings;
use crate::watermark::Watermark;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Watermarks of the pools: the part that one shard holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolWatermarks {
    /// Shared part of the ingress pool.
    pub shared: Watermark,
    /// Headroom pool.
    pub headroom: Watermark,
    /// Egress pool of lossy queues.
    pub egress_lossy: Watermark,
}

/// One shard's view of the pools: their sizes, its own use, and the use by the others at its last look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pools {
    shared: u64,
    headroom: u64,
    egress_lossy: u64,
    /// Whether memory for received frames runs low. Then lossless groups stay paused, and lossy frames are dropped.
    pub memory_low: bool,
    pub held: PoolUse,
    pub others: PoolUse,
    pub watermarks: PoolWatermarks,
}

impl Pools {
    pub fn new(settings: &BufferSettings) -> Self {
        Self {
            shared: settings.shared.0,
            headroom: settings.headroom.0,
            egress_lossy: settings.egress_lossy.0,
            memory_low: false,
            held: PoolUse::default(),
            others: PoolUse::default(),
            watermarks: PoolWatermarks::default(),
        }
    }

    /// Applies new sizes; charges stay.
    pub fn configure(&mut self, settings: &BufferSettings) {
        self.shared = settings.shared.0;
        self.headroom = settings.headroom.0;
        self.egress_lossy = settings.egress_lossy.0;
    }

    /// Bytes of the shared part that all shards hold.
    #[inline]
    pub fn shared_held(&self) -> u64 {
        self.held.shared.0 + self.others.shared.0
    }

    /// Bytes of the shared part, whoever holds them.
    pub fn shared_size(&self) -> u64 {
        self.shared
    }

    #[inline]
    pub fn shared_free(&self) -> u64 {
        self.shared.saturating_sub(self.shared_held())
    }

    /// Whether no shard holds any of the ingress pools.
    pub fn are_empty(&self) -> bool {
        let held = self.held.shared + self.others.shared + self.held.headroom + self.others.headroom;
        held == Bytes::ZERO
    }

    #[inline]
    pub fn headroom_free(&self) -> u64 {
        self.headroom.saturating_sub(self.held.headroom.0 + self.others.headroom.0)
    }

    #[inline]
    pub fn egress_lossy_free(&self) -> u64 {
        self.egress_lossy.saturating_sub(self.held.egress_lossy.0 + self.others.egress_lossy.0)
    }

    #[inline]
    pub fn take_shared(&mut self, bytes: u64) {
        self.held.shared += Bytes(bytes);
        self.watermarks.shared.note(self.held.shared.0);
    }

    #[inline]
    pub fn take_headroom(&mut self, bytes: u64) {
        self.held.headroom += Bytes(bytes);
        self.watermarks.headroom.note(self.held.headroom.0);
    }

    #[inline]
    pub fn take_egress_lossy(&mut self, bytes: u64) {
        self.held.egress_lossy += Bytes(bytes);
        self.watermarks.egress_lossy.note(self.held.egress_lossy.0);
    }

    /// Restarts the cleared watermarks at the present levels.
    pub fn clear_watermarks(&mut self) {
        self.watermarks.shared.clear(self.held.shared.0);
        self.watermarks.headroom.clear(self.held.headroom.0);
        self.watermarks.egress_lossy.clear(self.held.egress_lossy.0);
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
        [pools.shared_free(), pools.headroom_free(), pools.egress_lossy_free()]
    }

    #[test]
    fn what_all_shards_hold_is_not_free() {
        let mut pools = Pools::new(&SIZE);
        assert_eq!(free(&pools), [1_000, 500, 700]);
        pools.take_shared(300);
        pools.take_headroom(200);
        pools.take_egress_lossy(100);
        assert_eq!(free(&pools), [700, 300, 600]);
        pools.others = PoolUse { shared: Bytes(50), headroom: Bytes(40), egress_lossy: Bytes(30) };
        assert_eq!(free(&pools), [650, 260, 570]);
        pools.configure(&BufferSettings { shared: Bytes(2_000), headroom: Bytes(100), ..SIZE });
        assert_eq!(free(&pools), [1_650, 0, 570], "what is held stays, and may be more than there is");
    }

    #[test]
    fn the_ingress_pools_are_empty_where_no_shard_holds_any_of_them() {
        let mut pools = Pools::new(&SIZE);
        pools.take_egress_lossy(1);
        assert!(pools.are_empty());
        let one = Bytes(1);
        for holds in [
            |pools: &mut Pools, one| pools.held.shared = one,
            |pools: &mut Pools, one| pools.held.headroom = one,
            |pools: &mut Pools, one| pools.others.shared = one,
            |pools: &mut Pools, one| pools.others.headroom = one,
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
        pools.take_shared(300);
        pools.take_headroom(200);
        pools.take_egress_lossy(100);
        let marks = |pools: &Pools| {
            let marks = &pools.watermarks;
            [marks.shared, marks.headroom, marks.egress_lossy].map(|mark| mark.since_cleared().0)
        };
        pools.held = PoolUse { shared: Bytes(3), headroom: Bytes(2), egress_lossy: Bytes(1) };
        assert_eq!(marks(&pools), [300, 200, 100]);
        pools.clear_watermarks();
        assert_eq!(marks(&pools), [3, 2, 1]);
    }
}
