//! Who looks on, and at what.

use crate::frame::{FramePool, SimFrame};
use crate::link::Direction;
use crate::network::NodeId;
use crate::nodes::{Place, Station, Switch};
use crate::outcome::FlowRecord;
use core::ops::ControlFlow;
use endpoint::Host;
use switch::{Shard, Volume};
use units::{Bytes, Nanos, PortId, WireBytes};

/// Looks on while a simulation runs. Nothing that it does changes the run, but for ending it.
pub trait Observer {
    /// A flow has ended.
    fn completed(&mut self, _record: &FlowRecord) {}

    /// All that happens before `now` has happened. Called at each multiple of [`crate::Options::sampling`].
    fn sample(&mut self, _now: Nanos, _view: &View<'_>) {}

    /// A frame of `length` bytes without FCS that begins with `headers` arrived at a port whose node is tapped
    /// (its last bit), or left it (its first bit). What leaves is told in the order of the wire.
    fn captured(&mut self, _tap: Tap, _at: Nanos, _headers: &[u8], _length: Bytes) {}

    /// Called every few ten thousand events and samples; the run ends where it says so.
    fn progress(&mut self, _progress: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Looks at nothing.
impl Observer for () {}

/// Where a frame was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tap {
    /// At which node.
    pub node: NodeId,
    /// At which of its ports.
    pub port: PortId,
    /// Whether it came in there.
    pub inbound: bool,
}

/// How far a simulation has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// In virtual time.
    pub now: Nanos,
    /// Frames put on a link.
    pub transmissions: u64,
    /// Flows started.
    pub flows_started: u64,
    /// Flows ended.
    pub flows_ended: u64,
}

/// A simulation between two events.
pub struct View<'a> {
    pub(crate) places: &'a [Place],
    pub(crate) switches: &'a [Switch],
    pub(crate) stations: &'a [Station],
    pub(crate) directions: &'a [Direction],
    /// By link and end that sends, the number of the direction.
    pub(crate) numbers: &'a [[usize; 2]],
    pub(crate) pool: &'a FramePool,
    pub(crate) progress: Progress,
}

impl View<'_> {
    /// The switch that is node `node`.
    pub fn shard(&self, node: NodeId) -> Option<&Shard<SimFrame>> {
        match self.places.get(node.0 as usize)? {
            Place::Switch(switch) => self.switches.get(*switch).map(|switch| &switch.shard),
            Place::Station(_) => None,
        }
    }

    /// The host that is node `node`.
    pub fn host(&self, node: NodeId) -> Option<&Host> {
        match self.places.get(node.0 as usize)? {
            Place::Station(station) => self.stations.get(*station).map(|station| &station.host),
            Place::Switch(_) => None,
        }
    }

    /// What end `end` of link `link` has put on it since the start; nothing where there is none.
    pub fn carried(&self, link: usize, end: usize) -> WireBytes {
        self.direction(link, end).map_or(WireBytes(0), |direction| direction.totals.wire)
    }

    /// What end `end` of link `link` has sent and has not arrived yet.
    pub fn in_flight(&self, link: usize, end: usize) -> Volume {
        self.direction(link, end).map_or(Volume::ZERO, Direction::in_flight)
    }

    fn direction(&self, link: usize, end: usize) -> Option<&Direction> {
        self.directions.get(*self.numbers.get(link)?.get(end)?)
    }

    /// Frames that there are, on links and in switches.
    pub fn frames(&self) -> Volume {
        self.pool.live()
    }

    /// How far the simulation has come.
    pub fn progress(&self) -> Progress {
        self.progress
    }
}
