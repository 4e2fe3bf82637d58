//! Commissioning of a link: two gateways, each with a test device in the place of its other ports, find out together
//! whether the link keeps what their files promise.
//!
//! A [`Course`] is one end, sans-IO: frames and `now` go in, frames and a [`Report`] come out. Both ends go through
//! the same steps, one phase at a time, and each waits for the other ([`wire::grants::session`]). A [`Bench`] puts a
//! course around the device of the port and beside it, so that shard, worker and device are those of a gateway that
//! runs.

mod bench;
mod course;
mod facts;
mod frame;
mod judge;
mod load;
mod pauses;
mod report;
mod session;
mod sink;
mod step;
#[cfg(test)]
mod tests;
mod window;

pub use bench::Bench;
pub use course::{Course, End};
pub use facts::{Facts, Figures, Terms};
pub use report::{Fault, Finding, Report, StepReport, Verdict};
