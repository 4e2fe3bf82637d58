//! A frame in the window of a capture.

use units::Nanos;

/// Where in the window the current frame is.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) at: Nanos,
    pub(super) start: usize,
    pub(super) length: u32,
    pub(super) original_length: u32,
    /// The number of its interface.
    pub(super) interface: u32,
}

impl Record {
    /// A frame of `captured` bytes at `start` of the buffer, whose last `fcs` bytes on the link
    /// were its frame check sequence. An original length below the captured one is a mistake of
    /// some capture programs, and is raised.
    #[inline]
    pub(super) fn new(at: Nanos, start: usize, captured: u32, original: u32, fcs: u8) -> Self {
        let original_length = original.max(captured).saturating_sub(u32::from(fcs));
        Self { at, start, length: captured.min(original_length), original_length, interface: 0 }
    }
}
