//! The gateways of a plan against the worst cases, in virtual time.

mod load;
mod network;
mod pauses;
mod run;
mod throughput;

pub use network::Case;
pub use run::{Proof, Run, RunEnd};
pub use throughput::Throughput;
