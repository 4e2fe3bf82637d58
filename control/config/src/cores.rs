//! Assigns ports to cores, and computes the load of each core.
//!
//! A worker serves all ports of its core. If frames arrive faster than it can take them, they wait in the receive ring.
//! A deep ring pauses the port ([`switch::receive_ring`]), which protects as far as the ring reaches.

use std::collections::{BTreeMap, BTreeSet};

use switch::program::{PortSettings, Settings};
use units::{BitRate, Interval, PortId, WireBytes};

use crate::core_load::{Core, RingReach, busiest, lanes_for};
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
    /// The rate of the port. Teams are spread by the sum of their rates.
    pub rate: BitRate,
    /// The index, among the placements, of the first port of its team ([`Settings::team`]).
    pub team: usize,
}

/// The placement of each port.
pub fn placements(settings: &Settings, runtime: &Runtime) -> Vec<Placement> {
    let cores = runtime.devices.iter().map(|device| device.as_ref()?.core);
    let ports = (0..).map(PortId).zip(&settings.ports).zip(cores);
    let first = |number: PortId| settings.team(number).iter().next();
    ports
        .map(|((number, port), core)| {
            let team = first(number).unwrap_or(number).index();
            Placement { core, rate: port.rate, team }
        })
        .collect()
}

/// The first port whose stated core is not that of a port before it in its team: both, and the core of that one.
pub(crate) fn first_team_apart(settings: &Settings, runtime: &Runtime) -> Option<(usize, usize, usize)> {
    let placements = placements(settings, runtime);
    let mut stated = placements.iter().enumerate().filter_map(|(port, it)| Some((port, it.team, it.core?)));
    let mut first: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    stated.find_map(|(port, team, core)| {
        let (other, its) = *first.entry(team).or_insert((port, core));
        (its != core).then_some((port, other, its))
    })
}

/// Assigns a core to each port, one to the ports of each team: that which a placement names, or else the least loaded of
/// `cores`. Of the latter teams the fastest choose first.
///
/// # Panics
/// If `cores` is empty, and no placement names a core.
pub fn assign<C: Copy + Ord>(placements: &[Placement<C>], cores: &[C]) -> Vec<C> {
    let mut teams: BTreeMap<usize, (Option<C>, u64)> = BTreeMap::new();
    for Placement { core, rate, team } in placements {
        let (named, sum) = teams.entry(*team).or_default();
        *named = named.or(*core);
        *sum = sum.saturating_add(rate.bits_per_second());
    }
    let mut order: Vec<_> = teams.into_iter().collect();
    order.sort_by_key(|(_, (named, rate))| (named.is_none(), core::cmp::Reverse(*rate)));
    let mut load: BTreeMap<C, u64> = cores.iter().map(|core| (*core, 0)).collect();
    let mut chosen: BTreeMap<usize, C> = BTreeMap::new();
    for (team, (named, rate)) in order {
        let least = load.iter().min_by_key(|(_, carried)| **carried).map(|(core, _)| *core);
        let core = named.or(least).expect("cores are named by the file, or there is an allowed one");
        let carried = load.entry(core).or_default();
        *carried = carried.saturating_add(rate);
        chosen.insert(team, core);
    }
    placements.iter().map(|placement| chosen[&placement.team]).collect()
}

/// The loads of all cores that have ports: first the cores that the file names, in order, then those that the gateway
/// chooses, in the order of their first ports. If the file does not name the cores, there is one for each port.
pub(crate) fn loads(settings: &Settings, links: &[Link], runtime: &Runtime) -> Vec<CoreLoad> {
    if runtime.dpdk.lanes > 1 {
        return of_lanes(settings, links, runtime);
    }
    let named = |placement: Placement| {
        let Placement { core, rate, team } = placement;
        Placement { core: core.map(Core::Named), rate, team }
    };
    let placements: Vec<_> = placements(settings, runtime).into_iter().map(named).collect();
    let cores: Vec<_> = match &*runtime.dpdk.cores {
        [] => (0..placements.len()).map(Core::Chosen).collect(),
        stated => stated.iter().copied().map(Core::Named).collect(),
    };
    let (mut loads, mut teams) = (BTreeMap::<Core, CoreLoad>::new(), BTreeSet::new());
    for ((number, port), core) in settings.ports.iter().enumerate().zip(assign(&placements, &cores)) {
        let device = runtime.devices[number].as_ref();
        let ring = device.and_then(|device| ring(port, &links[number], device));
        let is_new = teams.insert(placements[number].team);
        match loads.get_mut(&core) {
            Some(load) => {
                load.add(port, ring);
                load.teams += usize::from(is_new);
            }
            None => {
                loads.insert(core, CoreLoad::new(core, number, port, ring));
            }
        }
    }
    let mut loads: Vec<_> = loads.into_values().collect();
    loads.sort_by_key(|load| (load.core.is_none(), load.core, load.first));
    with_lanes_for_all(loads)
}

fn with_lanes_for_all(mut loads: Vec<CoreLoad>) -> Vec<CoreLoad> {
    let lanes = lanes_for(&loads);
    loads.iter_mut().for_each(|load| load.lanes_for_all = lanes);
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
    with_lanes_for_all((0..*lanes).filter_map(of_lane).collect())
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

    fn placement(team: usize, core: Option<usize>, gigabits: u64) -> Placement {
        Placement { core, rate: BitRate::gigabits(gigabits), team }
    }

    #[test]
    fn the_fastest_teams_are_spread_first() {
        let ports = [10, 100, 40, 40].into_iter().enumerate();
        let placements: Vec<_> = ports.map(|(team, gigabits)| placement(team, None, gigabits)).collect();
        assert_eq!(assign(&placements, &[1, 2]), [2, 1, 2, 2]);
    }

    #[test]
    fn a_core_that_is_named_is_kept_and_counts() {
        let placements = [placement(0, Some(2), 100), placement(1, None, 10)];
        assert_eq!(assign(&placements, &[1, 2]), [2, 1]);
    }

    #[test]
    fn ports_of_a_team_share_a_core_and_teams_are_spread() {
        let teams = [0, 1, 0, 1].map(|team| placement(team, None, 100));
        assert_eq!(assign(&teams, &[1, 2]), [1, 2, 1, 2]);
        let beside = [placement(0, None, 100), placement(0, Some(2), 100)];
        assert_eq!(assign(&beside, &[1, 2]), [2, 2]);
    }
}
