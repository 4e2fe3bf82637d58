//! A learning bridge (IEEE 802.1Q clause 8): addresses are learned per VLAN from the source of
//! each frame, aged, and bounded in number; what is unknown is flooded.

use super::Verdict;
use crate::descriptor::Descriptor;
use crate::program::ProgramError;
use crate::reason::DropReason;
use foldhash::fast::FixedState;
use schnellru::{ByLength, LruMap};
use units::{Interval, Nanos, PortId};
use wire::ethernet::{self, MacAddress};
use wire::vlan;

/// How a bridge learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeSettings {
    /// How many addresses it remembers, 1 to [`BridgeSettings::LARGEST`]. When all are taken, the one that was seen
    /// longest ago is forgotten.
    pub capacity: u32,
    /// How long an address is remembered after it was last seen; 300 s by IEEE 802.1Q table 8-6.
    pub ageing: Interval,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self { capacity: 8_192, ageing: Interval::from_secs(300) }
    }
}

impl BridgeSettings {
    /// The most addresses that a bridge can be set to remember.
    pub const LARGEST: u32 = 1 << 20;

    pub(super) fn validate(&self) -> Result<(), ProgramError> {
        match self.capacity {
            1..=Self::LARGEST => Ok(()),
            capacity => Err(ProgramError::BridgeCapacity { capacity, most: Self::LARGEST }),
        }
    }
}

/// A station as the bridge knows it.
#[derive(Clone, Copy)]
struct Station {
    port: PortId,
    seen: Nanos,
}

/// What the bridge has learned, per VLAN and address. Each shard learns from its own ports, and from what
/// other shards hand over: so who speaks to a station behind its ports is known there, too.
pub(crate) struct Bridge {
    stations: LruMap<(u16, MacAddress), Station, ByLength, FixedState>,
    capacity: u32,
    ageing: Interval,
}

impl Bridge {
    pub fn new(settings: &BridgeSettings) -> Self {
        let mut stations = LruMap::with_hasher(ByLength::new(settings.capacity), FixedState::with_seed(0));
        // Learning must not allocate on the turn.
        stations.reserve_or_panic(settings.capacity as usize);
        Self { stations, capacity: settings.capacity, ageing: settings.ageing }
    }

    /// New settings. A table of another size starts empty.
    pub fn configure(&mut self, settings: &BridgeSettings) {
        self.ageing = settings.ageing;
        if self.capacity != settings.capacity {
            *self = Self::new(settings);
        }
    }

    /// Learns where the frame came from and finds where it goes.
    #[inline]
    pub fn verdict(
        &mut self,
        now: Nanos,
        ingress: PortId,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> Verdict {
        let Ok(frame) = ethernet::View::parse(headers) else { return Verdict::Drop(DropReason::Runt) };
        let (source, destination) = (frame.source(), frame.destination());
        if source.is_multicast() {
            return Verdict::Drop(DropReason::InvalidSource);
        }
        if destination.is_link_local_control() {
            return Verdict::Drop(DropReason::LinkLocal);
        }
        self.learn(now, ingress, (descriptor.vlan, source));
        if destination.is_multicast() {
            return Verdict::Flood;
        }
        // Being looked for is not being seen: that alone keeps nobody in the table.
        match self.stations.peek(&(descriptor.vlan, destination)) {
            Some(station) if now.since(station.seen) > self.ageing => Verdict::Flood,
            Some(station) if station.port == ingress => Verdict::Drop(DropReason::SamePort),
            Some(station) => Verdict::Forward(station.port),
            None => Verdict::Flood,
        }
    }

    /// Learns where a frame came from that another shard has forwarded.
    pub fn overhear(&mut self, now: Nanos, ingress: PortId, headers: &[u8]) {
        let (Ok(frame), Ok(stack)) = (ethernet::View::parse(headers), vlan::Stack::parse(headers)) else {
            return;
        };
        let vlan = stack.outer.map_or(0, |tag| tag.id.number());
        self.learn(now, ingress, (vlan, frame.source()));
    }

    #[inline]
    fn learn(&mut self, now: Nanos, port: PortId, station: (u16, MacAddress)) {
        let place = Station { port, seen: now };
        match self.stations.get(&station) {
            Some(known) => *known = place,
            None => {
                self.stations.insert(station, place);
            }
        }
    }
}
