//! Egress admission of lossy frames: what the lossy frames of one queue hold.

use super::Pools;
use crate::program::{LossyQueue, Threshold};
use crate::reason::DropReason;
use units::Bytes;

/// The account of the lossy frames in one egress queue.
#[derive(Debug)]
pub(crate) struct LossyAccount {
    settings: LossyQueue,
    reserved: u64,
    shared: u64,
}

impl LossyAccount {
    pub fn new(settings: LossyQueue) -> Self {
        Self { settings, reserved: 0, shared: 0 }
    }

    /// New settings; what is held stays.
    pub fn configure(&mut self, settings: LossyQueue) {
        self.settings = settings;
    }

    /// Charges a frame of `length` bytes, or says why it may not enter.
    #[inline]
    pub fn admit(&mut self, length: u64, pools: &mut Pools) -> Result<(), DropReason> {
        let reserved = length.min(self.settings.reserved.0.saturating_sub(self.reserved));
        let shared = length - reserved;
        let free = pools.egress_lossy_free();
        let limit = match self.settings.threshold {
            Threshold::Static(limit) => limit.0.saturating_sub(self.settings.reserved.0),
            Threshold::Dynamic(alpha) => alpha.of(free),
        };
        if shared > 0 {
            if shared > free {
                return Err(DropReason::EgressPoolFull);
            }
            if self.shared + shared > limit {
                return Err(DropReason::QueueThreshold);
            }
        }
        self.reserved += reserved;
        self.shared += shared;
        pools.take_egress_lossy(shared);
        Ok(())
    }

    /// Gives back the bytes of a frame that has left.
    #[inline]
    pub fn release(&mut self, length: u64, pools: &mut Pools) {
        let shared = length.min(self.shared);
        self.shared -= shared;
        self.reserved -= (length - shared).min(self.reserved);
        pools.held.egress_lossy -= Bytes(shared);
    }
}
