//! Networks of switches and hosts in virtual time.
//!
//! A [`Simulation`] moves real headers over links between [`switch::Shard`]s and [`endpoint::Host`]s, calls
//! each when it asks to be called, and checks after every event that nothing was lost, reordered or sent
//! against a pause. The same network, flows and seed give the same events, on every machine.

mod network;
mod outcome;

pub use network::{Faults, FlowSpec, LinkEnd, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec};
pub use outcome::{FlowRecord, Outcome};
