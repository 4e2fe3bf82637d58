//! Builds the engine from the description of a network.

use super::calendar::Calendar;
use super::log::Log;
use super::odd::Odd;
use super::part::{BURST, Part, Window};
use super::part_jobs::PartJobs;
use super::turn::Actors;
use super::{Engine, PROGRESS_EVERY, SUMS_EVERY};
use crate::carrier::Carriers;
use crate::check::Checker;
use crate::fault::FaultyLink;
use crate::flows::Flows;
use crate::frame::{FramePool, SimFrame};
use crate::ideal::Paths;
use crate::job::{Jobs, Progress};
use crate::link::Direction;
use crate::network::{LinkEnd, NetworkSpec, NodeId, NodeKind};
use crate::nodes::{Place, Station, Switch};
use crate::observer::Rounds;
use crate::options::Options;
use crate::reroute::RouteChanges;
use crate::sites::sites;
use crate::stall::{Motion, Watch};
use crate::tournament::Tournament;
use endpoint::{Host, HostSettings};
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use switch::program::WatchdogAction;
use switch::{Lanes, Program};
use units::{Interval, Nanos, PortId, PortSet, WireBytes};

impl Engine {
    /// The engine of a network, which has as many parts as pay, at most one for each thread.
    pub fn new(network: NetworkSpec, options: Options) -> Self {
        let homes = sites(&network, options.threads);
        Self::of_parts(network, options, homes)
    }

    /// The engine of a network whose nodes are in the parts `homes`, numbered from zero.
    pub fn of_parts(network: NetworkSpec, options: Options, homes: Vec<usize>) -> Self {
        let paths = Paths::new(&network);
        let parts = homes.iter().max().map_or(1, |last| last + 1);
        let delays = || network.links.iter().map(|link| link.delay);
        let (shortest, longest) = (delays().min().unwrap_or_default(), delays().max().unwrap_or_default());
        let home = |end: &LinkEnd| homes[end.node.0 as usize];
        let joining = network.links.iter().filter(|link| home(&link.ends[0]) != home(&link.ends[1]));
        // Parts that no link joins never wait for each other.
        let lookahead = joining.map(|link| link.delay).min().unwrap_or(Interval(Tournament::HORIZON.0));
        debug_assert!(lookahead > Interval::ZERO, "a part runs ahead of the others by some time");
        let hosts = network.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Host(_))).count();
        let stations = network.nodes.len() + 1;
        let actors = Actors { schedule: network.nodes.len(), stations, watch: stations + hosts };
        let part = |number| Part {
            crossing: lookahead,
            ..Part::new(&network, &options, actors, shortest, &homes, number)
        };
        let parts: Vec<Part> = (0..parts).map(part).collect();
        Self {
            now: Nanos::ZERO,
            rng: Pcg32::seed_from_u64(options.seed),
            watch: Watch::new(options.stall.max(longest * 8)),
            lookahead,
            actors,
            parts,
            numbers: directions(&network, options.seed).1,
            homes,
            paths,
            pending: VecDeque::new(),
            knows_all: false,
            ready: VecDeque::new(),
            has_loops: false,
            stops: BinaryHeap::new(),
            endless: 0,
            again: Vec::new(),
            sums_at: SUMS_EVERY,
            next_switch: 0,
            samples: 0,
            next_sample: options.sampling.map_or(Nanos::NEVER, |_| Nanos::ZERO),
            fetched: 0,
            progress_at: PROGRESS_EVERY,
            rounds: Rounds::default(),
            options,
        }
    }
}

impl Part {
    /// Part `number` of a network.
    fn new(
        network: &NetworkSpec,
        options: &Options,
        actors: Actors,
        lookahead: Interval,
        homes: &[usize],
        number: usize,
    ) -> Self {
        let (mut directions, _) = directions(network, options.seed);
        let mut nodes = Nodes::new(network, options, homes, number, actors.stations);
        nodes.connect(&mut directions);
        let Nodes { places, switches, stations, timers } = nodes;
        let agendas = switches.iter().map(|it| Tournament::new(it.inputs.len() + 1)).collect();
        let mut calendar = Calendar { actors: Tournament::new(actors.watch), agendas, leaving: Vec::new() };
        // A scheme may speak before any frame comes.
        for (switch, it) in switches.iter().enumerate() {
            calendar.agendas[switch].set(it.inputs.len(), it.own_next());
            calendar.actors.set(it.node.0 as usize, it.own_next());
        }
        stations.iter().for_each(|it| calendar.actors.set(it.timers, it.progress.due));
        let home = |end: LinkEnd| homes[end.node.0 as usize];
        let leads_out = |it: &Direction| home(it.from) == number && home(it.to) != number;
        let is_joined = directions.iter().any(leads_out);
        let nothing = (Nanos::ZERO, 0);
        let jobs = PartJobs::new(network, &stations, homes, number);
        Self {
            now: Nanos::ZERO,
            actor: 0,
            window: Window { end: nothing, reach: Nanos::ZERO, heard: nothing, goes_on: false, events: 0 },
            is_joined,
            checker: Checker::new(&switches),
            options: options.clone(),
            calendar,
            lookahead,
            crossing: Interval::ZERO,
            actors,
            places,
            directions,
            switches,
            stations,
            timers,
            pool: FramePool::default(),
            flows: Flows::default(),
            motion: Motion::default(),
            starts: VecDeque::new(),
            again: Vec::new(),
            arrived: Vec::new(),
            news: Vec::new(),
            heard: VecDeque::new(),
            jobs,
            releases: Vec::new(),
            burst: Vec::with_capacity(BURST),
            odd: Odd::default(),
            keeps_order: network.keeps_order(),
            transmissions: 0,
            events: 0,
            waits: 0,
            log: Log::default(),
        }
    }
}

/// The nodes of a part, by kind.
#[derive(Default)]
struct Nodes {
    /// The place of each node of the network.
    places: Vec<Place>,
    switches: Vec<Switch>,
    stations: Vec<Station>,
    /// The station of each host of the network; of a host elsewhere, the number means nothing.
    timers: Vec<usize>,
}

impl Nodes {
    /// The nodes of part `part`, without links. The timers of hosts are the actors from `first_station` on.
    fn new(
        network: &NetworkSpec,
        options: &Options,
        homes: &[usize],
        part: usize,
        first_station: usize,
    ) -> Self {
        let mut nodes = Self::default();
        let unreliable = unreliable_ports(network);
        for ((number, spec), unreliable) in (0..).zip(&network.nodes).zip(unreliable) {
            let node = NodeId(number);
            let (is_here, is_tapped) = (homes[number as usize] == part, options.taps.contains(&node));
            let timers = first_station + nodes.timers.len();
            if let NodeKind::Host(_) = spec.kind {
                nodes.timers.push(nodes.stations.len());
            }
            match &spec.kind {
                _ if !is_here => nodes.places.push(Place::Elsewhere),
                NodeKind::Switch { program, lanes } => {
                    nodes.places.push(Place::Switch(nodes.switches.len()));
                    let driver = Lanes::new(program.clone(), *lanes).expect("the caller has checked it");
                    let carriers = carriers(network, node, program);
                    let made = switch(node, driver, is_tapped);
                    let routes = RouteChanges::new(&network.reroutes, node, program);
                    nodes.switches.push(Switch { unreliable, carriers, routes, ..made });
                }
                NodeKind::Host(settings) => {
                    nodes.places.push(Place::Station(nodes.stations.len()));
                    let made = station(node, settings.clone(), (is_tapped, timers), &network.jobs);
                    nodes.stations.push(made);
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
                Place::Elsewhere => direction.input = number,
            }
            let out = match self.places[direction.from.node.0 as usize] {
                Place::Switch(switch) => {
                    let it = &mut self.switches[switch];
                    let port = it.program.port(direction.from.port);
                    direction.window = port.tx_window;
                    if it.driver.lanes().len() > 1 {
                        let longest = WireBytes::of_frame(port.max_frame);
                        direction.joint = port.rate.serialization().time_of(longest);
                    }
                    &mut it.out[direction.from.port.index()]
                }
                Place::Station(station) => &mut self.stations[station].out,
                Place::Elsewhere => continue,
            };
            assert!(out.replace(number).is_none(), "a port has one link at most");
        }
    }
}

fn switch(node: NodeId, driver: Lanes<SimFrame>, is_tapped: bool) -> Switch {
    let program = driver.program().clone();
    let ports = program.settings().ports.len();
    let deadlines: Vec<_> = (0..ports as u16).map(|port| driver.port_deadline(PortId(port))).collect();
    Switch {
        node,
        out: vec![None; ports],
        inputs: 0..0,
        unreliable: PortSet::EMPTY,
        next: deadlines.iter().copied().min().unwrap_or(Nanos::NEVER),
        deadlines,
        carriers: Carriers::default(),
        routes: RouteChanges::default(),
        driver,
        program,
        held: switch::Volume::ZERO,
        taken: switch::Volume::ZERO,
        is_tapped,
        recorded: None,
    }
}

/// The failures that `node` will notice: those of links that are members of its bundles, in either direction.
fn carriers(network: &NetworkSpec, node: NodeId, program: &Program) -> Carriers {
    let mut carriers = Carriers::default();
    for link in &network.links {
        for LinkEnd { port, .. } in link.ends.iter().filter(|end| end.node == node) {
            let failing = link.faults.iter().find(|faults| faults.down.is_some() && !faults.hidden);
            if let Some(faults) = failing.filter(|_| program.port(*port).bundle.is_some()) {
                carriers.add(*port, faults);
            }
        }
    }
    carriers
}

fn station(
    node: NodeId,
    settings: Arc<HostSettings>,
    (is_tapped, timers): (bool, usize),
    jobs: &Jobs,
) -> Station {
    let mut host = Host::new(settings.clone());
    host.keep(jobs.kept(node));
    let progress = Progress::new(jobs, node);
    Station { node, host, settings, out: None, input: None, is_tapped, timers, released: 0, progress }
}

/// The ports of each node at which more may arrive than the switch asked for: PFC frames to the neighbour are lost or
/// late, frames that it sent earlier take longer than the delay of the link, or its watchdog sends in spite of pauses.
fn unreliable_ports(network: &NetworkSpec) -> Vec<PortSet> {
    let forwards = |end: LinkEnd| match &network.nodes[end.node.0 as usize].kind {
        NodeKind::Switch { program, .. } => {
            program.port(end.port).watchdog.is_some_and(|it| it.action == WatchdogAction::Forward)
        }
        NodeKind::Host(_) => false,
    };
    let mut ports = vec![PortSet::EMPTY; network.nodes.len()];
    for link in &network.links {
        for (here, there) in [(0, 1), (1, 0)] {
            let is_late = link.faults[here].hold_up_pauses() || link.faults[there].hold_up_data();
            if is_late || forwards(link.ends[there]) {
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
