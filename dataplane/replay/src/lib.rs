//! Captures through the switch core: the clock comes from the capture.
//!
//! A [`Replay`] brings the frames of its [`Input`]s in one order of time before a [`switch::Shard`],
//! calls it exactly when it asks to be called in between, and gives what leaves to [`Outputs`].
//! What happened is a [`report::Report`]. The same frames and the same program give the same
//! bytes, on every machine.

pub mod capture;
mod driver;
mod frame;
mod input;
mod output;
pub mod report;
pub mod series;

pub use driver::{Ending, Outcome, Progress, Replay};
pub use frame::{FramePool, OwnedFrame};
pub use input::{Input, Side, Unassigned};
pub use output::Outputs;
