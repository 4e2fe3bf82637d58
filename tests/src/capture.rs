//! Captures in memory.

use replay::capture::CaptureSink;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// A capture that its writer and a test share, so that the test can read what was written.
#[derive(Clone, Default)]
pub struct SharedCapture(Rc<RefCell<Vec<u8>>>);

impl SharedCapture {
    /// Takes the bytes that were written.
    pub fn take(&self) -> Vec<u8> {
        self.0.take()
    }
}

impl Write for SharedCapture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CaptureSink for SharedCapture {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.borrow_mut().cut(length)
    }
}
