//! What a running gateway shows of itself.
//!
//! The control thread asks every worker what there is to see of its ports. A [`Snapshot`] holds all of
//! that as plain data, with the types that the report of a replay has: it is made by [`Snapshot::new`] out
//! of an [`Observation`], travels as JSON, and is shown as tables by [`render`] and to Prometheus by
//! [`metrics::encode`]. Nothing here asks, waits or touches a file.

pub mod metrics;
mod observation;
mod show;
mod snapshot;
pub mod table;
pub mod tables;

pub use observation::{Observation, ObservedPort, ObservedWorker};
pub use show::{NoSuchPort, View, of_port, render};
pub use snapshot::{
    ControlReport, DeviceReport, EmulationReport, FORMAT, HardwareReport, LevelsReport, MemoryReport,
    Passage, PfcPassage, ReloadsReport, Snapshot, StageReport, WireDevice, WirePortReport, WorkerReport,
};
