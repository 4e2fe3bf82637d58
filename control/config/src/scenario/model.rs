//! What a scenario comes to.

use simulation::topology::Topology;
use simulation::workload::{Flows, Workload};
use simulation::{NetworkSpec, NodeId, Options};
use units::{Interval, Nanos, PortId};

use crate::problem::Problem;

/// A scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of its file without its ending.
    pub name: String,
    /// What it is about, if it says so.
    pub title: Option<String>,
    /// Of every random choice.
    pub seed: u64,
    /// Flows that would start later are not started.
    pub until: Nanos,
    /// It ends here, whatever is under way.
    pub limit: Nanos,
    /// A network in which nothing arrives for so long is stuck.
    pub stall: Interval,
    /// Whether switches may drop lossless frames.
    pub tolerate_loss: bool,
    /// The network.
    pub network: NetworkSpec,
    /// The names of its nodes, ports and links, in the order of `network`, and which links are long.
    pub topology: Topology,
    /// The names of the groups of flows.
    pub groups: Vec<String>,
    /// The flows that its hosts send.
    pub traffic: Workload,
    /// The figures that the run records.
    pub sampling: Sampling,
    /// The switches whose frames are captured.
    pub taps: Vec<NodeId>,
    /// What holds, and may surprise.
    pub warnings: Vec<Problem>,
    /// The switches by name, each with its whole configuration, in the order of nodes.
    pub switches: Vec<(String, String)>,
}

/// The samples of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// How often, to begin with.
    pub interval: Interval,
    /// Rows of a series at most; beyond, the interval is doubled.
    pub rows: u32,
    /// The ports of switches.
    pub ports: Vec<(NodeId, PortId)>,
    /// The groups whose flows are recorded one by one.
    pub groups: Vec<u16>,
}

impl Scenario {
    /// Its flows, in the order of their start, with the random choices of its seed.
    pub fn flows(&self) -> Flows {
        self.traffic.flows(self.seed, self.until)
    }

    /// How it is to be run.
    pub fn options(&self) -> Options {
        Options {
            seed: self.seed,
            until: self.until,
            limit: self.limit,
            sampling: Some(self.sampling.interval),
            taps: self.taps.clone(),
            stall: self.stall,
            tolerate_loss: self.tolerate_loss,
        }
    }
}
