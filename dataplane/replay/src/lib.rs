//! Replays captures through the switch core. The capture drives the clock.
//!
//! A [`Replay`] feeds the frames of its [`Input`]s in time order to a [`switch::Shard`], calls it exactly at
//! its deadlines in between, and gives departing frames to [`Outputs`]. The result is a [`report::Report`].
//! The same frames and the same program give the same bytes on every machine.

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
