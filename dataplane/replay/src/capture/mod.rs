//! Captures: reading and writing pcap and pcapng.
//!
//! A [`CaptureReader`] streams the frames of one capture in constant memory. A [`Looped`] capture is played
//! several times, a [`Merge`] combines several in time order at the requested [`Pace`], a [`Splitter`]
//! determines the side of a link that a frame came from, and a [`CaptureWriter`] writes frames as pcap. Their errors
//! are [`CaptureError`]s. A [`PcapngWriter`] writes frames of several interfaces.
//!
//! Frames are lent, never copied: the frame of [`FrameSource::current`] stays in the read buffer of its
//! capture until [`FrameSource::advance`] is called.

mod error;
mod looped;
mod merge;
mod pace;
mod pcap;
mod pcapng;
mod pcapng_writer;
mod reader;
mod record;
mod resolution;
mod source;
mod split;
mod steady;
mod window;
mod writer;

#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
#[cfg(test)]
#[path = "tests/wireshark.rs"]
mod wireshark;

pub use error::{CaptureError, Corruption, LinkType};
pub use looped::Looped;
pub use merge::{Merge, Merged};
pub use pace::{Pace, ParseSpeedError, Speed};
pub use pcapng_writer::{CaptureInterface, PcapngWriter};
pub use reader::{CaptureFile, CaptureReader};
pub use source::{Captured, FrameSource, Interface};
pub use split::{ParseSourceMatchError, SourceMatch, Splitter};
pub use steady::ClockFaults;
pub use writer::{CaptureSink, CaptureWriter, Saved};

use units::Nanos;

/// The snap length of every capture that is written, and the longest frame that is read or
/// written, in bytes: what tcpdump and Wireshark take for the largest sane one.
pub const SNAP_LENGTH: u32 = 262_144;

/// The latest instant of a frame, the end of 2553. The clock of a replay never comes near
/// [`Nanos::NEVER`], which stands for what is not due at all.
pub(crate) const LATEST: Nanos = Nanos(18_429_292_800_000_000_000 - 1);
