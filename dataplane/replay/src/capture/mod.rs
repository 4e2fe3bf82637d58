//! Captures: reading pcap and pcapng, writing pcap.
//!
//! A [`CaptureReader`] streams the frames of one capture in constant memory. A [`Looped`] capture is played
//! several times, a [`Merge`] combines several in time order at the requested [`Pace`], a [`Splitter`]
//! determines the side of a link that a frame came from, and a [`CaptureWriter`] writes frames. All errors
//! are [`CaptureError`]s.
//!
//! Frames are lent, never copied: the frame of [`FrameSource::current`] stays in the read buffer of its
//! capture until [`FrameSource::advance`] is called.

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

/// The latest instant of a frame, the end of 2553. It keeps the replay clock far from [`Nanos::NEVER`], which
/// means "not due".
pub(crate) const LATEST: Nanos = Nanos(18_429_292_800_000_000_000 - 1);
