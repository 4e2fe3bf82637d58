//! Frames that the tests own.

use switch::Frame;
use units::{Bytes, PauseQuanta, PrioritySet};
use wire::ethernet::MacAddress;
use wire::pfc;

/// A frame with a label that is not on the wire, by which tests know it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFrame {
    /// Its first bytes: all of them, or the headers alone.
    pub bytes: Vec<u8>,
    /// Its length on the wire, without FCS.
    pub length: u64,
    /// A label of the test's choice.
    pub label: u64,
    /// Whether there is memory for copies of it.
    pub can_be_copied: bool,
}

impl TestFrame {
    /// A frame of which all bytes are there.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len() as u64, bytes, label: 0, can_be_copied: true }
    }

    /// A PFC frame that tells `priorities` to pause for `time`.
    pub fn pfc(priorities: PrioritySet, time: PauseQuanta) -> Self {
        let mut bytes = vec![0; 60];
        let frame = pfc::Frame::uniform(MacAddress([2, 0, 0, 0, 9, 9]), priorities, time);
        frame.emit(&mut bytes).expect("there is room for it");
        Self::new(bytes)
    }

    /// The same frame as the simulator carries it: `kept` bytes, and its length.
    #[must_use]
    pub fn cut_to(mut self, kept: usize) -> Self {
        self.bytes.truncate(kept);
        self
    }

    /// The same frame, known by `label`.
    #[must_use]
    pub fn labelled(mut self, label: u64) -> Self {
        self.label = label;
        self
    }
}

impl Frame for TestFrame {
    fn headers(&self) -> &[u8] {
        &self.bytes
    }

    fn headers_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn length(&self) -> Bytes {
        Bytes(self.length)
    }

    fn duplicate(&self) -> Option<Self> {
        self.can_be_copied.then(|| self.clone())
    }
}
