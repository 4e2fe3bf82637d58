//! The simulation of a network.

use crate::engine::{Engine, NotResumed};
use crate::network::{FlowSpec, NetworkSpec, NodeId};
use crate::observer::Observer;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::violation::Violation;

/// A network that is ready to run, once.
pub struct Simulation {
    engine: Engine,
}

impl Simulation {
    /// The simulation of `network`, at rest.
    ///
    /// # Panics
    /// If a link names a node or port that does not exist, a port has two links, or a switch several lanes and a program
    /// that works with one only. The caller has checked the network.
    pub fn new(network: NetworkSpec, options: Options) -> Self {
        Self { engine: Engine::new(network, options) }
    }

    /// The simulation of `network` that goes on from `state`, with the same options as before. Only the most threads may be
    /// others. The division of the network is that of the earlier run, so more threads than that had change nothing.
    ///
    /// The caller has checked that `state` is what [`crate::State::to_bytes`] wrote for this network. Of other bytes, some are an
    /// error here, and some make a run that is not valid.
    ///
    /// # Errors
    /// [`NotResumed`].
    ///
    /// # Panics
    /// As [`Simulation::new`].
    pub fn resume(network: NetworkSpec, options: Options, state: &[u8]) -> Result<Self, NotResumed> {
        Ok(Self { engine: Engine::resumed(network, options, state)? })
    }

    /// Tells the observer of the run the events of these switches ([`Observer::event`]). A run that goes on from a state needs it
    /// too.
    pub fn record_events(&mut self, switches: &[NodeId]) {
        self.engine.record_events(switches);
    }

    /// The number of flows that were fetched before the state from which it goes on. [`Simulation::run`] is to get those
    /// after them.
    pub fn fetched(&self) -> usize {
        usize::try_from(self.engine.fetched()).unwrap_or(usize::MAX)
    }

    /// Runs the network with `flows`, which are sorted by start. Each one is fetched when the one before it
    /// has started.
    ///
    /// # Errors
    /// [`Violation`] if an invariant does not hold. The run then has no valid results.
    ///
    /// # Panics
    /// If a flow names a node that is not a host.
    pub fn run(
        self,
        flows: impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
    ) -> Result<Outcome, Violation> {
        self.engine.run(flows, observer)
    }
}
