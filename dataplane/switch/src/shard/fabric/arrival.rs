//! Frames on their way in: what they meet at their port, and what is decided about them.

use crate::descriptor::Descriptor;
use crate::forwarding::{Addresses, Punt, Verdict};
use crate::ingress::IngressPort;
use crate::program::{PortSettings, Program};
use crate::queue::{Charge, Queued};
use units::{Bytes, Nanos, PortId, Priority, QueueId};

/// The priority of a frame, its verdict, and the queue in which it waits at its egress port.
pub(super) type Decision = (Priority, Verdict, QueueId);

/// The port through which a burst comes in, and what is asked of its frames. It is made once for each burst.
#[derive(Clone, Copy)]
pub(super) struct Entrance<'a> {
    pub now: Nanos,
    pub port: PortId,
    pub program: &'a Program,
    pub settings: &'a PortSettings,
    /// The port's own addresses, if it has any.
    pub addresses: Option<&'a Addresses>,
    /// Whether any port keeps flows, whose schemes see the frames.
    pub keeps_flows: bool,
    /// Whether frames may wait in another queue than that of their priority.
    pub detours: bool,
}

/// A frame that came in, with its headers parsed.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub now: Nanos,
    pub port: PortId,
    pub priority: Priority,
    /// The queue in which it waits at its egress port.
    pub queue: QueueId,
    pub length: Bytes,
    pub descriptor: Descriptor,
}

impl Arrival {
    /// The charge of the frame: its group at `port`, where it came in.
    #[inline(always)]
    pub fn charge(&self, port: &IngressPort) -> Charge {
        Charge::new(self.port, self.priority, port.groups[self.priority.index()].is_lossless())
    }

    /// Returns `frame`, which arrived like this, as an entry of a queue of `egress`.
    #[inline(always)]
    pub fn queued<F>(&self, egress: PortId, frame: F, charge: Charge) -> Queued<F> {
        let Arrival { now: since, queue, length, descriptor, .. } = *self;
        // No port queues a frame above its longest frame.
        let (length, ip_offset) = (length.0 as u16, descriptor.markable_ip_offset());
        Queued { frame, since, length, charge, egress, queue, ip_offset }
    }
}

/// A data frame, with the decision about it.
pub(super) struct Decided<F> {
    pub frame: F,
    pub arrival: Arrival,
    pub verdict: Verdict,
}

/// A frame that waits for the kernel within a turn.
pub(super) struct Punted<F> {
    pub arrival: Arrival,
    pub class: Punt,
    pub frame: F,
}

/// The next frame of a burst.
pub(super) enum Next<F> {
    /// A frame whose headers are not parsed yet.
    Unread(F),
    Decided(Decided<F>),
}
