//! The interface of a worker to a port's hardware.

use switch::{Frame, Volume};

/// The receive and transmit side of one port, owned by one worker.
pub trait Device {
    /// The frames that it receives and sends.
    type Frame: Frame;

    /// Appends received frames to `burst`, at most [`crate::BURST`]. Never drops a frame.
    fn receive(&mut self, burst: &mut Vec<Self::Frame>);

    /// The number of data frames that [`Device::transmit`] accepts before the next [`Device::flush`]. Zero
    /// while the link is down or the ring is full.
    fn room(&self) -> usize;

    /// Queues a data frame to send. Frames may wait in order until [`Device::flush`].
    fn transmit(&mut self, frame: Self::Frame);

    /// Queues a control frame of at most [`wire::lldp::LONGEST_EMITTED`] bytes, ahead of all waiting data. If there is no buffer, it counts as lost.
    fn transmit_control(&mut self, frame: &[u8]);

    /// Makes a data frame of these bytes, in memory of received ones; `None` if none is left.
    fn make(&mut self, bytes: &[u8]) -> Option<Self::Frame>;

    /// Hands as many waiting frames to the hardware as it takes. Called in every turn while the link is up,
    /// mostly with nothing waiting.
    fn flush(&mut self);

    /// Whether receive memory runs low. Without memory, arriving frames are lost unseen. Called in every
    /// turn.
    fn memory_is_low(&mut self) -> bool;

    /// The state of the receive ring. Called after some full bursts in a row.
    fn receive_ring(&mut self) -> ReceiveRing;

    /// The counters.
    fn counters(&self) -> DeviceCounters;
}

/// What a device tells about its receive ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveRing {
    /// It loses no frame, however late the worker reads.
    Endless,
    /// Whether more frames are unread than [`switch::receive_ring::mark`] of its descriptors.
    Told {
        /// Whether they are.
        is_deep: bool,
    },
    /// It has this many descriptors, and does not tell how many of them hold unread frames.
    Untold {
        /// The number.
        descriptors: u32,
    },
}

/// The counters of a device on the worker's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Frames received.
    pub received: u64,
    /// Data frames that the hardware took.
    pub sent: u64,
    /// Data frames that wait for the hardware now.
    pub waiting: u64,
    /// Control frames that the hardware took.
    pub control_sent: u64,
    /// Control frames lost because there was no buffer, or no room for too long.
    pub control_lost: Volume,
    /// Calls of [`Device::flush`] that left frames waiting because the hardware was full.
    pub full: u64,
    /// Data frames dropped because they span several buffers and the hardware sends only single buffers. Zero
    /// if a buffer holds the longest frame.
    pub unsendable: u64,
}

impl DeviceCounters {
    /// Adds those of other queues of the device.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { received, sent, waiting, control_sent, control_lost, full, unsendable } = other;
        self.received += received;
        self.sent += sent;
        self.waiting += waiting;
        self.control_sent += control_sent;
        self.control_lost += *control_lost;
        self.full += full;
        self.unsendable += unsendable;
    }
}
