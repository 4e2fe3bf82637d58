//! The configuration of a gateway: its TOML schema, its validation, and the program that it yields.
//!
//! [`load`] and [`parse`] read a file that describes one gateway. They report all problems at once, unless one hides
//! another, each with file, line, column, key, the value it got and what would be valid. A gateway that they return
//! is valid: [`switch::program::Program::new`] has checked structure and order, and this crate has checked the
//! physics, such as headroom against distance, pauses against refreshes and thresholds against pools.
//!
//! `docs/configuration.md` describes every key.

mod build;
mod bundle;
mod bundle_sum;
mod commission;
mod core_load;
pub mod cores;
mod defaults;
mod device;
mod diff;
mod emulation;
#[cfg(test)]
#[path = "tests/every_key/mod.rs"]
mod every_key;
mod file;
mod flow_control;
mod gateway;
mod headroom;
mod kernel;
mod keys;
mod lateness;
mod link;
mod link_agent;
mod link_delay;
mod link_key;
mod load;
mod lscc_sum;
mod machine;
mod memory;
mod notes;
mod notifiers;
mod physics;
mod place;
pub mod plan;
mod ports;
mod problem;
mod refused;
mod render;
mod repair;
mod round_trip;
pub mod runtime;
pub mod scenario;
mod section;
mod table;
mod thresholds;
mod value;
mod watchdog;

pub use bundle_sum::{BundleSum, Detection, MemberSum};
pub use commission::{CommissionError, commission_key, for_commission};
pub use device::af_packet;
pub use diff::{Change, diff, not_live, shared_that_fits};
pub use file::{FileError, read_text};
pub use gateway::Gateway;
pub use headroom::{HeadroomSum, HeadroomTerms, response_quanta};
pub use link::{DelayBounds, Link, Senders};
pub use load::{load, parse};
pub use lscc_sum::{LsccSum, Protection, StepBounds};
pub use memory::{MemorySum, OnLink, packet_slot};
pub use place::Location;
pub use problem::{ConfigError, Problem, ProblemKind, Severity};
pub use render::{reference, render, render_without_keys};
pub use repair::sum::RepairSum;
pub use round_trip::RoundTripSum;
pub use thresholds::may_hold;
