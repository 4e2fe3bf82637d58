//! Hosts of a scenario on real ports.
//!
//! A [`HostPlan`] takes hosts from a scenario, with the flows that they send and receive. Machines that read the same file
//! with the same seed get the same queue pairs and sequence numbers, so they need not talk to each other before they
//! send. A [`Player`] is one host at one port, sans-IO: `now` and frames go in, complete frames and the next deadline
//! come out. A [`Replayer`] is a capture at a port, and a [`Storm`] a sender of pauses. `ports` moves frames between them and devices of DPDK.

#[cfg(feature = "dpdk")]
mod device;
mod expected;
#[cfg(feature = "dpdk")]
mod interfaces;
#[cfg(feature = "dpdk")]
mod lane;
mod packet;
mod plan;
mod player;
#[cfg(feature = "dpdk")]
pub mod ports;
mod replayer;
mod report;
mod round_trips;
mod storm;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;

pub use plan::{HostPlan, Part, PlanError, PlannedEnd};
pub use player::{Player, PlayerSettings};
pub use replayer::{ReplayReport, Replayer};
pub use report::{
    CountersReport, Doubt, FlowsReport, HostReport, PlayReport, StormReport, TimesReport, Unfinished,
};
pub use storm::Storm;
