//! Sources of frames.

use super::CaptureError;
use units::Nanos;

/// One frame of a capture, lent by its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The capture instant, in nanoseconds of Unix time.
    pub at: Nanos,
    /// Its bytes from the destination address on, without FCS. Shorter than `original_length` if the capture
    /// truncated it.
    pub data: &'a [u8],
    /// Its length on the link in bytes, without FCS; never less than `data.len()`.
    pub original_length: u32,
    /// The interface at which it was captured.
    pub interface: Interface<'a>,
}

/// An interface of a pcapng section. A pcap file has one, without a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Its number, from 0.
    pub number: u32,
    /// Its name; empty if the capture has none in UTF-8.
    pub name: &'a str,
}

impl Captured<'_> {
    /// Whether the capture truncated the frame.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.data.len() < self.original_length as usize
    }
}

/// A stream of frames that lends each one until the next call.
pub trait FrameSource {
    /// Moves to the next frame; returns `false` at the end, and from then on.
    ///
    /// # Errors
    /// The error that keeps the next frame from being read. There are no frames behind an error: the next
    /// call returns `false`.
    fn advance(&mut self) -> Result<bool, CaptureError>;

    /// The frame that the last call of [`FrameSource::advance`] moved to; `None` before the
    /// first, at the end, and after an error.
    fn current(&self) -> Option<Captured<'_>>;

    /// Moves to the next frame and lends it; `None` at the end.
    ///
    /// # Errors
    /// Those of [`FrameSource::advance`].
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Captured<'_>>, CaptureError> {
        Ok(if self.advance()? { self.current() } else { None })
    }
}
