//! The work of the workers between two snapshots.

use crate::snapshot::Snapshot;
use thiserror::Error;

/// The gateway has started again since the earlier snapshot, so nothing is known of the time between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the gateway was restarted within the interval")]
pub struct Restarted;

impl Snapshot {
    /// Adds to each worker its profile since `earlier`, a snapshot of the same gateway.
    ///
    /// # Errors
    /// [`Restarted`] if the gateway has started after `earlier`.
    pub fn since(mut self, earlier: &Self) -> Result<Self, Restarted> {
        if self.started_ns() != earlier.started_ns() {
            return Err(Restarted);
        }
        for (worker, before) in self.workers.iter_mut().zip(&earlier.workers) {
            worker.runtime = worker.runtime.clone().since(&before.runtime, self.tsc_hz);
        }
        Ok(self)
    }
}
