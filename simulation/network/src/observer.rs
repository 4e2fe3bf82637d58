//! Observers of a run, and the view that they get.

use crate::frame::{FramePool, SimFrame};
use crate::link::Direction;
use crate::network::NodeId;
use crate::nodes::{Place, Station, Switch};
use crate::outcome::FlowRecord;
use core::ops::ControlFlow;
use endpoint::Host;
use serde::{Deserialize, Serialize};
use switch::{Event, Lanes, Volume};
use units::{Bytes, Nanos, PortId, WireBytes};

/// Observes a simulation while it runs. It cannot change the run, except to end it.
pub trait Observer {
    /// Called when a flow has ended.
    fn completed(&mut self, _record: &FlowRecord) {}

    /// Called at each multiple of [`crate::Options::sampling`], after all events before `now`.
    fn sample(&mut self, _now: Nanos, _view: &NetworkView<'_>) {}

    /// Called when the last bit of a frame arrives at a port of a tapped node, or when its first bit leaves.
    /// `length` is without FCS, and the frame begins with `headers`. Frames that leave come in the order of
    /// the wire.
    fn captured(&mut self, _tap: Tap, _at: Nanos, _headers: &[u8], _length: Bytes) {}

    /// Called with each event of a switch whose events are recorded; see [`crate::Simulation::record_events`]. Those of one
    /// switch come in the same order in each run, and some later than frames that leave after them.
    fn event(&mut self, _switch: NodeId, _event: &Event) {}

    /// Called every few ten thousand events and samples. Ends the run by returning [`ControlFlow::Break`].
    fn progress(&mut self, _progress: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after each [`Observer::progress`]. Another run can go on from `state`; see
    /// [`crate::Simulation::resume`]. Never called in a network in which a switch has several lanes.
    fn checkpoint(&mut self, _state: &State<'_>) {}
}

/// Ignores everything.
impl Observer for () {}

/// A run between two events, for a checkpoint.
pub struct State<'a>(pub(crate) &'a dyn Fn() -> Vec<u8>);

impl State<'_> {
    /// The state as bytes. They mean something to the same version of the program only, together with the same network,
    /// options and flows.
    pub fn to_bytes(&self) -> Vec<u8> {
        (self.0)()
    }
}

/// The place where a frame was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tap {
    /// The node.
    pub node: NodeId,
    /// The port of the node.
    pub port: PortId,
    /// Whether the frame came in there.
    pub inbound: bool,
}

/// The progress of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The current virtual time.
    pub now: Nanos,
    /// Frames put on a link.
    pub transmissions: u64,
    /// Flows started.
    pub flows_started: u64,
    /// Flows ended.
    pub flows_ended: u64,
    /// The rounds of its parts.
    pub rounds: Rounds,
}

/// How the parts of a network have run beside each other. None of it is a result: it depends on the number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Rounds in which parts ran ahead.
    pub rounds: u64,
    /// The sum over all rounds of the events of the part that had most of them. The rest of the events cost no time if
    /// every part has a thread.
    pub longest: u64,
    /// Turns that were taken one at a time.
    pub single_turns: u64,
    /// Rounds that a part ended early, because its next turn depended on another part.
    pub waits: u64,
}

/// A simulation between two events.
pub struct NetworkView<'a> {
    /// The part of each node.
    pub(crate) homes: &'a [usize],
    pub(crate) parts: Vec<PartView<'a>>,
    /// The number of each direction, by link and sending end.
    pub(crate) numbers: &'a [[usize; 2]],
    pub(crate) progress: Progress,
}

/// A part of the network between two events.
pub(crate) struct PartView<'a> {
    pub places: &'a [Place],
    pub switches: &'a [Switch],
    pub stations: &'a [Station],
    /// All directions; those of other parts carry nothing here.
    pub directions: &'a [Direction],
    pub pool: &'a FramePool,
}

impl NetworkView<'_> {
    /// The switch with number `node`; `None` if that node is no switch.
    pub fn switch(&self, node: NodeId) -> Option<&Lanes<SimFrame>> {
        match self.place(node)? {
            (part, Place::Switch(switch)) => part.switches.get(switch).map(|switch| &switch.driver),
            _ => None,
        }
    }

    /// The host with number `node`; `None` if that node is no host.
    pub fn host(&self, node: NodeId) -> Option<&Host> {
        match self.place(node)? {
            (part, Place::Station(station)) => part.stations.get(station).map(|station| &station.host),
            _ => None,
        }
    }

    fn place(&self, node: NodeId) -> Option<(&PartView<'_>, Place)> {
        let part = self.parts.get(*self.homes.get(node.0 as usize)?)?;
        Some((part, *part.places.get(node.0 as usize)?))
    }

    /// Bytes on the wire that end `end` of link `link` has sent since the start; zero if there is no such
    /// link.
    pub fn carried(&self, link: usize, end: usize) -> WireBytes {
        WireBytes(self.directions(link, end).map(|direction| direction.totals.wire.0).sum())
    }

    /// Frames that end `end` of link `link` has sent and that have not arrived yet.
    pub fn in_flight(&self, link: usize, end: usize) -> Volume {
        self.directions(link, end).map(Direction::in_flight).sum()
    }

    /// The direction in each part.
    fn directions(&self, link: usize, end: usize) -> impl Iterator<Item = &Direction> {
        let number = self.numbers.get(link).and_then(|ends| ends.get(end)).copied();
        self.parts.iter().filter_map(move |part| part.directions.get(number?))
    }

    /// All frames on links and in switches.
    pub fn frames(&self) -> Volume {
        self.parts.iter().map(|part| part.pool.live()).sum()
    }

    /// The progress of the simulation.
    pub fn progress(&self) -> Progress {
        self.progress
    }
}
