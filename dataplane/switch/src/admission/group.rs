//! A priority group: what one priority of one ingress port holds, and of which pool.
//!
//! Bytes fill the reserved part first, then the shared pool up to the threshold; when that is
//! reached the group is paused, and what still arrives goes to the headroom. They are given back
//! in the opposite order: headroom, shared, reserved.

use super::Pools;
use crate::flow_control::pfc::PauseCause;
use crate::program::{GroupSettings, LosslessGroup, Threshold};
use crate::reason::DropReason;
use crate::watermark::Watermark;
use units::Bytes;

/// The account of one priority group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    settings: GroupSettings,
    reserved: u64,
    shared: u64,
    headroom: u64,
    /// The ledger's `released` total that the account reflects.
    settled: u64,
    /// Why the group is paused, if it is.
    paused: Option<PauseCause>,
    /// Of reserved and shared bytes.
    pub watermark: Watermark,
    pub headroom_watermark: Watermark,
}

impl Group {
    pub fn new(settings: GroupSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Everything it holds.
    #[inline]
    pub fn occupancy(&self) -> Bytes {
        Bytes(self.reserved + self.shared + self.headroom)
    }

    /// What it holds of the headroom pool.
    pub fn headroom(&self) -> Bytes {
        Bytes(self.headroom)
    }

    /// Why it is paused, if it is.
    #[inline]
    pub fn paused(&self) -> Option<PauseCause> {
        self.paused
    }

    #[inline]
    pub fn is_lossless(&self) -> bool {
        self.settings.lossless().is_some()
    }

    /// How many bytes it can take, one frame after the other, without reaching a threshold: below
    /// that, admission needs no closer look.
    #[inline]
    pub fn room(&self, pools: &Pools) -> u64 {
        let free = pools.shared_free();
        match self.settings {
            GroupSettings::Lossy => free,
            GroupSettings::Lossless(_) if self.paused.is_some() => 0,
            GroupSettings::Lossless(settings) => {
                let reserved = settings.reserved.0.saturating_sub(self.reserved);
                let below_threshold = match settings.xoff {
                    Threshold::Static(_) => Self::shared_limit(&settings, free).saturating_sub(self.shared),
                    Threshold::Dynamic(alpha) => alpha.room(free, self.shared),
                };
                reserved + below_threshold.min(free).saturating_sub(1)
            }
        }
    }

    /// Charges bytes that fit [`Group::room`].
    #[inline]
    pub fn charge_within_room(&mut self, bytes: u64, pools: &mut Pools) {
        let reserved = match self.settings {
            GroupSettings::Lossy => 0,
            GroupSettings::Lossless(settings) => bytes.min(settings.reserved.0.saturating_sub(self.reserved)),
        };
        self.charge(reserved, bytes - reserved, 0, pools);
    }

    /// Charges a frame of `length` bytes, or says why it may not enter.
    #[inline]
    pub fn admit(&mut self, length: u64, pools: &mut Pools) -> Result<(), DropReason> {
        match self.settings {
            GroupSettings::Lossy => self.admit_lossy(length, pools),
            GroupSettings::Lossless(settings) => self.admit_lossless(&settings, length, pools),
        }
    }

    /// Lossy frames pass ingress admission, but for a pool that is full.
    #[inline]
    fn admit_lossy(&mut self, length: u64, pools: &mut Pools) -> Result<(), DropReason> {
        if pools.shared_free() < length {
            return Err(DropReason::SharedPoolFull);
        }
        self.charge(0, length, 0, pools);
        Ok(())
    }

    #[inline]
    fn admit_lossless(
        &mut self,
        settings: &LosslessGroup,
        length: u64,
        pools: &mut Pools,
    ) -> Result<(), DropReason> {
        let reserved = length.min(settings.reserved.0.saturating_sub(self.reserved));
        let beyond_reserved = length - reserved;
        let shared = match self.paused {
            None => beyond_reserved.min(self.shared_room(settings, pools)),
            Some(_) => 0,
        };
        let headroom = beyond_reserved - shared;
        if headroom > 0
            && let Some(reason) = self.headroom_refusal(settings, headroom, pools)
        {
            self.pause_where_full(settings, pools, true);
            return Err(reason);
        }
        self.charge(reserved, shared, headroom, pools);
        if beyond_reserved > 0 {
            self.pause_where_full(settings, pools, headroom > 0);
        }
        Ok(())
    }

    /// How much more of the shared pool it may take.
    #[inline]
    fn shared_room(&self, settings: &LosslessGroup, pools: &Pools) -> u64 {
        let free = pools.shared_free();
        Self::shared_limit(settings, free).saturating_sub(self.shared).min(free)
    }

    /// How much of the shared pool it may hold while `free` bytes of it are free.
    #[inline]
    fn shared_limit(settings: &LosslessGroup, free: u64) -> u64 {
        match settings.xoff {
            Threshold::Static(xoff) => xoff.0.saturating_sub(settings.reserved.0),
            Threshold::Dynamic(alpha) => alpha.of(free),
        }
    }

    fn headroom_refusal(&self, settings: &LosslessGroup, bytes: u64, pools: &Pools) -> Option<DropReason> {
        if self.headroom + bytes > settings.headroom.0 {
            Some(DropReason::HeadroomExceeded)
        } else if bytes > pools.headroom_free() {
            Some(DropReason::HeadroomPoolFull)
        } else {
            None
        }
    }

    #[inline]
    fn charge(&mut self, reserved: u64, shared: u64, headroom: u64, pools: &mut Pools) {
        self.reserved += reserved;
        self.shared += shared;
        pools.take_shared(shared);
        self.watermark.note(self.reserved + self.shared);
        if headroom > 0 {
            self.headroom += headroom;
            pools.take_headroom(headroom);
            self.headroom_watermark.note(self.headroom);
        }
    }

    /// Pauses the group where it has reached its threshold or the pool its end, or where a frame
    /// did not fit below them (`overflowed`).
    #[inline]
    fn pause_where_full(&mut self, settings: &LosslessGroup, pools: &Pools, overflowed: bool) {
        if self.paused.is_some() {
            return;
        }
        let free = pools.shared_free();
        if self.shared >= Self::shared_limit(settings, free) {
            self.paused = Some(PauseCause::Threshold);
        } else if overflowed || free == 0 {
            self.paused = Some(PauseCause::PoolFull);
        }
    }

    /// Takes the bytes off that have left since it last looked: `released` is the ledger's total.
    #[inline]
    pub fn settle(&mut self, released: u64, pools: &mut Pools) {
        let gone = released - self.settled;
        self.settled = released;
        let headroom = gone.min(self.headroom);
        let shared = (gone - headroom).min(self.shared);
        self.headroom -= headroom;
        self.shared -= shared;
        self.reserved -= gone - headroom - shared;
        pools.held.headroom -= Bytes(headroom);
        pools.held.shared -= Bytes(shared);
    }

    /// Ends the pause where the group has fallen below its lower threshold. Returns whether it
    /// did.
    #[inline]
    pub fn resume_where_low(&mut self, pools: &Pools) -> bool {
        if self.paused.is_none() {
            return false;
        }
        let low = match self.settings {
            GroupSettings::Lossy => true,
            GroupSettings::Lossless(settings) => {
                let occupancy = self.occupancy().0;
                occupancy == 0 || occupancy < Self::resume_below(&settings, pools)
            }
        };
        if low {
            self.paused = None;
        }
        low
    }

    fn resume_below(settings: &LosslessGroup, pools: &Pools) -> u64 {
        match settings.xoff {
            Threshold::Static(_) => settings.xon.0,
            Threshold::Dynamic(alpha) => {
                let threshold = settings.reserved.0 + alpha.of(pools.shared_free());
                settings.xon.0.max(threshold.saturating_sub(settings.xon_offset.0))
            }
        }
    }

    /// Starts the cleared watermarks again from the present levels.
    pub fn clear_watermarks(&mut self) {
        self.watermark.clear(self.reserved + self.shared);
        self.headroom_watermark.clear(self.headroom);
    }

    /// New settings; what it holds stays, and moves between the pools where it must.
    pub fn configure(&mut self, settings: GroupSettings, pools: &mut Pools) {
        self.settings = settings;
        let occupancy = self.occupancy().0;
        pools.held.shared -= Bytes(self.shared);
        pools.held.headroom -= Bytes(self.headroom);
        let (reserved_size, headroom_size) = match settings {
            GroupSettings::Lossy => (0, 0),
            GroupSettings::Lossless(group) => (group.reserved.0, group.headroom.0),
        };
        self.headroom = self.headroom.min(headroom_size);
        self.reserved = (occupancy - self.headroom).min(reserved_size);
        self.shared = occupancy - self.headroom - self.reserved;
        pools.take_shared(self.shared);
        pools.take_headroom(self.headroom);
        if let GroupSettings::Lossless(group) = settings
            && occupancy > self.reserved
        {
            self.pause_where_full(&group, pools, false);
        }
    }
}
