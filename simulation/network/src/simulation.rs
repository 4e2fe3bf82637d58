//! The simulation of a network.

use crate::engine::Engine;
use crate::network::{FlowSpec, NetworkSpec};
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
    /// If a link names a node or port that does not exist, or a port has two links. The caller has checked
    /// the network.
    pub fn new(network: NetworkSpec, options: Options) -> Self {
        Self { engine: Engine::new(network, options) }
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
