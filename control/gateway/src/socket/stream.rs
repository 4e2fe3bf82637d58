//! Answers of many lines: events and captured frames. They are written by the thread of the client, so that a slow one
//! keeps no one else waiting.

use super::{CaptureLine, CaptureRequest};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use telemetry::events::Event;
use units::Nanos;
use worker::{CapturedFrame, FrameDirection, TapReader};

/// The time after which a client is told that the gateway is there, and the gateway sees that it has left.
const HEARTBEAT: Duration = Duration::from_millis(250);
/// The time between two looks for captured frames, where there were none.
const LOOK: Duration = Duration::from_millis(1);
/// The most events or frames that are written at once; the text of frames is twice as long as they are.
const AT_ONCE: usize = 256;

/// The events that a client has subscribed to.
#[derive(Debug)]
pub struct Subscription {
    /// The names of the ports.
    pub names: Arc<[String]>,
    /// Events, in order.
    pub batches: Receiver<Vec<Event>>,
    /// Whether events to come follow those of the past.
    pub follow: bool,
}

impl Subscription {
    /// Writes all events until there are no more, or the client has left. `write` takes whole lines.
    pub(super) fn write(self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        loop {
            let batch = match self.batches.recv_timeout(HEARTBEAT) {
                Ok(batch) => batch,
                Err(RecvTimeoutError::Timeout) => {
                    write(b"\n")?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for events in batch.chunks(AT_ONCE) {
                let mut lines = Vec::new();
                for event in events {
                    append(&mut lines, &event.serializable(&self.names))?;
                }
                write(&lines)?;
            }
        }
    }
}

/// A capture on its way to a client. Its end is told to the control thread.
pub struct CaptureSession {
    /// The readers of each port, in the order of the request: one, or one for each lane.
    pub readers: Vec<Vec<TapReader>>,
    /// The buffers that the readers have in all.
    pub buffers: usize,
    /// The ports, conditions and limits of the client.
    pub request: CaptureRequest,
    /// Tells the control thread that it has ended.
    pub end: Box<dyn FnMut() + Send>,
}

impl fmt::Debug for CaptureSession {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CaptureSession").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Drop for CaptureSession {
    fn drop(&mut self) {
        (self.end)();
    }
}

impl CaptureSession {
    /// Writes frames until a limit is reached, or the client has left. `write` takes whole lines. At the end of the time, the
    /// frames that wait in buffers are written too.
    pub(super) fn write(mut self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let start = Instant::now();
        let end = start + Duration::from_nanos(self.request.for_ns);
        let mut left = Left {
            frames: self.request.frames_max.unwrap_or(u64::MAX),
            bytes: self.request.bytes_max.unwrap_or(u64::MAX),
        };
        let mut next_beat = start + HEARTBEAT;
        while !left.is_over() && Instant::now() < end {
            let lines = self.take(&mut left)?;
            if lines.is_empty() {
                thread::sleep(LOOK);
            } else {
                write(&lines)?;
            }
            if Instant::now() >= next_beat {
                write(&self.lost()?)?;
                next_beat = Instant::now() + HEARTBEAT;
            }
        }
        // The worker goes on filling buffers until it is told of the end.
        left.frames = left.frames.min(self.buffers as u64);
        loop {
            let lines = self.take(&mut left)?;
            if lines.is_empty() {
                break;
            }
            write(&lines)?;
        }
        let mut last = self.lost()?;
        append(&mut last, &CaptureLine::End)?;
        write(&last)
    }

    /// The lines of the next frames.
    fn take(&mut self, left: &mut Left) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        let each = (AT_ONCE / self.readers.iter().map(Vec::len).sum::<usize>().max(1)).max(1);
        for (port, lanes) in self.readers.iter_mut().enumerate() {
            let mut frames = Vec::new();
            for reader in &mut *lanes {
                frames.extend((0..each).map_while(|_| {
                    if left.is_over() {
                        return None;
                    }
                    let line = reader.read(|frame| line(port, frame))?;
                    left.take(line.captured);
                    Some(line)
                }));
            }
            if lanes.len() > 1 {
                frames.sort_by_key(|line| line.at);
            }
            frames.iter().try_for_each(|line| append(&mut lines, &line.line))?;
        }
        Ok(lines)
    }

    /// The line of lost frames.
    fn lost(&self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        append(&mut line, &CaptureLine::Lost(self.readers.iter().map(|lanes| lost(lanes)).collect()))?;
        Ok(line)
    }
}

/// The room that is left for a capture.
struct Left {
    frames: u64,
    bytes: u64,
}

impl Left {
    fn is_over(&self) -> bool {
        self.frames == 0 || self.bytes == 0
    }

    fn take(&mut self, bytes: usize) {
        self.frames = self.frames.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }
}

/// The line of a frame.
struct FrameLine {
    at: Nanos,
    /// The number of its captured bytes.
    captured: usize,
    line: CaptureLine,
}

fn line(port: usize, frame: &CapturedFrame) -> FrameLine {
    let sent = frame.direction == FrameDirection::Sent;
    let data = hexadecimal(&frame.bytes);
    let line = CaptureLine::Frame { at_ns: frame.at.0, port, sent, length: frame.length, data };
    FrameLine { at: frame.at, captured: frame.bytes.len(), line }
}

/// The lost frames of a port, at all lanes.
fn lost(lanes: &[TapReader]) -> [u64; 2] {
    lanes
        .iter()
        .map(TapReader::lost)
        .fold([0; 2], |[received, sent], lane| [received + lane[0], sent + lane[1]])
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Appends a value as a line of JSON.
fn append(lines: &mut Vec<u8>, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, value)?;
    lines.push(b'\n');
    Ok(())
}
