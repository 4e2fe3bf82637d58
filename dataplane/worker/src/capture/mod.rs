//! Copies of frames for a capture, while the turn goes on.
//!
//! The control thread makes a [`Tap`] with all of its memory, and a command puts it at a port. The worker fills buffers
//! that the reader has emptied; where there is none, it counts the frame as lost. So a capture never waits, allocates or
//! delays a frame, and a port without one pays for one test in each burst.

mod filter;

pub use filter::{CaptureFilter, FrameClass};

use crate::ring::{Consumer, Producer, ring};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use switch::{Frame, Transmitter};
use units::{Bytes, Nanos};

/// The direction of a captured frame, as the gateway sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDirection {
    /// It came in.
    Received,
    /// It left.
    Sent,
}

/// A copied frame.
#[derive(Debug)]
pub struct CapturedFrame {
    /// When it was taken from the device, for the burst as a whole, or when its first bit was on the link.
    pub at: Nanos,
    /// Its direction.
    pub direction: FrameDirection,
    /// Its stored length, without FCS.
    pub length: u32,
    /// Its first bytes.
    pub bytes: Vec<u8>,
}

/// The worker's end of a capture at one port.
pub struct Tap {
    filter: CaptureFilter,
    full: Producer<CapturedFrame>,
    empty: Consumer<CapturedFrame>,
    /// Frames received and sent that found no buffer.
    lost: [u64; 2],
    told: Arc<[AtomicU64; 2]>,
}

impl fmt::Debug for Tap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tap")
            .field("filter", &self.filter)
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

/// The reader's end.
pub struct TapReader {
    full: Consumer<CapturedFrame>,
    empty: Producer<CapturedFrame>,
    lost: Arc<[AtomicU64; 2]>,
}

/// Both ends of a capture of frames that match `filter`, with `buffers` buffers of `snap` bytes.
pub fn tap(filter: CaptureFilter, buffers: usize, snap: usize) -> (Box<Tap>, TapReader) {
    let (full, filled) = ring(buffers);
    let (mut emptied, empty) = ring(buffers);
    for _ in 0..buffers {
        let bytes = Vec::with_capacity(snap);
        let frame = CapturedFrame { at: Nanos::ZERO, direction: FrameDirection::Sent, length: 0, bytes };
        // There is room for all of them.
        let _ = emptied.push(frame);
    }
    let lost = Arc::<[AtomicU64; 2]>::default();
    let tap = Tap { filter, full, empty, lost: [0; 2], told: lost.clone() };
    (Box::new(tap), TapReader { full: filled, empty: emptied, lost })
}

impl Tap {
    /// Copies the frames of `burst` that match, which came in at `now`.
    #[inline(never)]
    pub(crate) fn see_received(&mut self, now: Nanos, burst: &[impl Frame]) {
        if !self.filter.received {
            return;
        }
        let passes_over = self.filter.class == FrameClass::Control;
        for frame in burst {
            if passes_over && filter::is_ip(frame.headers()) {
                continue;
            }
            self.see(now, FrameDirection::Received, frame.headers(), frame.length());
        }
    }

    /// Whether it may copy frames that the switch forwards, which are never of [`FrameClass::Control`].
    #[inline]
    pub(crate) fn wants_forwarded(&self) -> bool {
        self.filter.sent && self.filter.class != FrameClass::Control
    }

    /// Copies a frame if it matches, which leaves at `start`.
    #[cold]
    pub(crate) fn see_sent(&mut self, start: Nanos, bytes: &[u8], length: Bytes) {
        if self.filter.sent {
            self.see(start, FrameDirection::Sent, bytes, length);
        }
    }

    #[cold]
    fn see(&mut self, at: Nanos, direction: FrameDirection, bytes: &[u8], length: Bytes) {
        if !self.filter.matches(bytes, length) {
            return;
        }
        let Some(mut frame) = self.empty.pop() else {
            let index = direction as usize;
            self.lost[index] += 1;
            self.told[index].store(self.lost[index], Ordering::Relaxed);
            return;
        };
        frame.bytes.clear();
        let captured = bytes.len().min(frame.bytes.capacity());
        frame.bytes.extend_from_slice(&bytes[..captured]);
        (frame.at, frame.direction, frame.length) =
            (at, direction, u32::try_from(length.0).unwrap_or(u32::MAX));
        // Both rings have room for all buffers.
        let _ = self.full.push(frame);
    }
}

impl TapReader {
    /// Gives the oldest frame to `read`, if there is one, and its buffer back to the worker. Returns what `read` does.
    pub fn read<T>(&mut self, read: impl FnOnce(&CapturedFrame) -> T) -> Option<T> {
        let frame = self.full.pop()?;
        let result = read(&frame);
        // Both rings have room for all buffers.
        let _ = self.empty.push(frame);
        Some(result)
    }

    /// Frames so far that matched and found no buffer: received and sent ones.
    pub fn lost(&self) -> [u64; 2] {
        [FrameDirection::Received, FrameDirection::Sent]
            .map(|it| self.lost[it as usize].load(Ordering::Relaxed))
    }
}

/// Shows departing frames to a tap on their way to `out`.
pub(crate) struct Tapped<'a, T> {
    pub tap: &'a mut Tap,
    pub out: &'a mut T,
}

impl<F: Frame, T: Transmitter<F>> Transmitter<F> for Tapped<'_, T> {
    fn room(&self) -> usize {
        self.out.room()
    }

    fn frame(&mut self, start: Nanos, frame: F) {
        if self.tap.wants_forwarded() {
            self.tap.see_sent(start, frame.headers(), frame.length());
        }
        self.out.frame(start, frame);
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        self.tap.see_sent(start, frame, Bytes(frame.len() as u64));
        self.out.control(start, frame);
    }
}
