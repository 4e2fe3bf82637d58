//! The switches and hosts of a running network.

use crate::carrier::Carriers;
use crate::frame::SimFrame;
use crate::job::Progress;
use crate::network::NodeId;
use crate::reroute::RouteChanges;
use core::ops::Range;
use endpoint::{Host, HostSettings};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use switch::lanes::PLACES;
use switch::{Lanes, Program, Volume};
use units::{Nanos, PortSet};

/// The kind of a node, and its index among the nodes of that kind in its part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    Switch(usize),
    Station(usize),
    /// In another part of the network.
    Elsewhere,
}

/// A switch.
pub(crate) struct Switch {
    pub node: NodeId,
    pub driver: Lanes<SimFrame>,
    pub program: Arc<Program>,
    /// The direction in which each port sends.
    pub out: Vec<Option<usize>>,
    /// The directions from which it receives, in the order of ports.
    pub inputs: Range<usize>,
    /// The ports that may drop lossless frames because of faults of their links.
    pub unreliable: PortSet,
    /// The last known deadline of each port.
    pub deadlines: Vec<Nanos>,
    /// The first of these deadlines.
    pub next: Nanos,
    /// The failures of its links that it will notice.
    pub carriers: Carriers,
    /// The changes of its routes.
    pub routes: RouteChanges,
    /// The frames that came in and are still inside.
    pub held: Volume,
    /// The frames that it has consumed or dropped.
    pub taken: Volume,
    pub is_tapped: bool,
    /// Its last instant, where its events are recorded.
    pub recorded: Option<Nanos>,
}

impl Switch {
    /// Whether what it has taken beside what its counters have `named` may be control frames that wait for the lead.
    #[cold]
    pub fn may_await_lead(&self, named: Volume) -> bool {
        let places = PLACES * (self.driver.lanes().len() as u64 - 1) * self.out.len() as u64;
        (1..=places).contains(&self.taken.frames.saturating_sub(named.frames))
    }
}

/// A host.
pub(crate) struct Station {
    pub node: NodeId,
    pub host: Host,
    pub settings: Arc<HostSettings>,
    /// The direction in which it sends.
    pub out: Option<usize>,
    /// The direction from which it receives.
    pub input: Option<usize>,
    pub is_tapped: bool,
    /// The number of the actor that is its timers.
    pub timers: usize,
    /// The number of queue pairs that it had released at the end of its last turn.
    pub released: u64,
    /// The progress of its ranks in jobs.
    pub progress: Progress,
}
