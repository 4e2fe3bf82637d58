//! Builds the engine from the description of a network.

use super::calendar::Calendar;
use super::odd::Odd;
use super::{Actors, BURST, Engine, PROGRESS_EVERY};
use crate::check::Checker;
use crate::fault::FaultyLink;
use crate::flows::Flows;
use crate::frame::FramePool;
use crate::ideal::Paths;
use crate::link::Direction;
use crate::network::{LinkEnd, NetworkSpec, NodeId, NodeKind, NodeSpec};
use crate::nodes::{Place, Station, Switch};
use crate::options::Options;
use crate::stall::Watch;
use crate::tournament::Tournament;
use endpoint::Host;
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use std::collections::BinaryHeap;
use std::sync::Arc;
use switch::{Program, Shard};
use units::{Nanos, PortId, PortSet};

impl Engine {
    pub fn new(network: NetworkSpec, options: Options) -> Self {
        let paths = Paths::new(&network);
        let (mut directions, numbers) = directions(&network, options.seed);
        let unreliable = unreliable_ports(&network);
        let delays = || network.links.iter().map(|link| link.delay);
        let (shortest, longest) = (delays().min().unwrap_or_default(), delays().max().unwrap_or_default());
        let mut nodes = Nodes::new(network.nodes, &unreliable, &options.taps);
        nodes.connect(&mut directions);
        let Nodes { places, switches, stations } = nodes;
        let first_station = places.len() + 1;
        let watch = first_station + stations.len();
        let actors = Actors { schedule: places.len(), stations: first_station, watch };
        let watch = Watch::new(options.stall.max(longest * 8));
        let agendas = switches.iter().map(|it| Tournament::new(it.inputs.len() + 1)).collect();
        let mut calendar = Calendar { actors: Tournament::new(actors.watch + 1), agendas };
        calendar.actors.set(actors.watch, watch.next());
        // A scheme may speak before any frame comes.
        for (switch, it) in switches.iter().enumerate() {
            calendar.agendas[switch].set(it.inputs.len(), it.next);
            calendar.actors.set(it.node.0 as usize, it.next);
        }
        Self {
            now: Nanos::ZERO,
            rng: Pcg32::seed_from_u64(options.seed),
            checker: Checker::new(&switches),
            watch,
            options,
            calendar,
            lookahead: shortest,
            actors,
            places,
            directions,
            numbers,
            switches,
            stations,
            pool: FramePool::default(),
            flows: Flows::default(),
            paths,
            pending: None,
            stops: BinaryHeap::new(),
            again: Vec::new(),
            burst: Vec::with_capacity(BURST),
            odd: Odd::default(),
            transmissions: 0,
            events: 0,
            until_progress: PROGRESS_EVERY,
        }
    }
}

/// The nodes of a network, by kind.
#[derive(Default)]
struct Nodes {
    /// The place of each node.
    places: Vec<Place>,
    switches: Vec<Switch>,
    stations: Vec<Station>,
}

impl Nodes {
    /// The nodes, without links. `unreliable` has the ports of each node that may drop lossless frames.
    fn new(specs: Vec<NodeSpec>, unreliable: &[PortSet], taps: &[NodeId]) -> Self {
        let mut nodes = Self::default();
        for ((number, spec), unreliable) in (0..).zip(specs).zip(unreliable) {
            let node = NodeId(number);
            let is_tapped = taps.contains(&node);
            match spec.kind {
                NodeKind::Switch(program) => {
                    nodes.places.push(Place::Switch(nodes.switches.len()));
                    let unreliable = *unreliable;
                    nodes.switches.push(Switch { unreliable, ..switch(node, program, is_tapped) });
                }
                NodeKind::Host(settings) => {
                    nodes.places.push(Place::Station(nodes.stations.len()));
                    let host = Host::new(settings.clone());
                    nodes.stations.push(Station { node, host, settings, out: None, input: None, is_tapped });
                }
            }
        }
        nodes
    }

    /// Sets the receiver of each direction, and the directions of each node.
    fn connect(&mut self, directions: &mut [Direction]) {
        for (number, direction) in directions.iter_mut().enumerate() {
            direction.place = self.places[direction.to.node.0 as usize];
            match direction.place {
                Place::Switch(switch) => {
                    let inputs = &mut self.switches[switch].inputs;
                    // Directions to the same node are consecutive.
                    inputs.start = if inputs.start == inputs.end { number } else { inputs.start };
                    inputs.end = number + 1;
                    direction.input = number - inputs.start;
                }
                Place::Station(station) => self.stations[station].input = Some(number),
            }
            let out = match self.places[direction.from.node.0 as usize] {
                Place::Switch(switch) => {
                    let it = &mut self.switches[switch];
                    direction.window = it.program.port(direction.from.port).tx_window;
                    &mut it.out[direction.from.port.index()]
                }
                Place::Station(station) => &mut self.stations[station].out,
            };
            assert!(out.replace(number).is_none(), "a port has one link at most");
        }
    }
}

fn switch(node: NodeId, program: Arc<Program>, is_tapped: bool) -> Switch {
    let ports = program.settings().ports.len();
    let shard = Shard::single(program.clone());
    Switch {
        node,
        out: vec![None; ports],
        inputs: 0..0,
        unreliable: PortSet::EMPTY,
        deadlines: (0..ports as u16).map(|port| shard.port_deadline(PortId(port))).collect(),
        next: shard.next_deadline(),
        shard,
        program,
        held: switch::Volume::ZERO,
        taken: switch::Volume::ZERO,
        is_tapped,
    }
}

/// The ports of each node at which faults may let more arrive than the switch asked for: PFC frames to the
/// neighbour are lost or late, or frames that it sent earlier take longer than the delay of the link.
fn unreliable_ports(network: &NetworkSpec) -> Vec<PortSet> {
    let mut ports = vec![PortSet::EMPTY; network.nodes.len()];
    for link in &network.links {
        for (here, there) in [(0, 1), (1, 0)] {
            if link.faults[here].hold_up_pauses() || link.faults[there].hold_up_data() {
                let LinkEnd { node, port } = link.ends[here];
                ports[node.0 as usize].insert(port);
            }
        }
    }
    ports
}

/// Both directions of each link, sorted by receiving port, so that frames of one instant arrive in the order
/// of ports; and the number of each direction, by link and sending end.
fn directions(network: &NetworkSpec, seed: u64) -> (Vec<Direction>, Vec<[usize; 2]>) {
    let mut order: Vec<(usize, usize)> =
        (0..network.links.len()).flat_map(|link| [(link, 0), (link, 1)]).collect();
    order.sort_by_key(|(link, end)| {
        let to = network.links[*link].ends[1 - end];
        (to.node, to.port)
    });
    let mut numbers = vec![[0; 2]; network.links.len()];
    for (number, (link, end)) in order.iter().enumerate() {
        numbers[*link][*end] = number;
    }
    let directions = order.iter().map(|(link, end)| {
        let spec = &network.links[*link];
        let faults = FaultyLink::new(spec.faults[*end], seed, (2 * link + end) as u64);
        let mut direction = Direction::new(spec, *end, faults);
        direction.reverse = numbers[*link][1 - end];
        direction
    });
    (directions.collect(), numbers)
}
