//! The frames of the captures that were played.

use crate::capture::{CaptureError, Captured};
use crate::input::Unassigned;
use switch::Volume;
use units::{Bytes, Nanos};

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Frames read.
    pub frames: u64,
    /// Bytes of the captures that they took, record headers included (those of pcap).
    pub bytes: u64,
}

/// The frames that were played, and the end of the playing.
#[derive(Default)]
pub(crate) struct Played {
    pub progress: Progress,
    /// Of all frames that were read.
    pub volume: Volume,
    /// First and last instant of the captures.
    pub captured: Option<(Nanos, Nanos)>,
    /// First and last arrival, by the clock of the replay.
    pub arrivals: Option<(Nanos, Nanos)>,
    pub unassigned: Unassigned,
    pub error: Option<CaptureError>,
    /// Whether the playing was ended before the captures did.
    pub interrupted: bool,
}

impl Played {
    #[inline]
    pub fn count(&mut self, now: Nanos, frame: &Captured<'_>) {
        const RECORD_HEADER: u64 = 16;
        self.progress.frames += 1;
        self.progress.bytes += RECORD_HEADER + frame.data.len() as u64;
        self.volume.count(Bytes(u64::from(frame.original_length)));
        let (first, last) = self.captured.unwrap_or((frame.at, frame.at));
        self.captured = Some((first.min(frame.at), last.max(frame.at)));
        self.arrivals = Some((self.arrivals.map_or(now, |(first, _)| first), now));
    }
}
