//! Captures: pcap and pcapng in, pcap out.
//!
//! A [`CaptureReader`] streams the frames of one capture in constant memory. A [`Looped`] capture
//! is played several times, a [`Merge`] brings several of them into one order of time at the
//! [`Pace`] that was asked for, a [`Splitter`] tells which side of a link a frame came from, and a
//! [`CaptureWriter`] writes frames back. All that can go wrong is a [`CaptureError`].
//!
//! Frames are lent, never copied: what [`FrameSource::current`] returns lives in the read buffer
//! of its capture until [`FrameSource::advance`] is called.

mod error;
mod looped;
mod merge;
mod pace;
mod pcap;
mod pcapng;
mod reader;
mod resolution;
mod source;
mod split;
mod window;
mod writer;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod wireshark;

pub use error::{CaptureError, Corruption, LinkType};
pub use looped::Looped;
pub use merge::{Merge, Merged};
pub use pace::{Pace, ParseSpeedError, Speed};
pub use reader::{CaptureFile, CaptureReader};
pub use source::{Captured, FrameSource};
pub use split::{ParseSourceMatchError, SourceMatch, Splitter};
pub use writer::{CaptureSink, CaptureWriter, SNAP_LENGTH};

use units::Nanos;

/// The latest instant of a frame, the end of 2553. The clock of a replay never comes near
/// [`Nanos::NEVER`], which stands for what is not due at all.
pub(crate) const LATEST: Nanos = Nanos(18_429_292_800_000_000_000 - 1);
