//! The part of a capture in memory.

use super::{CaptureError, Corruption};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The buffer size: twice the largest record.
const CAPACITY: usize = 1 << 20;
/// The size of a read: hundreds of frames, but small enough to stay in the second-level cache until they are
/// copied.
const READ: usize = 1 << 17;

/// A buffer that slides over the input. It is allocated once and never grows.
pub(super) struct Window<R> {
    input: R,
    path: PathBuf,
    buffer: Box<[u8]>,
    /// The unconsumed bytes.
    start: usize,
    end: usize,
    /// The total of bytes read.
    total: u64,
    ended: bool,
}

impl<R: Read> Window<R> {
    /// The longest record that fits.
    pub(super) const LARGEST_RECORD: usize = CAPACITY / 2;

    pub(super) fn new(input: R, path: PathBuf) -> Self {
        let buffer = vec![0; CAPACITY].into_boxed_slice();
        Self { input, path, buffer, start: 0, end: 0, total: 0, ended: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes in memory that are not yet consumed.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The offset of the available bytes in the capture.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.total - (self.end - self.start) as u64
    }

    /// Bytes at a [`Window::position`], valid until the next [`Window::fill`].
    #[inline]
    pub(super) fn bytes(&self, start: usize, length: usize) -> &[u8] {
        &self.buffer[start..start + length]
    }

    /// The index of the first available byte in the buffer.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start
    }

    /// Consumes `length` available bytes.
    #[inline]
    pub(super) fn consume(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start += length;
    }

    /// Reads more; returns `false` at the end of the input.
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

    /// Reads until `length` bytes, at most [`Window::LARGEST_RECORD`], are available; returns `false` if the
    /// input ends exactly here.
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

    /// Consumes `length` bytes, possibly more than the buffer holds; returns `false` if the input ends early.
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

    /// The error of a corrupt record at the first available byte.
    #[cold]
    pub(super) fn corrupt(&self, cause: Corruption) -> CaptureError {
        self.corrupt_at(self.offset(), cause)
    }

    #[cold]
    pub(super) fn corrupt_at(&self, offset: u64, cause: Corruption) -> CaptureError {
        CaptureError::Corrupt { path: self.path.clone(), offset, cause }
    }
}
