//! Egress admission of lossy frames: the charges of the lossy frames of one queue, in whole cells as at ingress.

use super::Pools;
use crate::program::{LossyQueue, Threshold};
use crate::reason::DropReason;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cells};

/// The account of the lossy frames in one egress queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LossyAccount {
    settings: LossyQueue,
    reserved: u64,
    shared: u64,
    /// Bytes that wait in the queue on other lanes; none on a switch of one shard.
    others: u64,
}

impl LossyAccount {
    pub fn new(settings: LossyQueue) -> Self {
        Self { settings, reserved: 0, shared: 0, others: 0 }
    }

    /// Applies new settings; charges stay.
    pub fn configure(&mut self, settings: LossyQueue) {
        self.settings = settings;
    }

    /// Notes what waits in the queue on other lanes.
    pub fn note_others(&mut self, waiting: Bytes) {
        self.others = waiting.0;
    }

    /// Charges a frame that costs `cells`, or returns the reason for its drop.
    #[inline]
    pub fn admit(&mut self, cells: Cells, pools: &mut Pools) -> Result<(), DropReason> {
        let bytes = cells.bytes().0;
        let reserved = bytes.min(self.settings.reserved.0.saturating_sub(self.reserved));
        let shared = bytes - reserved;
        let free = pools.egress_lossy.free();
        let limit = match self.settings.threshold {
            Threshold::Static(limit) => limit.0.saturating_sub(self.settings.reserved.0),
            Threshold::Dynamic(alpha) => alpha.of(free),
        };
        if shared > 0 {
            if shared > free {
                return Err(DropReason::EgressPoolFull);
            }
            if self.joint() + shared > limit {
                return Err(DropReason::QueueThreshold);
            }
        }
        self.reserved += reserved;
        self.shared += shared;
        pools.egress_lossy.take(shared);
        Ok(())
    }

    /// Cells that are certain to be admitted, in frames of any length, without a check of each.
    #[inline]
    pub fn room(&self, pools: &Pools) -> Cells {
        let reserved = self.settings.reserved.0.saturating_sub(self.reserved);
        let free = pools.egress_lossy.free();
        let shared = match self.settings.threshold {
            Threshold::Static(limit) => {
                limit.0.saturating_sub(self.settings.reserved.0).saturating_sub(self.joint()).min(free)
            }
            Threshold::Dynamic(alpha) => alpha.room(free, self.joint()).saturating_sub(1).min(free),
        };
        Cells::within(reserved + shared)
    }

    #[inline]
    fn joint(&self) -> u64 {
        self.shared + self.others
    }

    /// Whether `cells` are within [`LossyAccount::room`].
    #[inline(always)]
    pub fn has_room(&self, cells: Cells, pools: &Pools) -> bool {
        let bytes = cells.bytes().0;
        let reserved = self.settings.reserved.0.saturating_sub(self.reserved);
        let Some(shared) = bytes.checked_sub(reserved).filter(|shared| *shared > 0) else { return true };
        let free = pools.egress_lossy.free();
        let below_threshold = match self.settings.threshold {
            Threshold::Static(limit) => {
                shared <= limit.0.saturating_sub(self.settings.reserved.0).saturating_sub(self.joint())
            }
            Threshold::Dynamic(alpha) => alpha.has_more_room(free, self.joint(), shared),
        };
        below_threshold && shared <= free
    }

    /// As [`LossyAccount::charge_within_room`], for cells that are released at once.
    #[inline(always)]
    pub fn pass_within_room(&mut self, cells: Cells, pools: &mut Pools) {
        let bytes = cells.bytes().0;
        let reserved = bytes.min(self.settings.reserved.0.saturating_sub(self.reserved));
        let shared = self.shared + (bytes - reserved);
        pools.egress_lossy.watermark.note(pools.egress_lossy.held.0 + (bytes - reserved));
        // A release frees the shared part first.
        let gone = bytes.min(shared);
        pools.egress_lossy.held.0 = pools.egress_lossy.held.0 + (bytes - reserved) - gone;
        self.shared = shared - gone;
        self.reserved = self.reserved + reserved - (bytes - gone);
    }

    /// Charges frames that cost `cells` together, within [`LossyAccount::room`].
    #[inline]
    pub fn charge_within_room(&mut self, cells: Cells, pools: &mut Pools) {
        let bytes = cells.bytes().0;
        let reserved = bytes.min(self.settings.reserved.0.saturating_sub(self.reserved));
        self.reserved += reserved;
        self.shared += bytes - reserved;
        pools.egress_lossy.take(bytes - reserved);
    }

    /// Releases the cells of frames that have left.
    #[inline]
    pub fn release(&mut self, cells: Cells, pools: &mut Pools) {
        let bytes = cells.bytes().0;
        let shared = bytes.min(self.shared);
        self.shared -= shared;
        self.reserved -= (bytes - shared).min(self.reserved);
        pools.egress_lossy.held -= Bytes(shared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::BufferSettings;
    use proptest::prelude::*;

    fn account(reserved: u64, limit: u64, pool: u64) -> (LossyAccount, Pools) {
        let (none, packing) = (Bytes::ZERO, None);
        let size = BufferSettings { shared: none, headroom: none, egress_lossy: Bytes(pool), packing };
        let threshold = Threshold::Static(Bytes(limit));
        (LossyAccount::new(LossyQueue { reserved: Bytes(reserved), threshold }), Pools::new(&size))
    }

    #[test]
    fn a_queue_takes_its_reserved_part_and_the_pool_up_to_its_limit() {
        let (mut queue, mut pools) = account(160, 160 + 320, 10_000);
        assert_eq!(queue.admit(Cells(10 + 21), &mut pools), Err(DropReason::QueueThreshold));
        assert_eq!(queue.admit(Cells(10 + 15), &mut pools), Ok(()));
        assert_eq!(queue.admit(Cells(7), &mut pools), Err(DropReason::QueueThreshold));
        assert_eq!(queue.admit(Cells(5), &mut pools), Ok(()));
        assert_eq!(pools.egress_lossy.held, Bytes(320), "what is reserved is not of the pool");
    }

    #[test]
    fn a_full_pool_leaves_a_queue_its_reserved_part() {
        let (mut queue, mut pools) = account(160, 10_000, 320);
        assert_eq!(queue.admit(Cells(10 + 22), &mut pools), Err(DropReason::EgressPoolFull));
        pools.egress_lossy.take(320);
        assert_eq!(queue.admit(Cells(11), &mut pools), Err(DropReason::EgressPoolFull));
        assert_eq!(queue.admit(Cells(10), &mut pools), Ok(()));
        pools.egress_lossy.held = Bytes::ZERO;
        assert_eq!(queue.admit(Cells(20), &mut pools), Ok(()), "all that is free");
    }

    #[test]
    fn a_queue_above_a_lowered_limit_may_fill_what_is_newly_reserved() {
        let (mut queue, mut pools) = account(0, 10_000, 10_000);
        assert_eq!(queue.admit(Cells(20), &mut pools), Ok(()));
        queue.configure(LossyQueue { reserved: Bytes(160), threshold: Threshold::Static(Bytes(160)) });
        assert_eq!(queue.admit(Cells(11), &mut pools), Err(DropReason::QueueThreshold));
        assert_eq!(queue.admit(Cells(10), &mut pools), Ok(()));
    }

    proptest! {
        #[test]
        fn a_frame_that_passes_leaves_what_one_leaves_that_is_charged_and_released(
            (reserved, limit, pool) in (0_u64..4_000, 0_u64..20_000, 0_u64..20_000),
            (before, length) in (0_u64..20_000, 14_u64..2_000),
        ) {
            let size = BufferSettings {
                shared: Bytes(0), headroom: Bytes(0), egress_lossy: Bytes(pool), packing: None,
            };
            let threshold = Threshold::Static(Bytes(limit));
            let queue = LossyQueue { reserved: Bytes(reserved), threshold };
            let (mut pools, mut account) = (Pools::new(&size), LossyAccount::new(queue));
            let before = Cells::within(before);
            prop_assume!(before == Cells::ZERO || account.has_room(before, &pools));
            account.charge_within_room(before, &mut pools);
            let cells = Cells::of_frame(Bytes(length));
            prop_assume!(account.has_room(cells, &pools));
            let (mut waits, mut their_pools) = (account.clone(), pools.clone());
            waits.charge_within_room(cells, &mut their_pools);
            waits.release(cells, &mut their_pools);
            account.pass_within_room(cells, &mut pools);
            prop_assert_eq!(account, waits);
            prop_assert_eq!(pools, their_pools);
        }
    }

    proptest! {
        #[test]
        fn what_is_within_the_room_would_have_been_admitted_frame_by_frame(
            threshold in prop_oneof![
                (0_u64..20_000).prop_map(|limit| Threshold::Static(Bytes(limit))),
                (-6_i8..=3).prop_map(|alpha| Threshold::Dynamic(crate::program::DynamicThreshold::new(alpha).unwrap())),
            ],
            (reserved, pool) in (0_u64..4_000, 0_u64..20_000),
            (before, lengths) in (0_u64..20_000, proptest::collection::vec(1_u64..2_000, 0..30)),
        ) {
            let size = BufferSettings {
                shared: Bytes(0), headroom: Bytes(0), egress_lossy: Bytes(pool), packing: None,
            };
            let account = || {
                let mut pools = Pools::new(&size);
                let mut account = LossyAccount::new(LossyQueue { reserved: Bytes(reserved), threshold });
                let _ = account.admit(Cells::of_frame(Bytes(before)), &mut pools);
                (account, pools)
            };
            let ((mut one, mut ones), (mut all, mut alls)) = (account(), account());
            let (room, mut sum) = (all.room(&alls), Cells::ZERO);
            for cells in lengths.into_iter().map(|length| Cells::of_frame(Bytes(length))) {
                if sum + cells <= room {
                    sum += cells;
                    prop_assert_eq!(one.admit(cells, &mut ones), Ok(()));
                }
            }
            let levels = [0, 1, room.0 / 2, room.0.saturating_sub(1), room.0, room.0 + 1, 2 * room.0, reserved / 16];
            for cells in levels.map(Cells) {
                prop_assert_eq!(all.has_room(cells, &alls), cells <= room, "{:?} of {:?}", cells, room);
            }
            all.charge_within_room(sum, &mut alls);
            prop_assert_eq!((one.shared, one.reserved, ones), (all.shared, all.reserved, alls));
        }
    }
}
