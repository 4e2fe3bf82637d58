//! What a worker asks of a port's hardware.

use switch::{ControlFrame, Frame};

/// The receive and transmit side of one port, owned by one worker.
pub trait Device {
    /// What it receives and sends.
    type Frame: Frame;

    /// Appends frames that have arrived to `burst`, at most [`crate::BURST`]. No frame is dropped here.
    fn receive(&mut self, burst: &mut Vec<Self::Frame>);

    /// How many more data frames [`Device::transmit`] may be given before the next
    /// [`Device::flush`]. Zero while the link is down or the ring is full.
    fn room(&self) -> usize;

    /// Takes a data frame to be sent. It may wait inside until [`Device::flush`], in order.
    fn transmit(&mut self, frame: Self::Frame);

    /// Takes a control frame to be sent, ahead of all data that waits inside. One for which there is no
    /// buffer is counted as lost.
    fn transmit_control(&mut self, frame: &ControlFrame);

    /// Hands what waits to the hardware, as far as it takes it. Called in every turn in which the link
    /// is up, mostly with nothing waiting.
    fn flush(&mut self);

    /// Whether memory for frames that it receives runs low: the frames that come when there is none are lost before
    /// anybody sees them. Asked for in every turn.
    fn memory_is_low(&mut self) -> bool;

    /// What it has counted.
    fn counters(&self) -> DeviceCounters;
}

/// What a device has counted on the side of the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Frames received.
    pub received: u64,
    /// Data frames that the hardware took.
    pub sent: u64,
    /// Data frames that it was given and that wait for the hardware now.
    pub waiting: u64,
    /// Control frames that the hardware took.
    pub control_sent: u64,
    /// Control frames that were lost because there was no buffer, or no room for long.
    pub control_lost: u64,
    /// Calls of [`Device::flush`] that left frames inside because the hardware was full.
    pub full: u64,
    /// Data frames that it was given and dropped, because they lie in several buffers and the hardware sends
    /// only what lies in one. None where a buffer holds the longest frame.
    pub unsendable: u64,
}
