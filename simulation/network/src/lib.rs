//! Networks of switches and hosts in virtual time.
//!
//! A [`Simulation`] moves real headers over links between [`switch::Lanes`] and [`endpoint::Host`]s, calls
//! each when it is due, and checks after every event that no frame was lost, reordered or sent during a
//! pause. The same network, flows and seed give the same events on every machine.

mod carrier;
mod check;
mod engine;
mod fault;
mod flows;
mod frame;
mod ideal;
pub mod job;
mod link;
mod network;
mod node_id;
mod nodes;
mod observer;
mod options;
mod outcome;
mod reroute;
mod simulation;
mod sites;
mod stall;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
pub mod topology;
mod tournament;
mod violation;
pub mod workload;

pub use engine::NotResumed;
pub use frame::{HEADER_CAPACITY, SimFrame};
pub use ideal::{Hop, ideal_completion};
pub use network::{Faults, FlowSpec, LinkEnd, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
pub use observer::{NetworkView, Observer, Progress, Rounds, State, Tap};
pub use options::Options;
pub use outcome::{
    Balance, Checks, Ending, FlowRecord, HostOutcome, IterationOutcome, JobOutcome, LinkOutcome, Losses,
    Outcome, PausedQueue, SwitchOutcome, Unfinished,
};
pub use reroute::Reroutes;
pub use simulation::Simulation;
pub use violation::{Broken, Pool, Violation};
