//! The part of a capture that is in memory.

use super::{CaptureError, Corruption};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Bytes that can be buffered: twice the largest record.
const CAPACITY: usize = 1 << 20;
/// Bytes that are asked for at once: hundreds of frames, and little enough that they are still in
/// the second-level cache when they are copied on.
const READ: usize = 1 << 17;

/// A buffer that slides over the input. It is allocated once and never grows.
pub(super) struct Window<R> {
    input: R,
    path: PathBuf,
    buffer: Box<[u8]>,
    /// The bytes that were read and not consumed.
    start: usize,
    end: usize,
    /// Bytes that were read in all.
    total: u64,
    ended: bool,
}

impl<R: Read> Window<R> {
    /// The longest record that can be waited for.
    pub(super) const LARGEST_RECORD: usize = CAPACITY / 2;

    pub(super) fn new(input: R, path: PathBuf) -> Self {
        let buffer = vec![0; CAPACITY].into_boxed_slice();
        Self { input, path, buffer, start: 0, end: 0, total: 0, ended: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that are in memory and not consumed.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where in the capture the available bytes start.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.total - (self.end - self.start) as u64
    }

    /// Bytes at a place that [`Window::position`] named, as long as [`Window::fill`] was not
    /// called since.
    #[inline]
    pub(super) fn bytes(&self, start: usize, length: usize) -> &[u8] {
        &self.buffer[start..start + length]
    }

    /// The place of the first available byte in the buffer.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start
    }

    /// Is done with `length` available bytes.
    #[inline]
    pub(super) fn consume(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start += length;
    }

    /// Reads more; `false` at the end of the input.
    ///
    /// # Errors
    /// [`CaptureError::Read`].
    #[cold]
    pub(super) fn fill(&mut self) -> Result<bool, CaptureError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while !self.ended {
            let room = (self.buffer.len() - self.end).min(READ);
            match self.input.read(&mut self.buffer[self.end..self.end + room]) {
                Ok(0) => self.ended = true,
                Ok(length) => {
                    self.end += length;
                    self.total += length as u64;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(CaptureError::Read { path: self.path.clone(), offset: self.total, source });
                }
            }
        }
        Ok(false)
    }

    /// Waits until `length` bytes are available, at most [`Window::LARGEST_RECORD`]; `false` where
    /// the input ends exactly here.
    ///
    /// # Errors
    /// [`CaptureError::Truncated`] where it ends before the last of them, [`CaptureError::Read`].
    #[inline]
    pub(super) fn need(&mut self, length: usize) -> Result<bool, CaptureError> {
        debug_assert!(length <= Self::LARGEST_RECORD);
        while self.available().len() < length {
            if !self.fill()? {
                return if self.available().is_empty() { Ok(false) } else { Err(self.truncated()) };
            }
        }
        Ok(true)
    }

    /// Consumes `length` bytes, of which not all need fit the buffer; `false` where the input ends
    /// before.
    ///
    /// # Errors
    /// [`CaptureError::Read`].
    pub(super) fn skip(&mut self, mut length: u64) -> Result<bool, CaptureError> {
        loop {
            let step = length.min(self.available().len() as u64);
            self.consume(step as usize);
            length -= step;
            if length == 0 {
                return Ok(true);
            }
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    #[cold]
    pub(super) fn truncated(&self) -> CaptureError {
        self.truncated_at(self.offset())
    }

    #[cold]
    pub(super) fn truncated_at(&self, offset: u64) -> CaptureError {
        CaptureError::Truncated { path: self.path.clone(), offset }
    }

    /// The record at the first available byte is corrupt.
    #[cold]
    pub(super) fn corrupt(&self, cause: Corruption) -> CaptureError {
        self.corrupt_at(self.offset(), cause)
    }

    #[cold]
    pub(super) fn corrupt_at(&self, offset: u64, cause: Corruption) -> CaptureError {
        CaptureError::Corrupt { path: self.path.clone(), offset, cause }
    }
}
