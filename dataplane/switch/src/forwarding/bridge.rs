//! A learning bridge (IEEE 802.1Q clause 8): addresses are learned per VLAN from the source of each frame, aged,
//! and bounded in number; frames to unknown addresses are flooded.

mod lanes;

use super::verdict::Verdict;
use crate::allowance::Allowance;
use crate::descriptor::Descriptor;
use crate::hash::{HashKey, KeyedHash};
use crate::lanes::Stations;
use crate::program::BridgeSettings;
use crate::reason::DropReason;
use crate::table::{Index, WAYS};
use core::hash::Hasher;
use serde::{Deserialize, Serialize};
use units::{Interval, Nanos, PortId};
use wire::ethernet::{self, MacAddress};

/// An address and its VLAN in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Name(u64);

impl Name {
    #[inline]
    fn new(vlan: u16, MacAddress([a, b, c, d, e, f]): MacAddress) -> Self {
        let [high, low] = vlan.to_be_bytes();
        Self(u64::from_be_bytes([high, low, a, b, c, d, e, f]))
    }

    /// The same address without VLAN.
    fn untagged(self) -> Self {
        Self(self.0 & ((1 << 48) - 1))
    }
}

/// A station in the table of the bridge.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Station {
    name: Name,
    seen: Nanos,
    port: PortId,
}

/// Changes that stations behind one port made to entries of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeCounters {
    /// Addresses that moved to the port from another one.
    pub moved: u64,
    /// Addresses of others that were forgotten to make room for one behind the port.
    pub displaced: u64,
    /// Frames from which nothing was learned, because the port had made such changes too often.
    pub refused: u64,
}

/// The addresses that the bridge has learned, per VLAN. Each lane has its own, and they tell each other.
///
/// Whatever addresses stations claim, a frame costs at most [`WAYS`] places of the index for each of its addresses,
/// and a new address as many stations again; see [`Index`]. An [`Allowance`] limits the changes that stations
/// behind one port may make to entries of others: beyond it, their frames are forwarded, but nothing is learned
/// from them. The addresses of the gateway itself are never learned (IEEE 802.1Q clause 8.8.1: a static entry
/// stays).
#[derive(Serialize, Deserialize)]
pub(crate) struct Bridge {
    index: Index,
    stations: Vec<Station>,
    /// The place where the search for a station to replace continues.
    hand: usize,
    capacity: u32,
    ageing: Interval,
    keyed: KeyedHash,
    /// The addresses of the ports.
    own: Vec<MacAddress>,
    /// The remaining changes of each port, and its counters.
    changes: Vec<(Allowance, BridgeCounters)>,
    /// The other lanes, if it is that of one of several. No checkpoint has lanes.
    #[serde(skip)]
    others: Option<Box<Stations>>,
    /// The time from which on what is seen was told to them.
    #[serde(skip)]
    round: Nanos,
    /// The questions that it may still ask them.
    #[serde(skip)]
    questions: Allowance,
}

impl Bridge {
    /// A bridge over ports with the addresses `own`.
    pub fn new(settings: &BridgeSettings, own: Vec<MacAddress>, key: HashKey) -> Self {
        let BridgeSettings { capacity, ageing } = *settings;
        Self {
            index: Index::new(capacity),
            // Learning must not allocate on the turn.
            stations: Vec::with_capacity(capacity as usize),
            hand: 0,
            capacity,
            ageing,
            keyed: KeyedHash::new(key),
            changes: vec![Default::default(); own.len()],
            own,
            others: None,
            round: Nanos::ZERO,
            questions: Allowance::default(),
        }
    }

    /// The counters of stations behind `port`.
    pub fn counters(&self, port: PortId) -> BridgeCounters {
        self.changes[port.index()].1
    }

    /// Takes over the settings of `new`, which is empty, and also its table if its size differs.
    pub fn succeed(&mut self, new: &mut Self) {
        if self.capacity != new.capacity {
            core::mem::swap(self, new);
            core::mem::swap(&mut self.changes, &mut new.changes);
            core::mem::swap(&mut self.others, &mut new.others);
            core::mem::swap(&mut self.round, &mut new.round);
            core::mem::swap(&mut self.questions, &mut new.questions);
        } else {
            self.ageing = new.ageing;
            core::mem::swap(&mut self.own, &mut new.own);
        }
    }

    /// Learns the source of the frame and finds its destination; where `SHARED`, with what it tells other lanes, and asks them.
    #[inline]
    pub fn verdict<const SHARED: bool>(
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
        self.learn::<SHARED>(now, ingress, Name::new(descriptor.vlan, source));
        if destination.is_multicast() {
            return Verdict::Flood;
        }
        // A look-up does not count as being seen: it alone keeps no station in the table.
        let name = Name::new(descriptor.vlan, destination);
        let known = self.find(name).map(|slot| self.stations[slot]);
        match known.filter(|station| now.since(station.seen) <= self.ageing) {
            Some(station) if station.port == ingress => Verdict::Drop(DropReason::SamePort),
            Some(station) => Verdict::Forward(station.port),
            None => {
                if SHARED {
                    self.ask(now, name);
                }
                Verdict::Flood
            }
        }
    }

    #[inline]
    fn hash(&self, name: Name) -> u64 {
        let mut hasher = self.keyed.hasher();
        hasher.write_u64(name.0);
        hasher.finish()
    }

    #[inline]
    fn find(&self, name: Name) -> Option<usize> {
        self.find_hashed(self.hash(name), name)
    }

    #[inline]
    fn find_hashed(&self, hash: u64, name: Name) -> Option<usize> {
        self.index.find(hash, |slot| self.stations[slot as usize].name == name).map(|slot| slot as usize)
    }

    #[inline]
    fn learn<const SHARED: bool>(&mut self, now: Nanos, port: PortId, name: Name) {
        let hash = self.hash(name);
        let Some(slot) = self.find_hashed(hash, name) else {
            self.enter(hash, Station { name, seen: now, port });
            if SHARED {
                self.tell(name);
            }
            return;
        };
        let known = self.stations[slot];
        if known.port == port || self.may_change(now, port, &known, |counters| &mut counters.moved) {
            self.stations[slot] = Station { name, seen: now, port };
            if SHARED && (known.seen < self.round || known.port != port) {
                self.tell(name);
            }
        }
    }

    /// Whether `port` may take an address or a place from a `known` station. Counts the change.
    #[cold]
    fn may_change(
        &mut self,
        now: Nanos,
        port: PortId,
        known: &Station,
        counter: impl FnOnce(&mut BridgeCounters) -> &mut u64,
    ) -> bool {
        let (allowance, counters) = &mut self.changes[port.index()];
        if now.since(known.seen) > self.ageing {
            return true;
        }
        let may = allowance.take(now);
        *if may { counter(counters) } else { &mut counters.refused } += 1;
        may
    }

    #[inline(never)]
    fn enter(&mut self, hash: u64, station: Station) {
        if self.own.iter().any(|own| Name::new(0, *own) == station.name.untagged()) {
            return;
        }
        let full = self.stations.len() == self.capacity as usize;
        let crowded = self.oldest(self.index.full_set(hash).map(|slot| slot as usize));
        let slot = match crowded.or_else(|| if full { self.sweep() } else { None }) {
            Some(slot) => {
                let former = self.stations[slot];
                if !self.may_change(station.seen, station.port, &former, |it| &mut it.displaced) {
                    return;
                }
                self.index.remove(self.hash(former.name), slot as u32);
                self.stations[slot] = station;
                slot
            }
            None => {
                self.stations.push(station);
                self.stations.len() - 1
            }
        };
        let entered = self.index.insert(hash, slot as u32);
        debug_assert!(entered, "its set has room");
    }

    /// The least recently seen of the next few stations.
    fn sweep(&mut self) -> Option<usize> {
        let stations = self.stations.len();
        let glance = WAYS.min(stations);
        let first = self.hand;
        self.hand = (first + glance) % stations;
        self.oldest((0..glance).map(|step| (first + step) % stations))
    }

    fn oldest(&self, slots: impl Iterator<Item = usize>) -> Option<usize> {
        slots.min_by_key(|slot| self.stations[*slot].seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::BuildHasher;
    use foldhash::fast::FixedState;
    use proptest::prelude::*;

    fn station(number: u64) -> MacAddress {
        let [.., a, b, c, d] = number.to_be_bytes();
        MacAddress([2, 1, a, b, c, d])
    }

    fn bridge(capacity: u32, key: HashKey) -> Bridge {
        let own = (0..3).map(|port| MacAddress([2, 0, 0, 0, 0, port])).collect();
        Bridge::new(&BridgeSettings { capacity, ..BridgeSettings::default() }, own, key)
    }

    /// The mean number of places that a search looks at, where it looks for stations that the bridge has
    /// learned, and the largest.
    fn probes(key: HashKey, stations: impl Iterator<Item = MacAddress>) -> (f64, usize) {
        let mut bridge = bridge(BridgeSettings::default().capacity, key);
        let names: Vec<_> = stations.take(6_000).map(|mac| Name::new(0, mac)).collect();
        names.iter().for_each(|name| bridge.learn::<false>(Nanos(1), PortId(0), *name));
        let probes = || names.iter().map(|name| bridge.index.count_probes(bridge.hash(*name)));
        (probes().sum::<usize>() as f64 / 6_000.0, probes().max().unwrap_or(0))
    }

    #[test]
    fn addresses_that_collide_without_a_key_cost_no_more_probes_than_others() {
        let fixed = FixedState::with_seed(0);
        let place = |mac: &MacAddress| fixed.hash_one((0_u16, *mac)) & 0xfff;
        for key in (0..4).map(HashKey::from) {
            let colliding = (0..).map(station).filter(|mac| place(mac) == 0);
            let ((chosen, most), (ordinary, _)) = (probes(key, colliding), probes(key, (0..).map(station)));
            assert!(
                chosen <= 2.0 * ordinary && most <= WAYS,
                "{chosen} probes instead of {ordinary}, {most} at most"
            );
        }
    }

    #[test]
    fn an_address_that_two_ports_claim_moves_so_often_and_no_more() {
        let mut bridge = bridge(64, HashKey::from(1));
        let name = Name::new(0, station(1));
        for frame in 0..20_000 {
            bridge.learn::<false>(Nanos(1), PortId(frame % 2), name);
        }
        let [one, other] = [0, 1].map(|port| bridge.counters(PortId(port)));
        assert_eq!((one.moved, other.moved), (Allowance::BURST, Allowance::BURST));
        assert!(one.refused + other.refused > 8_000, "{one:?} {other:?}");
        // A port that has taken no part still may.
        bridge.learn::<false>(Nanos(1), PortId(2), name);
        assert_eq!(bridge.find(name).map(|slot| bridge.stations[slot].port), Some(PortId(2)));
        // And so may the others when some time has gone by.
        let later = Nanos(1) + Interval::from_millis(10);
        bridge.learn::<false>(later, PortId(0), name);
        assert_eq!(bridge.counters(PortId(0)).moved, Allowance::BURST + 1);
    }

    #[test]
    fn a_flood_of_addresses_displaces_so_many_others_and_no_more() {
        let mut bridge = bridge(64, HashKey::from(1));
        (0..64).for_each(|number| bridge.learn::<false>(Nanos(1), PortId(0), Name::new(0, station(number))));
        for number in 64..10_064 {
            bridge.learn::<false>(Nanos(2), PortId(1), Name::new(0, station(number)));
        }
        let counters = bridge.counters(PortId(1));
        assert_eq!(counters.displaced + counters.refused, 10_000);
        assert_eq!(counters.displaced, Allowance::BURST);
        assert_eq!(bridge.counters(PortId(0)), BridgeCounters::default());
        // An entry that has aged is no one's any more.
        let aged = Nanos(2) + BridgeSettings::default().ageing + Interval(1);
        (0..64).for_each(|number| bridge.learn::<false>(aged, PortId(1), Name::new(0, station(number))));
        assert_eq!(bridge.counters(PortId(1)).displaced, Allowance::BURST);
    }

    #[test]
    fn a_station_may_move_uncounted_once_it_has_aged() {
        let mut bridge = bridge(64, HashKey::from(1));
        let ageing = BridgeSettings::default().ageing;
        let moved = [ageing, ageing + Interval(1)].map(|after| {
            let name = Name::new(0, station(after.0));
            bridge.learn::<false>(Nanos(1), PortId(0), name);
            bridge.learn::<false>(Nanos(1) + after, PortId(1), name);
            assert_eq!(bridge.find(name).map(|slot| bridge.stations[slot].port), Some(PortId(1)));
            bridge.counters(PortId(1)).moved
        });
        assert_eq!(moved, [1, 1]);
    }

    #[test]
    fn a_full_table_forgets_a_silent_station_before_the_search_has_gone_round() {
        let stations = 4 * WAYS as u64;
        let mut bridge = bridge(stations as u32, HashKey::from(1));
        let mut learn = |now, number| {
            bridge.learn::<false>(Nanos(now), PortId(0), Name::new(0, station(number)));
            bridge.find(Name::new(0, station(stations - 1))).is_some()
        };
        assert!((0..stations).map(|number| learn(1, number)).last().unwrap());
        assert!((0..stations - 1).map(|number| learn(2, number)).last().unwrap());
        let known = [0, 1, 2, 3].map(|number| learn(3, stations + number));
        assert_eq!(known, [true, true, true, false], "each new one looks at a quarter of the table");
    }

    #[test]
    fn the_address_of_a_port_is_not_learned_in_any_vlan() {
        let mut bridge = bridge(64, HashKey::from(1));
        for vlan in [0, 7] {
            let name = Name::new(vlan, MacAddress([2, 0, 0, 0, 0, 1]));
            bridge.learn::<false>(Nanos(1), PortId(0), name);
            assert_eq!(bridge.find(name), None);
        }
    }

    /// The headers of a frame between stations, in `vlan` if that is not 0.
    fn headers(source: MacAddress, destination: MacAddress, vlan: u16) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..6].copy_from_slice(&destination.0);
        bytes[6..12].copy_from_slice(&source.0);
        let [high, low] = vlan.to_be_bytes();
        let tail = if vlan == 0 { [0x88, 0xb5, 0, 0, 0, 0] } else { [0x81, 0, high, low, 0x88, 0xb5] };
        bytes[12..18].copy_from_slice(&tail);
        bytes
    }

    fn verdict(bridge: &mut Bridge, now: Nanos, ingress: PortId, headers: &[u8]) -> Verdict {
        let descriptor = Descriptor::parse(headers, units::Bytes(64)).unwrap();
        bridge.verdict::<false>(now, ingress, &descriptor, headers)
    }

    #[test]
    fn a_station_is_known_until_its_age_is_above_the_ageing_time() {
        let mut bridge = bridge(64, HashKey::from(1));
        let ageing = BridgeSettings::default().ageing;
        bridge.learn::<false>(Nanos(1), PortId(1), Name::new(0, station(1)));
        let to_it = headers(station(2), station(1), 0);
        let mut after = |age| verdict(&mut bridge, Nanos(1) + age, PortId(0), &to_it);
        assert_eq!(after(ageing), Verdict::Forward(PortId(1)));
        assert_eq!(after(ageing + Interval(1)), Verdict::Flood);
        bridge.learn::<false>(Nanos(1) + ageing, PortId(1), Name::new(0, station(1)));
        let again = verdict(&mut bridge, Nanos(2) + ageing, PortId(0), &to_it);
        assert_eq!(again, Verdict::Forward(PortId(1)), "it was seen again");
    }

    #[test]
    fn frames_of_groups_and_for_the_own_port_go_nowhere() {
        let mut bridge = bridge(64, HashKey::from(1));
        bridge.learn::<false>(Nanos(1), PortId(0), Name::new(0, station(1)));
        let mut from =
            |source, destination| verdict(&mut bridge, Nanos(1), PortId(0), &headers(source, destination, 0));
        let group = MacAddress([3, 0, 0, 0, 0, 0]);
        let link_local = MacAddress([1, 0x80, 0xc2, 0, 0, 0]);
        assert_eq!(from(group, station(1)), Verdict::Drop(DropReason::InvalidSource));
        assert_eq!(from(station(2), link_local), Verdict::Drop(DropReason::LinkLocal));
        assert_eq!(from(station(2), station(1)), Verdict::Drop(DropReason::SamePort));
        assert_eq!(from(station(2), group), Verdict::Flood);
        assert_eq!(from(station(2), station(3)), Verdict::Flood);
        assert_eq!(bridge.find(Name::new(0, group)), None);
    }

    #[test]
    fn a_bridge_of_another_size_starts_empty_and_keeps_its_counters() {
        let with = |capacity, ageing| {
            let mut old = bridge(64, HashKey::from(1));
            let name = Name::new(0, station(1));
            (0..2).for_each(|port| old.learn::<false>(Nanos(1), PortId(port), name));
            let own = vec![MacAddress([2, 9, 9, 9, 9, 9]); 3];
            let settings = BridgeSettings { capacity, ageing: Interval(ageing) };
            old.succeed(&mut Bridge::new(&settings, own, HashKey::from(1)));
            assert_eq!(old.counters(PortId(1)).moved, 1);
            let known = verdict(&mut old, Nanos(12), PortId(0), &headers(station(2), station(1), 0));
            old.learn::<false>(Nanos(1), PortId(0), Name::new(0, MacAddress([2, 9, 9, 9, 9, 9])));
            assert_eq!(
                old.find(Name::new(0, MacAddress([2, 9, 9, 9, 9, 9]))),
                None,
                "the port's new address"
            );
            known
        };
        assert_eq!(with(64, 11), Verdict::Forward(PortId(1)));
        assert_eq!(with(64, 10), Verdict::Flood, "it has aged");
        assert_eq!(with(65, 11), Verdict::Flood, "the table is new");
    }

    proptest! {
        #[test]
        fn a_small_table_forgets_the_address_that_was_seen_longest_ago(
            capacity in 1..=16_u32,
            seed: u64,
            frames in proptest::collection::vec((0..24_u64, 0..3_u16), 0..300),
        ) {
            let mut bridge = bridge(capacity, HashKey::from(seed));
            // Stations and their ports, in the order in which they were seen.
            let mut model: Vec<(u64, PortId)> = Vec::new();
            for (now, (number, port)) in (1..).zip(frames) {
                bridge.learn::<false>(Nanos(now), PortId(port), Name::new(0, station(number)));
                model.retain(|(known, _)| *known != number);
                if model.len() == capacity as usize {
                    model.remove(0);
                }
                model.push((number, PortId(port)));
                for number in 0..24 {
                    let slot = bridge.find(Name::new(0, station(number)));
                    let found = slot.map(|slot| bridge.stations[slot].port);
                    let known = model.iter().find(|(known, _)| *known == number);
                    prop_assert_eq!(found, known.map(|(_, port)| *port));
                }
            }
        }

        #[test]
        fn a_large_table_knows_the_last_address_and_no_more_than_it_may(
            seed: u64,
            frames in proptest::collection::vec(0..2_000_u64, 0..1_500),
        ) {
            let mut bridge = bridge(100, HashKey::from(seed));
            for (now, number) in (1..).zip(frames) {
                let name = Name::new(7, station(number));
                // As often as addresses may take the place of others.
                bridge.learn::<false>(Nanos(now * 1_000_000), PortId(1), name);
                prop_assert!(bridge.find(name).is_some());
                prop_assert!(bridge.stations.len() <= 100);
            }
            let findable = bridge.stations.iter().filter(|it| bridge.find(it.name).is_some()).count();
            prop_assert_eq!(findable, bridge.stations.len());
        }
    }
}
