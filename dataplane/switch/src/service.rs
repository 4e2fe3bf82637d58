//! The shape of a service of a port: it exchanges frames with the other end of the link, beside data and pauses.
//!
//! Services are the messages of a flow control ([`crate::flow_control`]), the measurement of a link
//! ([`crate::link_delay`]), its hellos ([`crate::liveness`]) and the link agent ([`crate::link_agent`]). A port
//! configures them with its settings, asks them for the next frame when that is due and the link is free, and gives
//! them the frames of the other end.

use units::{Nanos, Priority, WireBytes};
use wire::ethernet::MacAddress;
use wire::lldp::LONGEST_EMITTED;

/// Room for the longest frame of a service.
pub(crate) type FrameRoom = [u8; LONGEST_EMITTED];

/// A service, toward the other end of the link.
pub(crate) trait Service {
    /// When its next frame is due, if the link is free; never if it has none.
    fn frame_due(&self) -> Nanos;

    /// Writes the frame from `source` that is due at `now`. Returns its length; `None` if there is none.
    fn next_frame(
        &mut self,
        now: Nanos,
        source: MacAddress,
        outgoing: &Outgoing,
        frame: &mut FrameRoom,
    ) -> Option<usize>;

    /// Notes that the first bit of that frame leaves at `start`.
    fn sent(&mut self, start: Nanos);
}

/// The egress half of a port as its services may see it, on the wire, by priority.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outgoing {
    /// Bytes that wait.
    pub waiting: [WireBytes; Priority::COUNT],
    /// All bytes sent so far.
    pub sent: [WireBytes; Priority::COUNT],
    /// Frames that wait in the first queue of each priority.
    pub in_first: [u64; Priority::COUNT],
}
