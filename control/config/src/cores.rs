//! Assigns ports to cores, and computes the load of each core.
//!
//! A worker serves all ports of its core. If frames arrive faster than it can take them, they wait in the receive ring.
//! A deep ring pauses the port ([`switch::receive_ring`]), which protects as far as the ring reaches.

use std::collections::BTreeMap;

use switch::ForwardingSettings;
use switch::program::{PortSettings, Settings};
use units::{BitRate, Interval, WireBytes};

use crate::core_load::{Core, RingReach, busiest};
use crate::flow_control;
use crate::headroom::{HeadroomSum, HeadroomTerms};
use crate::link::Link;
use crate::runtime::{Device, DeviceKind, Dpdk, Runtime};

pub use crate::core_load::{CoreLoad, FRAMES_PER_SECOND};

/// The core that a port should run on. `C` identifies a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement<C = usize> {
    /// The core that the configuration names.
    pub core: Option<C>,
    /// The rate of the port. Ports are spread by rate.
    pub rate: BitRate,
    /// The index, among the placements, of the port that this one is tied to by a relay, or patched to.
    pub peer: Option<usize>,
}

/// The placement of each port.
pub fn placements(settings: &Settings, runtime: &Runtime) -> Vec<Placement> {
    let cores = runtime.devices.iter().map(|device| device.as_ref()?.core);
    let ports = settings.ports.iter().zip(cores).enumerate();
    let peer = |number| listening(settings, number).or_else(|| peer_of(&settings.forwarding, number));
    ports.map(|(number, (port, core))| Placement { core, rate: port.rate, peer: peer(number) }).collect()
}

/// The port that passes on the pauses of `port`, or whose pauses `port` passes on. Both must have one core, because a
/// pause is passed on within a turn.
fn listening(settings: &Settings, port: usize) -> Option<usize> {
    let from = |port: usize| Some(settings.ports.get(port)?.flow_control.listens_to()?.index());
    from(port).or_else(|| (0..settings.ports.len()).find(|other| from(*other) == Some(port)))
}

/// The first port on another core than the one whose pauses it passes on: both.
pub(crate) fn first_listener_apart(settings: &Settings, runtime: &Runtime) -> Option<(usize, usize)> {
    let core = |port: usize| runtime.devices[port].as_ref()?.core;
    let pairs = settings.ports.iter().enumerate();
    let mut pairs = pairs.filter_map(|(number, it)| Some((number, it.flow_control.listens_to()?.index())));
    pairs.find(|(one, other)| core(*one).zip(core(*other)).is_some_and(|(one, other)| one != other))
}

/// The port that `port` is patched to.
fn peer_of(forwarding: &ForwardingSettings, port: usize) -> Option<usize> {
    let ForwardingSettings::Patch(pairs) = forwarding else { return None };
    let mut both_ways = pairs.iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    both_ways.find(|(from, _)| from.index() == port).map(|(_, to)| to.index())
}

/// Assigns a core to each port. A port gets the core of its placement. The other ports follow, fastest first: each gets
/// the core of its peer, which keeps frames in one cache, or else the least loaded of `cores`.
///
/// # Panics
/// If `cores` is empty, and neither a placement nor an earlier port names a core.
pub fn assign<C: Copy + Ord>(placements: &[Placement<C>], cores: &[C]) -> Vec<C> {
    let mut load: BTreeMap<C, u64> = cores.iter().map(|core| (*core, 0)).collect();
    let mut assigned: Vec<Option<C>> = placements.iter().map(|placement| placement.core).collect();
    for placement in placements {
        if let Some(core) = placement.core {
            add(&mut load, core, placement.rate);
        }
    }
    let mut open: Vec<usize> = (0..placements.len()).filter(|port| assigned[*port].is_none()).collect();
    open.sort_by_key(|port| core::cmp::Reverse(placements[*port].rate.bits_per_second()));
    for port in open {
        let least = load.iter().min_by_key(|(_, carried)| **carried).map(|(core, _)| *core);
        let least = least.expect("cores are named by the file, or there is an allowed one");
        let core = placements[port].peer.and_then(|peer| assigned[peer]).unwrap_or(least);
        add(&mut load, core, placements[port].rate);
        assigned[port] = Some(core);
    }
    assigned.into_iter().flatten().collect()
}

fn add<C: Ord>(load: &mut BTreeMap<C, u64>, core: C, rate: BitRate) {
    let carried = load.entry(core).or_default();
    *carried = carried.saturating_add(rate.bits_per_second());
}

/// The loads of all cores that have ports: first the cores that the file names, in order, then those that the gateway
/// chooses, in the order of their first ports. If the file does not name the cores, there is one for each port.
pub(crate) fn loads(settings: &Settings, links: &[Link], runtime: &Runtime) -> Vec<CoreLoad> {
    if runtime.dpdk.lanes > 1 {
        return of_lanes(settings, links, runtime);
    }
    let named = |placement: Placement| {
        let Placement { core, rate, peer } = placement;
        Placement { core: core.map(Core::Named), rate, peer }
    };
    let placements: Vec<_> = placements(settings, runtime).into_iter().map(named).collect();
    let cores: Vec<_> = match &*runtime.dpdk.cores {
        [] => (0..placements.len()).map(Core::Chosen).collect(),
        stated => stated.iter().copied().map(Core::Named).collect(),
    };
    let mut loads: BTreeMap<Core, CoreLoad> = BTreeMap::new();
    for ((number, port), core) in settings.ports.iter().enumerate().zip(assign(&placements, &cores)) {
        let device = runtime.devices[number].as_ref();
        let ring = device.and_then(|device| ring(port, &links[number], device));
        match loads.get_mut(&core) {
            Some(load) => load.add(port, ring),
            None => {
                loads.insert(core, CoreLoad::new(core, number, port, ring));
            }
        }
    }
    let mut loads: Vec<_> = loads.into_values().collect();
    loads.sort_by_key(|load| (load.core.is_none(), load.core, load.first));
    loads
}

/// The loads of lanes, each the share of the busiest one, on the first cores that the file names.
fn of_lanes(settings: &Settings, links: &[Link], runtime: &Runtime) -> Vec<CoreLoad> {
    let Dpdk { cores, lanes, .. } = &runtime.dpdk;
    let shares = settings.ports.iter().enumerate().map(|(number, port)| {
        let rate = busiest(port.rate, *lanes);
        let ring = runtime.devices[number].as_ref().and_then(|device| ring(port, &links[number], device));
        (PortSettings { rate, ..port.clone() }, ring.map(|ring| RingReach { rate, ..ring }))
    });
    let shares: Vec<_> = shares.collect();
    let of_lane = |lane: usize| {
        let core = cores.get(lane).map_or(Core::Chosen(lane), |core| Core::Named(*core));
        let ((first, ring), rest) = shares.split_first()?;
        let mut load = CoreLoad::new(core, 0, first, ring.clone());
        load.lanes = *lanes;
        rest.iter().for_each(|(port, ring)| load.add(port, ring.clone()));
        Some(load)
    };
    (0..*lanes).filter_map(of_lane).collect()
}

/// The receive ring of `port` on `link`; `None` if nothing there is lossless, or no one knows when a sender stops.
fn ring(port: &PortSettings, link: &Link, device: &Device) -> Option<RingReach> {
    let terms = link.terms(port, 1.0).filter(|_| !port.lossless().is_empty())?;
    let comes =
        HeadroomSum::new(&HeadroomTerms { interface_delay: Interval::ZERO, lanes: 1, ..terms }).total();
    Some(RingReach {
        port: port.name.clone(),
        rate: port.rate,
        descriptors: device.receive_descriptors.into(),
        is_told: matches!(device.kind, DeviceKind::Pci(_)),
        stops_within: port.rate.serialization().time_of(WireBytes(comes.0)),
        lateness: flow_control::lateness(&port.flow_control).unwrap_or(link.interface_delay),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(core: Option<usize>, gigabits: u64) -> Placement {
        Placement { core, rate: BitRate::gigabits(gigabits), peer: None }
    }

    fn patched(core: Option<usize>, peer: usize) -> Placement {
        Placement { peer: Some(peer), ..placement(core, 100) }
    }

    #[test]
    fn the_fastest_ports_are_spread_first() {
        let placements =
            [placement(None, 10), placement(None, 100), placement(None, 40), placement(None, 40)];
        assert_eq!(assign(&placements, &[1, 2]), [2, 1, 2, 2]);
    }

    #[test]
    fn a_core_that_is_named_is_kept_and_counts() {
        let placements = [placement(Some(2), 100), placement(None, 10)];
        assert_eq!(assign(&placements, &[1, 2]), [2, 1]);
    }

    #[test]
    fn ports_that_are_patched_to_each_other_share_a_core_and_pairs_are_spread() {
        let placements = [patched(None, 2), patched(None, 3), patched(None, 0), patched(None, 1)];
        assert_eq!(assign(&placements, &[1, 2]), [1, 2, 1, 2]);
        let apart = [patched(Some(1), 1), patched(Some(2), 0)];
        assert_eq!(assign(&apart, &[1, 2]), [1, 2], "where the file wants it so");
        let beside = [patched(None, 1), patched(Some(2), 0)];
        assert_eq!(assign(&beside, &[1, 2]), [2, 2]);
    }
}
