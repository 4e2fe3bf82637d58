//! Replays captures through the switch core. The capture drives the clock.
//!
//! A [`Replay`] feeds the frames of its [`Input`]s in time order to a [`switch::Shard`], calls it exactly at
//! its deadlines in between, and gives departing frames to [`Outputs`]. The result is a [`report::Report`].
//! The same frames and the same program give the same bytes on every machine.

pub mod capture;
mod carrier;
mod driver;
mod frame;
mod gateway;
mod input;
mod output;
mod played;
pub mod report;
pub mod series;

pub use carrier::LinkFault;
pub use driver::{Outcome, Replay};
pub use frame::{FramePool, OwnedFrame};
pub use gateway::Ending;
pub use input::{Input, Side, Unassigned};
pub use output::Outputs;
pub use played::Progress;
