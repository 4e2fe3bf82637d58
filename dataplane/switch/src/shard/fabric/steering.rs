//! The queues of far ports: the choice of one for each frame.

use super::Fabric;
use crate::descriptor::Descriptor;
use crate::forwarding::Verdict;
use crate::frame::Frame;
use units::{PortId, QueueId};

impl<F: Frame> Fabric<F> {
    /// The queue of a frame: that of its far port and of the priority of `queue` where the egress port has such queues, or
    /// else `queue`.
    #[inline(always)]
    pub(super) fn steered(
        &self,
        verdict: Verdict,
        queue: QueueId,
        descriptor: &Descriptor,
        frame: &F,
    ) -> QueueId {
        match verdict {
            Verdict::Forward(egress) if self.steered.contains(egress) => {
                self.steer(egress, queue, descriptor, frame.headers())
            }
            _ => queue,
        }
    }

    /// The queue for the far port of a frame with these `headers`, at a port that has such queues. A frame that bounced has
    /// the queue of its isolated priority, and so have the others of the priority of `queue`.
    #[inline(never)]
    pub(super) fn steer(
        &self,
        egress: PortId,
        queue: QueueId,
        descriptor: &Descriptor,
        headers: &[u8],
    ) -> QueueId {
        let egress = &self.egress[egress.index()];
        let (steering, priority) = (egress.steering(), egress.gate.pauses.priority(queue));
        let far = steering.zip(descriptor.destination(headers));
        far.map_or(priority.into(), |(it, address)| it.queue(address, priority))
    }
}
