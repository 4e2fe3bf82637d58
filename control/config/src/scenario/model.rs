//! A scenario that is ready to run.

use core::num::NonZeroUsize;
use simulation::topology::Topology;
use simulation::workload::{Flows, Workload};
use simulation::{NetworkSpec, NodeId, Options};
use units::{Interval, Nanos, PortId};

use super::recorded::RecordedEvents;
use crate::problem::Problem;

/// A scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of its file without its ending.
    pub name: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// No flow starts later than this.
    pub until: Nanos,
    /// The run ends at this instant, whatever is under way.
    pub limit: Nanos,
    /// A network in which nothing arrives for this long is stuck.
    pub stall: Interval,
    /// Whether switches may drop lossless frames.
    pub tolerate_loss: bool,
    /// The network.
    pub network: NetworkSpec,
    /// The names of its nodes, ports and links, in the order of `network`, and the long-haul links.
    pub topology: Topology,
    /// The names of the groups of flows.
    pub groups: Vec<String>,
    /// The flows that its hosts send.
    pub traffic: Workload,
    /// Its collectives, in the order of the jobs of `network`.
    pub collectives: Vec<Collected>,
    /// The figures that the run records.
    pub sampling: Sampling,
    /// Metrics of flows count those that start from the first instant on and before the second; `None` for all.
    pub counted: Option<(Nanos, Nanos)>,
    /// The switches whose frames are captured.
    pub taps: Vec<NodeId>,
    /// The events of switches that are recorded.
    pub events: RecordedEvents,
    /// All warnings.
    pub warnings: Vec<Problem>,
    /// The name and the complete configuration of each switch, in the order of nodes.
    pub switches: Vec<(String, String)>,
}

/// The description of a collective in results.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    /// Its name.
    pub name: String,
    /// The time for which each rank calculates in an iteration; `None` for a trace.
    pub compute: Option<Interval>,
}

/// The samples of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// The interval at first.
    pub interval: Interval,
    /// Maximum number of rows of a series. When it is reached, the interval doubles.
    pub rows: u32,
    /// The ports of switches.
    pub ports: Vec<(NodeId, PortId)>,
    /// The groups whose flows are recorded one by one.
    pub groups: Vec<u16>,
}

impl Scenario {
    /// The flows of its traffic in the order of their starts, numbered behind those of its collectives. The seed determines all random choices.
    pub fn flows(&self) -> Flows {
        self.traffic.flows(self.seed, self.until).numbered_from(self.network.jobs.flows())
    }

    /// The options of a run on one thread.
    pub fn options(&self) -> Options {
        Options {
            seed: self.seed,
            until: self.until,
            limit: self.limit,
            sampling: Some(self.sampling.interval),
            taps: self.taps.clone(),
            stall: self.stall,
            tolerate_loss: self.tolerate_loss,
            threads: NonZeroUsize::MIN,
        }
    }
}
