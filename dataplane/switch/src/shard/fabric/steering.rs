//! The queues of far ports: the choice of one for each frame.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use units::{PortId, Priority, QueueId};

impl<F: Frame> Fabric<F> {
    /// The queue of a frame: that of its far port where the egress port has such queues, or else `queue`.
    #[inline(always)]
    pub(super) fn steered(
        &self,
        verdict: Verdict,
        (priority, queue): (Priority, QueueId),
        descriptor: &Descriptor,
        frame: &F,
    ) -> QueueId {
        match verdict {
            Verdict::Forward(egress) if self.steered.contains(egress) => {
                self.steer(egress, priority, descriptor, frame.headers())
            }
            _ => queue,
        }
    }

    /// The queue of `priority` for the far port of a frame with these `headers`, at a port that has such queues.
    #[inline(never)]
    pub(super) fn steer(
        &self,
        egress: PortId,
        priority: Priority,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> QueueId {
        let steering = self.egress[egress.index()].steering();
        let far = steering.zip(descriptor.destination(headers));
        far.map_or(priority.into(), |(it, address)| it.queue(address, priority))
    }
}
