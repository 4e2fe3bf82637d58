//! Frames of the tests.

use switch::Frame;
use units::Bytes;

/// A frame whose bytes are all there.
pub struct TestFrame(pub Vec<u8>);

impl Frame for TestFrame {
    fn headers(&self) -> &[u8] {
        &self.0
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn length(&self) -> Bytes {
        Bytes(self.0.len() as u64)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(Self(self.0.clone()))
    }
}
