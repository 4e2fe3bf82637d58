//! A priority group: the charges of one priority of one ingress port, by pool.
//!
//! A frame is charged whole cells ([`Cells::of_frame`]), and levels here are the bytes of those cells. Frames fill
//! the reserved part first, then the shared pool up to the threshold. While the sender is paused, further frames
//! fill the headroom. Departures free the parts in the opposite order: headroom, shared, reserved.
//! [`crate::flow_control`] decides about pauses of the sender.

use super::Pools;
use crate::program::{GroupSettings, LosslessGroup, Threshold};
use crate::reason::DropReason;
use crate::watermark::Watermark;
use serde::{Deserialize, Serialize};
use units::{Bytes, Cells, WireBytes};

/// A part of a group, in the order in which frames fill them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The reserved part of the group.
    Reserved,
    /// Its share of the shared pool.
    Shared,
    /// Its headroom, or headroom as well as the shared pool.
    Headroom,
}

/// What other lanes hold of a priority group, as they last showed it; nothing on a switch of one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Others {
    /// Bytes of its reserved part.
    pub reserved: u64,
    /// Bytes of the shared pool.
    pub shared: u64,
    /// Bytes of the headroom.
    pub headroom: u64,
    /// Bytes by which the headroom may have fallen meanwhile.
    pub stale: u64,
}

/// The account of one priority group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    settings: GroupSettings,
    /// Bytes of its reserved part that other lanes leave to it.
    left: u64,
    /// Bytes that other lanes hold of it beyond the reserved part.
    elsewhere: u64,
    reserved: u64,
    shared: u64,
    headroom: u64,
    others: Others,
    /// Bytes that it may yet take of the shared pool beyond its threshold, since a worker came late.
    late: u64,
    /// The ledger's `released` total that the account reflects.
    settled: Cells,
    /// Watermark of reserved and shared bytes.
    pub watermark: Watermark,
    pub headroom_watermark: Watermark,
}

impl Group {
    pub fn new(settings: GroupSettings) -> Self {
        let mut group = Self { settings, ..Self::default() };
        group.share_reserved();
        group
    }

    /// All bytes that it holds.
    #[inline]
    pub fn occupancy(&self) -> Bytes {
        Bytes(self.reserved + self.shared + self.headroom)
    }

    /// Bytes that it holds of the shared pool.
    pub fn shared(&self) -> Bytes {
        Bytes(self.shared)
    }

    /// Bytes that it holds of the headroom pool.
    pub fn headroom(&self) -> Bytes {
        Bytes(self.headroom)
    }

    #[inline]
    pub fn settings(&self) -> &GroupSettings {
        &self.settings
    }

    /// Notes what other lanes hold of it.
    #[inline]
    pub fn note_others(&mut self, others: Others) {
        self.others = others;
        self.share_reserved();
        self.watermark.note(self.reserved + others.reserved + self.shared + others.shared);
        self.headroom_watermark.note(self.headroom + others.headroom);
    }

    /// Leaves it what other lanes do not hold of the reserved part. Lanes that did not see each other may hold more together
    /// than there is; that counts for the threshold like bytes of the shared pool.
    #[inline]
    fn share_reserved(&mut self) {
        let (size, others) = (self.settings.lossless().map_or(0, |it| it.reserved.0), self.others);
        self.left = size.saturating_sub(others.reserved);
        self.elsewhere = others.shared + others.reserved.saturating_sub(size);
    }

    /// Whether no lane holds anything beyond the reserved part.
    pub fn is_within_reserved(&self) -> bool {
        self.joint() + self.joint_headroom().0 == 0
    }

    /// Bytes below the headroom that all lanes hold for it beyond the reserved part.
    #[inline]
    pub fn joint(&self) -> u64 {
        self.shared + self.elsewhere + self.reserved.saturating_sub(self.left)
    }

    /// All bytes that all lanes hold for it.
    #[inline]
    pub fn joint_occupancy(&self) -> Bytes {
        let Others { reserved, shared, .. } = self.others;
        self.occupancy() + Bytes(reserved + shared + self.others.headroom)
    }

    /// Bytes of the headroom pool that all lanes hold for it.
    #[inline]
    pub fn joint_headroom(&self) -> Bytes {
        Bytes(self.headroom + self.others.headroom)
    }

    #[inline]
    pub fn is_lossless(&self) -> bool {
        self.settings.lossless().is_some()
    }

    /// Cells that it can take, in any number of frames, without reaching a threshold, while its sender is not
    /// paused. Below that, admission needs no closer check.
    #[inline]
    pub fn room(&self, pools: &Pools) -> Cells {
        Cells::within(self.room_in_bytes(pools))
    }

    #[inline]
    fn room_in_bytes(&self, pools: &Pools) -> u64 {
        let free = pools.shared.free();
        match self.settings {
            GroupSettings::Lossy if pools.memory_low => 0,
            GroupSettings::Lossy => free,
            GroupSettings::Lossless(settings) => {
                let reserved = self.left.saturating_sub(self.reserved);
                let below_threshold = match settings.xoff {
                    Threshold::Static(_) => Self::shared_limit(&settings, free).saturating_sub(self.joint()),
                    Threshold::Dynamic(alpha) => alpha.room(free, self.joint()),
                };
                reserved + below_threshold.min(free).saturating_sub(1)
            }
        }
    }

    /// Whether `cells`, at least one, are within [`Group::room`].
    #[inline(always)]
    pub fn has_room(&self, cells: Cells, pools: &Pools) -> bool {
        let bytes = cells.bytes().0;
        let free = pools.shared.free();
        match self.settings {
            GroupSettings::Lossy => bytes <= free && !pools.memory_low,
            GroupSettings::Lossless(settings) => {
                let reserved = self.left.saturating_sub(self.reserved);
                let Some(shared) = bytes.checked_sub(reserved).filter(|shared| *shared > 0) else {
                    return true;
                };
                let below_threshold = match settings.xoff {
                    Threshold::Static(_) => {
                        shared < Self::shared_limit(&settings, free).saturating_sub(self.joint())
                    }
                    Threshold::Dynamic(alpha) => alpha.has_more_room(free, self.joint(), shared),
                };
                below_threshold && shared < free
            }
        }
    }

    /// As [`Group::charge_within_room`], for cells that leave at once and are settled.
    #[inline(always)]
    pub fn pass_within_room(&mut self, cells: Cells, pools: &mut Pools) {
        if self.headroom > 0 {
            self.charge_within_room(cells, pools);
            return self.settle(self.settled + cells, pools);
        }
        let bytes = cells.bytes().0;
        let reserved = self.of_reserved(bytes);
        let shared = self.shared + (bytes - reserved);
        pools.shared.watermark.note(pools.shared.held.0 + (bytes - reserved));
        self.watermark.note(self.reserved + reserved + shared + self.others.reserved + self.others.shared);
        // Departures free the shared part first.
        let gone = bytes.min(shared);
        pools.shared.held.0 = pools.shared.held.0 + (bytes - reserved) - gone;
        self.shared = shared - gone;
        self.reserved = self.reserved + reserved - (bytes - gone);
        self.settled += cells;
    }

    /// The part of `bytes` that the reserved part takes.
    #[inline(always)]
    fn of_reserved(&self, bytes: u64) -> u64 {
        bytes.min(self.left.saturating_sub(self.reserved))
    }

    /// Charges cells that fit [`Group::room`].
    #[inline]
    pub fn charge_within_room(&mut self, cells: Cells, pools: &mut Pools) {
        let bytes = cells.bytes().0;
        let reserved = self.of_reserved(bytes);
        self.charge(reserved, bytes - reserved, 0, pools);
    }

    /// Charges a frame that costs `cells` to the parts of the group, or returns the reason for its drop. While its
    /// sender is `paused`, a lossless group uses headroom only. Returns the last part that it filled.
    #[inline]
    pub fn admit(&mut self, cells: Cells, paused: bool, pools: &mut Pools) -> Result<Part, DropReason> {
        match self.settings {
            GroupSettings::Lossy => self.admit_lossy(cells.bytes().0, pools),
            GroupSettings::Lossless(settings) => {
                self.admit_lossless(&settings, cells.bytes().0, paused, pools)
            }
        }
    }

    /// Ingress admits all lossy frames, unless a pool is full or memory runs low.
    #[inline]
    fn admit_lossy(&mut self, bytes: u64, pools: &mut Pools) -> Result<Part, DropReason> {
        if pools.memory_low {
            return Err(DropReason::MemoryLow);
        }
        if pools.shared.free() < bytes {
            return Err(DropReason::SharedPoolFull);
        }
        self.charge(0, bytes, 0, pools);
        Ok(Part::Shared)
    }

    #[inline]
    fn admit_lossless(
        &mut self,
        settings: &LosslessGroup,
        bytes: u64,
        paused: bool,
        pools: &mut Pools,
    ) -> Result<Part, DropReason> {
        let reserved = self.of_reserved(bytes);
        let beyond_reserved = bytes - reserved;
        let shared = if paused { 0 } else { beyond_reserved.min(self.shared_room(settings, pools)) };
        let headroom = beyond_reserved - shared;
        if headroom > 0
            && let Some(reason) = self.headroom_refusal(settings, headroom, pools)
        {
            let admitted = self.admit_late(reserved, beyond_reserved, pools);
            return if admitted { Ok(Part::Headroom) } else { Err(reason) };
        }
        self.charge(reserved, shared, headroom, pools);
        Ok(match (beyond_reserved, headroom) {
            (0, _) => Part::Reserved,
            (_, 0) => Part::Shared,
            _ => Part::Headroom,
        })
    }

    /// Bytes of the shared pool that it may still take.
    #[inline]
    fn shared_room(&self, settings: &LosslessGroup, pools: &Pools) -> u64 {
        let free = pools.shared.free();
        Self::shared_limit(settings, free).saturating_sub(self.joint()).min(free)
    }

    /// Bytes of the shared pool that it may hold while `free` bytes of it are free.
    #[inline]
    pub fn shared_limit(settings: &LosslessGroup, free: u64) -> u64 {
        match settings.xoff {
            Threshold::Static(xoff) => xoff.0.saturating_sub(settings.reserved.0),
            Threshold::Dynamic(alpha) => alpha.of(free),
        }
    }

    /// Lets frames of `wire` bytes in beyond the headroom, where the shared pool has room: they arrived while a worker was
    /// away, and it could not say stop.
    pub fn allow_late(&mut self, wire: WireBytes) {
        if self.is_lossless() {
            self.late = self.late.max(Cells::of_any_mix(wire).bytes().0);
        }
    }

    /// Ends what [`Group::allow_late`] allows: the sender has stopped, and the group has fallen low.
    pub fn end_lateness(&mut self) {
        self.late = 0;
    }

    /// Charges a frame for which headroom has no room to the shared pool, if a worker came late. Half of the pool is left
    /// to others, as when room for late workers is taken for good.
    #[cold]
    fn admit_late(&mut self, reserved: u64, beyond_reserved: u64, pools: &mut Pools) -> bool {
        let admits =
            beyond_reserved <= self.late && pools.shared.free() >= beyond_reserved + pools.shared.size / 2;
        if admits {
            self.late -= beyond_reserved;
            self.charge(reserved, beyond_reserved, 0, pools);
        }
        admits
    }

    fn headroom_refusal(&self, settings: &LosslessGroup, bytes: u64, pools: &Pools) -> Option<DropReason> {
        // Or one that does not obey would take this much on each lane, from a pool that others need.
        let others = self.others.headroom.saturating_sub(self.others.stale);
        if self.headroom + others + bytes > settings.headroom.0 {
            Some(DropReason::HeadroomExceeded)
        } else if bytes > pools.headroom.free() {
            Some(DropReason::HeadroomPoolFull)
        } else {
            None
        }
    }

    #[inline]
    fn charge(&mut self, reserved: u64, shared: u64, headroom: u64, pools: &mut Pools) {
        self.reserved += reserved;
        self.shared += shared;
        pools.shared.take(shared);
        self.watermark.note(self.reserved + self.shared + self.others.reserved + self.others.shared);
        if headroom > 0 {
            self.headroom += headroom;
            pools.headroom.take(headroom);
            self.headroom_watermark.note(self.headroom + self.others.headroom);
        }
    }

    /// Releases the cells that have left since the last call: `released` is the ledger's total.
    #[inline]
    pub fn settle(&mut self, released: Cells, pools: &mut Pools) {
        let gone = (released - self.settled).bytes().0;
        self.settled = released;
        let headroom = gone.min(self.headroom);
        let shared = (gone - headroom).min(self.shared);
        self.headroom -= headroom;
        self.shared -= shared;
        self.reserved -= gone - headroom - shared;
        pools.headroom.held -= Bytes(headroom);
        pools.shared.held -= Bytes(shared);
    }

    /// Restarts the cleared watermarks at the present levels.
    pub fn clear_watermarks(&mut self) {
        self.watermark.clear(self.reserved + self.shared);
        self.headroom_watermark.clear(self.headroom);
    }

    /// Applies new settings. The group keeps its charges, which move between the pools where they must.
    pub fn configure(&mut self, settings: GroupSettings, pools: &mut Pools) {
        self.settings = settings;
        let occupancy = self.occupancy().0;
        pools.shared.held -= Bytes(self.shared);
        pools.headroom.held -= Bytes(self.headroom);
        self.headroom = self.headroom.min(settings.lossless().map_or(0, |it| it.headroom.0));
        self.share_reserved();
        self.reserved = (occupancy - self.headroom).min(self.left);
        self.shared = occupancy - self.headroom - self.reserved;
        pools.shared.take(self.shared);
        pools.headroom.take(self.headroom);
        self.watermark.note(self.reserved + self.shared);
    }
}

#[cfg(test)]
mod tests;
