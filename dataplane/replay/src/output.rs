//! Captures of departing frames.

use crate::capture::{CaptureError, CaptureSink, CaptureWriter};
use crate::frame::OwnedFrame;
use std::fs::File;
use switch::{Frame, Links, Transmitter, Volume};
use units::{Bytes, Nanos, PortId};

/// An optional capture per port with everything that the gateway sends there, including control frames, in
/// wire order.
#[derive(Default)]
#[must_use = "what is not finished may not be written"]
pub struct Outputs<W: CaptureSink = File> {
    ports: Vec<Output<W>>,
}

impl<W: CaptureSink> Outputs<W> {
    /// One entry per port, in port order; with `None`, frames are only counted.
    pub fn new(captures: impl IntoIterator<Item = Option<CaptureWriter<W>>>) -> Self {
        Self { ports: captures.into_iter().map(Output::new).collect() }
    }

    /// The number of ports.
    pub(crate) fn len(&self) -> usize {
        self.ports.len()
    }

    #[inline]
    pub(crate) fn port(&mut self, port: PortId) -> &mut Output<W> {
        &mut self.ports[port.index()]
    }

    /// Fails with the error of the first port that has one.
    #[inline]
    pub(crate) fn check(&mut self) -> Result<(), CaptureError> {
        self.ports.iter_mut().try_for_each(Output::check)
    }

    /// Data and control frames that left through `port`, counted by the transmitter.
    pub(crate) fn sent(&self, port: PortId) -> (Volume, Volume) {
        let output = &self.ports[port.index()];
        (output.data, output.control)
    }

    /// Completes the captures of all ports, even if one fails.
    pub(crate) fn finish(self) -> Result<(), CaptureError> {
        let mut outcome = Ok(());
        for output in self.ports {
            let finished = output.finish();
            outcome = outcome.and(finished);
        }
        outcome
    }
}

impl<W: CaptureSink> Links<OwnedFrame> for Outputs<W> {
    #[inline]
    fn takes(&self, port: PortId) -> bool {
        self.ports[port.index()].has_carrier
    }

    #[inline]
    fn frame(&mut self, port: PortId, start: Nanos, frame: OwnedFrame) {
        self.port(port).frame(start, frame);
    }
}

/// The output of one port.
pub(crate) struct Output<W: CaptureSink> {
    capture: Option<CaptureWriter<W>>,
    data: Volume,
    control: Volume,
    /// Whether its link has a carrier. Without one, frames stay in the switch.
    pub has_carrier: bool,
    /// The first error, until it is taken.
    failed: Option<Box<CaptureError>>,
}

impl<W: CaptureSink> Output<W> {
    fn new(capture: Option<CaptureWriter<W>>) -> Self {
        Self { capture, data: Volume::default(), control: Volume::default(), has_carrier: true, failed: None }
    }

    /// Returns the first error of a frame, if any.
    #[inline]
    pub fn check(&mut self) -> Result<(), CaptureError> {
        match self.failed.take() {
            None => Ok(()),
            Some(error) => Err(*error),
        }
    }

    #[inline]
    fn write(&mut self, at: Nanos, bytes: &[u8], length: Bytes) {
        let Some(capture) = &mut self.capture else { return };
        if let Err(error) = capture.write(at, bytes, length.0 as u32) {
            self.fail(error);
        }
    }

    #[cold]
    fn fail(&mut self, error: CaptureError) {
        // Nothing is written after a gap.
        self.failed.get_or_insert_with(|| Box::new(error));
        if let Some(capture) = self.capture.take() {
            // Only the first error is reported.
            let _ = capture.finish();
        }
    }

    fn finish(mut self) -> Result<(), CaptureError> {
        let checked = self.check();
        let finished = self.capture.map_or(Ok(()), |capture| capture.finish().map(|_| ()));
        checked.and(finished)
    }
}

impl<W: CaptureSink> Transmitter<OwnedFrame> for Output<W> {
    /// A capture accepts any number of frames.
    #[inline]
    fn room(&self) -> usize {
        if self.has_carrier { usize::MAX } else { 0 }
    }

    #[inline]
    fn frame(&mut self, start: Nanos, frame: OwnedFrame) {
        self.data.count(frame.length());
        self.write(start, frame.headers(), frame.length());
    }

    fn control(&mut self, start: Nanos, frame: &[u8]) {
        let length = Bytes(frame.len() as u64);
        self.control.count(length);
        self.write(start, frame, length);
    }
}
