//! The pools that all groups and queues share.

use crate::ledger::PoolUse;
use crate::program::BufferSettings;
use crate::watermark::Watermark;
use units::Bytes;

/// Watermarks of the pools, as far as one shard holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PoolWatermarks {
    /// Shared part of the ingress pool.
    pub shared: Watermark,
    /// Headroom pool.
    pub headroom: Watermark,
    /// Egress pool of lossy queues.
    pub egress_lossy: Watermark,
}

/// One shard's view: the sizes, what it holds itself, and what the others held when it last
/// looked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pools {
    shared: u64,
    headroom: u64,
    egress_lossy: u64,
    /// Whether memory for received frames runs low: then lossless groups stay paused, and lossy frames are refused.
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

    /// New sizes; what is held stays.
    pub fn configure(&mut self, settings: &BufferSettings) {
        self.shared = settings.shared.0;
        self.headroom = settings.headroom.0;
        self.egress_lossy = settings.egress_lossy.0;
    }

    #[inline]
    pub fn shared_free(&self) -> u64 {
        self.shared.saturating_sub(self.held.shared.0 + self.others.shared.0)
    }

    /// Whether nobody holds any of the ingress pools.
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

    /// Starts the cleared watermarks again from the present levels.
    pub fn clear_watermarks(&mut self) {
        self.watermarks.shared.clear(self.held.shared.0);
        self.watermarks.headroom.clear(self.held.headroom.0);
        self.watermarks.egress_lossy.clear(self.held.egress_lossy.0);
    }
}
