//! Snapshots of a running gateway, as tables and as Prometheus metrics.
//!
//! The control thread asks every worker for the state of its ports. [`Snapshot::new`] turns these answers, an
//! [`Observation`], into plain data with the types of a replay's report. A snapshot travels as JSON; [`render`] shows
//! it as tables, and [`metrics::encode`] writes it for Prometheus. Nothing here asks, waits or touches a file.

pub mod commands;
pub mod events;
pub mod explain;
pub mod health;
mod interval;
pub mod metrics;
mod neighbours;
mod observation;
mod period;
mod runtime;
mod show;
mod snapshot;
pub mod table;
pub mod tables;

pub use interval::Restarted;
pub use neighbours::{
    MismatchReport, NegotiatedReport, NeighbourEtsReport, NeighbourPfcReport, NeighbourReport, numbers,
};
pub use observation::{Observation, ObservedPort, ObservedWorker};
pub use period::{Dropped, Period, PortPeriod, PriorityPeriod};
pub use runtime::{PerFrame, ProfileCounts, ProfileReport, ProfileStageReport, RuntimeReport};
pub use show::{NoSuchPort, View, has_port, of_port, render};
pub use snapshot::{
    ControlReport, CoveredDelayReport, DeviceReport, EcnReport, EmulationReport, FORMAT, HardwareReport,
    LevelsReport, MemoryReport, Passage, PfcPassage, ReloadsReport, Snapshot, StageReport, WaitingReport,
    WireDevice, WirePortReport, WorkerReport,
};
