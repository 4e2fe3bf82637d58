//! A network that can be run.

use crate::engine::Engine;
use crate::network::{FlowSpec, NetworkSpec};
use crate::observer::Observer;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::violation::Violation;

/// A network that can be run, once.
pub struct Simulation {
    engine: Engine,
}

impl Simulation {
    /// `network`, at rest.
    ///
    /// # Panics
    /// Where links or taps name nodes or ports that there are not, or a port has two links: whoever made the
    /// network has checked it.
    pub fn new(network: NetworkSpec, options: Options) -> Self {
        Self { engine: Engine::new(network, options) }
    }

    /// Runs it with `flows`, which come in the order of their start and are asked for one by one, when the last
    /// one has started.
    ///
    /// # Errors
    /// [`Violation`]: an invariant did not hold, and what came of the run means nothing.
    ///
    /// # Panics
    /// Where a flow is between nodes that are no hosts, as [`Simulation::new`] does.
    pub fn run(
        self,
        flows: impl Iterator<Item = FlowSpec>,
        observer: &mut impl Observer,
    ) -> Result<Outcome, Violation> {
        self.engine.run(flows, observer)
    }
}
